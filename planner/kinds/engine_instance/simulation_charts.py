"""Charts of a simulation, with the estimate drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core import timeline
from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.distribution import distribution
from planner.core.result import Result
from planner.kinds.engine_instance.spec import EngineInstanceSpec

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
        distribution(estimate, simulated, name="ttft", label="TTFT", limit=spec.ttft_p99_slo_s),
        distribution(estimate, simulated, name="tpot", label="TPOT", limit=spec.tpot_slo_s),
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
