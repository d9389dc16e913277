"""What a simulation has shown, as metrics with intervals and the answer in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.core.quantities import show
from planner.core.result import Answer, Finding, Metric, Result, order_findings
from planner.core.simulated import how_much, measured, nothing_ran, plain, provenance
from planner.core.simulation import SimulationRequest
from planner.core.wording import percent
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.simulated_metrics import DEFINITIONS, QUANTILES
from planner.kinds.gateway.simulation_options import Options

if TYPE_CHECKING:
    from sims.systems.gateway import Outcome

    Outcomes = Mapping[str, Outcome]


@dataclass(frozen=True, slots=True)
class Run:
    """What was simulated."""

    plan: Plan
    request: SimulationRequest
    options: Options
    catalog_digest: str

    @property
    def block_tokens(self) -> int:
        """Blocks of the trace where it brings some; else of the design."""
        trace = self.request.workload
        if trace is not None and trace.blocks is not None and self.options.replays(self.request):
            return trace.blocks.tokens
        return self.plan.spec.block_tokens

    @property
    def replays(self) -> bool:
        return self.options.replays(self.request)


def nothing_to_run(run: Run) -> Finding | None:
    """Why there is nothing to simulate, if there is not."""
    trace = run.request.workload
    empty_trace = run.replays and trace is not None and trace.requests == 0
    if empty_trace or (not run.replays and run.plan.spec.peak_rps * run.options.rate_scale <= 0):
        return Finding("no_requests", "info", "No requests arrive, so there is nothing to measure.")
    return None


def empty(run: Run, *, finding: Finding) -> Result:
    """A result without requests: counts of zero and no latencies."""
    return nothing_ran(
        DEFINITIONS,
        unknown=[*(f"{name}_{rank}_s" for name, rank, _ in QUANTILES), "hit_share", "goodput_rps"],
        finding=finding,
        metric="ttft_p99_s",
        request=run.request,
        catalog_digest=run.catalog_digest,
    )


def result(run: Run, *, outcomes: Outcomes) -> Result:
    """The whole answer of finished runs; the first is of the design's own policy."""
    from planner.kinds.gateway import simulated_findings, simulated_series
    from sims.engine import kernel

    outcome = next(iter(outcomes.values()))
    intervals = {f"{name}_{rank}_s": outcome.quantile(name, q=q) for name, rank, q in QUANTILES}
    intervals |= {
        "ttft_mean_s": outcome.mean_ttft_s,
        "hit_share": outcome.hit_rate,
        "hit_share_held": outcome.held,
        "hit_share_captured": outcome.captured,
    }
    objectives = {"ttft_p99_s": run.plan.spec.ttft_p99_slo_s}
    metrics = {
        name: measured(DEFINITIONS[name], interval=each, objective=objectives.get(name))
        for name, each in intervals.items()
    }
    metrics |= plain(
        DEFINITIONS, {**_loads(run, outcome=outcome), **_counts(outcome), **_failures(run, outcome=outcome)}
    )
    return Result(
        metrics=metrics,
        answer=_answer(run, outcome=outcome, metrics=metrics),
        findings=order_findings(tuple(simulated_findings.findings(run, outcomes=outcomes, intervals=intervals))),
        series={series.name: series for series in simulated_series.all_series(run, outcomes=outcomes)},
        provenance=provenance(
            run.request,
            workload=run.request.workload,
            outcome=outcome,
            catalog_digest=run.catalog_digest,
            code=kernel.source_digest(),
        ),
    )


def instance_s(run: Run, outcome: Outcome) -> float:
    """Time of the instances that the measured requests took, prefill and decode [s].

    Decode is that of the answers that ended in the window, each of the mean length, so that policies which keep up have
    the same.
    """
    spec = run.plan.spec
    stretched = outcome.config.prefill_s_per_token * spec.prefill_tokens_per_s
    prefill = float(outcome.work_by_instance.sum()) / stretched
    return prefill + outcome.throughput_per_s * outcome.window_s * spec.output_tokens / spec.decode_tokens_per_s


def _loads(run: Run, *, outcome: Outcome) -> dict[str, float | None]:
    """Loads in the estimate's terms: prefill time as if it had the instance for itself, decode by what was written."""
    spec = run.plan.spec
    seconds = outcome.window_s * spec.instances
    stretched = outcome.config.prefill_s_per_token * spec.prefill_tokens_per_s
    prefill = float(outcome.work_by_instance.sum()) / seconds / stretched
    decode = outcome.throughput_per_s * spec.output_tokens / spec.decode_tokens_per_s / spec.instances
    return {
        "prefill_utilisation": prefill,
        "instance_utilisation": prefill + decode,
        "load_skew": skew_of(outcome),
        "work_skew": outcome.max_over_mean,
        "goodput_rps": outcome.goodput_per_s,
        "throughput_rps": outcome.throughput_per_s,
    }


def skew_of(outcome: Outcome) -> float | None:
    """Requests that the busiest instance finished over the mean; None where none did."""
    served = outcome.requests_by_instance
    mean = float(np.mean(served)) if len(served) else 0.0
    return float(served.max()) / mean if mean > 0 else None


def _counts(outcome: Outcome) -> dict[str, float | None]:
    counts = outcome.counts
    return {
        "requests_arrived": float(counts["arrived"]),
        "requests_finished": float(counts["finished"]),
        "requests_rejected": float(counts["rejected"]),
        "requests_in_flight": float(counts["in_flight"]),
        "simulated_s": outcome.simulated_s,
    }


def _failures(run: Run, *, outcome: Outcome) -> dict[str, float | None]:
    """What failed; nothing in a run in which nothing was meant to and nothing did."""
    counts = outcome.counts
    found = {
        "requests_lost": float(counts["refused"] + counts["timed_out"]),
        "requests_failed": float(counts["lost"]),
        "requests_retried": float(counts["retried"]),
        "streams_cut": float(counts["broken_streams"]),
        "streams_resumed": float(counts["resumed"]),
    }
    return dict(found) if run.options.fail_at_s is not None or any(found.values()) else {}


def _answer(run: Run, *, outcome: Outcome, metrics: Mapping[str, Metric]) -> Answer:
    from planner.kinds.gateway import simulated_series

    ttft, hit = metrics["ttft_p99_s"], metrics["hit_share"].value
    chosen = run.plan.policies.chosen
    away = simulated_series.turned_away(outcome)
    if not outcome.is_steady:
        sentence = f"**The instances do not keep up** with {chosen.words}: requests pile up as long as the run lasts."
    elif ttft.value is None:
        sentence = "**Too short to measure.** No request got its first token after the warm-up."
    elif away > simulated_series.MUCH_TURNED_AWAY:
        sentence = (
            f"**{percent(away)} of the requests are turned away** with {chosen.words}; the first token of the others "
            f"has a P99 of {show(ttft.value, 's')} against {show(ttft.objective, 's')}."
        )
    else:
        verdict = "The objective is met" if ttft.met else "The objective is missed"
        sentence = (
            f"**{verdict}**: with {chosen.words} TTFT P99 is {show(ttft.value, 's')} against "
            f"{show(ttft.objective, 's')}, and {show(hit, 'ratio')} of the prompt tokens are hit."
        )
    facts = ("hit_share", "load_skew", "goodput_rps", *(("requests_lost",) if "requests_lost" in metrics else ()))
    return Answer(
        metric="ttft_p99_s",
        sentence=sentence,
        note=how_much(outcome.counts["finished"], simulated_s=outcome.simulated_s, warmup_s=outcome.warmup_s),
        facts=facts,
        cost_metric=None,
    )
