"""Pictures of validation: predicted over measured, and how errors spread."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from django.utils.translation import gettext as _

from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import NBSP, show
from planner.core.validation import VERDICT, Row, percentile

MOST_POINTS = 1000
MOST_HUES = 6
NEAR = 0.2
"""Half the width of the band about the line of equality."""
DECADE = 10.0
CURVE_POINTS = 80
COLOURS = ("engine", "gpu", "family", "group")


def points_chart(rows: Sequence[Row], *, theirs: str, colour: str, names: Mapping[str, str]) -> Chart | None:
    """Predicted over ``theirs``, log-log where the figures span more than a decade; None where there are none."""
    pairs = [row for row in rows if row.error is not None and row.unit != VERDICT]
    if not pairs:
        return None
    figures = [value for row in pairs for value in (row.measured, row.predicted) if value is not None]
    positive = [value for value in figures if value > 0]
    log = len(positive) == len(figures) and max(figures) > DECADE * min(figures)
    units = {row.unit for row in pairs}
    unit = units.pop() if len(units) == 1 else ""
    axis = partial(Axis, unit=unit, shown=_shown_in(unit, figures), log=log, start_at_zero=not log)
    shown = _sampled(pairs)
    return Chart(
        name="predicted-measured",
        title=_("Does what we predict agree?"),
        subtitle=_points_words(len(pairs), len(shown)),
        form="scatter",
        x=axis(theirs),
        y=axis(_("predicted")),
        traces=(_equality(figures), *_clouds(shown, colour=colour, names=names)),
        summary=_("Predicted against %(theirs)s figures of %(n)d rows; the list of rows below holds each.")
        % {"theirs": theirs, "n": len(pairs)},
    )


def _shown_in(unit: str, figures: Sequence[float]) -> str:
    """Times as most of them are written, not as the longest is; "": as the axis thinks best."""
    return ("s" if percentile(sorted(figures), 50) >= 1 else "ms") if unit == "s" else ""


def _points_words(total: int, drawn: int) -> str:
    words = _("On the line both are equal; the band is ±20 %.")
    if drawn == total:
        return f"{total:,} {_('rows')}. {words}"
    return (
        _("%(drawn)s of %(total)s rows, evenly drawn.") % {"drawn": f"{drawn:,}", "total": f"{total:,}"} + f" {words}"
    )


def _sampled(rows: Sequence[Row]) -> list[Row]:
    """All rows, or so many that a screen still shows apart, evenly over the order of the file."""
    if len(rows) <= MOST_POINTS:
        return list(rows)
    stride = len(rows) / MOST_POINTS
    return [rows[int(place * stride)] for place in range(MOST_POINTS)]


def _equality(figures: Sequence[float]) -> Trace:
    ends = [min(figures), max(figures)]
    low, high = [end * (1 - NEAR) for end in ends], [end * (1 + NEAR) for end in ends]
    return Trace(_("equal"), ends, ends, low=low, high=high, order=-1, guide=True)


def _clouds(rows: Sequence[Row], *, colour: str, names: Mapping[str, str]) -> list[Trace]:
    """One cloud a value of ``colour``; the rarest share the neutral grey when there are more than hues."""
    counts = Counter(getattr(row, colour) for row in rows)
    if len(counts) < 2:
        return [_cloud("", rows, order=0, names=names)]
    common = [value for value, _count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    kept = common if len(common) <= MOST_HUES else common[: MOST_HUES - 1]
    clouds = [
        _cloud(
            names.get(value, value) or _("none named"),
            [r for r in rows if getattr(r, colour) == value],
            order=order,
            names=names,
        )
        for order, value in enumerate(kept)
    ]
    if rest := [row for row in rows if getattr(row, colour) not in kept]:
        clouds.append(_cloud(_("others"), rest, order=-1, names=names))
    return clouds


def _cloud(name: str, rows: Sequence[Row], *, order: int, names: Mapping[str, str]) -> Trace:
    return Trace(
        name,
        [row.measured for row in rows],
        [row.predicted for row in rows],
        order=order,
        marker_only=True,
        labels=[point_words(row, names) for row in rows],
    )


def point_words(row: Row, names: Mapping[str, str]) -> str:
    """What a point is, in a line."""
    parts = (
        names.get(row.llm, row.llm),
        names.get(row.gpu, row.gpu),
        names.get(row.engine, row.engine),
        row.conditions,
    )
    return " · ".join(part for part in parts if part) or row.id


def errors_chart(rows: Sequence[Row], *, limits: Sequence[tuple[str, float]] = ()) -> Chart | None:
    """Which share of the rows has at most an error, a curve a condition; None where all errors are nothing."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        if (error := row.error) is not None and row.unit != VERDICT:
            groups.setdefault(row.group, []).append(error)
    ordered = {name: sorted(errors) for name, errors in groups.items()}
    widest = max((_reach(errors) for errors in ordered.values()), default=0.0)
    if widest < 0.01:
        return None
    every = sorted(error for errors in ordered.values() for error in errors)
    return Chart(
        name="errors",
        title=_("How large are the errors?"),
        subtitle=_("Half of the rows are within %(median)s, nine in ten within %(p90)s.")
        % {"median": percent(percentile(every, 50)), "p90": percent(percentile(every, 90))},
        form="cdf",
        x=Axis(_("absolute error"), "%", shown="%"),
        y=Axis(_("share of rows"), "ratio", shown="%"),
        traces=tuple(
            _curve(name if len(ordered) > 1 else "", errors, widest=widest, order=order)
            for order, (name, errors) in enumerate(ordered.items())
        ),
        limits=tuple(Limit(value, label, axis="x") for label, value in limits),
        summary=_("Share of rows within an error: half are within %(median)s, nine in ten within %(p90)s.")
        % {"median": percent(percentile(every, 50)), "p90": percent(percentile(every, 90))},
    )


def _reach(ordered: Sequence[float]) -> float:
    """How far the picture of some errors reaches: without the last of a long tail."""
    return min(percentile(ordered, 98), 3 * percentile(ordered, 90) or percentile(ordered, 98))


def _curve(name: str, ordered: Sequence[float], *, widest: float, order: int) -> Trace:
    """The errors at even shares, as far as the picture reaches."""
    steps = min(CURVE_POINTS, len(ordered))
    shares = [(place + 1) / steps for place in range(steps)]
    at = [(ordered[max(math.ceil(share * len(ordered)) - 1, 0)], share) for share in shares]
    seen = [(error, share) for error, share in at if error <= widest] or at[:1]
    return Trace(name or _("rows"), [error for error, _share in seen], [share for _error, share in seen], order=order)


def percent(value: float | None) -> str:
    """An error or share [%] with one decimal."""
    if value is None:
        return show(None)
    if 0 < value < 0.05:
        return f"<0.1{NBSP}%"
    return f"{value:,.1f}{NBSP}%"
