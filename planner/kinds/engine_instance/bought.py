"""What a design buys, in the words that all kinds share."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.catalog import Catalog
from planner.core.fleet import GPUS_PER_NODE, Fleet, Pool, Purpose, TokenBasis
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.formulas import cost, sizing
from planner.kinds.engine_instance.spec import EngineInstanceSpec


def fleet(spec: EngineInstanceSpec, result: Result, _catalog: Catalog) -> Fleet:
    """One replica."""
    bill = result.value("cost_usd_per_h")
    return Fleet(
        pools=(_replica(spec, result, bill_usd_per_h=bill),),
        purposes=() if bill is None else _purposes(spec, bill_usd_per_h=bill),
        tokens_per_s=_tokens(spec, result),
        demand_field="" if spec.rate_rps is None else "rate_rps",
        mean_to_peak=spec.utilisation,
    )


def _purposes(spec: EngineInstanceSpec, *, bill_usd_per_h: float) -> tuple[Purpose, ...]:
    used = bill_usd_per_h * spec.utilisation
    parts = cost.exact_parts(bill_usd_per_h, parts={"used": used}, remainder="unused")
    return (
        Purpose("used", _("Hours at this load"), parts["used"]),
        Purpose("unused", _("Hours without load"), parts["unused"], is_used=False),
    )


def _tokens(spec: EngineInstanceSpec, result: Result) -> Mapping[TokenBasis, float]:
    found = {basis: result.value(f"{basis}_tokens_per_s") or 0.0 for basis in ("output", "input", "total")}
    cached = found["input"] * spec.prefix_hit_rate
    return {"output": found["output"], "input": found["input"], "cached_input": cached, "total": found["total"]}


def _replica(spec: EngineInstanceSpec, result: Result, *, bill_usd_per_h: float | None) -> Pool:
    gpus = spec.cut()[0]
    return Pool(
        name="replica",
        label=_("Replica"),
        noun="replica",
        units=1,
        needed_units=_needed(spec, result),
        unit_gpus=gpus,
        gpu=spec.gpu,
        unit_usd_per_h=bill_usd_per_h,
        price_field="gpu_price_usd_per_h",
        nodes_per_unit=sizing.nodes_failing_with_a_unit(unit_gpus=gpus, gpus_per_node=GPUS_PER_NODE),
        units_per_node=sizing.units_on_a_node(unit_gpus=gpus, gpus_per_node=GPUS_PER_NODE),
    )


def _needed(spec: EngineInstanceSpec, result: Result) -> float | None:
    """The load over the most it serves; None where nothing is served."""
    most, rate = result.value("max_request_rate_rps"), spec.rate_rps
    if rate is None:
        rate = result.value("request_rate_rps")
    if not most or rate is None:
        return 0.0 if rate == 0 else None
    return rate / most
