"""What a simulation has shown, as metrics with intervals, findings and series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.core.quantities import show
from planner.core.result import Answer, Finding, Metric, MetricDef, Result, Series, order_findings
from planner.core.simulated import measured, nothing_ran, plain, provenance
from planner.core.text import gettext_noop as _
from planner.core.wording import counted
from planner.kinds.kv_pool.metrics import BY_NAME
from planner.kinds.kv_pool.metrics_serving import SERVING
from planner.kinds.kv_pool.policies_compared import LABELS
from planner.kinds.kv_pool.run_plan import Run
from planner.kinds.kv_pool.words import rounded

if TYPE_CHECKING:
    from sims.engine.interval import Interval
    from sims.systems.kv_pool import Outcome

RUN = _("Run")
_SAME = _("With prefixes in HBM only, on the same units; none where they cannot keep up.")


def _count(name: str, label: str, *, help: str = "") -> MetricDef:
    return MetricDef(name, label, "requests", "none", RUN, help=help, whole=True)


ONLY_SIMULATED: tuple[MetricDef, ...] = (
    MetricDef("ttft_p50_same_units_s", _("TTFT P50, HBM only"), "s", "lower", SERVING, help=_SAME),
    MetricDef("ttft_p90_same_units_s", _("TTFT P90, HBM only"), "s", "lower", SERVING, help=_SAME),
    MetricDef("ttft_p99_same_units_s", _("TTFT P99, HBM only"), "s", "lower", SERVING, help=_SAME),
    MetricDef("dram_read_mean_s", _("A read from DRAM"), "s", "lower", SERVING, help=_("Mean, waiting included.")),
    MetricDef("ssd_read_mean_s", _("A read from SSD"), "s", "lower", SERVING, help=_("Mean, waiting included.")),
    _count("requests_arrived", _("Turns arrived"), help=_("Arrived = finished + refused + in flight.")),
    _count("requests_finished", _("Turns finished")),
    _count("requests_rejected", _("Turns refused")),
    _count("requests_in_flight", _("Turns in flight at the end")),
    _count("requests_restarted", _("Turns computed again")),
    MetricDef("simulated_s", _("Simulated time"), "s", "none", RUN),
)
DEFINITIONS: Mapping[str, MetricDef] = {**BY_NAME, **{each.name: each for each in ONLY_SIMULATED}}
RANKS = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
TIERS = ("hbm", "dram", "ssd")


def empty(run: Run) -> Result:
    """A result without turns."""
    return nothing_ran(
        DEFINITIONS,
        unknown=["hit_share", *(f"ttft_{rank}_s" for rank, _ in RANKS)],
        finding=Finding("no_requests", "info", "No turns arrive, so there is nothing to measure."),
        metric="hit_share",
        request=run.request,
        catalog_digest=run.made.catalog.digest,
    )


def result(run: Run, *, outcomes: Mapping[str, Outcome]) -> Result:
    """The whole answer of finished runs; the first is the design's own."""
    from planner.kinds.kv_pool import simulated_findings as write
    from planner.kinds.kv_pool import simulated_series as tables
    from sims.engine import kernel

    outcome = next(iter(outcomes.values()))
    intervals = _intervals(outcome, outcomes=outcomes)
    objectives = {"ttft_p99_s": run.spec.ttft_p99_slo_s}
    metrics = {name: _figure(name, interval=each, objective=objectives.get(name)) for name, each in intervals.items()}
    metrics |= plain(DEFINITIONS, {**_loads(run, outcome=outcome), **_counts(outcome)})
    series: Sequence[Series] = tables.all_series(run, outcomes=outcomes)
    return Result(
        metrics=metrics,
        answer=_answer(run, outcome=outcome, metrics=metrics),
        findings=order_findings(write.findings(run, outcomes=outcomes, metrics=metrics, intervals=intervals)),
        series={each.name: each for each in series},
        provenance=provenance(
            run.request,
            workload=None if run.trace is None else run.trace.workload,
            outcome=outcome,
            catalog_digest=run.made.catalog.digest,
            code=kernel.source_digest(),
        ),
    )


def _intervals(outcome: Outcome, *, outcomes: Mapping[str, Outcome]) -> dict[str, Interval | None]:
    steady = outcome.is_steady
    found: dict[str, Interval | None] = {"hit_share": outcome.hit_share(), "prefix_hit_rate": outcome.token_hit_share}
    found |= {f"{tier}_hit_share": outcome.hit_share(tier) for tier in TIERS}
    found |= {f"ttft_{rank}_s": outcome.quantile("ttft", q=q) for rank, q in RANKS}
    found["ttft_mean_s"] = outcome.mean_s("ttft")
    keeps_up = steady and outcome.rates.get("compute_without", 0.0) < outcome.config.nodes
    found |= {
        f"ttft_{rank}_same_units_s": outcome.quantile("ttft_without", q=q) if keeps_up else None for rank, q in RANKS
    }
    return found | {f"{name}_hit_share": each.hit_share() for name, each in outcomes.items()}


def _figure(name: str, *, interval: Interval | None, objective: float | None) -> Metric:
    """Shares to so many digits as are told; their ends stay around them."""
    found = measured(DEFINITIONS[name], interval=interval, objective=objective)
    if found.value is None or found.definition.unit != "ratio":
        return found
    value, low, high = rounded(found.value), found.low, found.high
    return replace(
        found,
        value=value,
        low=None if low is None else min(rounded(low), value),
        high=None if high is None else max(rounded(high), value),
    )


def _loads(run: Run, *, outcome: Outcome) -> dict[str, float | None]:
    """Loads in the estimate's terms."""
    rates, links = outcome.rates, {link.name: link for link in outcome.links}
    tiers = {tier.name: tier for tier in outcome.tiers}
    loads: dict[str, float | None] = {f"{name}_read_mean_s": tiers[name].mean_read_s for name in ("dram", "ssd")}
    if not rates:
        return loads
    before, work = rates["compute_without"], rates["compute"]
    return loads | {
        "prefill_utilisation": rates["node_busy"],
        "prefill_gpus_needed": rates["node_busy"] * outcome.config.nodes * run.spec.prefill_gpus,
        "compute_saved_share": 1 - work / before if before > 0 else None,
        "ssd_write_bytes_per_s": rates["ssd_written_bytes_per_s"],
        # A node's drives serve each unit of the simulation: what all of them can do is less than in the estimate.
        "ssd_link_utilisation": links["ssd_read"].busy * outcome.config.nodes / run.spec.nodes,
    }


def _counts(outcome: Outcome) -> dict[str, float | None]:
    return {
        "requests_arrived": float(outcome.arrived),
        "requests_finished": float(outcome.finished),
        "requests_rejected": float(outcome.rejected),
        "requests_in_flight": float(outcome.in_flight),
        "requests_restarted": float(outcome.restarted),
        "simulated_s": outcome.simulated_s,
    }


def _answer(run: Run, *, outcome: Outcome, metrics: Mapping[str, Metric]) -> Answer:
    hits, ttft = metrics["hit_share"], metrics["ttft_p99_s"]
    there = [tier.name for tier in outcome.tiers if tier.capacity_bytes > 0]
    tiers = ", ".join(f"{tier.upper()} {show(metrics[f'{tier}_hit_share'].value, 'ratio')}" for tier in there)
    if not outcome.is_steady:
        sentence = "**Prefill does not keep up.** Turns pile up, and TTFT grows with the length of the run."
    elif hits.value is None:
        sentence = "**Nothing came back.** No prompt began with anything that was computed before."
    else:
        sentence = f"**{show(hits.value, 'ratio')} of what came back was found**: {tiers}."
        if ttft.value is not None:
            verdict = "inside" if ttft.met else "**outside**"
            sentence += f" TTFT P99 {show(ttft.value, 's')}, {verdict} {show(run.spec.ttft_p99_slo_s, 's')}."
    uncounted = f"; the first {show(outcome.warmup_s, 's')} are not counted" if outcome.warmup_s > 0 else ""
    note = (
        f"{outcome.finished:,} turns over {show(outcome.simulated_s, 's')} on {counted(outcome.config.nodes, 'unit')}, "
        f"caches empty at first{uncounted}."
    )
    facts = (*(f"{name}_hit_share" for name in LABELS if f"{name}_hit_share" in metrics), "ttft_p99_s")
    return Answer(metric="hit_share", sentence=sentence, note=note, facts=facts, cost_metric=None)
