"""What holds, what binds and what to change, in sentences with this pool's numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from planner.core.quantities import show
from planner.core.result import Finding, Metric, order_findings
from planner.core.wording import counted
from planner.kinds.kv_pool import ignored, input_findings, pool_findings, write_findings
from planner.kinds.kv_pool.bound import fleet_for
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.tiers import DRAM, HBM, SSD
from planner.kinds.kv_pool.words import lasting, percent, times

NEAR_SATURATION = 0.8
HARDLY_S = 1e-4
FELT = 1.5
"""Times the TTFT P99 of a fleet that serves any turn anywhere."""
CLUSTERED = 2.0
"""Times the wait of turns that come alone."""
TAIL_FROM = 0.65
"""Load of bound units from which simulations show a tail that this estimate misses."""


def findings(plan: Plan, *, figures: Mapping[str, Metric]) -> tuple[Finding, ...]:
    """Errors, warnings and notes of a design; within one severity in the order written here."""
    if plan.spec.turns_per_s <= 0:
        return order_findings([_no_load(), *_conclusions(plan, figures=figures), *input_findings.findings(plan)])
    return order_findings(
        [
            *_serving(plan),
            *pool_findings.verdict(plan),
            *_conclusions(plan, figures=figures),
            *pool_findings.findings(plan, figures=figures),
            *write_findings.findings(plan),
            *input_findings.findings(plan),
            *ignored.findings(plan),
        ]
    )


def _no_load() -> Finding:
    return Finding(
        code="no_load",
        severity="info",
        message="No turns: nothing comes back and nothing is computed, so there are no hits, no latency worth the name "
        "and no prices per token.",
        metric="hit_share",
    )


def _conclusions(plan: Plan, *, figures: Mapping[str, Metric]) -> Iterator[Finding]:
    """What the reference concludes, with this design's numbers."""
    held = [figures[f"{name}_sessions"].value or 0.0 for name in ("hbm", "dram", "ssd")]
    stays = f"an idle one stays {lasting(float(plan.keep_s[HBM]))}, and " if plan.spec.eviction != "value" else ""
    kept = f": {stays}{percent(float(plan.hits[HBM]))} of what can "
    yield Finding(
        code="hbm_holds_few",
        severity="info",
        message=f"HBM holds {counted(held[HBM], 'session')} of {show(plan.spec.context_tokens, 'tokens')}"
        + (kept + "be reused is still there." if plan.spec.turns_per_s > 0 else "."),
        metric="hbm_sessions",
    )
    if held[HBM] > 0 and held[DRAM] > 0:
        more = f", SSD {times(held[SSD] / held[DRAM])} as many as DRAM" if held[SSD] > 0 else ""
        yield Finding(
            code="lower_tiers_hold_more",
            severity="info",
            message=f"DRAM holds {times(held[DRAM] / held[HBM])} as many sessions as HBM{more}.",
            metric="dram_sessions",
        )
    yield from _reading(plan, figures=figures)


def _reading(plan: Plan, *, figures: Mapping[str, Metric]) -> Iterator[Finding]:
    reads = [
        (label, figures[f"{name}_read_s"].value or 0.0)
        for tier, name, label in ((DRAM, "dram", "DRAM"), (SSD, "ssd", "SSD"))
        if plan.room.stored_bytes[tier] > 0
    ]
    if not reads:
        return
    told = " and ".join(f"{show(read_s, 's')} from {label}" for label, read_s in reads)
    factors = " and ".join(times(plan.recompute_s / read_s) for _, read_s in reads)
    worst = min(plan.recompute_s / read_s for _, read_s in reads)
    verdict = "more than ten times as quick" if worst > 10 else "quicker" if worst > 1 else "not always quicker"
    yield Finding(
        code="reading_beats_computing" if worst > 1 else "computing_beats_reading",
        severity="info" if worst > 1 else "warning",
        message=f"Reading a context back takes {told} on idle links, computing it {show(plan.recompute_s, 's')}: "
        f"reading is {verdict} ({factors}).",
        metric="recompute_s",
    )


def _waits(wait_s: float) -> str:
    return "hardly any turn waits" if wait_s < HARDLY_S else f"a turn waits {show(wait_s, 's')} for a unit on average"


def _serving(plan: Plan) -> Iterator[Finding]:
    spec, fleet = plan.spec, plan.fleet
    if not fleet.is_stable:
        yield Finding(
            code="prefill_unstable",
            severity="error",
            message=f"{counted(fleet.units, 'prefill unit')} cannot compute what {spec.turns_per_s:,.10g} turns a "
            f"second leave: {show(fleet.needed_units, 'units')} are needed, so queues grow without end "
            "and TTFT has no value.",
            metric="ttft_p99_s",
            suggestion="Leave the number of units empty to size them for the load.",
            change={"prefill_units": None},
        )
        return
    if spec.prefill_units is not None and (fleet.utilisation or 0.0) > NEAR_SATURATION:
        yield Finding(
            code="prefill_near_saturation",
            severity="warning",
            message=f"Prefill is busy {percent(fleet.utilisation or 0.0)} of the time: small errors of rate or hit "
            "rate move its latency much.",
            metric="ttft_p99_s",
            suggestion="Add units or headroom.",
            change={"prefill_units": None},
        )
    p99 = plan.ttft[2]
    if p99 is not None and p99 > spec.ttft_p99_slo_s:
        yield Finding(
            code="ttft_slo_missed",
            severity="error",
            message=f"TTFT P99 is {show(p99, 's')}, the objective {show(spec.ttft_p99_slo_s, 's')}: a whole context "
            f"takes {show(plan.recompute_s, 's')} to compute, and {_waits(fleet.mean_wait_s or 0.0)}.",
            metric="ttft_p99_s",
            suggestion="Run a prompt on more GPUs: it reads and computes with all of them.",
            change={"prefill_gpus": min(1024, 2 * spec.prefill_gpus)},
        )
    yield from _bound(plan)
    have = spec.nodes * spec.gpus_per_node
    if fleet.units * spec.prefill_gpus > have:
        yield Finding(
            code="prefill_exceeds_nodes",
            severity="warning",
            message=f"Prefill alone needs {fleet.units * spec.prefill_gpus:,} GPUs; {counted(spec.nodes, 'node')} with "
            f"the tiers make {have:,}.",
            metric="prefill_gpus",
        )
    elif plan.without_fleet.units * spec.prefill_gpus > have:
        yield Finding(
            code="only_with_the_pool",
            severity="info",
            message=f"Without the pool prefill would need {plan.without_fleet.units * spec.prefill_gpus:,} GPUs, more "
            f"than the {have:,} of {counted(spec.nodes, 'node')}; with it {fleet.units * spec.prefill_gpus:,}.",
            metric="gpus_saved",
        )


def _bound(plan: Plan) -> Iterator[Finding]:
    """Turns that wait for the unit of their session, where that is felt."""
    if plan.served != "own" or plan.spec.source != "sessions":
        return
    p99, anywhere = plan.ttft[2], plan.any_unit_ttft_p99_s
    if not p99 or not anywhere or p99 < FELT * anywhere:
        return
    alone = fleet_for(plan.spec, made=plan.turns, units=plan.fleet.units, served="one").mean_wait_s or 0.0
    far = (plan.fleet.utilisation or 0.0) > TAIL_FROM and (plan.fleet.mean_wait_s or 0.0) > CLUSTERED * alone
    enough = math.ceil(100 * ((plan.fleet.units + 1) / plan.fleet.needed_units - 1)) / 100
    yield Finding(
        code="sessions_bound",
        severity="warning" if far else "info",
        message=f"A turn waits for the unit that has its session in HBM, and some units have more live sessions than "
        f"others: TTFT P99 is {show(p99, 's')}; if any unit could serve it as well, {show(anywhere, 's')}."
        + (" At this load the real tail can be several times longer: simulate it." if far else ""),
        metric="ttft_p99_s",
        suggestion="More headroom keeps the fullest unit below saturation.",
        change={"headroom": min(max(round(plan.spec.headroom + 0.3, 2), enough), 10.0), "prefill_units": None},
    )
