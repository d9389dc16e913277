"""What binds, what breaks and what to change, in sentences with this design's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding, order_findings
from planner.kinds.gateway.plan import Plan


def findings(plan: Plan) -> tuple[Finding, ...]:
    """Errors, warnings and notes of a design; within one severity in the order written here."""
    if plan.spec.peak_rps <= 0:
        return order_findings([_zero_load(), *_index(plan)])
    return order_findings([*_index(plan)])


def _zero_load() -> Finding:
    return Finding(
        code="no_load",
        severity="info",
        message="No requests: nothing is routed, and prices per request do not exist.",
        metric="cost_usd_per_m_requests",
    )


def _index(plan: Plan) -> Iterator[Finding]:
    index = plan.index
    yield Finding(
        code="probing_or_tree",
        severity="info",
        message=f"Asking all {plan.spec.instances:,} instances for each of {index.blocks_per_request:,} blocks would "
        f"be {show(index.lookups_probing_per_s, '1/s')} look-ups; one prefix tree answers with "
        f"{show(index.lookups_tree_per_s, '1/s')}, in {show(index.bytes, 'bytes', shown='MiB')}.",
        metric="lookups_per_s_prefix_tree",
    )
