"""Charts of a simulation, with the estimate drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.distribution import ESTIMATE, RANKS, SIMULATED, distribution
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import filled
from planner.kinds.llm_serving.spec import LlmServingSpec


def charts(spec: LlmServingSpec, estimate: Result, simulated: Result) -> Sequence[Chart]:
    """Distributions, objectives and the time line; those without data are left out."""
    made = [
        distribution(estimate, simulated, name="ttft", label="TTFT", limit=spec.ttft_p99_slo_s),
        distribution(estimate, simulated, name="tpot", label="TPOT", limit=spec.tpot_slo_s),
        _objectives(spec, estimate, simulated),
        _timeline(
            simulated,
            name="requests",
            title="Where are the requests?",
            columns=("running", "queued", "waiting"),
            unit="requests",
        ),
        _timeline(
            simulated,
            name="load",
            title="How full is the fleet?",
            columns=("prefill_utilisation", "kv_share"),
            unit="ratio",
        ),
        _timeline(simulated, name="ttft", title="Does the wait change over time?", columns=("ttft_mean_s",), unit="s"),
        *_units_up(simulated),
        _timeline(simulated, name="arrivals", title="What arrives?", columns=("arrivals_per_s",), unit="req/s"),
    ]
    return [chart for chart in made if chart is not None]


def _objectives(spec: LlmServingSpec, estimate: Result, simulated: Result) -> Chart | None:
    """Percentiles as a share of their objective, so that TTFT and TPOT stand on one axis."""
    rows = [
        (f"{label} {rank.upper()}", f"{name}_{rank}_s", limit)
        for name, label, limit in (
            ("ttft", "TTFT", spec.ttft_p99_slo_s),
            ("tpot", "TPOT", spec.tpot_slo_s),
        )
        for rank in RANKS
    ]
    if all(simulated.value(name) is None for _, name, _ in rows):
        return None
    traces = []
    for order, label, source in ((ESTIMATE, "estimate", estimate), (SIMULATED, "simulated", simulated)):
        shares = [
            None if source.value(name) is None else float(source.value(name) or 0.0) / limit for _, name, limit in rows
        ]
        traces.append(Trace(label, [row[0] for row in rows], shares, order=order))
    return Chart(
        name="simulated_percentiles",
        title="Does the estimate hold?",
        subtitle="Percentiles as a share of their objective; 1 is the limit",
        form="bars",
        x=Axis("share of the objective", "ratio"),
        y=Axis("percentile"),
        traces=tuple(traces),
        limits=(Limit(1.0, "objective", axis="x"),),
        summary="TTFT and TPOT percentiles of estimate and simulation, each as a share of its objective.",
    )


def _units_up(simulated: Result) -> Sequence[Chart | None]:
    """Worth a picture only where units came or went."""
    series = filled(simulated, "timeline")
    if series is None:
        return []
    columns = tuple(column.name for column in series.columns if column.name.endswith("units_up"))
    if all(len(set(series.column(name).values)) == 1 for name in columns):
        return []
    return [_timeline(simulated, name="units", title="How many units are up?", columns=columns, unit="units")]


def _timeline(simulated: Result, *, name: str, title: str, columns: tuple[str, ...], unit: str) -> Chart | None:
    series = filled(simulated, "timeline")
    if series is None:
        return None
    time_s = series.column("time_s").values
    traces = []
    for order, column in enumerate(series.column(wanted) for wanted in columns):
        y = [value if isinstance(value, int | float) else None for value in column.values]
        traces.append(Trace(column.label, time_s, y, order=order))
    warmup_s = float(simulated.provenance.get("warmup_s") or 0.0)
    named = ", ".join(trace.name for trace in traces)
    return Chart(
        name=f"simulated_timeline_{name}",
        title=title,
        subtitle=f"{named[:1].upper()}{named[1:]} over simulated time",
        form="line",
        x=Axis("simulated time", "s"),
        y=Axis(named if len(traces) == 1 else unit, unit),
        traces=tuple(traces),
        limits=(Limit(warmup_s, "warm-up ends", axis="x"),) if warmup_s > 0 else (),
        summary=f"{named} over {show(float(time_s[-1] or 0.0), 's')} of simulated time.",
    )
