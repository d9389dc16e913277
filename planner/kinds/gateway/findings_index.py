"""What the index costs and what its age costs, as a service and in each gateway."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.waits import SPREADING
from planner.kinds.gateway.words import a_second

MUCH_LOST = 0.01


def index_findings(plan: Plan) -> Iterator[Finding]:
    """Look-ups, place, events and age."""
    index = plan.index
    yield Finding(
        code="probing_or_tree",
        severity="info",
        message=f"Asking {_each(plan.spec.instances)} for {counted(index.blocks_per_request, 'block')} would be "
        f"{a_second(index.lookups_probing_per_s, 'look-ups')}; one prefix tree answers with "
        f"{a_second(index.lookups_tree_per_s, 'look-ups')} in {show(index.bytes, 'bytes')} "
        f"({index.bytes / 2**20:,.1f} MiB).",
        metric="lookups_per_s_prefix_tree",
    )
    if plan.spec.policy in SPREADING or plan.spec.policy == "bounded_hash":
        return
    yield from _intake(plan)
    yield from _approximate(plan)
    yield from _place(plan)
    yield from _age(plan)


def _each(instances: int) -> str:
    return "the one instance" if instances == 1 else f"each of {instances:,} instances"


def _intake(plan: Plan) -> Iterator[Finding]:
    spec, index = plan.spec, plan.index
    if index.intake_share <= spec.usable_share:
        return
    full = index.intake_share > 1
    yield Finding(
        code="index_intake",
        severity="error" if full else "warning",
        message=f"{a_second(index.events_per_s, 'KV events')} reach each copy of the index, "
        f"{percent(index.intake_share)} of what it takes"
        + (": its lag grows without end." if full else ", above the planned fill."),
        metric="index_intake",
        suggestion="Send events in batches, use larger blocks, or split the index by LLM version or prefix.",
        change={"block_tokens": min(2 * spec.block_tokens, 65_536)},
    )


def _approximate(plan: Plan) -> Iterator[Finding]:
    spec, chosen = plan.spec, plan.policies.chosen
    routers = plan.sizing.replicas
    if spec.index_place != "approximate" or routers < 2:
        return
    yield Finding(
        code="approximate_index",
        severity="warning",
        message=f"Each of {counted(routers, 'gateway')} knows only where it sent requests itself. A balancer that "
        "gives "
        f"the next turn to any of them finds the history with 1 in {routers}: {percent(chosen.captured)} of the prompt "
        f"tokens are hit of {percent(plan.policies.held.share)} that the fleet holds.",
        metric="hit_share_captured",
        suggestion="Feed the index by KV events, or give a session to the same gateway.",
        change={"index_place": "service"},
    )


def _place(plan: Plan) -> Iterator[Finding]:
    spec, index, sized = plan.spec, plan.index, plan.sizing
    if spec.index_place == "approximate":
        return
    replicas = counted(sized.replicas, "gateway")
    inside = f"{show(index.bytes, 'bytes')} and {a_second(index.events_per_s, 'events')} in each of {replicas}"
    stale = f"{100 * plan.stale_share:.2g} % of the hits"
    if spec.index_place == "service":
        message = (
            f"The index service costs a hop of {show(spec.index_hop_s, 's')} a request; in process it would be "
            f"{inside}. Its answers are {show(index.lag_s, 's')} old either way, which loses {stale}."
        )
    else:
        message = (
            f"The index in process takes {inside}, {a_second(sized.replicas * index.events_per_s, 'events')} in all; "
            "as a "
            f"service it would be one copy and a hop of {show(spec.index_hop_s, 's')}. The lag of "
            f"{show(index.lag_s, 's')} loses {stale}."
        )
    yield Finding(code="index_place", severity="info", message=message, metric="index_bytes")


def _age(plan: Plan) -> Iterator[Finding]:
    index, kept_s = plan.index, plan.policies.chosen.hits.retention_s
    lost = plan.stale_share
    if lost > MUCH_LOST:
        kept = "for ever" if math.isinf(kept_s) else f"for {show(kept_s, 's')}"
        yield Finding(
            code="index_lag",
            severity="warning",
            message=f"The index is {show(index.lag_s, 's')} old and caches keep an entry {kept}: {percent(lost)} of "
            "the "
            "hits it promises are gone when the request comes.",
            metric="index_stale_share",
            suggestion="Publish events at once rather than in large batches.",
            change={"event_lag_s": float(f"{index.lag_s * MUCH_LOST / lost / 2:.2g}")},
        )
    again = plan.duplicate_prefills
    if again >= 1:
        yield Finding(
            code="duplicate_prefills",
            severity="warning",
            message=f"A new prefix as popular as the first would be computed {again:,.0f} times more than once before "
            f"an index that is {show(index.lag_s, 's')} old knows of it.",
            metric="duplicate_prefills",
            suggestion="Enter a dispatched prompt into the index at once, before the event comes.",
            change={"index_own": "on"},
        )
