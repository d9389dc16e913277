"""A stream that breaks in its middle: how far it had come, and what it costs to go on or to start again."""

from __future__ import annotations

from typing import NamedTuple


class Recovery(NamedTuple):
    """What one broken stream costs.

    Parameters
    ----------
    prefill_tokens : computed again [tokens]
    decode_tokens : generated again [tokens]
    delay_s : until the client gets the next new token, without the wait in the queue [s]
    repeated_tokens : that the client gets twice [tokens]
    """

    prefill_tokens: float
    decode_tokens: float
    delay_s: float
    repeated_tokens: float


def age_when_cut(mean_tokens: float, *, scv: float = 1.0) -> float:
    """Mean number of tokens that a stream had generated when its instance failed.

    Parameters
    ----------
    mean_tokens : output of a request [tokens]
    scv : squared coefficient of variation of the output [1]

    Returns
    -------
    [tokens]

    Notes
    -----
    E[O^2] / (2 E[O]) = mean (1 + scv) / 2. The failure finds long streams more often than short ones: with scv 1 the
    mean age is the whole mean output, not half of it.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, section 5.2 (residual life: E[x^2] / (2 E[x])).

    >>> age_when_cut(400.0)
    400.0
    """
    return mean_tokens * (1 + scv) / 2


def resume(
    generated_tokens: float, *, prompt_tokens: float, cached_tokens: float, prefill_tokens_per_s: float
) -> Recovery:
    """The router goes on from the tokens that it has passed on: prompt and generated tokens are prefilled elsewhere.

    Parameters
    ----------
    generated_tokens : [tokens]
    prompt_tokens : [tokens]
    cached_tokens : of the prompt, on the instance that goes on [tokens]
    prefill_tokens_per_s : of one request alone [1/s]

    Returns
    -------
    nothing is repeated; needs token ids, the sampler's state and the same version of the LLM

    Notes
    -----
    Prefill of prompt - cached + generated; delay = that over the speed of prefill.

    References
    ----------
    W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023,
    section 4.5 (recomputation: generated tokens joined to the prompt are one prefill).

    >>> resume(400.0, prompt_tokens=4096.0, cached_tokens=4096.0, prefill_tokens_per_s=10_000.0).delay_s
    0.04
    """
    prefill_tokens = max(prompt_tokens - cached_tokens, 0.0) + generated_tokens
    return Recovery(prefill_tokens, 0.0, prefill_tokens / prefill_tokens_per_s, 0.0)


def start_again(
    generated_tokens: float, *, prompt_tokens: float, cached_tokens: float, prefill_tokens_per_s: float, tpot_s: float
) -> Recovery:
    """The client gets an error and asks again: prompt and answer are computed anew.

    Parameters
    ----------
    generated_tokens : [tokens]
    prompt_tokens : [tokens]
    cached_tokens : of the prompt, on the instance that starts again [tokens]
    prefill_tokens_per_s : of one request alone [1/s]
    tpot_s : [s]

    Returns
    -------
    the client gets the generated part again, and with sampling it reads differently

    Notes
    -----
    Prefill of prompt - cached and decode of the generated tokens; delay = prefill + generated * TPOT.

    References
    ----------
    W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023,
    section 4.5 (recomputation).

    >>> start_again(400, prompt_tokens=4096, cached_tokens=4096, prefill_tokens_per_s=1e4, tpot_s=0.03).delay_s
    12.0
    """
    prefill_tokens = max(prompt_tokens - cached_tokens, 0.0)
    delay_s = prefill_tokens / prefill_tokens_per_s + generated_tokens * tpot_s
    return Recovery(prefill_tokens, generated_tokens, delay_s, generated_tokens)
