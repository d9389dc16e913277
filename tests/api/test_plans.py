"""Fleet plans: designs joined to one fleet, with the kinds of the product."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner import kinds
from planner.designs.models import FleetPlan
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

pytestmark = pytest.mark.usefixtures("real_kinds")
URL = "/api/v1/plans/"
POOL, SERVING = {"name": "pool", "kind": "kv_pool", "spec": {}}, {"name": "serving", "kind": "llm_serving", "spec": {}}
HITS = {"from": "pool", "to": "serving", "via": "prefix_hit_rate"}


def example() -> dict[str, Any]:
    plan = kinds.example_plans()[0]
    return {"members": list(plan.members), "joins": list(plan.joins), "night": dict(plan.night)}


def answered(caller: Caller, body: dict[str, Any]) -> dict[str, Any]:
    response = caller.post(URL, body)
    assert response.status_code in (200, 201), response.content
    return strict(response)


def estimate(caller: Caller, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return strict(caller.post("/api/v1/estimates/", {"kind": kind, "spec": spec}))["metrics"]


def member(view: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in view["members"] if row["name"] == name)


def test_hits_of_the_pool_size_the_serving_fleet(bob: Caller) -> None:
    """The joined design is the one that anyone gets who types the pool's hit rate by hand."""
    view = answered(bob, {"members": [POOL, SERVING], "joins": [HITS]})
    hits = estimate(bob, "kv_pool", {})["prefix_hit_rate"]["value"]
    by_hand = estimate(bob, "llm_serving", {"prefix_hit_rate": hits})
    assert member(view, "serving")["spec"]["prefix_hit_rate"] == hits
    assert member(view, "serving")["usd_per_h"] == by_hand["cost_usd_per_h"]["value"]
    assert member(view, "serving")["given"][0]["changes"][0]["name"] == "prefix_hit_rate"


def test_joined_machines_are_bought_once(bob: Caller) -> None:
    """Without the join the pool pays for prefill units of its own; with it they are those of the serving fleet."""
    apart = answered(bob, {"members": [POOL, SERVING], "joins": []})
    joined = answered(bob, {"members": [POOL, SERVING], "joins": [HITS]})
    prefill = estimate(bob, "kv_pool", {})["prefill_gpus"]["value"]
    assert member(apart, "pool")["pools"][0]["bought_elsewhere"] is False
    assert member(joined, "pool")["pools"][0]["bought_elsewhere"] is True
    tiers = estimate(bob, "kv_pool", {})
    expected = tiers["dram_usd_per_h"]["value"] + tiers["ssd_usd_per_h"]["value"]
    assert member(joined, "pool")["usd_per_h"] == pytest.approx(expected)
    assert apart["total"]["gpus"] - joined["total"]["gpus"] >= prefill


def test_the_parts_sum_to_the_bill(bob: Caller) -> None:
    view = answered(bob, example())
    parts = [part["usd_per_h"] for part in view["total"]["parts"]]
    assert sum(parts) == view["total"]["usd_per_h"]
    assert min(parts) < 0  # the nights
    by_member = [row["usd_per_h"] for row in view["members"]]
    assert sum(by_member) == pytest.approx(view["total"]["usd_per_h"])
    tokens_per_h = 500 * 800 * 3600
    per_m = view["total"]["usd_per_h"] / tokens_per_h * 1e6
    assert view["total"]["usd_per_m_output_tokens"] == pytest.approx(per_m)


def test_nights_lend_units_to_rollout(bob: Caller) -> None:
    view = answered(bob, example())
    (lent,) = [row for row in view["lent"] if row["replaced_units"]]
    assert (lent["from"], lent["to"], lent["hours"]) == ("serving", "rollout", 7.5)
    rollout = member(view, "rollout")
    price = rollout["spec"]["gpu_price_usd_per_h"]
    assert lent["saved_usd_per_h"] == pytest.approx(lent["replaced_units"] * price * 7.5 / 24)
    assert any(row["code"] == "plan_nights" for row in view["findings"])


def test_a_surge_larger_than_the_headroom_raises_it(bob: Caller) -> None:
    """Two instances: when one is lost the other is at least twice as busy."""
    gateway = {"name": "gate", "kind": "gateway", "spec": {"peak_rps": 20, "instances": 2}}
    join = {"from": "gate", "to": "serving", "via": "surge"}
    view = answered(bob, {"members": [gateway, SERVING], "joins": [join]})
    assert member(view, "serving")["spec"]["headroom"] >= 1.0


def test_findings_are_one_list_worst_first(bob: Caller) -> None:
    view = answered(bob, {"members": [POOL, SERVING], "joins": [HITS]})
    ranks = [("error", "warning", "info").index(row["severity"]) for row in view["findings"]]
    assert ranks == sorted(ranks)
    assert {row["member"] for row in view["findings"]} == {"", "pool", "serving"}
    assert any(row["code"] == "plan_inputs_differ" and "LLM" in row["message"] for row in view["findings"])


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"members": [POOL]}, "/members"),
        ({"members": [POOL, POOL]}, "/members/1/name"),
        ({"members": [POOL, {"name": "x", "kind": "moon"}]}, "/members/1/kind"),
        ({"members": [POOL, {"name": "x"}]}, "/members/1"),
        ({"members": [POOL, SERVING], "joins": [HITS | {"to": "moon"}]}, "/joins/0/to"),
        ({"members": [POOL, SERVING], "joins": [HITS | {"via": "moon"}]}, "/joins/0/via"),
        ({"members": [POOL, SERVING], "joins": [HITS | {"from": "serving", "to": "pool"}]}, "/joins/0/from"),
        ({"members": [POOL, SERVING], "joins": [HITS, HITS]}, "/joins/1/to"),
        ({"members": [POOL, SERVING], "joins": [{"from": "pool", "to": "serving", "via": "nights"}]}, "/joins/0/from"),
        ({"members": [POOL, SERVING], "night": {"hours": 25}}, "/night/hours"),
        ({"members": [POOL, SERVING], "moon": 1}, "/moon"),
    ],
)
def test_what_is_wrong_is_named(bob: Caller, body: dict[str, Any], pointer: str) -> None:
    problem = check_problem(bob.post(URL, body))
    assert problem["status"] == 422
    assert problem["errors"][0]["pointer"] == pointer


def test_members_that_feed_each_other_in_a_ring_are_refused(bob: Caller) -> None:
    one, two = ({"name": name, "kind": "llm_serving", "spec": {}} for name in "ab")
    joins = [
        {"from": "a", "to": "b", "via": "request_rate"},
        {"from": "b", "to": "a", "via": "request_rate"},
    ]
    problem = check_problem(bob.post(URL, {"members": [one, two], "joins": joins}))
    assert problem["errors"][0]["pointer"] == "/joins"


def test_a_plan_is_kept_changed_and_deleted(bob: Caller, world: World) -> None:
    saved = answered(bob, {**example(), "name": "Chat", "save": True})
    assert strict(bob.get(URL))["results"][0]["name"] == "Chat"
    changed = strict(bob.put(saved["url"], {"members": [POOL, SERVING], "joins": [HITS], "name": "Smaller"}))
    assert (changed["name"], len(changed["members"])) == ("Smaller", 2)
    assert world.caller("charlie").get(saved["url"]).status_code == 404
    assert world.caller("vera").post(URL, {**example(), "name": "x", "save": True}).status_code == 403
    assert world.caller("vera").post(URL, {"members": [POOL, SERVING]}).status_code == 200
    assert bob.delete(saved["url"]).status_code == 204
    assert not FleetPlan.objects.exists()


def test_no_load_is_a_plan_too(bob: Caller) -> None:
    quiet = SERVING | {"spec": {"peak_rps": 0}}
    view = answered(bob, {"members": [POOL, quiet], "joins": [HITS]})
    assert view["total"]["usd_per_m_output_tokens"] is None
    json.dumps(view, allow_nan=False)
