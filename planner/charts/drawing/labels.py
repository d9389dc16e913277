"""Puts labels where they cover neither each other nor, if it can be helped, a line."""

from __future__ import annotations

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
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom


def area(text: str, place: Place, *, bold: bool = False) -> Area:
    x, y, anchor = place
    wide = width(text, bold=bold)
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
    return Area(left - 2, y - SIZE * 0.8, left + wide + 2, y + SIZE * 0.28)


@dataclass(slots=True)
class Labels:
    """What is taken: texts (never covered), ink (lines and points, better not covered) and the border."""

    border: Area
    taken: list[Area] = field(default_factory=list)
    ink: list[tuple[float, float]] = field(default_factory=list)

    def block(self, text: str, place: Place, *, bold: bool = False) -> None:
        self.taken.append(area(text, place, bold=bold))

    def draw_over(self, path: Sequence[tuple[float, float]]) -> None:
        """Remember a line as points no further than 4 units apart."""
        self.ink.extend(path[:1])
        for (x0, y0), (x1, y1) in zip(path, path[1:], strict=False):
            steps = max(1, int(max(abs(x1 - x0), abs(y1 - y0)) / 4))
            self.ink.extend((x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps) for step in range(1, steps + 1))

    def place(self, text: str, candidates: Iterable[Place], *, bold: bool = False) -> Place | None:
        """Take the best of the candidates (the earlier, the better), or None if each would cover a text."""
        best: tuple[float, Place] | None = None
        for index, candidate in enumerate(candidates):
            cost = self._cost(area(text, candidate, bold=bold))
            if cost is None:
                continue
            cost += index * 0.4
            if best is None or cost < best[0]:
                best = (cost, candidate)
        if best is None:
            return None
        self.block(text, best[1], bold=bold)
        return best[1]

    def _cost(self, here: Area) -> float | None:
        border = self.border
        if here.left < border.left or here.right > border.right or here.top < border.top or here.bottom > border.bottom:
            return None
        if any(here.overlaps(other) for other in self.taken):
            return None
        return float(sum(here.holds(x, y) for x, y in self.ink))


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
