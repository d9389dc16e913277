"""Synchronous steps that replace the groups they drop: a replacement begins when its predecessor has ended."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.formulas.answer_lengths import AnswerLengths

_POINTS = 512
_RARE = 0.02
"""Chains of which fewer than so many are expected among all groups are left out."""
_MOST = 24


@lru_cache(maxsize=256)
def expected_chain_steps(law: AnswerLengths, *, group: int, groups: float, dropped: float) -> float:
    """Decode steps until the last group is there that teaches something, each replaced until it does.

    Parameters
    ----------
    law : of the lengths
    group : answers of a prompt [1]
    groups : of a step [1]
    dropped : z, share of the groups that are dropped and replaced [1]

    Returns
    -------
    [1]

    Notes
    -----
    A chain is M_1 + ... + M_k with probability (1 - z) z^(k-1), M the longest of a group: P(chain <= x) = (1 - z) sum
    z^(k-1) F_M^(*k)(x) by convolution on a grid; the last of all, integral of 1 - P^groups. With slots for all.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications, Volume II", 2nd ed., 1971, section XI.4
    (geometric sums); Q. Yu et al., "DAPO", 2025, arXiv:2503.14476, section 3.2 (dynamic sampling).

    >>> from planner.formulas.observed_lengths import ObservedLengths
    >>> round(expected_chain_steps(ObservedLengths.of([100.0]), group=1, groups=1, dropped=0.0))
    100
    """
    if groups <= 0:
        return 0.0
    links = _links(groups, dropped=dropped)
    longest = float(law.quantile(1 - 1e-7))
    edges = np.linspace(0.0, longest, _POINTS + 1)
    mass = np.diff(law.within(edges) ** group, prepend=0.0)
    chains = _chains(mass / mass.sum(), links=links, dropped=dropped)
    within = np.cumsum(chains) ** groups
    return float(np.sum(1 - within)) * longest / _POINTS


def _links(groups: float, *, dropped: float) -> int:
    """Links of the longest chain worth counting."""
    if dropped <= 0:
        return 1
    return int(min(max(np.log(_RARE / groups) / np.log(dropped), 1.0) + 1, _MOST)) if dropped < 1 else _MOST


def _chains(mass: NDArray[np.float64], *, links: int, dropped: float) -> NDArray[np.float64]:
    """Law of a chain on the grid of one link, repeated; what is left out is with the longest."""
    size = (len(mass) - 1) * links + 1
    spectrum = np.fft.rfft(mass, n=size)
    power, total = np.ones_like(spectrum), np.zeros_like(spectrum)
    for link in range(1, links + 1):
        power = power * spectrum
        weight = dropped ** (link - 1) * ((1 - dropped) if link < links else 1.0)
        total = total + weight * power
    found: NDArray[np.float64] = np.clip(np.fft.irfft(total, n=size), 0.0, None)
    found /= found.sum()
    return found
