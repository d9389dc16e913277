"""What a simulation has shown, as metrics with intervals, findings and series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.core.engine_findings import recomputed_share
from planner.core.quantities import show
from planner.core.result import Answer, Finding, Metric, Result, order_findings
from planner.core.simulated import how_much, measured, nothing_ran, plain, provenance
from planner.core.simulation import SimulationRequest
from planner.kinds.engine_instance import load
from planner.kinds.engine_instance.metrics import RATE_NAMES
from planner.kinds.engine_instance.simulated_metrics import DEFINITIONS, MEANS, QUANTILES
from planner.kinds.engine_instance.simulation_options import Options
from planner.kinds.engine_instance.spec import EngineInstanceSpec
from planner.kinds.engine_instance.steps import Served

if TYPE_CHECKING:
    from sims.engine.interval import Interval
    from sims.systems.llm_serving import Outcome


@dataclass(frozen=True, slots=True)
class Run:
    """What was simulated; ``spec`` is the design at the load of the run."""

    spec: EngineInstanceSpec
    request: SimulationRequest
    chosen: Options
    way: str
    """``trace``, ``poisson`` or ``closed_loop``."""
    catalog_digest: str

    @property
    def has_no_requests(self) -> bool:
        trace = self.request.workload
        if self.way == "trace":
            return trace is None or trace.requests == 0
        return self.way == "poisson" and not self.spec.rate_rps

    @property
    def objectives(self) -> Mapping[str, float | None]:
        return {"ttft_p99_s": self.spec.ttft_p99_slo_s, "tpot_p99_s": self.spec.tpot_slo_s}


def empty(run: Run, *, finding: Finding) -> Result:
    """A result without requests: counts of zero and no latencies."""
    return nothing_ran(
        DEFINITIONS,
        unknown=[*(name for name, _, _ in QUANTILES), *(name for name, _, _ in MEANS), "output_tokens_per_s"],
        finding=finding,
        metric="ttft_mean_s",
        request=run.request,
        catalog_digest=run.catalog_digest,
    )


def result(run: Run, *, served: Served, outcome: Outcome) -> Result:
    """The whole answer of a finished run."""
    from planner.kinds.engine_instance import simulated_findings, simulated_series
    from sims.engine import kernel

    intervals = {name: outcome.quantile(histogram, q=q) for name, histogram, q in QUANTILES}
    intervals |= {name: _mean(outcome, total, of=count) for name, total, count in MEANS}
    intervals["goodput_share"] = outcome.share(lambda rows: rows.good, of=lambda rows: rows.finished + rows.rejected)
    metrics = {
        name: measured(DEFINITIONS[name], interval=each, objective=run.objectives.get(name))
        for name, each in intervals.items()
    }
    metrics |= plain(DEFINITIONS, {**_loads(run, served, outcome), **_counts(outcome)})
    return Result(
        metrics=metrics,
        answer=_answer(run, outcome=outcome, metrics=metrics),
        findings=order_findings(tuple(simulated_findings.findings(run, served, outcome=outcome, metrics=metrics))),
        series={series.name: series for series in simulated_series.all_series(served, outcome=outcome)},
        provenance=provenance(
            run.request,
            workload=run.request.workload,
            outcome=outcome,
            catalog_digest=run.catalog_digest,
            code=kernel.source_digest(),
        )
        | {"step_time_factor": served.tpot_factor, "first_token_factor": served.ttft_factor},
    )


def _mean(outcome: Outcome, total: str, *, of: str) -> Interval | None:
    return outcome.share(lambda rows: rows[total], of=lambda rows: rows[of])


def _loads(run: Run, served: Served, outcome: Outcome) -> dict[str, float | None]:
    """What ran and what came out, over the time that was measured; and its price."""
    span_s = outcome.measured_s * outcome.replications
    if span_s <= 0:
        return {}
    plan, gpus = served.plan, served.plan.layout.gpus
    finished, output = float(outcome.batches.finished.sum()), float(outcome.batches.output_tokens.sum())
    rates = {
        "request_rate_rps": finished / span_s,
        "input_tokens_per_s": finished / span_s * run.spec.input_tokens,
        "output_tokens_per_s": output / span_s,
    }
    rates["total_tokens_per_s"] = rates["input_tokens_per_s"] + rates["output_tokens_per_s"]
    held = {name: outcome.mean(name) for name in ("running", "queued", "waiting", "in_flight")}
    return {
        **rates,
        **{f"{name}_per_gpu": rates[name] / gpus for name in RATE_NAMES},
        **load.prices(plan, rates),
        "concurrency": held["in_flight"],
        "running_requests": held["running"] + held["queued"],
        "waiting_requests": held["waiting"],
        "kv_used_share": 1.0 - outcome.mean("free_blocks") / served.all_blocks,
        "preemptions": float(outcome.preempted),
        "recomputed_share": recomputed_share(outcome),
    }


def _counts(outcome: Outcome) -> dict[str, float | None]:
    names = ("arrived", "finished", "rejected", "in_flight")
    found: dict[str, float | None] = {f"requests_{name}": float(getattr(outcome, name)) for name in names}
    return {**found, "simulated_s": outcome.simulated_s}


def _answer(run: Run, *, outcome: Outcome, metrics: Mapping[str, Metric]) -> Answer:
    ttft, tpot, rate = (metrics[name] for name in ("ttft_p99_s", "tpot_p99_s", "output_tokens_per_s"))
    if run.way == "poisson" and not outcome.is_steady:
        sentence = "**The replica does not keep up.** Requests pile up, and latencies grow with the length of the run."
    elif ttft.value is None:
        sentence = "**Too short to measure.** No request was answered after the warm-up."
    else:
        sentence = f"**{_verdict(ttft, tpot)}**: TTFT P99 {_against(ttft)}"
        sentence += "" if tpot.value is None else f", TPOT P99 {_against(tpot)}"
        sentence += f"; {show(rate.value, 'tok/s')} of output."
    return Answer(
        metric="ttft_p99_s",
        sentence=sentence,
        note=how_much(outcome.finished, simulated_s=outcome.simulated_s, warmup_s=outcome.warmup_s),
        facts=("ttft_mean_s", "tpot_mean_s", "output_tokens_per_s", "running_requests"),
        cost_metric=None,
    )


def _verdict(*judged: Metric) -> str:
    if all(metric.met is None for metric in judged):
        return "Measured"
    return "An objective is missed" if any(metric.met is False for metric in judged) else "The objectives are met"


def _against(metric: Metric) -> str:
    limit = "" if metric.objective is None else f" against {show(metric.objective, 's')}"
    return f"{show(metric.value, 's')}{limit}"
