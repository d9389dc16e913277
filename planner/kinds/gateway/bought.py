"""What a design buys, in the words that all kinds share."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.catalog import Catalog
from planner.core.fleet import Failures, Fleet, Item, Pool, TokenBasis, purposes_of
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.kinds.gateway.bill import GB, PARTS
from planner.kinds.gateway.plan import Plan, plan_of
from planner.kinds.gateway.spec import GatewaySpec

IDLE = frozenset({"replicas_spare", "replicas_headroom"})


def fleet(spec: GatewaySpec, result: Result, _catalog: Catalog) -> Fleet:
    """Gateway replicas, the instances behind them, and traffic."""
    made = plan_of(spec)
    traffic = made.load.egress_bytes_per_s
    egress_usd = traffic * 3600 / GB * spec.egress_usd_per_gb
    return Fleet(
        pools=(_replicas(made), _instances(made)),
        items=(Item("egress", _("Traffic out"), "network", traffic, "bytes/s", egress_usd),),
        purposes=purposes_of(result, names=PARTS, idle=IDLE),
        tokens_per_s=_tokens(made),
        demand_field="peak_rps",
        failures=Failures(spec.instance_failures_per_h, spec.outage_s / 3600),
    )


def _tokens(made: Plan) -> Mapping[TokenBasis, float]:
    inputs, outputs = made.load.prompt_tokens_per_s, made.load.output_tokens_per_s
    cached = inputs * made.policies.chosen.delivered
    return {"output": outputs, "input": inputs, "cached_input": cached, "total": inputs + outputs}


def _replicas(made: Plan) -> Pool:
    spec, sized = made.spec, made.sizing
    full = [each.replicas(1.0) for each in sized.resources]
    stated = spec.gateway_replicas is not None
    return Pool(
        name="gateway",
        label=_("Gateway replicas"),
        noun="gateway replica",
        units=sized.replicas,
        needed_units=None if None in full else max(need for need in full if need is not None),
        spare_units=min(spec.spare_replicas, max(sized.replicas - 1, 0)),
        unit_usd_per_h=spec.replica_usd_per_h,
        headroom=1 / spec.usable_share - 1,
        spare_field="gateway_replicas" if stated else "spare_replicas",
        spare_value=sized.replicas if stated else spec.spare_replicas,
    )


def _instances(made: Plan) -> Pool:
    spec = made.spec
    return Pool(
        name="instance",
        label=_("Instances"),
        noun="instance",
        units=spec.instances,
        needed_units=spec.instances * spec.peak_rps / made.policies.chosen.capacity_rps,
        unit_usd_per_h=spec.instance_usd_per_h,
        spare_field="instances",
        spare_value=spec.instances,
        is_billed=spec.instance_usd_per_h is not None,
    )
