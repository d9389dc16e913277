"""Everything that is computed about one design, before it is put into metrics, findings and series."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from planner.formulas import prefix_index
from planner.kinds.gateway.bill import Bill, bill_of
from planner.kinds.gateway.canary import Canary, canary_of
from planner.kinds.gateway.failure import Failure, failure_of
from planner.kinds.gateway.index import Index, index_of
from planner.kinds.gateway.load import Load, load_of
from planner.kinds.gateway.overload import Overload, overload_of
from planner.kinds.gateway.policies import Policies, policies_of
from planner.kinds.gateway.replicas import Sizing, of, sizing
from planner.kinds.gateway.spec import GatewaySpec

_KEPT = 32


@dataclass(frozen=True, slots=True)
class Plan:
    spec: GatewaySpec
    load: Load
    index: Index
    sizing: Sizing
    policies: Policies
    failure: Failure
    canary: Canary
    overload: Overload
    bill: Bill

    @property
    def stale_share(self) -> float:
        """Expected hits that were evicted after the index last heard."""
        return prefix_index.stale_share(self.index.lag_s, retention_s=self.policies.chosen.hits.retention_s)

    @property
    def duplicate_prefills(self) -> float:
        """Times the hottest prefix, if it were new, would be computed before the index knows it."""
        reuse = self.policies.reuse
        rate = self.load.rps * reuse.popularity.most if reuse.groups else 0.0
        lag_s = 0.0 if self.spec.index_own == "on" else self.index.lag_s
        return prefix_index.duplicate_prefills(rate, lag_s=lag_s, instances=self.spec.instances)

    @property
    def good_to_rps(self) -> float | None:
        """Rate at which the replicas without the spare ones are full as planned; None without load."""
        needed, working = self.sizing.needed, max(self.sizing.replicas - self.spec.spare_replicas, 1)
        return self.load.rps * working / needed if needed else None


def plan(spec: GatewaySpec) -> Plan:
    """Work the design out at its peak."""
    load = load_of(spec)
    # The events that feed an index depend on the hits, the hits on the number of gateways, and that hardly on events.
    routers = sizing(spec, load=load, index=index_of(spec, hit_share=0.0)).replicas
    policies = policies_of(spec, routers=routers, gateway_s=gateway_s(spec))
    index = index_of(spec, hit_share=policies.chosen.delivered)
    sized = sizing(spec, load=load, index=index)
    return Plan(
        spec=spec,
        load=load,
        index=index,
        sizing=sized,
        policies=policies,
        failure=failure_of(spec, load=load, policies=policies, routers=max(sized.replicas, 1)),
        canary=canary_of(spec, policies=policies),
        overload=overload_of(spec, chosen=policies.chosen),
        bill=bill_of(spec, load=load, sizing=sized),
    )


@lru_cache(maxsize=_KEPT)
def plan_of(spec: GatewaySpec) -> Plan:
    """`plan`, kept for who asks next: after the estimate what counts the units."""
    return plan(spec)


def gateway_s(spec: GatewaySpec) -> float:
    """What passes in the gateway before a request is on its way: reading it, deciding, asking the index."""
    hop_s = spec.index_hop_s if spec.index_place == "service" else 0.0
    return spec.request_cpu_s + spec.input_tokens * of(spec, "prompt_token_cpu_s") + of(spec, "decision_cpu_s") + hop_s
