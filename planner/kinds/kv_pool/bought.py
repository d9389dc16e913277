"""What a design buys, in the words that all kinds share."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.catalog import Catalog
from planner.core.fleet import Fleet, Item, Pool, TokenBasis, purposes_of
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.formulas import sizing
from planner.kinds.kv_pool import money
from planner.kinds.kv_pool.plan import Plan, plan_of
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import DRAM, SSD

PARTS = ("new", "again", "dram", "ssd", "idle")
IDLE = frozenset({"idle"})


def fleet(spec: KvPoolSpec, result: Result, catalog: Catalog) -> Fleet:
    """Prefill units and the bytes of the tiers."""
    made = plan_of(spec, catalog=catalog)
    stored = made.room.stored_bytes
    dram_usd, ssd_usd = money.tiers_usd_per_h(made)
    return Fleet(
        pools=(_units(made),),
        items=(
            Item("dram", _("DRAM"), "storage", stored[DRAM], "bytes", dram_usd),
            Item("ssd", _("SSD"), "storage", stored[SSD], "bytes", ssd_usd),
        ),
        purposes=purposes_of(result, names=PARTS, idle=IDLE),
        tokens_per_s=_tokens(made),
        demand_field="turns_per_s",
        leaves_out=_("decode"),
    )


def _tokens(made: Plan) -> Mapping[TokenBasis, float]:
    rate, prompt = made.spec.turns_per_s, made.prompt_tokens
    inputs, outputs = rate * prompt, rate * made.output_tokens
    cached = rate * max(prompt - made.computed_tokens_per_turn, 0.0)
    return {"output": outputs, "input": inputs, "cached_input": cached, "total": inputs + outputs}


def _units(made: Plan) -> Pool:
    spec, bought = made.given, made.fleet
    layout = {"unit_gpus": spec.prefill_gpus, "gpus_per_node": spec.gpus_per_node}
    return Pool(
        name="prefill",
        label=_("Prefill"),
        noun="prefill unit",
        units=bought.units,
        needed_units=bought.needed_units,
        unit_gpus=spec.prefill_gpus,
        gpu=spec.gpu,
        unit_usd_per_h=money.unit_usd_per_h(spec),
        nodes_per_unit=sizing.nodes_failing_with_a_unit(**layout),
        units_per_node=sizing.units_on_a_node(**layout),
        headroom=0.0 if spec.prefill_units else spec.headroom,
        spare_field="prefill_units",
        spare_value=bought.units,
        price_field="gpu_price_usd_per_h",
        size_field="prefill_gpus",
    )
