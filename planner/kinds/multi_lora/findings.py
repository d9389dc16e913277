"""What binds, what breaks and what to change, in sentences with this design's numbers."""

from __future__ import annotations

from planner.core.result import Finding, order_findings
from planner.kinds.multi_lora import ignored
from planner.kinds.multi_lora.findings_fleet import fleet_findings
from planner.kinds.multi_lora.findings_reference import reference_findings
from planner.kinds.multi_lora.findings_slots import slot_findings
from planner.kinds.multi_lora.findings_tenants import tenant_findings
from planner.kinds.multi_lora.plan import Plan

FIRST = (
    "replica_binds",
    "reading_is_the_price",
    "kernels_switch_on",
    "swap_is_copies",
    "slots_cost_kv",
    "slots_and_running",
    "pages_shared",
    "share_of_step",
    "affinity",
    "prefix_key",
    "one_lost",
    "cold_adapters",
    "noisy_tenant",
    "fairness_bound",
    "dedicated",
)
"""Notes in the order in which somebody who plans this would ask."""


def findings(plan: Plan) -> tuple[Finding, ...]:
    """Errors, warnings and notes of a design; notes in the order of `FIRST`, the rest as written here."""
    found = [
        *slot_findings(plan),
        *fleet_findings(plan),
        *reference_findings(plan),
        *tenant_findings(plan),
        *ignored.findings(plan),
    ]
    return order_findings(sorted(found, key=_place))


def _place(finding: Finding) -> int:
    if finding.severity != "info":
        return 0
    return FIRST.index(finding.code) if finding.code in FIRST else len(FIRST)
