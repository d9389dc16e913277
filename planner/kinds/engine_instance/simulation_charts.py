"""Charts of a simulation, with the estimate drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core import timeline
from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import filled
from planner.kinds.engine_instance.spec import EngineInstanceSpec

SIMULATED, ESTIMATE = 0, 1
RANKS = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_COMPARED = (
    ("ttft_mean_s", "TTFT, mean"),
    ("ttft_p99_s", "TTFT P99"),
    ("tpot_mean_s", "TPOT, mean"),
    ("tpot_p99_s", "TPOT P99"),
    ("output_tokens_per_s", "output"),
    ("running_requests", "running"),
)


def charts(spec: EngineInstanceSpec, estimate: Result, simulated: Result) -> Sequence[Chart]:
    """Distributions, estimate and simulation side by side, and the time line; those without data are left out."""
    made = [
        _cdf(estimate, simulated, name="ttft", label="TTFT", limit=spec.ttft_p99_slo_s),
        _cdf(estimate, simulated, name="tpot", label="TPOT", limit=spec.tpot_slo_s),
        _ratios(estimate, simulated),
        timeline.line(
            simulated,
            name="requests",
            title="Where are the requests?",
            columns=("running", "waiting"),
            unit="requests",
        ),
        timeline.line(simulated, name="pool", title="How full is the KV pool?", columns=("kv_share",), unit="ratio"),
        timeline.line(
            simulated,
            name="tokens",
            title="What does it compute?",
            columns=("output_tokens_per_s", "prompt_tokens_per_s"),
            unit="tok/s",
        ),
        timeline.line(
            simulated, name="ttft", title="Does the wait change over time?", columns=("ttft_mean_s",), unit="s"
        ),
    ]
    return [chart for chart in made if chart is not None]


def _cdf(estimate: Result, simulated: Result, *, name: str, label: str, limit: float | None) -> Chart | None:
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


def _ratios(estimate: Result, simulated: Result) -> Chart | None:
    """Simulated figures over the estimate's, so that times and rates stand on one axis."""
    found = [
        (label, ours / promised)
        for name, label in _COMPARED
        if (ours := simulated.value(name)) is not None and (promised := estimate.value(name))
    ]
    if not found:
        return None
    return Chart(
        name="simulated_over_estimate",
        title="Does the estimate hold?",
        subtitle="Simulated figures over the estimate of the same load; 1: they agree",
        form="bars",
        x=Axis("simulated over estimate", "ratio"),
        y=Axis("figure"),
        traces=(Trace("simulated over estimate", [label for label, _ in found], [each for _, each in found]),),
        limits=(Limit(1.0, "estimate", axis="x"),),
        summary="Latencies, output and requests running of the simulation, each over the estimate's.",
    )
