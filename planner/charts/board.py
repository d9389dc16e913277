"""The time lines of one or more runs, one under the other along one axis, each moment of which can be read off.

A page stretches the pictures and moves a cursor through all of them; what every strip says at a moment is written
here, so that a figure reads the same everywhere.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.core.quantities import show
from planner.core.result import Series
from planner.core.table import numbers

WIDTH, HEIGHT = 1000.0, 40.0
"""Of a strip, in units of its picture; a page stretches it."""
MOST_MOMENTS = 240
MOMENTS = ("time_s", "at_s")
"""Names of a first column that says when."""
_HEADROOM = 2.0
_FEW = 12
"""A column of so few whole figures counts something: it is drawn in steps."""

Figures = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Strip:
    """One column of the time line: a path and a text a moment for each run (empty where it has no such column)."""

    name: str
    label: str
    low: str
    top: str
    paths: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened: when, where along the strips (0 … 1000), and what."""

    at_s: float
    clock: str
    x: float
    what: str


@dataclass(frozen=True, slots=True)
class Board:
    """Strips over common moments; ``warm_x`` is where the warm-up ends, 0 without one."""

    runs: tuple[str, ...]
    time_s: tuple[float, ...]
    clock: tuple[str, ...]
    strips: tuple[Strip, ...]
    moments: tuple[Moment, ...]
    warm_x: float
    end: str
    xs: tuple[float, ...]
    """Where the moments lie along a strip."""


def board(
    lines: Mapping[str, Series],
    *,
    events: Sequence[tuple[float, str]] = (),
    warmup_s: float = 0.0,
    end_s: float | None = None,
) -> Board | None:
    """Lay out time lines by the name of their run; None where none of them has two moments.

    ``lines`` have moments [s] in order in their first column, ``time_s`` or ``at_s``. ``events`` are moments [s] and
    what happened. ``end_s`` is the end of a run that has not got there [s]: its lines stop before the edge.
    """
    known = {name: series for name, series in lines.items() if _is_line(series)}
    if not known:
        return None
    time_s = _moments(max((_times(series) for series in known.values()), key=len))
    read = {name: _Read(series) for name, series in known.items()}
    xs = _along(time_s, end_s=max(time_s[-1], end_s or 0.0))
    last_s = time_s[-1]
    return Board(
        runs=tuple(lines),
        time_s=time_s,
        clock=tuple(clock(at_s, of_s=last_s) for at_s in time_s),
        strips=tuple(
            _strip(name, label, unit, [read[run].at(name, time_s) if run in read else () for run in lines], xs)
            for name, label, unit in _columns(known.values())
        ),
        moments=tuple(
            Moment(at_s, clock(at_s, of_s=last_s), _along([at_s], end_s=last_s)[0], what)
            for at_s, what in sorted(set(events))
            if at_s <= last_s
        ),
        warm_x=_along([warmup_s], end_s=last_s)[0] if 0 < warmup_s <= last_s else 0.0,
        end=clock(last_s),
        xs=xs,
    )


def clock(at_s: float, *, of_s: float | None = None) -> str:
    """A moment as hours, minutes and seconds; as a length of time where all of it (``of_s``) lasts under a minute."""
    if (at_s if of_s is None else of_s) < 60:
        return show(at_s, "s")
    minutes, seconds = divmod(round(at_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}"


class _Read:
    """A series as figures, read at moments that need not be its own."""

    def __init__(self, series: Series) -> None:
        self._series = series
        self._time_s = [at_s or 0.0 for at_s in _times(series)]
        self._names = {column.name for column in series.columns}

    def at(self, name: str, time_s: Sequence[float]) -> list[float | None]:
        """The column at the last sample up to each moment; nothing after the series' end or without the column."""
        if name not in self._names:
            return []
        values, last_s = numbers(self._series, name), self._time_s[-1]
        places = [bisect_right(self._time_s, at_s) - 1 for at_s in time_s]
        return [
            values[place] if place >= 0 and at_s <= last_s * (1 + 1e-9) else None
            for place, at_s in zip(places, time_s, strict=True)
        ]


def _is_line(series: Series) -> bool:
    first = series.columns[0]
    return first.name in MOMENTS and len(first.values) > 1


def _times(series: Series) -> list[float | None]:
    return numbers(series, series.columns[0].name)


def _moments(time_s: Figures) -> tuple[float, ...]:
    """Few enough to be read and sent; the last one stays."""
    known = [at_s for at_s in time_s if at_s is not None]
    stride = -(-len(known) // MOST_MOMENTS)
    return tuple(known[::-1][::stride][::-1])


def _columns(series: Iterable[Series]) -> list[tuple[str, str, str]]:
    """Name, label and unit of every column of figures, once, in the order of the first run that has it."""
    found = {
        column.name: (column.name, column.label, column.unit)
        for one in series
        for column in one.columns[1:]
        if any(isinstance(value, int | float) for value in column.values)
    }
    return list(found.values())


def _strip(name: str, label: str, unit: str, runs: Sequence[Figures], xs: Sequence[float]) -> Strip:
    values = [value for run in runs for value in run if value is not None]
    low, top = min([0.0, *values]), max([0.0, *values])
    stepped = len(set(values)) <= _FEW and all(value == int(value) for value in values)
    return Strip(
        name=name,
        label=label,
        low=show(low, unit),
        top=show(top, unit),
        paths=tuple(_path(run, xs, low=low, top=top, stepped=stepped) for run in runs),
        texts=tuple(tuple(show(value, unit) for value in run) for run in runs),
    )


def _along(time_s: Sequence[float], *, end_s: float) -> tuple[float, ...]:
    """Where moments lie along a strip."""
    return tuple(round(WIDTH * at_s / end_s, 4) if end_s > 0 else 0.0 for at_s in time_s)


def _path(run: Figures, xs: Sequence[float], *, low: float, top: float, stepped: bool) -> str:
    """Lines between neighbours, broken where there is no figure."""
    room, span = HEIGHT - 2 * _HEADROOM, (top - low) or 1.0
    points = [
        None if value is None else (round(x, 1), round(HEIGHT - _HEADROOM - room * (value - low) / span, 1))
        for value, x in zip(run, xs, strict=False)
    ]
    written = [_piece(before, here, stepped=stepped) for before, here in itertools.pairwise([None, *points])]
    return "".join(written)


def _piece(before: tuple[float, float] | None, here: tuple[float, float] | None, *, stepped: bool) -> str:
    if here is None:
        return ""
    x, y = here
    if before is None:
        return f"M{x:g} {y:g}"
    return f"H{x:g}V{y:g}" if stepped else f"L{x:g} {y:g}"
