"""What sending a request to where its prefix is cached gains over spreading, and when it gains nothing."""

from __future__ import annotations

from typing import Literal

TIE = 0.03
"""A gain below this is a tie: less than the spread between two measurements of one fleet."""

LOW_LOAD = 0.3
"""Below this load no queue forms and any rule serves."""

Reason = Literal["", "load", "prefill", "reuse", "cache", "gain"]
"""Why rules tie: low load; little of the time is prefill; little is reusable; every cache holds the working set; the
product of all is small. Empty when they do not."""


def affinity_gain(affine_hits: float, *, random_hits: float, reusable: float, prefill_share: float) -> float:
    """Capacity with affinity over capacity with random spreading.

    Parameters
    ----------
    affine_hits, random_hits : share of the reusable prompt tokens found in the cache, by either rule [1]
    reusable : share of the prompt tokens that were seen before [1]
    prefill_share : of an instance's time, under random spreading [1]

    Returns
    -------
    [1]; one is no gain

    Notes
    -----
    1 / (1 - phi (h_a - h_r) u / (1 - u h_r)): prefill time is proportional to the tokens that are not cached,
    1 - u h, the rest of the time is the same.

    References
    ----------
    G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS
    1967 (the part made faster, and its share), doi:10.1145/1465482.1465560.

    >>> affinity_gain(0.75, random_hits=0.0, reusable=0.8, prefill_share=0.5)
    1.4285714285714286
    """
    uncached = 1 - reusable * random_hits
    if uncached <= 0:
        return 1.0
    saved = prefill_share * (affine_hits - random_hits) * reusable / uncached
    return 1 / max(1 - saved, 1e-9)


def tie_reason(
    affine_hits: float, *, random_hits: float, reusable: float, prefill_share: float, load: float, tie: float = TIE
) -> Reason:
    """Whether all rules of routing serve alike, and by what.

    Parameters
    ----------
    affine_hits, random_hits, reusable, prefill_share : as in `affinity_gain`
    load : of the instances [1]
    tie : gain that does not count [1]

    Returns
    -------
    empty when affinity pays; else the input that makes the gain small, the strongest one first

    Notes
    -----
    A gain below ``tie``, or a load below 0.3. Of the factors that make the gain the one that is below ``tie`` by itself
    is named, and the product when none is.

    References
    ----------
    G. M. Amdahl, as in `affinity_gain`.

    >>> tie_reason(0.9, random_hits=0.9, reusable=0.8, prefill_share=0.5, load=0.8)
    'cache'
    """
    if load < LOW_LOAD:
        return "load"
    gain = affinity_gain(affine_hits, random_hits=random_hits, reusable=reusable, prefill_share=prefill_share)
    if gain - 1 >= tie:
        return ""
    factors: dict[Reason, float] = {
        "cache": affine_hits - random_hits,
        "reuse": reusable,
        "prefill": prefill_share,
    }
    least: Reason = min(factors, key=lambda name: factors[name])
    return least if factors[least] < 2 * tie else "gain"
