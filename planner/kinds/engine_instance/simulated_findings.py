"""What a simulation tells in sentences: what binds, what was lost to it, and how far the figures hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from planner.core import engine_findings
from planner.core.quantities import show
from planner.core.result import Finding, Metric
from planner.kinds.engine_instance.steps import Served

if TYPE_CHECKING:
    from planner.kinds.engine_instance.simulated import Run
    from sims.systems.llm_serving import Outcome


def findings(run: Run, served: Served, *, outcome: Outcome, metrics: Mapping[str, Metric]) -> Iterator[Finding]:
    """All sentences of a run."""
    yield from _keeps_up(run, outcome=outcome)
    yield from _cut_short(outcome)
    yield from _missed(metrics)
    yield from engine_findings.binds(
        _limits(served), outcome=outcome, metric="ttft_mean_s", change={"max_num_seqs": 2 * served.most_running}
    )
    yield from engine_findings.preempted(outcome, metric="preemptions")
    yield from _refused(served, outcome=outcome)
    yield from _leaning(served)


def _keeps_up(run: Run, *, outcome: Outcome) -> Iterator[Finding]:
    if run.way != "poisson" or outcome.is_steady:
        return
    inside = [each.in_flight for each in outcome.samples] or [outcome.in_flight]
    yield Finding(
        code="not_steady",
        severity="error",
        message=(
            f"The replica did not reach a steady state: {inside[-1]:,} requests were in it at the end, after "
            f"{inside[len(inside) // 3]:,} at one third; {outcome.arrived:,} arrived. "
            "Latencies of this run are lower bounds."
        ),
        metric="ttft_p99_s",
    )


def _cut_short(outcome: Outcome) -> Iterator[Finding]:
    reached = f"{show(outcome.simulated_s, 's')} of {show(outcome.horizon_s, 's')}"
    if outcome.ending == "budget":
        yield Finding("cut_short", "warning", f"The run was cut at {reached}: its computing time was up.")
    elif outcome.ending == "full":
        many = f"{outcome.in_flight:,} requests in flight"
        yield Finding("cut_short", "warning", f"The run was cut at {reached}: {many} are more than it keeps.")
    elif outcome.in_flight and outcome.simulated_s > outcome.horizon_s:
        text = f"{outcome.in_flight:,} requests were still unfinished long after the last arrival."
        yield Finding("cut_short", "warning", text)


def _missed(metrics: Mapping[str, Metric]) -> Iterator[Finding]:
    for name in ("ttft_p99_s", "tpot_p99_s"):
        metric = metrics[name]
        if metric.met is False and metric.value is not None:
            text = (
                f"{metric.definition.label} is {show(metric.value, 's')}; "
                f"the objective is {show(metric.objective, 's')}."
            )
            yield Finding(f"{name.removesuffix('_p99_s')}_objective_missed", "warning", text, name)


def _limits(served: Served) -> engine_findings.Limits:
    return engine_findings.Limits(served.all_kv_tokens, served.all_running, served.all_blocks)


def _refused(served: Served, *, outcome: Outcome) -> Iterator[Finding]:
    if outcome.rejected:
        text = (
            f"{outcome.rejected:,} requests are longer than the KV pool of a rank ({served.kv_tokens:,} tokens); they "
            "were refused once and not tried again."
        )
        yield Finding("too_long_refused", "warning", text, "requests_rejected")


def _leaning(served: Served) -> Iterator[Finding]:
    if abs(served.tpot_factor - 1.0) < 0.005:
        return
    yield Finding(
        code="steps_lean",
        severity="info",
        message=(
            f"Steps take {served.tpot_factor:.2f} times what the formula says, and what passes outside them before a "
            f"first token {served.ttft_factor:.2f} times: the estimate leans on like measurements, and so does the run."
        ),
        metric="tpot_mean_s",
    )
