"""What binds, what breaks and what to change, in sentences with this design's numbers."""

from __future__ import annotations

from planner.core.result import Finding, order_findings
from planner.kinds.rl_rollout import ignored
from planner.kinds.rl_rollout.findings_rule import rule_findings
from planner.kinds.rl_rollout.findings_services import mode_findings, service_findings
from planner.kinds.rl_rollout.findings_staleness import staleness_findings
from planner.kinds.rl_rollout.findings_step import memory_findings, step_findings
from planner.kinds.rl_rollout.plan import Plan

FIRST = (
    "async_does_not_pay",
    "mode_recommended",
    "rule_async_third",
    "sync_step_is_sum",
    "rule_rounds_up",
    "utilisation_in_part",
    "near_balance",
    "long_answers_are_stale",
    "older_than_bound",
    "sync_is_a_bound",
    "slow_scoring",
    "scoring",
)
"""Notes in the order in which somebody who plans a run would ask."""


def findings(plan: Plan) -> tuple[Finding, ...]:
    """Errors, warnings and notes of a design; notes in the order of `FIRST`, the rest as written here."""
    if plan.base.demand.trained <= 0:
        return order_findings([_no_load(), *memory_findings(plan), *ignored.findings(plan)])
    found = [*memory_findings(plan), *rule_findings(plan)]
    if plan.fits:
        found += [
            *step_findings(plan),
            *staleness_findings(plan),
            *service_findings(plan),
            *mode_findings(plan),
        ]
    return order_findings(sorted([*found, *ignored.findings(plan)], key=_place))


def _place(finding: Finding) -> int:
    """What binds comes first among the notes; what was weighed along the way comes last."""
    if finding.severity != "info":
        return 0
    return FIRST.index(finding.code) if finding.code in FIRST else len(FIRST)


def _no_load() -> Finding:
    return Finding(
        code="no_load",
        severity="info",
        message="No problems: nothing is generated, a step has no time of its own, and costs per sample do not exist.",
        metric="step_s",
    )
