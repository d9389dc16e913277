"""The metrics of a plan: of the gateway itself, of its index and of the bill; the others are in `figures_routing`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.core.result import Metric
from planner.formulas.cost import HOURS_PER_MONTH
from planner.kinds.gateway.figures_failure import canary, failure, overload
from planner.kinds.gateway.figures_routing import index, routing
from planner.kinds.gateway.metrics import figure
from planner.kinds.gateway.plan import Plan

_UTILISATION = {
    "cores_utilisation": "cores",
    "memory_utilisation": "memory",
    "files_utilisation": "open files",
    "network_utilisation": "network out",
}


def metrics(plan: Plan) -> Mapping[str, Metric]:
    """Every metric of a design by name."""
    found = (
        *_replicas(plan),
        *index(plan),
        *routing(plan),
        *failure(plan),
        *canary(plan),
        *overload(plan),
        *_money(plan),
    )
    return {metric.definition.name: metric for metric in found}


def _replicas(plan: Plan) -> Iterator[Metric]:
    spec, load, sized = plan.spec, plan.load, plan.sizing
    yield figure("gateway_replicas", sized.replicas)
    yield figure("replicas_needed", sized.needed)
    yield figure("max_rps_within_headroom", plan.good_to_rps)
    yield figure(
        "streams",
        load.streams,
        working=f"{spec.peak_rps:,g} × ({spec.ttft_s:g} + {spec.output_tokens:,g} × {spec.tpot_s:g}) s",
    )
    yield figure("events_per_s", load.events_per_s)
    yield figure("cores_used", sized.cores, basis="assumed")
    decision_s = sized.decision_cpu_s
    yield figure("decisions_per_s_per_core", 1 / decision_s if decision_s > 1e-300 else None, basis="assumed")
    yield figure("busiest_utilisation", sized.busiest_share)
    shares = {each.name: each.share(sized.replicas) for each in sized.resources}
    for name, resource in _UTILISATION.items():
        yield figure(name, shares[resource])
    after = sized.survivor_busiest
    yield figure("survivor_utilisation", None if after is None else after[1], objective=1.0)
    yield figure("reconnect_cores", sized.storm_cores, basis="assumed")


def _money(plan: Plan) -> Iterator[Metric]:
    bill = plan.bill
    yield figure("cost_usd_per_h", bill.usd_per_h)
    yield figure("cost_usd_per_month", bill.usd_per_h * HOURS_PER_MONTH)
    yield figure("cost_usd_per_m_requests", bill.per_m_requests(plan.load.rps))
    yield figure("cost_usd_per_m_output_tokens", bill.per_m_tokens(plan.load.output_tokens_per_s))
    for name, usd_per_h in bill.parts.items():
        yield figure(f"{name}_usd_per_h", usd_per_h)
