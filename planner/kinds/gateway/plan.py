"""Everything that is computed about one design, before it is put into metrics, findings and series."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import detection
from planner.kinds.gateway.bill import Bill, bill_of
from planner.kinds.gateway.index import Index, index_of
from planner.kinds.gateway.load import Load, load_of
from planner.kinds.gateway.replicas import Sizing, sizing
from planner.kinds.gateway.spec import GatewaySpec


@dataclass(frozen=True, slots=True)
class Plan:
    spec: GatewaySpec
    load: Load
    index: Index
    sizing: Sizing
    bill: Bill
    probes: detection.Detection


def plan(spec: GatewaySpec) -> Plan:
    """Work the design out at its peak."""
    load = load_of(spec)
    index = index_of(spec, hit_share=0.5)
    sized = sizing(spec, load=load, index=index)
    return Plan(
        spec=spec,
        load=load,
        index=index,
        sizing=sized,
        bill=bill_of(spec, load=load, sizing=sized),
        probes=detection.active(load.instance_rps, interval_s=spec.probe_interval_s, failures=spec.probe_failures),
    )
