"""Puts labels where they cover neither each other nor, if it can be helped, a line."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from planner.charts.drawing.type import SIZE, width

Place = tuple[float, float, str]
"""Baseline x, y and text-anchor."""


@dataclass(frozen=True, slots=True)
class Area:
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Area) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom


def area(text: str, place: Place, *, bold: bool = False) -> Area:
    x, y, anchor = place
    wide = width(text, bold=bold)
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
    return Area(left - 2, y - SIZE * 0.8, left + wide + 2, y + SIZE * 0.28)


_NEAR = 11.0  # a label this close to another curve may be taken for that curve's
_TOO_CROWDED = 6.0


@dataclass(slots=True)
class Labels:
    """What is taken: texts (never covered), ink (lines and points, better not covered) and the border."""

    border: Area
    taken: list[Area] = field(default_factory=list)
    ink: list[tuple[float, float, str]] = field(default_factory=list)

    def block(self, text: str, place: Place, *, bold: bool = False) -> None:
        self.taken.append(area(text, place, bold=bold))

    def draw_over(self, path: Sequence[tuple[float, float]], *, owner: str = "") -> None:
        """Remember a line as points no further than 4 units apart."""
        self.ink.extend((x, y, owner) for x, y in path[:1])
        for (x0, y0), (x1, y1) in itertools.pairwise(path):
            steps = max(1, int(max(abs(x1 - x0), abs(y1 - y0)) / 4))
            shares = [step / steps for step in range(1, steps + 1)]
            self.ink.extend((x0 + (x1 - x0) * share, y0 + (y1 - y0) * share, owner) for share in shares)

    def place(
        self, text: str, candidates: Iterable[Place], *, bold: bool = False, owner: str = "", crowded: bool = True
    ) -> Place | None:
        """Take the best of the candidates (the earlier, the better), or None if each would cover a text.

        A name of a curve (``owner``) also keeps away from other curves; with ``crowded=False`` it gives up where
        that cannot be done.
        """
        costs = [
            (cost + index * 0.1, candidate)
            for index, candidate in enumerate(candidates)
            if (cost := self._cost(area(text, candidate, bold=bold), owner)) is not None
        ]
        if not costs:
            return None
        cost, place = min(costs, key=lambda entry: entry[0])
        if not crowded and cost > _TOO_CROWDED:
            return None
        self.block(text, place, bold=bold)
        return place

    def _cost(self, here: Area, owner: str) -> float | None:
        border = self.border
        if here.left < border.left or here.right > border.right or here.top < border.top or here.bottom > border.bottom:
            return None
        if any(here.overlaps(other) for other in self.taken):
            return None
        covered = sum(here.holds(x, y) for x, y, _ in self.ink)
        if not owner:
            return float(covered)
        wide = Area(here.left - _NEAR, here.top - _NEAR, here.right + _NEAR, here.bottom + _NEAR)
        return covered + 0.35 * sum(wide.holds(x, y) for x, y, whose in self.ink if whose not in ("", owner))


def around(x: float, y: float, *, gap: float = 9) -> list[Place]:
    """Places about a point, the one above first."""
    return [
        (x, y - gap, "middle"),
        (x + gap, y - gap + 4, "start"),
        (x - gap, y - gap + 4, "end"),
        (x + gap, y + 4, "start"),
        (x - gap, y + 4, "end"),
        (x, y + gap + 9, "middle"),
        (x + gap, y + gap + 8, "start"),
        (x - gap, y + gap + 8, "end"),
        (x, y - gap - 16, "middle"),
        (x + gap, y - gap - 14, "start"),
        (x - gap, y - gap - 14, "end"),
        (x, y + gap + 25, "middle"),
    ]
