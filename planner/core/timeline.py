"""What happened over the simulated time of a run, as every kind tells it: three series of the result that pages know.

``timeline``: a column ``time_s``, then figures at that moment or of the interval that ends there (units that are up
end in ``units_up``). ``events``: the moments worth a mark, columns ``at_s`` and ``what`` (a word or two: “decode unit
lost”, “back”). ``phases``: a row for each stretch of the run that an event cuts, columns ``phase`` (before, during,
after), ``from_s``, ``to_s``, then figures of the requests that arrived in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import filled, numbers

TIMELINE, EVENTS, PHASES = "timeline", "events", "phases"


def line(
    simulated: Result, *, name: str, title: str, columns: Sequence[str], unit: str, quiet: bool = False
) -> Chart | None:
    """A chart of some columns of the series ``timeline`` with the end of the warm-up.

    None where nothing ran; a ``quiet`` line is worth a picture only when something happens.
    """
    series = filled(simulated, TIMELINE)
    if series is None or (quiet and not any(value for column in columns for value in numbers(series, column))):
        return None
    time_s = numbers(series, "time_s")
    traces = tuple(
        Trace(series.column(column).label, time_s, numbers(series, column), order=order)
        for order, column in enumerate(columns)
    )
    warmup_s = float(simulated.provenance.get("warmup_s") or 0.0)
    named = ", ".join(trace.name for trace in traces)
    return Chart(
        name=f"simulated_timeline_{name}",
        title=title,
        subtitle=f"{named[:1].upper()}{named[1:]} over simulated time",
        form="line",
        x=Axis("simulated time", "s"),
        y=Axis(named if len(traces) == 1 else unit, unit),
        traces=traces,
        limits=(Limit(warmup_s, "warm-up ends", axis="x"),) if warmup_s > 0 else (),
        summary=f"{named} over {show(time_s[-1], 's')} of simulated time.",
    )
