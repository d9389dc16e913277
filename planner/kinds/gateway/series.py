"""Tables behind the charts of the gateway itself; those of routing, failure and change have modules of their own."""

from __future__ import annotations

import numpy as np

from planner.core.result import Series
from planner.core.table import table
from planner.kinds.gateway.bill import bill_of
from planner.kinds.gateway.load import load_of
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.replicas import MOST_REPLICAS, sizing
from planner.kinds.gateway.series_change import canary_by_weight, goodput_by_load
from planner.kinds.gateway.series_failure import after_loss, lost_over_time
from planner.kinds.gateway.series_routing import policies, skew, stale_views, view_age

GROWTH_POINTS = 40
BILL_LABELS = {
    "replicas_used": "replicas, used",
    "replicas_headroom": "replicas, headroom",
    "replicas_spare": "replicas, spare",
    "instances": "instances",
    "egress": "traffic out",
}


def all_series(plan: Plan) -> dict[str, Series]:
    """Every series of a design by name."""
    made = (
        policies(plan),
        skew(plan),
        stale_views(plan),
        view_age(plan),
        _resources(plan),
        _cores(plan),
        _saturation(plan),
        _cost_by_rate(plan),
        lost_over_time(plan),
        after_loss(plan),
        canary_by_weight(plan),
        goodput_by_load(plan),
        _bill(plan),
    )
    return {series.name: series for series in made}


def _resources(plan: Plan) -> Series:
    sized = plan.sizing
    return table(
        "resources",
        "What the load takes of each resource of a replica",
        ("resource", "resource", "", [each.name for each in sized.resources]),
        ("share", "used", "ratio", [each.share(sized.replicas) for each in sized.resources]),
        ("survivor", "used, one replica lost", "ratio", [sized.survivor_share(each) for each in sized.resources]),
    )


def _cores(plan: Plan) -> Series:
    parts = sorted(plan.sizing.cpu_parts.items(), key=lambda part: -part[1])
    return table(
        "cores",
        "Cores of all replicas by what they do",
        ("work", "work", "", [name for name, _ in parts]),
        ("cores", "cores", "cores", [cores for _, cores in parts]),
    )


def _saturation(plan: Plan) -> Series:
    """The request rate at which each part is full, all replicas working; what one decision takes alone comes too."""
    spec, sized, rps = plan.spec, plan.sizing, plan.load.rps
    rates: dict[str, float | None] = {}
    for each in sized.resources:
        room = sized.replicas * (each.capacity - each.per_replica)
        if each.demand > 0 and room > 0:
            rates[f"gateway: {each.name}"] = rps * room / each.demand
    cores = float(sized.replicas * spec.cores_per_replica)
    if sized.decision_cpu_s > 0:
        rates["gateway: decisions, if cores did nothing else"] = min(cores / sized.decision_cpu_s, float(MOST_REPLICAS))
    rates[f"instances, {plan.policies.chosen.words}"] = plan.policies.chosen.capacity_rps
    if plan.policies.chosen.name != "random":
        rates["instances, random routing"] = plan.policies.outcomes["random"].capacity_rps
    ordered = sorted(rates.items(), key=lambda rate: rate[1] or 0.0)
    return table(
        "saturation",
        "Request rate at which each part is full",
        ("part", "part", "", [name for name, _ in ordered]),
        ("rate_rps", "full at", "req/s", [rate for _, rate in ordered]),
    )


def _cost_by_rate(plan: Plan) -> Series:
    """The gateway sized for each rate; the instances stay as they are."""
    spec = plan.spec
    top = 2 * (spec.peak_rps or 100.0)
    rates = sorted({*(float(rate) for rate in np.linspace(0.1 * top, top, GROWTH_POINTS)), spec.peak_rps or top})
    prices: list[float | str | None] = []
    counts: list[float | str | None] = []
    for rate in rates:
        at = spec.model_copy(update={"peak_rps": rate})
        load = load_of(at)
        sized = sizing(at, load=load, index=plan.index)
        prices.append(bill_of(at, load=load, sizing=sized).per_m_tokens(load.output_tokens_per_s))
        counts.append(sized.replicas)
    return table(
        "cost_by_rate",
        "Price and replicas, sized for each request rate",
        ("rate_rps", "peak rate", "req/s", list(rates)),
        ("cost_usd_per_m_output_tokens", "cost", "USD/M output tokens", prices),
        ("gateway_replicas", "replicas", "replicas", counts),
    )


def _bill(plan: Plan) -> Series:
    parts = [(BILL_LABELS[name], usd) for name, usd in plan.bill.parts.items()]
    return table(
        "bill",
        "What an hour at the peak costs",
        ("part", "part", "", [name for name, _ in parts]),
        ("usd_per_h", "cost", "USD/h", [usd for _, usd in parts]),
    )
