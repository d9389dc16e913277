"""The architecture of a design: boxes by rank and lane, flows between them with their rates."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from planner.charts.drawing.canvas import Canvas, number
from planner.charts.drawing.labels import Area, Labels, Place
from planner.charts.drawing.routes import DETOUR, Cell, is_long, route_of
from planner.charts.drawing.type import LINE, wrap
from planner.charts.drawing.type import width as text_width
from planner.core.diagram import Box, Diagram, Flow

WIDE = 860.0
_PAD = 10.0
_MOST_LINES = 4
_LANE_GAP = 34.0
_FOOT = 3 * LINE
"""Room for the label of a flow that runs around below the boxes, where it finds none above it."""
_OUTLINE = 'fill="var(--chart-ground)" stroke="var(--chart-axis)"'
_LID = 'fill="none" stroke="var(--chart-axis)"'
_FLOW = 'fill="none" stroke="var(--chart-muted)" stroke-width="1.5"'
_HEAD = 'fill="var(--chart-muted)"'


def draw(diagram: Diagram, *, width: float, vertical: bool) -> Canvas:
    cells, height = (_stacked if vertical else _in_a_row)(diagram, width)
    detours = sum(is_long(cells, flow) for flow in diagram.flows)
    canvas = Canvas(width, height + (0 if vertical else DETOUR * detours + (8 if detours else 0)))
    labels = Labels(border=Area(0, 0, canvas.width, canvas.height + (_FOOT if detours and not vertical else 0)))
    labels.taken.extend(Area(cell.x, cell.y, cell.x + cell.width, cell.y + cell.height) for cell in cells.values())
    taken_detours = 0
    routes = []
    for flow in diagram.flows:
        if flow.source not in cells or flow.target not in cells or flow.source == flow.target:
            continue
        if is_long(cells, flow):
            taken_detours += 1
        routes.append((flow, route_of(cells, flow, vertical=vertical, detour=taken_detours, floor=height, width=width)))
    for flow, route in routes:
        _arrow(canvas, route, both_ways=flow.both_ways)
        labels.draw_over(route)
    for cell in cells.values():
        _box(canvas, cell)
    for flow, route in routes:
        ends = [cells[flow.source], cells[flow.target]]
        side_by_side = vertical and ends[0].box.rank == ends[1].box.rank
        room = _label_room(cells, flow, route, vertical=vertical)
        _flow_label(canvas, labels, flow, route, room=room, between=ends if side_by_side else [])
    canvas.height = max([canvas.height, *(area.bottom + 4 for area in labels.taken)])
    return canvas


def _ranks(diagram: Diagram) -> dict[int, list[Box]]:
    ranks: dict[int, list[Box]] = {}
    for box in sorted(diagram.boxes, key=lambda box: (box.rank, box.lane)):
        ranks.setdefault(box.rank, []).append(box)
    return dict(sorted(ranks.items()))


def _in_a_row(diagram: Diagram, width: float) -> tuple[Mapping[str, Cell], float]:
    """Ranks from left to right, lanes from top to bottom."""
    ranks = _ranks(diagram)
    gap = _gap(diagram, count=len(ranks), width=width)
    each = min(210.0, (width - gap * (len(ranks) - 1)) / max(len(ranks), 1))
    left = (width - each * len(ranks) - gap * (len(ranks) - 1)) / 2
    columns = [[_measured(box, each) for box in boxes] for boxes in ranks.values()]
    lane_gap = _lane_gap(diagram, room=_beside_room(each))
    tallest = max((sum(cell[2] for cell in column) + lane_gap * (len(column) - 1) for column in columns), default=0.0)
    cells: dict[str, Cell] = {}
    for index, column in enumerate(columns):
        y = 2 + (tallest - sum(cell[2] for cell in column) - lane_gap * (len(column) - 1)) / 2
        for (title, lines, height), box in zip(column, list(ranks.values())[index], strict=True):
            cells[box.name] = Cell(box, title, lines, left + index * (each + gap), y, each, height)
            y += height + lane_gap
    return cells, tallest + 4


def _lane_gap(diagram: Diagram, *, room: float) -> float:
    """Room between lanes: as much as the labels of flows within a rank ask for."""
    rank_of = {box.name: box.rank for box in diagram.boxes}
    beside = [flow.label for flow in diagram.flows if rank_of.get(flow.source) == rank_of.get(flow.target)]
    tallest = max((len(wrap(label, room, lines=4)) for label in beside if label), default=0)
    return max(_LANE_GAP, LINE * tallest + 12)


def _beside_room(width: float) -> float:
    """For the label of a flow between boxes of one rank, of this width."""
    return max(width / 2 - 8, 60.0)


def _stacked(diagram: Diagram, width: float) -> tuple[Mapping[str, Cell], float]:
    """Ranks from top to bottom, lanes side by side."""
    cells: dict[str, Cell] = {}
    long_flows = _has_long_flow(diagram)
    usable = width - (26.0 if long_flows else 0.0)
    y = 2.0
    rank_of = {box.name: box.rank for box in diagram.boxes}
    sideways = {
        rank_of.get(flow.source) for flow in diagram.flows if rank_of.get(flow.source) == rank_of.get(flow.target)
    }
    for rank, boxes in _ranks(diagram).items():
        lanes = len(boxes)
        each = min(250.0, (usable - 14.0 * (lanes - 1)) / lanes)
        left = (usable - each * lanes - 14.0 * (lanes - 1)) / 2
        measured = [_measured(box, each) for box in boxes]
        height = max(cell[2] for cell in measured)
        for index, (box, (title, lines, _)) in enumerate(zip(boxes, measured, strict=True)):
            cells[box.name] = Cell(box, title, lines, left + index * (each + 14.0), y, each, height)
        gap = 46.0 + (LINE + 4 if rank in sideways else 0)
        y += height + gap
    return cells, y - gap + 4.0


def _has_long_flow(diagram: Diagram) -> bool:
    order = {rank: index for index, rank in enumerate(_ranks(diagram))}
    place = {box.name: order[box.rank] for box in diagram.boxes}
    known = [flow for flow in diagram.flows if flow.source in place and flow.target in place]
    return any(abs(place[flow.source] - place[flow.target]) > 1 for flow in known)


def _gap(diagram: Diagram, *, count: int, width: float) -> float:
    """Room between columns: as much as the labels ask for, as little as the boxes leave."""
    asked = (
        max((text_width(line) for flow in diagram.flows for line in wrap(flow.label, 104, lines=3)), default=0.0) + 22
    )
    boxes_ask = 116.0 * count
    left_over = (width - boxes_ask) / max(count - 1, 1)
    return min(max(asked, 46.0), max(left_over, 46.0))


def _measured(box: Box, width: float) -> tuple[tuple[str, ...], tuple[str, ...], float]:
    room = width - 2 * _PAD
    title = tuple(wrap(box.title, room, lines=2, bold=True))
    lines = tuple(line for text in box.lines[:_MOST_LINES] for line in wrap(text, room, lines=2))
    return title, lines, LINE * (len(title) + len(lines)) + 2 * _PAD - 2 + (6 if box.form == "store" else 0)


def _box(canvas: Canvas, cell: Cell) -> None:
    if cell.box.form == "store":
        _drum(canvas, cell)
    else:
        round_ends = 12 if cell.box.form == "source" else 3
        canvas.rect(cell.x + 0.5, cell.y + 0.5, cell.width - 1, cell.height - 1, "", radius=round_ends, paint=_OUTLINE)
    x = cell.middle[0]
    y = cell.y + _PAD + 10 + (5 if cell.box.form == "store" else 0)
    for line in cell.title:
        canvas.text(x, y, line, anchor="middle", kind="b")
        y += LINE
    for line in cell.lines:
        canvas.text(x, y, line, anchor="middle")
        y += LINE


def _drum(canvas: Canvas, cell: Cell) -> None:
    """A store is a drum: a box with a curved lid."""
    left, right, middle = (number(x) for x in (cell.x + 0.5, cell.x + cell.width - 0.5, cell.middle[0]))
    top, bottom, lid = cell.y + 6, cell.y + cell.height - 6, 6
    over, under, below = (number(y) for y in (top - 2 * lid, top + 2 * lid, bottom + 2 * lid))
    upper = f"M{left} {number(top)}Q{middle} {over} {right} {number(top)}"
    lower = f"V{number(bottom)}Q{middle} {below} {left} {number(bottom)}Z"
    canvas.path(upper + lower, "", paint=_OUTLINE)
    canvas.path(f"M{left} {number(top)}Q{middle} {under} {right} {number(top)}", "", paint=_LID)


def _arrow(canvas: Canvas, route: Sequence[tuple[float, float]], *, both_ways: bool) -> None:
    canvas.path("M" + "L".join(f"{number(x)} {number(y)}" for x, y in route), "", paint=_FLOW)
    _head(canvas, route[-2], route[-1])
    if both_ways:
        _head(canvas, route[1], route[0])


def _head(canvas: Canvas, before: tuple[float, float], tip: tuple[float, float]) -> None:
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = max((dx * dx + dy * dy) ** 0.5, 1e-6)
    ux, uy = dx / length, dy / length
    back = (tip[0] - 7 * ux, tip[1] - 7 * uy)
    wing = (3.5 * -uy, 3.5 * ux)
    corners = [tip, (back[0] + wing[0], back[1] + wing[1]), (back[0] - wing[0], back[1] - wing[1])]
    canvas.path("M" + "L".join(f"{number(x)} {number(y)}" for x, y in corners) + "Z", "", paint=_HEAD)


def _label_room(
    cells: Mapping[str, Cell], flow: Flow, route: Sequence[tuple[float, float]], *, vertical: bool
) -> float:
    (ax, _), (bx, _) = _longest(route)
    if vertical:
        return 150.0
    if is_long(cells, flow):
        return max(abs(bx - ax) - 24, 150.0)
    if cells[flow.source].box.rank == cells[flow.target].box.rank:
        return _beside_room(cells[flow.source].width)
    return max(abs(bx - ax) - 12, 46.0)


def _flow_label(
    canvas: Canvas,
    labels: Labels,
    flow: Flow,
    route: Sequence[tuple[float, float]],
    *,
    room: float,
    between: Sequence[Cell],
) -> None:
    if not flow.label:
        return
    lines = wrap(flow.label, room, lines=4)
    widest = max(lines, key=text_width)
    (ax, ay), (bx, by) = _longest(route)
    middle_x, middle_y = (ax + bx) / 2, (ay + by) / 2
    rise = LINE * (len(lines) - 1)
    upright = abs(bx - ax) < abs(by - ay)
    if upright:
        heights = [middle_y - rise / 2 + shift for shift in (4, 14, -6)]
        places: list[Place] = [(middle_x + 8, y, "start") for y in heights] + [
            (middle_x - 8, y, "end") for y in (*heights, *_along(ay, by, rise=rise))
        ]
    else:
        places = [(middle_x, middle_y - 7 - rise, "middle"), (middle_x, middle_y + 16, "middle")]
        places += [(middle_x, middle_y - 9 - rise - LINE, "middle")]
    edges = [y for cell in between for y in (cell.y, cell.y + cell.height)]
    if edges:
        places += [(middle_x, max(edges) + 14, "middle"), (middle_x, min(edges) - 6 - rise, "middle")]
    place = _block_place(labels, lines, widest, places) or places[-1 if edges else 0]
    for index, line in enumerate(lines):
        canvas.text(place[0], place[1] + LINE * index, line, anchor=place[2], kind="i halo")


def _along(start: float, end: float, *, rise: float) -> list[float]:
    """Heights along an upright line, from its middle outwards: beside one that runs past boxes only their gaps are
    free."""
    low, high = min(start, end) + LINE, max(start, end) - rise
    steps = [low + LINE / 2 * index for index in range(int(max(high - low, 0.0) / (LINE / 2)) + 1)]
    return sorted(steps, key=lambda y: abs(y + rise / 2 - (start + end) / 2))


def _block_place(labels: Labels, lines: Sequence[str], widest: str, places: Sequence[Place]) -> Place | None:
    """A place where all lines of the label stand free."""
    for place in places:
        probe = Labels(border=labels.border, taken=list(labels.taken))
        spots = [(place[0], place[1] + LINE * index, place[2]) for index in range(len(lines))]
        if all(
            probe.place(widest, [spot]) for spot in spots[::2] + spots[-1:] * (len(spots) > 1 and len(spots) % 2 == 0)
        ):
            for spot in spots:
                labels.block(widest, spot)
            return place
    return None


def _longest(route: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], tuple[float, float]]:
    pieces = list(itertools.pairwise(route))
    return max(pieces, key=lambda piece: abs(piece[0][0] - piece[1][0]) + abs(piece[0][1] - piece[1][1]))
