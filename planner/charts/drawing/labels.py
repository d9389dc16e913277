"""Puts labels where they cover neither each other nor, if it can be helped, a line."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
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


def area(text: str, place: Place, *, bold: bool = False) -> Area:
    x, y, anchor = place
    wide = width(text, bold=bold)
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
    return Area(left - 2, y - SIZE * 0.8, left + wide + 2, y + SIZE * 0.28)


_NEAR = 11.0  # a label this close to another curve may be taken for that curve's
_BESIDE = 0.35  # what a point of another curve close by costs, where one that is covered costs 1
_TOO_CROWDED = 6.0
_LATER = 0.1  # what each place further down the list of candidates costs
_CELL = 16.0

Dot = tuple[float, float, str]


@dataclass(slots=True)
class Ink:
    """Lines as points no further than 4 units apart, kept by cells: a label looks only at the few it lies on.

    Lines wait until the first label asks; many pictures have none that could meet one.
    """

    waiting: list[tuple[Sequence[tuple[float, float]], str]] = field(default_factory=list)
    cells: dict[tuple[int, int], list[Dot]] = field(default_factory=dict)

    def under(self, here: Area) -> Iterator[Dot]:
        """Points within an area, cell by cell: whoever has seen enough may stop."""
        while self.waiting:
            self._spread(*self.waiting.pop())
        columns = range(int(here.left // _CELL), int(here.right // _CELL) + 1)
        rows = range(int(here.top // _CELL), int(here.bottom // _CELL) + 1)
        left, top, right, bottom = here.left, here.top, here.right, here.bottom
        for cell in itertools.product(columns, rows):
            for dot in self.cells.get(cell, ()):
                if left <= dot[0] <= right and top <= dot[1] <= bottom:
                    yield dot

    def _spread(self, path: Sequence[tuple[float, float]], owner: str) -> None:
        dots = [(x, y, owner) for x, y in path[:1]]
        for (x0, y0), (x1, y1) in itertools.pairwise(path):
            wide, high = x1 - x0, y1 - y0
            steps = int(max(abs(wide), abs(high)) / 4)
            dots.extend((x0 + wide * step / steps, y0 + high * step / steps, owner) for step in range(1, steps))
            dots.append((x1, y1, owner))
        for dot in dots:
            self.cells.setdefault((int(dot[0] // _CELL), int(dot[1] // _CELL)), []).append(dot)


@dataclass(slots=True)
class Labels:
    """What is taken: texts (never covered), ink (lines and points, better not covered) and the border."""

    border: Area
    taken: list[Area] = field(default_factory=list)
    ink: Ink = field(default_factory=Ink)

    def block(self, text: str, place: Place, *, bold: bool = False) -> None:
        self.taken.append(area(text, place, bold=bold))

    def draw_over(self, path: Sequence[tuple[float, float]], *, owner: str = "") -> None:
        """Remember a line that labels had better not cover; a point is a line of no length."""
        self.ink.waiting.append((path, owner))

    def place(
        self, text: str, candidates: Iterable[Place], *, bold: bool = False, owner: str = "", crowded: bool = True
    ) -> Place | None:
        """Take the best of the candidates (the earlier, the better), or None if each would cover a text.

        A name of a curve (``owner``) also keeps away from other curves; with ``crowded=False`` it gives up where
        that cannot be done.
        """
        best: Place | None = None
        least = float("inf")
        for index, candidate in enumerate(candidates):
            if index * _LATER >= least:
                break
            cost = self._cost(area(text, candidate, bold=bold), owner, enough=least - index * _LATER)
            if cost is not None and cost + index * _LATER < least:
                best, least = candidate, cost + index * _LATER
        if best is None or (not crowded and least > _TOO_CROWDED):
            return None
        self.block(text, best, bold=bold)
        return best

    def _cost(self, here: Area, owner: str, *, enough: float) -> float | None:
        """What a place covers; counted no further than ``enough``, from which on another place is better."""
        border = self.border
        if here.left < border.left or here.right > border.right or here.top < border.top or here.bottom > border.bottom:
            return None
        if any(here.overlaps(other) for other in self.taken):
            return None
        if not owner:
            return float(sum(1 for _ in self.ink.under(here)))
        wide = Area(here.left - _NEAR, here.top - _NEAR, here.right + _NEAR, here.bottom + _NEAR)
        cost = 0.0
        for x, y, whose in self.ink.under(wide):
            cost += here.left <= x <= here.right and here.top <= y <= here.bottom
            cost += _BESIDE if whose and whose != owner else 0.0
            if cost >= enough:
                break
        return cost


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
