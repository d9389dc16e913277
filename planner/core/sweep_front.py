"""Which of many points is best, and which no other beats on both counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Column = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Order:
    """Whether less is better, of the objective and of what it is held against."""

    lower: bool = True
    lower_against: bool = True


def front_of(
    places: Iterable[int], *, objective: Column, against: Column | None = None, order: Order | None = None
) -> tuple[int, ...]:
    """Places of the non-dominated among ``places``, by ``against``, then objective, then place.

    One point dominates another that it equals or beats in both figures and beats in one. Equal points do not dominate
    each other. A point that lacks one of the figures is not compared. Without ``against`` the best ones are the front.

    >>> front_of(range(4), objective=[3.0, 1.0, 2.0, 2.5], against=[1.0, 3.0, 2.0, 2.0])
    (0, 2, 1)
    """
    order = order or Order()
    keys = [
        (_key(against[place] if against else 0.0, order.lower_against), _key(objective[place], order.lower), place)
        for place in places
        if objective[place] is not None and (against is None or against[place] is not None)
    ]
    kept: list[int] = []
    least, best = None, float("inf")
    for other, key, place in sorted(keys):
        # Equal to the last kept one in both, or better than all that come before.
        if (other, key) == least or key < best:
            kept.append(place)
            least, best = (other, key), key
    return tuple(kept if order.lower_against else sorted(kept, key=lambda place: _by(place, objective, against)))


def best_of(
    places: Iterable[int], *, objective: Column, against: Column | None = None, order: Order | None = None
) -> int | None:
    """The place with the best objective; of equal ones that with the better ``against``, then the first."""
    order = order or Order()
    keys = [
        (
            _key(objective[place], order.lower),
            _key(against[place] if against else 0.0, order.lower_against),
            place,
        )
        for place in places
        if objective[place] is not None
    ]
    return min(keys)[2] if keys else None


def _key(value: float | None, lower: bool) -> float:
    if value is None:
        return float("inf")
    return value if lower else -value


def _by(place: int, objective: Column, against: Column | None) -> tuple[float, float, int]:
    return ((against[place] if against else 0.0) or 0.0, objective[place] or 0.0, place)
