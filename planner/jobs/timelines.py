"""Finished runs over their simulated time, read off moment by moment: the same picture for a job and for a drill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from planner.charts.board import MOMENTS, Board, board
from planner.charts.overlay import short
from planner.core.result import Result, Series
from planner.core.table import filled
from planner.core.timeline import EVENTS, TIMELINE


def board_of(results: Mapping[str, Result]) -> Board | None:
    """The time lines of runs by their names, with what happened in any of them; None where none has one."""
    lines = {name: series for name, result in results.items() if (series := _line(result))}
    happened = _happened({name: _events(result) for name, result in results.items()})
    warmup_s = max((float(result.provenance.get("warmup_s") or 0.0) for result in results.values()), default=0.0)
    return board(lines, events=happened, warmup_s=warmup_s) if lines else None


def board_view(found: Board) -> dict[str, Any]:
    """A board for a page: what the server draws, and ``data`` for the script that moves the cursor."""
    last = len(found.time_s) - 1
    return {
        "runs": list(found.runs),
        "several": len(found.runs) > 1,
        "strips": [
            {
                "label": strip.label,
                "low": strip.low,
                "top": strip.top,
                "paths": [[order, path] for order, path in enumerate(strip.paths, 1)],
                "last": [texts[last] if texts else "—" for texts in strip.texts],
            }
            for strip in found.strips
        ],
        "moments": [asdict(moment) for moment in found.moments],
        "warm_x": found.warm_x,
        "end": found.end,
        "last": last,
        "data": {
            "x": list(found.xs),
            "clock": list(found.clock),
            "texts": [[list(texts) for texts in strip.texts] for strip in found.strips],
        },
    }


def _line(result: Result) -> Series | None:
    """The time line of a run, else its first table over time."""
    others = (each for name, each in result.series.items() if name != EVENTS and each.columns[0].name in MOMENTS)
    return filled(result, TIMELINE) or next(others, None)


def _happened(by_run: Mapping[str, Sequence[tuple[float, str]]]) -> list[tuple[float, str]]:
    """What happened in all runs once, and what did not with the letter of its run."""
    everywhere = set.intersection(*(set(moments) for moments in by_run.values()))
    return [
        moment if moment in everywhere else (moment[0], f"{short(name)}: {moment[1]}")
        for name, moments in by_run.items()
        for moment in moments
    ]


def _events(result: Result) -> list[tuple[float, str]]:
    series = filled(result, EVENTS)
    if series is None:
        return []
    rows = zip(series.column("at_s").values, series.column("what").values, strict=True)
    return [(float(at_s), str(what)) for at_s, what in rows if isinstance(at_s, int | float)]
