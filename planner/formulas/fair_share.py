"""Tenants on shared GPUs: what each gets when they ask for more than there is, and how even a weighted counter is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

INPUT_WEIGHT, OUTPUT_WEIGHT = 1.0, 2.0
"""Weights of input and output tokens in a tenant's counter, as in the paper's experiments."""


class Neighbours(NamedTuple):
    """What the other tenants get of what they ask for, together [1]."""

    first_come: float
    fair: float


def weighted_tokens(
    input_tokens: ArrayLike,
    output_tokens: ArrayLike,
    *,
    input_weight: float = INPUT_WEIGHT,
    output_weight: float = OUTPUT_WEIGHT,
) -> Array:
    """Service in weighted tokens, which counters and bills count.

    Parameters
    ----------
    input_tokens, output_tokens : [tokens]
    input_weight, output_weight : w_p, w_q [1]

    Notes
    -----
    w_p input + w_q output.

    References
    ----------
    Y. Sheng et al., "Fairness in Serving Large Language Models", 2024, arXiv:2401.00588, section 3.1 (cost functions).

    >>> weighted_tokens([1000.0], [200.0]).tolist()
    [1400.0]
    """
    prompt = np.asarray(input_tokens, dtype=np.float64)
    answer: Array = input_weight * prompt + output_weight * np.asarray(output_tokens, dtype=np.float64)
    return answer


def counter_bound(
    *,
    longest_input_tokens: float,
    batch_tokens: float,
    input_weight: float = INPUT_WEIGHT,
    output_weight: float = OUTPUT_WEIGHT,
    least_weight: float = 1.0,
) -> float:
    """Most by which the service of two tenants can differ while both have requests waiting.

    Parameters
    ----------
    longest_input_tokens : L_in [tokens]
    batch_tokens : M, tokens that the batch holds [tokens]
    input_weight, output_weight : w_p, w_q [1]
    least_weight : of the tenants; service is counted over the weight [1]

    Returns
    -------
    [weighted tokens]

    Notes
    -----
    2 max(w_p L_in, w_q M) / least weight, for the tenant of the least counter first and a counter that is lifted to the
    least of the active ones when a tenant comes back. Counters say nothing about slots: a tenant whose requests
    overlap without end keeps its slot, whatever its counter.

    References
    ----------
    Y. Sheng et al., "Fairness in Serving Large Language Models", 2024, arXiv:2401.00588, section 4.2 (two backlogged
    clients) and section 4.3 (weights).

    >>> counter_bound(longest_input_tokens=1000.0, batch_tokens=10_000.0)
    40000.0
    """
    return 2.0 * max(input_weight * longest_input_tokens, output_weight * batch_tokens) / least_weight


def fair_shares(demands: ArrayLike, *, capacity: float, weights: ArrayLike = 1.0, limits: ArrayLike = np.inf) -> Array:
    """What tenants get when nobody can get more without another of a smaller share getting less.

    Parameters
    ----------
    demands : what each asks for, in any unit of rate
    capacity : to be shared, in the same unit
    weights : of the tenants, > 0 [1]
    limits : of each tenant's rate, in the same unit

    Returns
    -------
    in the unit of the demands; sums to the capacity, or to what is asked for within the limits

    Notes
    -----
    min(demand, limit, theta weight) with the level theta at which they sum to the capacity.

    References
    ----------
    D. Bertsekas, R. Gallager, "Data Networks", 2nd ed., 1992, section 6.5.2 (max-min fair flow control).

    >>> fair_shares([10.0, 40.0, 90.0], capacity=80.0).tolist()
    [10.0, 35.0, 35.0]
    """
    wanted = np.minimum(np.asarray(demands, dtype=np.float64), limits)
    if float(wanted.sum()) <= capacity:
        return wanted
    each = np.broadcast_to(np.asarray(weights, dtype=np.float64), wanted.shape)
    order = np.argsort(wanted / each, kind="stable")
    asked, heavy = wanted[order], each[order]
    satisfied = np.concatenate(([0.0], np.cumsum(asked)[:-1]))
    levels = (capacity - satisfied) / np.cumsum(heavy[::-1])[::-1]
    level = float(levels[np.argmax(levels <= asked / heavy)])
    answer: Array = np.minimum(wanted, level * each)
    return answer


def first_come_shares(demands: ArrayLike, *, capacity: float, limits: ArrayLike = np.inf) -> Array:
    """What tenants get when requests are served in the order they come: all the same share of what they ask for.

    Parameters
    ----------
    demands, capacity, limits : as in `fair_shares`

    Notes
    -----
    demand x min(1, capacity / sum of demands): of a queue that only grows each tenant is served as it arrives.

    References
    ----------
    A. Demers, S. Keshav, S. Shenker, "Analysis and simulation of a fair queueing algorithm", SIGCOMM 1989, section 1
    (first come first served rewards who sends most).

    >>> first_come_shares([10.0, 90.0], capacity=50.0).tolist()
    [5.0, 45.0]
    """
    wanted = np.minimum(np.asarray(demands, dtype=np.float64), limits)
    total = float(wanted.sum())
    answer: Array = wanted * min(1.0, capacity / total) if total > 0 else wanted
    return answer


def noisy_neighbour(
    demands: ArrayLike,
    *,
    noisy: int,
    times: float,
    capacity: float,
    weights: ArrayLike = 1.0,
    limits: ArrayLike = np.inf,
) -> Neighbours:
    """What the others still get when one tenant asks for a multiple of what it did.

    Parameters
    ----------
    demands, capacity, weights, limits : as in `fair_shares`
    noisy : index of the tenant
    times : the multiple [1]

    Returns
    -------
    share of the others' demand that is served, first come first served and by fair shares [1]

    Notes
    -----
    Sums of `first_come_shares` and `fair_shares` over the others, over their demand within the limits.

    References
    ----------
    Y. Sheng et al., "Fairness in Serving Large Language Models", 2024, arXiv:2401.00588, section 5.2 (an overloaded
    client beside others).

    >>> noisy_neighbour([10.0, 10.0], noisy=0, times=9.0, capacity=25.0)
    Neighbours(first_come=0.25, fair=1.0)
    """
    louder = np.array(demands, dtype=np.float64)
    louder[noisy] *= times
    others = np.arange(len(louder)) != noisy
    asked = float(np.minimum(louder, limits)[others].sum())
    if asked <= 0:
        return Neighbours(1.0, 1.0)
    queue = first_come_shares(louder, capacity=capacity, limits=limits)
    fair = fair_shares(louder, capacity=capacity, weights=weights, limits=limits)
    return Neighbours(float(queue[others].sum()) / asked, float(fair[others].sum()) / asked)
