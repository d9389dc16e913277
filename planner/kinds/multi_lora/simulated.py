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
from planner.formulas.tenant_bill import NOTHING
from planner.kinds.multi_lora.plan import Plan
from planner.kinds.multi_lora.simulated_metrics import DEFINITIONS, MEANS, QUANTILES
from planner.kinds.multi_lora.simulation_options import Options

if TYPE_CHECKING:
    from sims.engine.interval import Interval
    from sims.systems.multi_lora import Outcome

    Outcomes = Mapping[str, Outcome]
    Intervals = Mapping[str, Interval | None]

SHARES = (("gpu_hit_share", "hot"), ("host_hit_share", "warm"), ("store_share", "cold"))


@dataclass(frozen=True, slots=True)
class Run:
    """What was simulated; ``plan`` is the design at the load of the run."""

    plan: Plan
    request: SimulationRequest
    options: Options
    catalog_digest: str

    @property
    def replays(self) -> bool:
        return self.options.replays(self.request)


def nothing_to_run(run: Run) -> Finding | None:
    """Why there is nothing to simulate, if there is not."""
    trace, plan = run.request.workload, run.plan
    if not plan.parts.adapter.exists or plan.parts.memory.slots < 1:
        return Finding(
            "no_adapters", "error", "No adapter can be served as the design is set, so there is nothing to run."
        )
    if plan.parts.memory.places < 1:
        return Finding("no_room", "error", "Not one request fits into the KV cache, so there is nothing to run.")
    empty_trace = run.replays and trace is not None and trace.requests == 0
    if empty_trace or (not run.replays and plan.spec.requests_per_s <= 0):
        return Finding("no_requests", "info", "No requests arrive, so there is nothing to measure.")
    return None


def empty(run: Run, *, finding: Finding) -> Result:
    """A result without requests: counts of zero and no latencies."""
    return nothing_ran(
        DEFINITIONS,
        unknown=[*(name for name, _, _ in QUANTILES), "gpu_hit_share", "goodput_rps"],
        finding=finding,
        metric="ttft_p99_s",
        request=run.request,
        catalog_digest=run.catalog_digest,
    )


def result(run: Run, *, outcomes: Outcomes) -> Result:
    """The whole answer of finished runs; the first is of the design itself."""
    from planner.kinds.multi_lora import simulated_findings, simulated_series
    from sims.engine import kernel

    outcome = next(iter(outcomes.values()))
    intervals = intervals_of(outcome)
    spec = run.plan.spec
    objectives = {"ttft_p99_s": spec.ttft_p99_slo_s, "tpot_s": spec.tpot_slo_s}
    metrics = {
        name: measured(DEFINITIONS[name], interval=each, objective=objectives.get(name))
        for name, each in intervals.items()
    }
    metrics |= plain(DEFINITIONS, {**_state(run, outcome=outcome), **_counts(outcome)})
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


def intervals_of(outcome: Outcome) -> dict[str, Interval | None]:
    """Figures with intervals: quantiles, means and shares."""
    found = {name: outcome.quantile(histogram, q=q) for name, histogram, q in QUANTILES}
    found["ttft_mean_s"] = outcome.share("ttft_sum_s", of="ttft_n")
    found["tpot_s"] = outcome.share("tpot_sum_s", of="tpot_n")
    found["slot_wait_s"] = outcome.share("slot_sum_s", of="ttft_n")
    return found


def mean_s(outcome: Outcome, name: str) -> float | None:
    """Mean of a histogram, its bins at their middles; None when nothing was observed."""
    from sims.engine import sketch

    counts, edges = outcome.pooled(name), sketch.edges()
    total = int(counts.sum())
    return float(counts @ ((edges[1:] + edges[:-1]) / 2) / total) if total else None


def _state(run: Run, *, outcome: Outcome) -> dict[str, float | None]:
    """What the replicas did on average."""
    shares = found_of(outcome)
    replicas = outcome.config.replicas
    served = np.asarray(outcome.replicas.served, dtype=float)
    return {
        **{metric: shares.get(name) for metric, name in SHARES},
        **{metric: mean_s(outcome, histogram) for metric, histogram in MEANS},
        "distinct_in_batch": outcome.distinct_busy,
        "running": outcome.mean("running"),
        "swaps_per_s": outcome.per_s("copies") / replicas,
        "cold_loads_per_h": 3600 * outcome.per_s("downloads"),
        "load_imbalance": float(served.max() / served.mean()) if served.sum() > 0 else None,
        "busy_share": _whole(outcome.mean("busy")),
        "goodput_rps": outcome.per_s("good"),
        "throughput_rps": outcome.per_s("finished"),
        "fairness_gap_tokens": outcome.fairness_gap(_weights(run, outcome=outcome)),
    }


def _whole(share: float | None) -> float | None:
    """A share that is one but for rounding is one."""
    return 1.0 if share is not None and share > 1 - NOTHING else share


def found_of(outcome: Outcome) -> dict[str, float]:
    """Where requests found their adapter; those that began on a cold-start replica had it in no other host."""
    shares = dict(outcome.found())
    counts = outcome.counts
    asked = counts["hot"] + counts["warm"] + counts["cold"]
    if outcome.config.cold_replicas and shares and asked:
        diverted = min(counts["diverted"] / asked, shares["warm"])
        shares |= {"warm": shares["warm"] - diverted, "cold": shares["cold"] + diverted}
    return shares


def _weights(run: Run, *, outcome: Outcome) -> np.ndarray:
    """Weights of the tenants as the simulator counts them, the last of whoever asks for the base."""
    weights = run.plan.tenants.weights
    return np.concatenate([weights, np.ones(max(outcome.timeline.service.shape[1] - len(weights), 0))])


def _counts(outcome: Outcome) -> dict[str, float | None]:
    counts = outcome.counts
    names = ("arrived", "finished", "rejected", "limited", "in_flight", "restarted")
    found: dict[str, float | None] = {f"requests_{name}": float(counts[name]) for name in names}
    return {**found, "simulated_s": outcome.simulated_s}


def _answer(run: Run, *, outcome: Outcome, metrics: Mapping[str, Metric]) -> Answer:
    ttft, slot = metrics["ttft_p99_s"], metrics["slot_wait_s"].value or 0.0
    hit = percent(metrics["gpu_hit_share"].value)
    if not outcome.is_steady and not run.options.is_eventful:
        sentence = (
            "**The replicas do not keep up**: requests pile up as long as the run lasts."
            if run.plan.settles_s is None
            else f"**Not settled**: requests still pile up for slots; the estimate has them wait "
            f"{show(run.plan.slot_wait_s, 's')} in the end."
        )
    elif ttft.value is None:
        sentence = "**Too short to measure.** No request got its first token after the warm-up."
    elif slot > 0.1:
        sentence = (
            f"**Requests wait {show(slot, 's')} for a slot** on average, and TTFT P99 is {show(ttft.value, 's')} "
            f"against {show(ttft.objective, 's')}."
        )
    else:
        verdict = "The objective is met" if ttft.met else "The objective is missed"
        sentence = (
            f"**{verdict}**: TTFT P99 is {show(ttft.value, 's')} against {show(ttft.objective, 's')}; {hit} of the "
            "requests find their adapter on the GPU."
        )
    facts = ("tpot_s", "gpu_hit_share", "distinct_in_batch", "slot_wait_s", "goodput_rps")
    return Answer(
        metric="ttft_p99_s",
        sentence=sentence,
        note=how_much(outcome.counts["finished"], simulated_s=outcome.simulated_s, warmup_s=outcome.warmup_s),
        facts=facts,
        cost_metric=None,
    )
