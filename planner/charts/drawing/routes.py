"""Where the flows of a diagram run: straight, bent once, across a rank, or around the ranks between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.core.diagram import Box, Flow

DETOUR = 16.0  # room below the boxes for each flow that runs around


@dataclass(frozen=True, slots=True)
class Cell:
    """A box with its texts broken to its width, where it stands."""

    box: Box
    title: tuple[str, ...]
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


def is_long(cells: Mapping[str, Cell], flow: Flow) -> bool:
    """Whether other ranks lie between the two, or the flow runs backwards."""
    if flow.source not in cells or flow.target not in cells:
        return False
    ranks = sorted({cell.box.rank for cell in cells.values()})
    source, target = (ranks.index(cells[name].box.rank) for name in (flow.source, flow.target))
    return abs(source - target) > 1


def route_of(
    cells: Mapping[str, Cell], flow: Flow, *, vertical: bool, detour: int, floor: float, width: float
) -> list[tuple[float, float]]:
    source, target = cells[flow.source], cells[flow.target]
    if is_long(cells, flow):
        return _around(source, target, vertical=vertical, detour=detour, floor=floor, width=width)
    if source.box.rank == target.box.rank:
        return _beside(source, target, vertical=vertical)
    sizes = [sum(cell.box.rank == end.box.rank for cell in cells.values()) for end in (source, target)]
    return _ahead(source, target, vertical=vertical, fans_out=sizes[1] >= sizes[0])


def _ahead(source: Cell, target: Cell, *, vertical: bool, fans_out: bool) -> list[tuple[float, float]]:
    """To the next rank: straight where the two overlap, else bent beside the rank of fewer boxes.

    So each flow has a long stretch of its own for its label.
    """
    if vertical:
        down = source.y < target.y
        start, end = (source.y + source.height, target.y) if down else (source.y, target.y + target.height)
        low, high = max(source.x, target.x), min(source.x + source.width, target.x + target.width)
        if high - low > 24:
            return [((low + high) / 2, start), ((low + high) / 2, end)]
        bend = (start + end) / 2
        return [(source.middle[0], start), (source.middle[0], bend), (target.middle[0], bend), (target.middle[0], end)]
    right = source.x < target.x
    start, end = (source.x + source.width, target.x) if right else (source.x, target.x + target.width)
    low, high = max(source.y, target.y), min(source.y + source.height, target.y + target.height)
    if high - low > 12:
        return [(start, (low + high) / 2), (end, (low + high) / 2)]
    bend = start + (14 if right else -14) if fans_out else end - (20 if right else -20)
    return [(start, source.middle[1]), (bend, source.middle[1]), (bend, target.middle[1]), (end, target.middle[1])]


def _beside(source: Cell, target: Cell, *, vertical: bool) -> list[tuple[float, float]]:
    """Within one rank: across the gap between the lanes."""
    if vertical:
        right = source.x < target.x
        y = min(source.middle[1], target.middle[1])
        return [(source.x + source.width, y), (target.x, y)] if right else [(source.x, y), (target.x + target.width, y)]
    x = source.middle[0]
    down = source.y < target.y
    return [(x, source.y + source.height), (x, target.y)] if down else [(x, source.y), (x, target.y + target.height)]


def _around(
    source: Cell, target: Cell, *, vertical: bool, detour: int, floor: float, width: float
) -> list[tuple[float, float]]:
    """Past the ranks between: below them all, or along the right edge."""
    if vertical:
        x = width - 12.0 - 8.0 * (detour - 1)
        source_y, target_y = source.middle[1] + 6 * detour, target.middle[1] - 6 * detour
        return [(source.x + source.width, source_y), (x, source_y), (x, target_y), (target.x + target.width, target_y)]
    y = floor + DETOUR * detour
    shift = 10.0 * detour
    start, end = source.middle[0] + shift, target.middle[0] - shift
    return [(start, source.y + source.height), (start, y), (end, y), (end, target.y + target.height)]
