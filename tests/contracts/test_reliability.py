"""Reliability of every kind: what is proposed keeps the promise, and figures are those of the formulas by hand."""

from __future__ import annotations

from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.core.reliability import Reliability, ReliabilityTerms
from planner.designs import estimation
from planner.designs.reliability import reliability
from planner.designs.reliability_ways import fleet_of

CATALOG = files.load()
SLUGS = list(kinds.all_kinds())


def answered(slug: str, spec: dict[str, Any]) -> estimation.Estimate:
    kind = kinds.get(slug)
    return estimation.answer(kind, spec=kind.spec.model_validate(spec), catalog=CATALOG)


def planned(slug: str, spec: dict[str, Any] | None = None, **terms: Any) -> Reliability:
    return reliability(answered(slug, spec or {}), terms=ReliabilityTerms(**terms))


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("terms", [{"availability": 0.9995}, {"availability": 0.99999, "racks": 6, "zones": 3}])
def test_what_is_proposed_keeps_the_promise_at_the_price_told(slug: str, terms: dict[str, Any]) -> None:
    before = answered(slug, {})
    found = planned(slug, **terms)
    assert found.carried is not None
    if found.carried >= terms["availability"]:
        assert (found.change, found.change_usd_per_h) == ({}, 0.0)
        return
    if found.change is None:
        return
    spec = {**before.spec_json, **found.change}
    after = planned(slug, spec, **terms)
    assert after.carried is not None
    assert after.carried >= terms["availability"]
    bill, grown = fleet_of(before).usd_per_h, fleet_of(answered(slug, spec)).usd_per_h
    assert bill is not None
    assert grown is not None
    assert grown - bill == pytest.approx(found.change_usd_per_h, abs=1e-6)


@pytest.mark.parametrize("slug", SLUGS)
def test_each_row_of_a_pool_is_bought_by_its_change_and_costs_its_units(slug: str) -> None:
    found, bought = planned(slug), fleet_of(answered(slug, {}))
    for pool, unit in zip(found.pools, bought.pools, strict=True):
        assert [level.spares for level in pool.levels] == sorted({level.spares for level in pool.levels})
        carried = [level.carried for level in pool.levels]
        assert carried == sorted(carried)
        for level in pool.levels:
            if unit.unit_usd_per_h is not None:
                assert level.spares_usd_per_h == pytest.approx(level.spares * unit.unit_usd_per_h)
            assert level.change is None or set(level.change) == {unit.spare_field}
        for domain in pool.domains:
            against = pool.level(domain.spares_to_carry)
            assert against is None or (against.left[domain.name] or 0) >= 1 - 1e-9
            assert domain.carries == ((pool.spares or 0) >= domain.spares_to_carry)


def test_without_racks_and_zones_a_unit_is_as_reliable_as_its_kind_says() -> None:
    """18 nodes at 5 in 100,000 h and 45 minutes: 0.999325, and both units with the square of it."""
    alone = planned("llm_serving", rack_failures_per_h=0, zone_failures_per_h=0)
    decode = alone.pools[1]
    assert decode.unit_up == pytest.approx(1 / (1 + 18 * 5e-5 * 0.75), rel=1e-12)
    assert decode.unit_up == pytest.approx(0.999325, abs=5e-7)
    assert decode.carried == pytest.approx(decode.unit_up**2, rel=1e-12)
    assert alone.carried == pytest.approx(answered("llm_serving", {}).result.value("peak_availability"), rel=1e-9)


def test_one_replica_is_up_when_all_it_stands_on_is() -> None:
    """By hand from the published counts: GPU, engine, node, rack and zone, each with its time back."""
    gpu, node = 256 / (16_384 * 54 * 24), 163 / (2_048 * 54 * 24)
    rack, zone = 20 / (1800 / 40) / 8760, 1 / (1800 / 750) / 8760
    up = 1 / (1 + gpu * 0.75 + 4.6e-4 * 0.25)
    for often_h, away_h in ((node, 0.75), (rack, 3), (zone, 6)):
        up *= 1 / (1 + often_h * away_h)
    assert planned("engine_instance").carried == pytest.approx(up, abs=2e-7)


def test_rates_are_those_given_then_the_designs_then_the_published() -> None:
    found = planned("llm_serving", {"failures_per_node_h": 1e-3}, node_repair_h=2.0, rack_failures_per_h=0.0)
    assert (found.rates["node"].failures_per_h, found.rates["node"].repair_h) == (1e-3, 2.0)
    assert found.rates["gpu"].failures_per_h == found.rates["engine"].failures_per_h == 0.0
    assert found.rates["rack"].source == "given"
    assert "Llama 3" in planned("kv_pool").rates["gpu"].source
    assert found.target == 0.999
    assert planned("llm_serving", {"availability": 0.99}).target == 0.99
    assert planned("llm_serving", {"availability": 0.99}, availability=0.95).target == 0.95


def test_a_pool_in_one_zone_is_lost_with_it_and_dealt_over_zones_it_is_not() -> None:
    packed, dealt = planned("gateway", {"gateway_replicas": 8}), planned("gateway", {"gateway_replicas": 8}, zones=4)
    one, four = (found.pools[0].domains[-1] for found in (packed, dealt))
    assert (one.name, one.units_lost, one.left, one.carries) == ("zone", 8, 0.0, False)
    assert (four.units_lost, four.carries) == (2, True)
    told = [finding.code for finding in packed.findings]
    assert "not_n_plus_zone" in told
    assert "failures_in_common" in told
    assert packed.placements[-1].zones == 4
    assert packed.placements[-1].carried is not None
    assert packed.carried is not None
    assert packed.placements[-1].carried > packed.carried


def test_no_load_and_no_number_that_carries_it_are_answers() -> None:
    idle = planned("kv_pool", {"turns_per_s": 0})
    assert (idle.pools, idle.carried, idle.change) == ((), None, {})
    assert idle.sentence.startswith("**Nothing is bought**")
    never = planned("multi_lora", {"tpot_slo_s": 0.0001})
    assert never.carried is None
    assert never.pools[0].needed is None
    assert [finding.severity for finding in never.findings] == ["error"]
    free = planned("multi_lora", {"gpu": "gb300-nvl72", "gpu_price_usd_per_h": None}, availability=0.9999)
    assert free.bill_usd_per_h is None
    assert free.change_usd_per_h is None


def test_smaller_units_are_tried_and_the_cheapest_way_is_marked_once() -> None:
    decode = planned("llm_serving").pools[1]
    assert [way.unit_gpus for way in decode.ways] == [144, 72, 36]
    assert sum(way.is_cheapest for way in decode.ways) == 1
    prices = [way.usd_per_h for way in decode.ways if way.usd_per_h is not None]
    assert min(prices) == next(way.usd_per_h for way in decode.ways if way.is_cheapest)
    assert decode.ways[0].usd_per_h == 288.0
