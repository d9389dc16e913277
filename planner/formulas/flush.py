"""What an upgrade, a canary or a lost node costs a cache: one law of refilling.

Whoever's entries are gone at time 0 hits at t what has come back since: gaps shorter than t, and than the
characteristic time T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.formulas.gaps import GapLaw, Numbers, plain

NIC_SHARE = 0.7
"""Of a NIC's bandwidth that reads of one prefix may take before a second copy pays."""


def hit_after_flush(since_s: Numbers, *, gaps: GapLaw, kept_s: float) -> Numbers:
    """Share of the reusable tokens that is hit some time after the cache was emptied.

    Parameters
    ----------
    since_s : time since the flush, >= 0 [s]
    gaps : time from a turn to the next
    kept_s : characteristic time T, or the time to live if shorter [s]

    Notes
    -----
    h(t) = F(min(t, T)): a turn hits if the one before came after the flush and less than T ago.

    References
    ----------
    P. J. Denning, "The working set model for program behavior", Communications of the ACM 11(5), 1968 (reuse within
    the window; the window opens at the flush).

    >>> from planner.formulas.gaps import Exponential
    >>> print(round(hit_after_flush(600.0, gaps=Exponential(300.0), kept_s=143.62421), 4))
    0.3804
    """
    answer: Numbers = gaps.cdf(plain(np.clip(since_s, 0.0, kept_s)))
    return answer


def hit_in_steps(time_s: Numbers, *, steps: Sequence[tuple[float, float]], gaps: GapLaw, kept_s: float) -> Numbers:
    """Hit share while traffic moves to a cold version in steps.

    Parameters
    ----------
    time_s : [s]
    steps : (when [s], share of the traffic that moves then), shares summing to at most one
    gaps : time from a turn to the next
    kept_s : characteristic time, the same for both versions when capacity moves with the traffic [s]

    Notes
    -----
    sum_i w_i F(min(t - t_i, T)) over the steps taken, and F(T) for the rest.

    References
    ----------
    P. J. Denning, "The working set model for program behavior", Communications of the ACM 11(5), 1968 (as
    `hit_after_flush`, weighted by traffic).

    >>> from planner.formulas.gaps import Exponential
    >>> print(round(hit_in_steps(0.0, steps=[(0.0, 0.5)], gaps=Exponential(300.0), kept_s=math.inf), 3))
    0.5
    """
    warm = gaps.cdf(kept_s)
    share: Any = warm + 0.0 * time_s
    for when_s, weight in steps:
        moved = np.asarray(time_s) >= when_s
        cold = hit_after_flush(plain(np.maximum(time_s - when_s, 0.0)), gaps=gaps, kept_s=kept_s)
        share = share + weight * np.where(moved, cold - warm, 0.0)
    answer: Numbers = plain(share)
    return answer


def extra_prefill_tokens(reusable_tokens_per_s: float, *, gaps: GapLaw, kept_s: float) -> float:
    """Tokens computed again after a flush, over all the time until the cache is warm.

    Parameters
    ----------
    reusable_tokens_per_s : of the traffic that lost its entries [1/s]
    gaps : time from a turn to the next
    kept_s : characteristic time T [s]

    Notes
    -----
    R int_0^T (F(T) - F(t)) dt = R E[G; G <= T].

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 2, 2nd ed., 1971, section V.6
    (integration by parts).

    >>> from planner.formulas.gaps import Exponential
    >>> print(round(extra_prefill_tokens(70_000.0, gaps=Exponential(300.0), kept_s=143.62421)))
    1760404
    """
    return reusable_tokens_per_s * gaps.partial_mean_s(kept_s)


def prefill_surge(hit_share: Numbers) -> Numbers:
    """Prefill work without a cache over that with it.

    Parameters
    ----------
    hit_share : u F(T), share of all prompt tokens that is hit [1]

    Returns
    -------
    [1]; infinite when everything is hit

    Notes
    -----
    1 / (1 - u F(T)).

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025 (prefill of the uncached part).

    >>> print(round(prefill_surge(0.833 * 0.92), 1))
    4.3
    """
    left = 1.0 - np.asarray(hit_share)
    answer: Numbers = plain(np.where(left > 0, 1.0 / np.where(left > 0, left, 1.0), np.inf))
    return answer


def largest_safe_step(prefill_load: float, *, hit_share: float) -> float:
    """Largest share of the traffic that may move to a cold version at once.

    Parameters
    ----------
    prefill_load : share of the prefill capacity in use with a warm cache, rho_0 [1]
    hit_share : u F(T), share of all prompt tokens that is hit [1]

    Returns
    -------
    [1], from 0 to 1

    Notes
    -----
    rho_0 (1 + dw uF / (1 - uF)) <= 1: dw <= (1 / rho_0 - 1) (1 - uF) / (uF).

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, section 1.5 (stability: load below one).

    >>> print(round(largest_safe_step(0.7, hit_share=0.833 * 0.92), 2))
    0.13
    """
    if prefill_load >= 1:
        return 0.0
    if prefill_load <= 0 or hit_share <= 0:
        return 1.0
    return min(1.0, (1 / prefill_load - 1) * (1 - hit_share) / hit_share)


def warm_after_s(gaps: GapLaw, *, kept_s: float, share: float = 0.95) -> float:
    """Time after which a step has come back far enough for the next one.

    Notes
    -----
    min(T, quantile of the gaps).

    References
    ----------
    P. J. Denning, "The working set model for program behavior", Communications of the ACM 11(5), 1968 (as
    `hit_after_flush`: from T on the hit share is its old one).

    >>> from planner.formulas.gaps import Exponential
    >>> print(round(warm_after_s(Exponential(300.0), kept_s=143.6), 1))
    143.6
    """
    return min(kept_s, gaps.quantile_s(share))


def kept_by_request_weights(new_weight: Numbers) -> Numbers:
    """Share of the hits that is left when each request, not each session, draws its version.

    Parameters
    ----------
    new_weight : w, share of the requests that go to the new version [1]

    Notes
    -----
    w^2 + (1 - w)^2: a turn and the turn before drew the same version. Counts the last turn only: an older turn on the
    same version may still serve a part.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, section V.3
    (independent trials).

    >>> kept_by_request_weights(0.5)
    0.5
    """
    return new_weight * new_weight + (1.0 - new_weight) * (1.0 - new_weight)


def capacity_without_nodes(capacity: float, *, nodes: float, lost: float = 1.0) -> float:
    """What is left of a pool spread evenly over nodes.

    Notes
    -----
    C (1 - k / M).

    References
    ----------
    D. Karger et al., "Consistent hashing and random trees", STOC 1997 (balance).

    >>> capacity_without_nodes(16.0, nodes=16)
    15.0
    """
    return capacity * max(0.0, 1.0 - lost / nodes) if nodes > 0 else 0.0


def copies_of_hot_prefix(reads_per_s: float, *, prefix_bytes: float, nic_bytes_per_s: float) -> int:
    """Copies of a prefix so that its reads do not fill the NIC of the node that holds it.

    Parameters
    ----------
    reads_per_s : of this prefix from other nodes [1/s]
    prefix_bytes : [B]
    nic_bytes_per_s : of one node [B/s]

    Notes
    -----
    ceil(reads bytes / (0.7 NIC)); one copy until 70 % of a NIC are read.

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025 (replication of hot blocks).

    >>> copies_of_hot_prefix(50.0, prefix_bytes=1.3e9, nic_bytes_per_s=45e9)
    3
    """
    return max(1, math.ceil(reads_per_s * prefix_bytes / (NIC_SHARE * nic_bytes_per_s)))
