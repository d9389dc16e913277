"""What binds, what breaks and what to change, in sentences with this design's numbers."""

from __future__ import annotations

from planner.core.result import Finding, order_findings
from planner.kinds.gateway import ignored
from planner.kinds.gateway.findings_change import change_findings
from planner.kinds.gateway.findings_failure import failure_findings
from planner.kinds.gateway.findings_index import index_findings
from planner.kinds.gateway.findings_replicas import replica_findings
from planner.kinds.gateway.findings_routing import routing_findings
from planner.kinds.gateway.plan import Plan

FIRST = (
    "gateway_binding",
    "affinity_pays",
    "policies_tie",
    "policy_leaves_capacity",
    "gateway_survives",
    "detection",
    "streams_cut",
    "overload",
    "cold_after_loss",
    "retry_budget",
    "canary",
    "proxy_default_caps",
    "hot_prefixes",
)
"""Notes in the order in which somebody on call would ask."""


def findings(plan: Plan) -> tuple[Finding, ...]:
    """Errors, warnings and notes of a design; notes in the order of `FIRST`, the rest as written here."""
    if plan.spec.peak_rps <= 0:
        return order_findings([_zero_load(), *replica_findings(plan), *ignored.findings(plan)])
    found = [
        *routing_findings(plan),
        *replica_findings(plan),
        *failure_findings(plan),
        *index_findings(plan),
        *change_findings(plan),
        *ignored.findings(plan),
    ]
    return order_findings(sorted(found, key=_place))


def _place(finding: Finding) -> int:
    """What binds and what breaks comes first among the notes; what was weighed along the way comes last."""
    if finding.severity != "info":
        return 0
    return FIRST.index(finding.code) if finding.code in FIRST else len(FIRST)


def _zero_load() -> Finding:
    return Finding(
        code="no_load",
        severity="info",
        message="No requests: nothing is routed, nothing notices a failure by errors, and prices per request do not "
        "exist.",
        metric="cost_usd_per_m_requests",
    )
