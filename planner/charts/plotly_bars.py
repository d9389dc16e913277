"""Bars as Plotly figures: side by side, about an answer, or stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.charts.ledger import Entry, Ledger, Piece
from planner.charts.plotly_parts import LEGEND_ROW_PX, axis_range, place_on, plain, upright
from planner.charts.scale import Scale, tick_texts
from planner.core.chart import Limit

_ROW_HEIGHT = {"bars": 26, "stacked": 34}


def figure_of(ledger: Ledger) -> dict[str, Any]:
    stacked = ledger.chart.form == "stacked"
    names = [plain(name) for name in ledger.categories]
    rows = len(names) * (1 if stacked or ledger.floating else max(_lanes(ledger), 1) * 0.7 + 0.3)
    data = [_bar_trace(ledger, entry) for entry in ledger.traces]
    ticks = Scale(ledger.low, ledger.high, 0, 1, log=ledger.log).ticks(5)
    value_axis: dict[str, Any] = {
        "title": {"text": plain(ledger.title)},
        **axis_range(_roomy(ledger), log=ledger.log),
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": tick_texts(ticks, ledger.unit, log=ledger.log),
        "showgrid": True,
        "visible": ledger.floating or ledger.log,
    }
    inside = [limit for limit in ledger.limits if ledger.low <= limit.value <= ledger.high]
    legend = stacked or (len(ledger.traces) > 1 if ledger.floating else _lanes(ledger) > 1)
    order = {"autorange": "reversed", "categoryorder": "array", "categoryarray": names}
    layout = {
        "height": round(30 + rows * _ROW_HEIGHT[ledger.chart.form] + (LEGEND_ROW_PX if legend else 0)),
        "margin": {"t": 8 + (18 if inside else 0) + (LEGEND_ROW_PX if legend else 0), "b": 8},
        "barmode": "stack" if stacked else ("overlay" if ledger.floating or _lanes(ledger) < 2 else "group"),
        "xaxis": value_axis,
        "yaxis": {"type": "category", **order, "showgrid": False},
        "shapes": [upright(limit.value) for limit in inside],
        "annotations": [*(_bar_limit(limit, ledger) for limit in inside), *(_totals(ledger) if stacked else [])],
        "showlegend": legend,
        "hovermode": "closest",
    }
    return {"data": data, "layout": layout}


def _totals(ledger: Ledger) -> list[dict[str, Any]]:
    shared = {"showarrow": False, "says": "value", "xanchor": "left", "xshift": 4, "xref": "x", "yref": "y"}
    return [
        {
            **shared,
            "x": max(entry.pieces[index].end for entry in ledger.traces),
            "y": plain(name),
            "text": ledger.total(index),
        }
        for index, name in enumerate(ledger.categories)
    ]


def _roomy(ledger: Ledger) -> tuple[float, float]:
    """The range of the bars with room for the figures written at their ends."""
    if ledger.log:
        return ledger.low, ledger.high * 2
    span = ledger.high - ledger.low
    return ledger.low - (0.14 * span if ledger.floating or ledger.low < 0 else 0), ledger.high + 0.14 * span


def _lanes(ledger: Ledger) -> int:
    """How many bars the fullest category holds."""
    present = [[entry.pieces[index].present for entry in ledger.traces] for index in range(len(ledger.categories))]
    return max((sum(row) for row in present), default=0)


def _bar_limit(limit: Limit, ledger: Ledger) -> dict[str, Any]:
    at = place_on(limit.value, (ledger.low, ledger.high), log=ledger.log)
    place = {"xref": "x", "x": at, "yref": "paper", "y": 1, "yanchor": "bottom", "xanchor": "center"}
    return {"text": plain(limit.label), "showarrow": False, "says": "limit"} | place


def _bar_trace(ledger: Ledger, entry: Entry) -> dict[str, Any]:
    kept: Sequence[tuple[str, Piece]] = [
        (name, piece) for name, piece in zip(ledger.categories, entry.pieces, strict=True) if piece.present
    ]
    stacked = ledger.chart.form == "stacked"
    trace: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "series": entry.order,
        "name": plain(entry.name),
        "y": [plain(name) for name, _ in kept],
        "x": [piece.end - piece.start for _, piece in kept],
        "customdata": [ledger.text(piece) for _, piece in kept],
        "hovertemplate": f"{'%{fullData.name}: ' if stacked else ''}%{{customdata}}<extra></extra>",
    }
    if ledger.floating:
        trace["base"] = [piece.start for _, piece in kept]
    if not stacked:
        texts = ["" if piece.start == piece.end and ledger.floating else ledger.text(piece) for _, piece in kept]
        trace |= {"text": texts, "textposition": "outside", "cliponaxis": False}
    if stacked:
        trace["segment"] = True
    spans = [(piece.low, piece.high, piece.end) for _, piece in kept]
    if any(low is not None and high is not None for low, high, _ in spans):
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [(high - end) if high is not None else 0 for _, high, end in spans],
            "arrayminus": [(end - low) if low is not None else 0 for low, _, end in spans],
        }
    if entry.idle:
        trace["idle"] = True
    return trace
