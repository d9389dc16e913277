"""What synchronous generation reaches of a quoted rate, as closed forms of the tail.

``longest`` is the expected longest answer of the step; ``shared`` is beta of `decode_step.shared_weight`.
"""

from __future__ import annotations


def utilisation_of_share(*, shared: float, batch_share: float, tail: float) -> float:
    """Output over the quoted rate when each instance starts with a share of the quoted batch.

    Parameters
    ----------
    shared : beta [1]
    batch_share : n / B*, answers an instance starts with over the batch the rate is quoted at [1]
    tail : m, longest answer over the mean [1]

    Returns
    -------
    [1]

    Notes
    -----
    U = (1 + beta) / (beta + m B* / n). Holds while the instance has slots for all its answers; counts mean work, so
    that the slowest of many instances is some per cent below.

    References
    ----------
    Y. Zhong et al., "RLHFuse: Efficient RLHF Training for Large Language Models with Inter- and Intra-Stage Fusion",
    2024, arXiv:2409.13221, section 2 (long tail of the generation stage); the form follows from
    `generation.generation_s`.

    >>> round(utilisation_of_share(shared=1.0, batch_share=0.5, tail=4.0), 3)
    0.222
    """
    return (1 + shared) / (shared + tail / batch_share)


def utilisation_for_deadline(*, shared: float, longest_s: float, deadline_s: float) -> float | None:
    """Output over the quoted rate of a fleet just large enough for a deadline; None when no fleet is.

    Parameters
    ----------
    shared : beta [1]
    longest_s : a max L, time of the longest answer alone [s]
    deadline_s : T [s]

    Returns
    -------
    [1]

    Notes
    -----
    U = (1 - a max L / T) (1 + beta) / beta. Above one, the deadline lets instances run more than the quoted batch.

    References
    ----------
    G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS
    1967; the form follows from `generation.generation_s`.

    >>> round(utilisation_for_deadline(shared=3.3025, longest_s=0.0119 * 19_400, deadline_s=300.0), 3)
    0.3
    """
    if longest_s >= deadline_s:
        return None
    return (1 - longest_s / deadline_s) * (1 + shared) / shared


def gpus_for_deadline(
    *, tokens: float, token_s: float, longest_s: float, deadline_s: float, gpus_per_instance: int = 1
) -> float | None:
    """GPUs that generate these tokens in time; None when the longest answer alone takes too long.

    Parameters
    ----------
    tokens : of all answers of the step [tokens]
    token_s : b, time a token adds to the steps of its instance [s]
    longest_s : a max L [s]
    deadline_s : T [s]
    gpus_per_instance : [1]

    Returns
    -------
    [1]

    Notes
    -----
    G = g b sum L / (T - a max L).

    References
    ----------
    G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS
    1967; the form follows from `generation.generation_s`.

    >>> round(gpus_for_deadline(tokens=16.384e6, token_s=0.00030703125, longest_s=0.0119 * 8000, deadline_s=300.0), 1)
    24.6
    """
    if longest_s >= deadline_s:
        return None
    return gpus_per_instance * token_s * tokens / (deadline_s - longest_s)
