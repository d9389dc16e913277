"""Ranks that step together: a step lasts as long as the rank with the most work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mean_longest(values: NDArray[np.float64], *, weights: NDArray[np.float64], count: float) -> float:
    """Mean of the longest of ``count`` independent draws.

    Parameters
    ----------
    values : ascending
    weights : how often each value comes, up to a factor
    count : draws; need not be whole; none gives 0

    Returns
    -------
    in the unit of the values

    Notes
    -----
    E[max] = sum v_i (F_i^m - F_{i-1}^m).

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, eq. (2.1.1).

    >>> mean_longest(np.array([1.0, 2.0]), weights=np.array([1.0, 1.0]), count=2)
    1.75
    """
    if count <= 0:
        return 0.0
    reached = (np.cumsum(weights) / np.sum(weights)) ** count
    return float(np.sum(values * np.diff(reached, prepend=0.0)))


def full_step_s(
    *, fixed_s: float, token_s: float, budget_tokens: float, sequence_s: float, answer_tokens_per_s: float
) -> float:
    """Time of a step whose token budget is full: of sequences that decode, and of prompt tokens for the rest.

    Parameters
    ----------
    fixed_s : whatever the step holds [s]
    token_s : of a prompt token [s]
    budget_tokens : tokens of a step [1]
    sequence_s : of a sequence that decodes [s]
    answer_tokens_per_s : tokens that sequences are given [1/s]

    Returns
    -------
    [s]; without sequences where these would leave no time for prompts

    Notes
    -----
    T = fixed + sequence * b + token * (budget - b) with b = rate * T sequences decoding, each given a token a step.

    References
    ----------
    A. Agrawal et al., "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve", OSDI 2024, section 4.2
    (a budget of tokens for prompts on decode steps); J. D. C. Little, Operations Research 9(3), 1961 (b = rate * T).

    >>> round(full_step_s(fixed_s=0.01, token_s=1e-4, budget_tokens=100, sequence_s=2e-4, answer_tokens_per_s=2000), 6)
    0.025
    """
    full_s = fixed_s + budget_tokens * token_s
    growth = 1 - (sequence_s - token_s) * answer_tokens_per_s
    return full_s / growth if growth > 0 else full_s
