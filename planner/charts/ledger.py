"""Bars in the units they are drawn in: what the forms ``bars`` and ``stacked`` share in every adapter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.charts.scale import in_unit, outward, title_of, unit_of
from planner.core.chart import Chart, Limit, Trace
from planner.core.quantities import show

_LIMIT_IN_SIGHT = 6.0  # bars are read against what they are held to, be they far below it


@dataclass(frozen=True, slots=True)
class Piece:
    """One bar from ``start`` to ``end`` in drawn units; ``value`` is the figure it stands for, in the data's unit."""

    start: float
    end: float
    value: float | None
    order: int
    idle: bool
    low: float | None = None
    high: float | None = None

    @property
    def present(self) -> bool:
        return self.value is not None


@dataclass(frozen=True, slots=True)
class Entry:
    """One trace: a piece for each category."""

    name: str
    order: int
    idle: bool
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Ledger:
    chart: Chart
    unit: str
    categories: tuple[str, ...]
    traces: tuple[Entry, ...]
    limits: tuple[Limit, ...]
    low: float
    high: float
    floating: bool
    """Whether bars run from a value to a value about the answer (a tornado)."""
    base: float = 0.0
    base_label: str = ""

    @property
    def log(self) -> bool:
        return self.chart.y.log and not self.floating

    @property
    def title(self) -> str:
        return title_of(self.chart.y, self.unit)

    def text(self, piece: Piece) -> str:
        return self.figure(piece.value)

    def figure(self, value: float | None) -> str:
        """The figure at a bar, without the "/h" or "/M tokens" that the title says."""
        axis = self.chart.y
        shown = axis.shown or (self.unit if self._one_prefix else "")
        if shown.startswith("$"):
            shown = ""
        text = show(value, axis.unit, shown=shown)
        return text.split("/")[0] if axis.unit.startswith(("USD", "$")) else text

    @property
    def _one_prefix(self) -> bool:
        """Parts that sum are written in one unit, so that the eye can add them."""
        return self.chart.form == "stacked"

    def total(self, category: int) -> str:
        values = [entry.pieces[category].value for entry in self.traces]
        return self.figure(sum(value for value in values if value is not None))


def by_length(chart: Chart) -> Chart:
    """The chart with its lengths on ``y``: bars lie, so that a kind may well have called that axis x."""
    lying = chart.form in ("bars", "stacked") and bool(chart.x.unit) and not chart.y.unit
    return replace(chart, x=chart.y, y=chart.x) if lying else chart


def ledger_of(chart: Chart) -> Ledger:
    chart = by_length(chart)
    categories = tuple(dict.fromkeys(str(value) for trace in chart.traces for value in trace.x))
    unit = unit_of(chart.y, _figures(chart))
    floating = chart.form == "bars" and any(_floats(trace) for trace in chart.traces)
    entries = _stacked(chart, categories, unit) if chart.form == "stacked" else _side_by_side(chart, categories, unit)
    limits = tuple(replace(limit, value=in_unit(limit.value, chart.y, unit) or 0.0) for limit in chart.limits)
    base = in_unit(chart.marks[0].x, chart.y, unit) if floating and chart.marks else None
    low, high = _range(chart, entries, limits, floating=floating, base=base)
    return Ledger(
        chart=chart,
        unit=unit,
        categories=categories,
        traces=entries,
        limits=limits,
        low=low,
        high=high,
        floating=floating,
        base=base if base is not None else low,
        base_label=chart.marks[0].label if floating and chart.marks else "",
    )


def _figures(chart: Chart) -> list[float]:
    columns = [column for trace in chart.traces for column in (trace.y, trace.low or (), trace.high or ())]
    largest = [value for column in columns for value in column if value is not None]
    if chart.form != "stacked":
        return largest
    return [sum(value for trace in chart.traces for value in trace.y if value is not None and value > 0)]


def _floats(trace: Trace) -> bool:
    """A tornado's trace gives no y, but where each bar starts and ends."""
    return bool(trace.low and trace.high) and all(value is None for value in trace.y)


def _side_by_side(chart: Chart, categories: Sequence[str], unit: str) -> tuple[Entry, ...]:
    return tuple(
        Entry(trace.name, trace.order, trace.idle, tuple(_bar(chart, trace, category, unit) for category in categories))
        for trace in chart.traces
    )


def _bar(chart: Chart, trace: Trace, category: str, unit: str) -> Piece:
    names = [str(value) for value in trace.x]
    if category not in names:
        return Piece(0.0, 0.0, None, trace.order, trace.idle)
    index = names.index(category)
    low, high = (column[index] if column else None for column in (trace.low, trace.high))
    start, end = in_unit(low, chart.y, unit), in_unit(high, chart.y, unit)
    if _floats(trace):
        if start is None or end is None:
            return Piece(0.0, 0.0, None, trace.order, trace.idle)
        return Piece(start, end, high, trace.order, trace.idle)
    drawn = in_unit(trace.y[index], chart.y, unit)
    if drawn is None:
        return Piece(0.0, 0.0, None, trace.order, trace.idle)
    return Piece(0.0, drawn, trace.y[index], trace.order, trace.idle, low=start, high=end)


def _stacked(chart: Chart, categories: Sequence[str], unit: str) -> tuple[Entry, ...]:
    reached = [0.0] * len(categories)
    entries = []
    for trace in chart.traces:
        figures = dict(zip((str(value) for value in trace.x), trace.y, strict=True))
        pieces = []
        for index, category in enumerate(categories):
            length = in_unit(figures.get(category), chart.y, unit)
            value = figures.get(category) if length is not None else None
            pieces.append(Piece(reached[index], reached[index] + (length or 0.0), value, trace.order, trace.idle))
            reached[index] += length or 0.0
        entries.append(Entry(trace.name, trace.order, trace.idle, tuple(pieces)))
    return tuple(entries)


def _range(
    chart: Chart, entries: Sequence[Entry], limits: Sequence[Limit], *, floating: bool, base: float | None
) -> tuple[float, float]:
    pieces = [piece for entry in entries for piece in entry.pieces if piece.present]
    ends = [end for piece in pieces for end in (piece.start, piece.end, piece.low, piece.high) if end is not None]
    ends = [*ends, *([base] if base is not None else [])]
    largest = max(ends, default=0.0)
    ends += [limit.value for limit in limits if limit.value <= _LIMIT_IN_SIGHT * largest or not largest]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if floating:
        return (low, high) if low < high else (low - 1.0, high + 1.0)
    if chart.y.log and chart.form == "bars":
        smallest = min((end for end in ends if end > 0), default=1.0)
        return outward(smallest * 0.5, max(high, smallest), count=4, log=True)[0], max(high, smallest * 10)
    return min(0.0, low), high if high > min(0.0, low) else 1.0
