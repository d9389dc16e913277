"""How a simulated latency is distributed, with the estimate drawn beside it, as every kind draws it."""

from __future__ import annotations

from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import filled

SIMULATED, ESTIMATE = 0, 1
"""Colours of the two, in every chart that shows both."""
RANKS = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def distribution(estimate: Result, simulated: Result, *, name: str, label: str, limit: float | None) -> Chart | None:
    """Chart of the share of requests within a latency, from the series ``{name}_cdf``, with the estimate's percentiles.

    ``limit`` is the objective [s], None where there is none. None where nothing was simulated.
    """
    series = filled(simulated, f"{name}_cdf")
    if series is None:
        return None
    shares = [float(share) for share in series.column("share").values if share is not None]
    traces = [Trace("simulated", series.column("value_s").values, shares, order=SIMULATED)]
    known = [(estimate.value(f"{name}_{rank}_s"), share) for rank, share in RANKS.items()]
    points = [(value, share) for value, share in known if value is not None]
    if points:
        x, y = [value for value, _ in points], [share for _, share in points]
        traces.append(Trace("estimate", x, y, order=ESTIMATE, marker_only=True))
    p99, promised = simulated.value(f"{name}_p99_s"), estimate.value(f"{name}_p99_s")
    beside = f"estimate {show(promised, 's')}" if promised is not None else "no estimate"
    return Chart(
        name=f"simulated_{name}_cdf",
        title=f"How is {label} distributed?",
        subtitle=f"P99 {show(p99, 's')} simulated, {beside}",
        form="cdf",
        x=Axis(label, "s"),
        y=Axis("share of requests", "ratio"),
        traces=tuple(traces),
        limits=() if limit is None else (Limit(limit, f"objective {show(limit, 's')}", axis="x"),),
        summary=f"{label}: 99 % of the simulated requests stay within {show(p99, 's')}; {beside}.",
        compare=True,
    )
