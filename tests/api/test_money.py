"""Money over the API: the bill that sums, terms that are refused at their place, lists that lack a price."""

from __future__ import annotations

import itertools
import math

import pytest

from planner import kinds

MONEY = "/api/v1/money/"
pytestmark = pytest.mark.usefixtures("real_kinds")


def total(rows, name="per_h"):
    return sum(row[name] for row in rows)


@pytest.mark.parametrize("kind", kinds.all_kinds())
@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"source": "list", "commitment": "reserved_3y", "currency": "EUR"},
        {"source": "own_price", "own_price_usd_per_h": 1.7, "growth_per_month": 0.02, "demand": "office"},
        {"source": "owned", "currency": "CNY", "horizon_years": 1},
    ],
)
def test_lines_and_purposes_sum_to_the_bill_to_the_last_bit(bob, kind, terms):
    found = bob.post(MONEY, {"kind": kind, "terms": terms}).json()
    bill = found["bill"]["per_h"]["value"]
    if bill is None:
        assert "no_price" in {finding["code"] for finding in found["findings"]}
        return
    rows, purposes = found["lines"]["rows"], found["purposes"]["rows"]
    assert total(rows) == bill
    assert total(purposes) == bill
    assert total(rows, "per_month") == found["bill"]["per_month"]["value"]
    plan = found["plan"]
    for pool in plan["pools"]:
        assert total(pool["costs"], "amount") == pool["total"]
    assert math.isclose(total(plan["pools"], "total") + plan["other"], plan["total"], rel_tol=1e-12)
    assert plan["perfect"] <= plan["total"] * (1 + 1e-9)
    assert plan["total"] <= plan["peak"] * (1 + 1e-9)
    assert plan["gap"] <= 1e-9 * max(plan["total"], 1)


def test_the_reference_design_costs_what_its_page_says(bob):
    """1,088 USD an hour and 0.756 USD a million output tokens, as the spec of the kind works out by hand."""
    found = bob.post(MONEY, {"kind": "llm_serving"}).json()
    assert found["bill"]["per_h"] == {"value": 1088.0, "unit": "USD/h"}
    prices = {row["basis"]: row["per_m"] for row in found["tokens"]["rows"]}
    assert prices["output"] == pytest.approx(0.7556, abs=1e-4)
    assert prices["input"] == pytest.approx(1088 / (1_500_000 * 3600) * 1e6)
    assert prices["cached_input"] == pytest.approx(2 * prices["input"])
    assert prices["total"] == pytest.approx(1088 / (1_900_000 * 3600) * 1e6)


def test_break_even_is_the_bill_over_what_the_api_asks(bob):
    found = bob.post(MONEY, {"kind": "llm_serving", "terms": {"api": "deepseek-chat-v3"}}).json()["break_even"]
    asked = 3600 / 1e6 * (750_000 * 0.27 + 750_000 * 0.07 + 400_000 * 1.10)
    assert found["api_per_h"]["value"] == pytest.approx(asked)
    assert found["utilisation"] == pytest.approx(1088 / asked)
    assert found["tokens_per_day"]["output"] == pytest.approx(1088 / asked * 400_000 * 86_400)


def test_without_load_no_token_has_a_price(bob):
    found = bob.post(MONEY, {"kind": "llm_serving", "spec": {"peak_rps": 0}}).json()
    assert {row["per_m"] for row in found["tokens"]["rows"]} == {None}
    assert "no_tokens" in {finding["code"] for finding in found["findings"]}


def test_a_list_without_the_price_says_what_there_is(bob):
    terms = {"source": "list", "provider": "Nebius", "commitment": "reserved_1y"}
    found = bob.post(MONEY, {"kind": "kv_pool", "terms": terms}).json()
    assert found["bill"]["per_h"]["value"] is None
    assert found["plan"] is None
    said = next(finding["message"] for finding in found["findings"] if finding["code"] == "no_price")
    assert said.startswith("Nebius lists no price of H100 SXM")
    assert "Hyperstack, reserved 1 year, $2.72/h" in said


def test_a_cheaper_price_never_raises_the_bill(bob):
    """Nor the plan: of two price lists one of which is nowhere dearer."""
    bills = []
    for price in (0.0, 1.0, 1.5, 2.0, 4.0):
        terms = {"source": "own_price", "own_price_usd_per_h": price, "demand": "office"}
        found = bob.post(MONEY, {"kind": "kv_pool", "terms": terms}).json()
        bills.append((found["bill"]["per_h"]["value"], found["plan"]["total"], found["plan"]["perfect"]))
    assert bills == sorted(bills)
    assert all(
        lower <= higher for one, two in itertools.pairwise(bills) for lower, higher in zip(one, two, strict=True)
    )


def test_another_currency_is_the_same_bill(bob):
    dollars, euros = (
        bob.post(MONEY, {"kind": "rl_rollout", "terms": {"currency": code}}).json() for code in ("USD", "EUR")
    )
    assert euros["bill"]["per_h"]["value"] == pytest.approx(dollars["bill"]["per_h"]["value"] / 1.1761)
    assert euros["plan"]["total"] == pytest.approx(dollars["plan"]["total"] / 1.1761)
    assert euros["currency"]["source"].startswith("European Central Bank")


def test_a_price_from_the_day_asked_for(bob):
    """A day before any price held has none; the newest is the default."""
    found = bob.post(MONEY, {"kind": "kv_pool", "terms": {"source": "list", "date": "2020-01-01"}}).json()
    assert found["bill"]["per_h"]["value"] is None


@pytest.mark.parametrize(
    ("terms", "pointer"),
    [
        ({"mean_to_peak": 0}, "/terms/mean_to_peak"),
        ({"weights": [1, 2, 3]}, "/terms/weights"),
        ({"date": "yesterday"}, "/terms/date"),
        ({"api": "no-such-api"}, "/terms/api"),
        ({"nonsense": 1}, "/terms/nonsense"),
        ({"currency": "ABC"}, "/terms/currency"),
    ],
)
def test_bad_terms_are_refused_at_their_place(bob, terms, pointer):
    response = bob.post(MONEY, {"kind": "kv_pool", "terms": terms})
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
