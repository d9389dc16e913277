"""Outcomes of independent runs of one system put together: histograms and counts add up, levels are averaged.

What becomes of a field follows from its type, unless the outcome's class says otherwise in ``MERGED``: whole numbers
and arrays are added, other numbers averaged, words must be the same in all. Runs are taken in the order given, so the
same runs give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from sims.engine.run import BUDGET, COMPLETE, FULL

T = TypeVar("T")
Rule = Callable[[Sequence[Any]], Any]

BADLY = (FULL, BUDGET)
"""Endings before the time, the worst first; one that no rule knows is worse still."""


def merged(outcomes: Sequence[T]) -> T:
    """One outcome of all runs; that of a single run is left as it is. Raises ValueError where they do not belong."""
    return outcomes[0] if len(outcomes) == 1 else _together(outcomes)


def stacked(values: Sequence[Any]) -> Any:
    """Rows of all runs one below the other; of a mapping those of each name."""
    first = values[0]
    if isinstance(first, Mapping):
        return {name: stacked([value[name] for value in values]) for name in first}
    rows = np.concatenate(values)
    return rows.view(np.recarray) if rows.dtype.names else rows


def joined(values: Sequence[Any]) -> Any:
    """The members of all runs one after the other."""
    return tuple(member for value in values for member in value)


def first(values: Sequence[Any]) -> Any:
    """What the first run shows."""
    return values[0]


def lowest(values: Sequence[Any]) -> Any:
    """The least that any run shows."""
    return min(values)


def highest(values: Sequence[Any]) -> Any:
    """The most that any run shows."""
    return max(values)


def total(values: Sequence[Any]) -> Any:
    """The sum."""
    return math.fsum(values)


def stacked_only(*names: str) -> Rule:
    """Of a mapping, `stacked` for these names; the rest is added."""

    def together(values: Sequence[Any]) -> Any:
        return {
            name: (stacked if name in names else _together)([value[name] for value in values]) for name in values[0]
        }

    return together


def worst(values: Sequence[Any]) -> Any:
    """How the run ended that ended worst."""
    others = sorted({value for value in values if value not in (*BADLY, COMPLETE)})
    return next((ending for ending in (*others, *BADLY) if ending in values), COMPLETE)


def averaged(values: Sequence[Any]) -> Any:
    """Levels and sums so far, moment by moment, as far as all runs came."""
    one = values[0]
    if is_dataclass(one):
        return _rebuilt(one, {each.name: averaged([getattr(v, each.name) for v in values]) for each in fields(one)})
    if isinstance(one, Mapping):
        return {name: averaged([value[name] for value in values]) for name in one}
    if isinstance(one, tuple):
        return tuple(averaged(members) for members in zip(*values, strict=False))
    if isinstance(one, np.ndarray):
        least = min(len(value) for value in values)
        return _mean_rows([value[:least] for value in values])
    return mean(values)


def mean(values: Sequence[Any]) -> Any:
    """The mean, which is the value itself where all have the same; None where a run has none."""
    if any(value is None for value in values):
        return None
    return values[0] if all(value == values[0] for value in values) else math.fsum(values) / len(values)


def same(values: Sequence[Any]) -> Any:
    """What all runs have; raises ValueError where they differ."""
    if any(value != values[0] for value in values):
        raise ValueError(f"runs that differ in more than chance cannot be put together: {values[0]!r}, {values[1]!r}")
    return values[0]


def _together(values: Sequence[Any]) -> Any:
    one = values[0]
    if is_dataclass(one):
        own: Mapping[str, Rule] = getattr(type(one), "MERGED", {})
        found = {
            each.name: own.get(each.name, _together)([getattr(v, each.name) for v in values]) for each in fields(one)
        }
        return _rebuilt(one, found)
    if isinstance(one, Mapping):
        # A run that was cut short may lack some.
        names = dict.fromkeys(name for value in values for name in value)
        return {name: _together([value[name] for value in values if name in value]) for name in names}
    if isinstance(one, tuple):
        if any(len(value) != len(one) for value in values):
            return joined(values)
        return tuple(_together(members) for members in zip(*values, strict=True))
    if isinstance(one, np.ndarray | np.void):
        return _added(values)
    if isinstance(one, bool | str):
        return same(values)
    if isinstance(one, int | np.integer):
        return sum(values)
    return mean(values)


def _mean_rows(rows: Sequence[Any]) -> Any:
    names = rows[0].dtype.names
    if names is None:
        return np.mean(rows, axis=0)
    means = np.zeros(rows[0].shape, [(name, "f8") for name in names])
    for name in names:
        means[name] = np.mean([each[name] for each in rows], axis=0)
    return means.view(np.recarray)


def _added(values: Sequence[Any]) -> Any:
    total = values[0].copy()
    if total.dtype.names is None:
        return np.sum(values, axis=0)
    for name in total.dtype.names:
        total[name] = np.sum([value[name] for value in values], axis=0)
    return total


def _rebuilt(one: Any, found: Mapping[str, Any]) -> Any:
    """A record of the same class; what its class checks of settings does not hold for means, and is not asked."""
    made = object.__new__(type(one))
    for name, value in found.items():
        object.__setattr__(made, name, value)
    return made
