"""What a design buys, in the words that all kinds share."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.catalog import Catalog
from planner.core.fleet import GPUS_PER_NODE, Fleet, Pool, TokenBasis, purposes_of
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.formulas import sizing
from planner.kinds.multi_lora.plan import Plan, plan_of
from planner.kinds.multi_lora.spec import MultiLoraSpec

PARTS = ("base", "adapter_steps", "slot_rent", "loads", "idle", "spare")
IDLE = frozenset({"idle", "spare"})


def fleet(spec: MultiLoraSpec, result: Result, catalog: Catalog) -> Fleet:
    """Replicas, and those that serve first requests while an adapter loads."""
    made = plan_of(spec, catalog=catalog)
    cold = (_cold(made),) if spec.cold_replicas else ()
    return Fleet(
        pools=(_replicas(made), *cold),
        purposes=purposes_of(result, names=PARTS, idle=IDLE),
        tokens_per_s=_tokens(made),
        demand_field="requests_per_s",
    )


def _tokens(made: Plan) -> Mapping[TokenBasis, float]:
    rate, found = made.fleet.served_rps, made.latency
    inputs, outputs = rate * made.spec.input_tokens, rate * made.spec.output_tokens
    cached = inputs * (found.prefix_hits if found else 0.0)
    return {"output": outputs, "input": inputs, "cached_input": cached, "total": inputs + outputs}


def _replicas(made: Plan) -> Pool:
    spec, sized = made.spec, made.fleet
    stated = spec.replicas is not None
    return _pool(
        made,
        name="replica",
        label=_("Replicas"),
        noun="replica",
        units=sized.replicas,
        needed_units=_share(sized.rate_rps, of=sized.max_rps, units=sized.replicas),
        spare_units=sized.replicas - made.served,
        headroom=0.0 if stated else spec.headroom,
        spare_field="replicas" if stated else "spare_replicas",
        spare_value=sized.replicas if stated else spec.spare_replicas,
    )


def _cold(made: Plan) -> Pool:
    count, used = made.spec.cold_replicas, made.cold_utilisation
    return _pool(
        made,
        name="cold",
        label=_("Cold-start replicas"),
        noun="cold-start replica",
        units=count,
        needed_units=None if used is None else used * count,
        spare_field="cold_replicas",
        spare_value=count,
    )


def _share(rate_rps: float, *, of: float, units: int) -> float | None:
    if rate_rps <= 0:
        return 0.0
    return units * rate_rps / of if of > 0 else None


def _pool(
    made: Plan,
    *,
    name: str,
    label: str,
    noun: str,
    units: int,
    needed_units: float | None,
    spare_field: str,
    spare_value: int,
    spare_units: int = 0,
    headroom: float = 0.0,
) -> Pool:
    gpus, price = made.spec.gpus_per_replica, made.gpu_price_usd_per_h
    return Pool(
        name=name,
        label=label,
        noun=noun,
        units=units,
        needed_units=needed_units,
        spare_units=spare_units,
        unit_gpus=gpus,
        gpu=made.spec.gpu,
        unit_usd_per_h=None if price is None else gpus * price,
        nodes_per_unit=sizing.nodes_failing_with_a_unit(unit_gpus=gpus, gpus_per_node=GPUS_PER_NODE),
        units_per_node=sizing.units_on_a_node(unit_gpus=gpus, gpus_per_node=GPUS_PER_NODE),
        headroom=headroom,
        spare_field=spare_field,
        spare_value=spare_value,
        price_field="gpu_price_usd_per_h",
        size_field="gpus_per_replica",
    )
