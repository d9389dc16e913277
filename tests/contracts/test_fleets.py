"""What a design buys is the same in the words that all kinds share as in the kind's own figures."""

from __future__ import annotations

import math
from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.core.fleet import Fleet, Item, Pool, Purpose
from planner.core.result import Result

CATALOG = files.load()
ODD: list[tuple[str, dict[str, Any]]] = [
    ("llm_serving", {"peak_rps": 0}),
    ("llm_serving", {"topology": "aggregated", "decode_unit_gpus": 2, "spare_decode_units": 3}),
    ("llm_serving", {"gpu_price_usd_per_h": 0, "decode_gpu_price_usd_per_h": 1.37, "decode_gpu": "h20"}),
    ("gateway", {"peak_rps": 0}),
    ("gateway", {"gateway_replicas": 1, "instance_usd_per_h": 17.3, "egress_usd_per_gb": 0.09}),
    ("kv_pool", {"turns_per_s": 0}),
    ("kv_pool", {"prefill_units": 1, "dram_paid": "in_rent"}),
    ("multi_lora", {"requests_per_s": 0}),
    ("multi_lora", {"replicas": 1, "cold_replicas": 2}),
    ("multi_lora", {"gpu": "gb300-nvl72", "gpu_price_usd_per_h": None}),
    ("multi_lora", {"tpot_slo_s": 0.0001}),
    ("rl_rollout", {"problems": 0}),
    ("rl_rollout", {"mode": "colocated"}),
    ("rl_rollout", {"mode": "colocated", "rollout_gpus": 8, "instance_gpus": 2}),
    ("rl_rollout", {"weight_bytes": 1e14}),
    ("rl_rollout", {"mode": "synchronous", "train_step_s": 1}),
    ("engine_instance", {"concurrency": None, "rate_rps": 0}),
    ("engine_instance", {"rate_rps": 1e5}),
    ("engine_instance", {"gpus": 1, "llm": "deepseek-v3"}),
]
CASES = [(each.kind, dict(each.spec)) for each in kinds.examples()] + [(slug, {}) for slug in kinds.all_kinds()] + ODD


def made(slug: str, spec: dict[str, Any]) -> tuple[Any, Result, Fleet]:
    kind, hook = kinds.get(slug), kinds.planning(slug).fleet
    assert hook is not None
    parsed = kind.spec.model_validate(spec)
    result = kind.estimate(parsed, CATALOG)
    return parsed, result, hook(parsed, result, CATALOG)


@pytest.mark.parametrize(("slug", "spec"), CASES)
def test_the_bill_its_purposes_and_the_gpus_are_those_of_the_kind(slug: str, spec: dict[str, Any]) -> None:
    parsed, result, fleet = made(slug, spec)
    bill = result.value("cost_usd_per_h")
    assert fleet.usd_per_h == bill
    assert bool(fleet.purposes) == (bill is not None)
    assert sum(purpose.usd_per_h for purpose in reversed(fleet.purposes)) == (bill or 0.0)
    gpus = result.value("gpus" if "gpus" in result.metrics else "prefill_gpus")
    assert gpus is None or fleet.gpus == gpus
    for pool in fleet.pools:
        assert max(pool.nodes_per_unit, pool.units_per_node) >= 1 == min(pool.nodes_per_unit, pool.units_per_node)
        assert not pool.spare_field or pool.spare_field in type(parsed).model_fields
        assert not pool.size_field or getattr(parsed, pool.size_field) == pool.unit_gpus
        assert pool.needed_units is None or math.isfinite(pool.needed_units)
    assert not fleet.demand_field or getattr(parsed, fleet.demand_field) is not None


@pytest.mark.parametrize(("slug", "spec"), [*((slug, {}) for slug in kinds.all_kinds()), *ODD])
def test_one_more_unit_is_bought_by_the_field_that_says_so(slug: str, spec: dict[str, Any]) -> None:
    parsed, _, fleet = made(slug, spec)
    for pool in fleet.pools:
        change = pool.bought(pool.units + 1)
        if change is None:
            continue
        _, _, more = made(slug, {**parsed.model_dump(mode="json"), **change})
        grown = {each.name: each.units for each in more.pools}
        assert grown[pool.name] == pool.units + 1, pool.name


@pytest.mark.parametrize("slug", list(kinds.all_kinds()))
def test_a_stable_design_has_the_units_it_needs_and_no_load_needs_none(slug: str) -> None:
    parsed, _, fleet = made(slug, {})
    assert all(pool.needed_units is not None and pool.needed_units <= pool.units for pool in fleet.pools)
    assert sum(fleet.tokens_per_s[basis] for basis in ("input", "output")) == pytest.approx(fleet.tokens_per_s["total"])
    if fleet.demand_field:
        _, _, idle = made(slug, {**parsed.model_dump(mode="json"), fleet.demand_field: 0})
        assert all(pool.needed_units == 0 for pool in idle.pools if pool.follows_demand)
        assert set(idle.tokens_per_s.values()) == {0.0}


def test_needed_units_are_those_of_the_reference() -> None:
    """187.5 GPUs of prefill in units of 32 and 216.2 of decode in one of 144: spec/kinds/llm_serving."""
    _, _, fleet = made("llm_serving", {})
    prefill, decode = fleet.pools
    assert (prefill.units, prefill.needed_units, prefill.nodes_per_unit) == (8, 187.5 / 32, 4)
    assert (decode.units, decode.nodes_per_unit) == (2, 18)
    assert decode.needed_units == pytest.approx(500 * 800 / 1850 / 144)


def test_purposes_that_are_not_the_bill_are_refused() -> None:
    pool = Pool("replica", "Replicas", "replica", units=2, needed_units=1.0, unit_usd_per_h=3.0)
    item = Item("egress", "Traffic", "network", 1.0, "bytes/s", 0.5)
    assert Fleet(pools=(pool,), items=(item,)).usd_per_h == 6.5
    with pytest.raises(ValueError, match="purposes sum"):
        Fleet(pools=(pool,), items=(item,), purposes=(Purpose("all", "All", 6.0),))
