"""Charts of a simulation, with the estimate drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.distribution import ESTIMATE, RANKS, SIMULATED, distribution
from planner.core.result import Result
from planner.core.table import filled
from planner.core.timeline import TIMELINE, line
from planner.kinds.llm_serving.spec import LlmServingSpec


def charts(spec: LlmServingSpec, estimate: Result, simulated: Result) -> Sequence[Chart]:
    """Distributions, objectives and the time line; those without data are left out."""
    made = [
        distribution(estimate, simulated, name="ttft", label="TTFT", limit=spec.ttft_p99_slo_s),
        distribution(estimate, simulated, name="tpot", label="TPOT", limit=spec.tpot_slo_s),
        _objectives(spec, estimate, simulated),
        line(
            simulated,
            name="requests",
            title="Where are the requests?",
            columns=("running", "queued", "waiting"),
            unit="requests",
        ),
        line(
            simulated,
            name="load",
            title="How full is the fleet?",
            columns=("prefill_utilisation", "kv_share"),
            unit="ratio",
        ),
        line(simulated, name="ttft", title="Does the wait change over time?", columns=("ttft_mean_s",), unit="s"),
        *_units_up(simulated),
        line(simulated, name="arrivals", title="What arrives?", columns=("arrivals_per_s",), unit="req/s"),
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
    series = filled(simulated, TIMELINE)
    if series is None:
        return []
    columns = tuple(column.name for column in series.columns if column.name.endswith("units_up"))
    if all(len(set(series.column(name).values)) == 1 for name in columns):
        return []
    return [line(simulated, name="units", title="How many units are up?", columns=columns, unit="units")]
