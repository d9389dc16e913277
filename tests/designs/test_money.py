"""Money of hand-made fleets on a hand-made price list."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.catalog import Figure, Price
from planner.core.fleet import Fleet, Item, Pool, Purpose
from planner.core.money import MoneyTerms
from planner.designs.money.money import money, summing
from planner.designs.money.offers import NoQuote, listed, quote
from planner.formulas.commitment import HOURS_PER_YEAR


def price(usd, *, provider="Shop", region="", commitment="on_demand", market="neocloud", since="2026-01"):
    return Price(
        f"{provider}{region}{commitment}{since}", "toy", usd, provider, commitment, "list", since, market, region
    )


def catalog_of(*prices):
    gpu = SimpleNamespace(slug="toy", name="Toy", figure=lambda _name: 700.0)
    rates = {"USD": 1.0, "EUR": 1.25}
    return SimpleNamespace(
        gpu=lambda _slug: gpu,
        prices=lambda: prices,
        api_prices=tuple,
        currency=lambda code: SimpleNamespace(rate=lambda _at: Figure(rates[code], "USD", "a bank")),
    )


def pool(**changed):
    usual = {
        "name": "replica",
        "label": "Replicas",
        "noun": "replica",
        "units": 5,
        "needed_units": 3.2,
        "spare_units": 1,
        "unit_gpus": 8,
        "gpu": "toy",
        "unit_usd_per_h": 16.0,
        "headroom": 0.2,
    }
    return Pool(**{**usual, **changed})


def fleet_of(*pools, items=(), tokens=1000.0):
    bill = sum(each.usd_per_h or 0 for each in pools) + sum(item.usd_per_h for item in items)
    purposes = (Purpose("used", "Used", bill * 0.7), Purpose("idle", "Idle", bill - bill * 0.7, is_used=False))
    return Fleet(pools, items=items, purposes=purposes, tokens_per_s={"output": tokens, "total": tokens})


LIST = (
    price(3.0),
    price(2.5, region="Paris"),
    price(2.0, provider="Other", region="Oslo"),
    price(0.5, provider="Author", market="quoted"),
    price(1.5, commitment="reserved_1y"),
    price(1.0, commitment="reserved_3y"),
)


@pytest.mark.parametrize(
    ("terms", "usd", "who"),
    [
        ({}, 2.0, "Other, Oslo"),
        ({"provider": "shop"}, 2.5, "Shop, Paris"),
        ({"provider": "Shop", "region": "Rome"}, 3.0, "Shop"),
        ({"provider": "Author"}, 0.5, "Author"),
        ({"commitment": "reserved_3y"}, 1.0, "Shop"),
    ],
)
def test_the_cheapest_offer_that_matches(terms, usd, who):
    found = quote("toy", terms=MoneyTerms(source="list", **terms), catalog=catalog_of(*LIST))
    assert (found.usd_per_h, found.who) == (usd, who)


def test_what_an_author_assumed_counts_where_nobody_sells():
    catalog = catalog_of(price(0.5, provider="Author", market="quoted"))
    assert quote("toy", terms=MoneyTerms(source="list"), catalog=catalog).usd_per_h == 0.5


def test_of_one_offer_at_several_dates_the_newest_that_held():
    catalog = catalog_of(price(4.0, since="2025-01"), price(2.0, since="2025-07"), price(3.0, since="2026-01"))
    asked = {at: MoneyTerms(source="list", date=at) for at in ("2025-03-01", "2025-08-01", None)}
    found = [quote("toy", terms=terms, catalog=catalog).usd_per_h for terms in asked.values()]
    assert found == [4.0, 2.0, 3.0], "a newer price replaces a cheaper old one"
    with pytest.raises(NoQuote, match="There is no list price of it at all"):
        quote("toy", terms=MoneyTerms(source="list", date="2024-01-01"), catalog=catalog)


def test_terms_nobody_lists_name_what_there_is():
    with pytest.raises(
        NoQuote, match=r"Nobody in the catalog lists a price of Toy, spot.*Author, on demand, \$0.500/h"
    ):
        quote("toy", terms=MoneyTerms(source="list", commitment="spot"), catalog=catalog_of(*LIST))
    assert listed("toy", commitment="spot", terms=MoneyTerms(), catalog=catalog_of(*LIST)) is None


def planned(fleet, catalog=None, **terms):
    return money(fleet, terms=MoneyTerms(**terms), catalog=catalog or catalog_of())


def test_at_the_peak_the_plan_buys_what_the_design_buys():
    """3.2 units with 20 % are 3.84, four whole ones, and a spare; at half the load 1.92, two and the spare."""
    found = planned(fleet_of(pool()), demand="own", weights=(1.0,) * 12 + (0.5,) * 12)
    units = found.buying.pools[0].units
    assert sorted(set(units.ravel().tolist())) == [3, 5]


def test_regret_by_hand():
    """Half a day five units, half a day three, at 16 USD: perfect are 3.2 and 1.6 of them."""
    terms = {"demand": "own", "weights": (1.0,) * 12 + (0.5,) * 12, "load_delay_s": 0, "horizon_years": 1}
    buying = planned(fleet_of(pool()), **terms).buying
    assert buying.usd == pytest.approx(HOURS_PER_YEAR * 16 * 4)
    assert buying.perfect_usd == pytest.approx(HOURS_PER_YEAR * 16 * 2.4)
    assert buying.regret == pytest.approx(4 / 2.4 - 1)
    assert buying.saved == pytest.approx(1 - 4 / 5)


def test_what_does_not_follow_demand_is_committed_to_the_longest_terms():
    fleet = fleet_of(pool(follows_demand=False), items=(Item("disk", "Disk", "storage", 1e12, "bytes", 2.0),))
    buying = planned(fleet, catalog_of(*LIST), source="list").buying
    assert buying.pools[0].mix.reserved_3y_units == 5
    assert buying.usd == pytest.approx(3 * HOURS_PER_YEAR * (5 * 8 * 1.0 + 2.0))
    two = planned(fleet, catalog_of(*LIST), source="list", horizon_years=2).buying
    assert "reserved_3y" not in two.pools[0].quotes
    assert two.usd == pytest.approx(2 * HOURS_PER_YEAR * (5 * 8 * 1.5 + 2.0))


def test_a_design_that_is_too_small_buys_no_more_than_it_has():
    found = planned(fleet_of(pool(units=2, spare_units=0, needed_units=6.0)), demand="office")
    assert found.buying.pools[0].units.max() == 2
    assert found.buying.perfect_usd <= found.buying.usd


def test_a_plan_without_load_keeps_the_spares_and_has_no_price_of_a_token():
    found = planned(fleet_of(pool(units=1, needed_units=0.0), tokens=0.0))
    assert set(found.buying.pools[0].units.ravel().tolist()) == {1}
    assert [each.per_m for each in found.bases] == [None, None]


def test_a_pool_without_a_price_leaves_no_bill():
    found = money(
        Fleet((pool(unit_usd_per_h=None),), tokens_per_s={"output": 1.0}), terms=MoneyTerms(), catalog=catalog_of()
    )
    assert found.per_h is None
    assert found.buying is None
    assert found.findings[0].severity == "error"


def test_a_pool_left_out_of_the_bill_is_said():
    fleet = fleet_of(pool(), pool(name="other", label="Others", is_billed=False))
    found = planned(fleet)
    assert found.per_h == 80.0
    assert "not_billed" in {finding.code for finding in found.findings}


@given(amounts=st.lists(st.floats(0, 1e9), min_size=1, max_size=6), rate=st.floats(0.001, 1000))
def test_parts_sum_in_any_order_in_any_currency(amounts, rate):
    total = math.fsum(amounts) / rate
    parts = summing({str(place): amount / rate for place, amount in enumerate(amounts)}, total=total)
    assert all(sum(order) == total for order in itertools.islice(itertools.permutations(parts.values()), 24))


def test_another_currency_divides_every_amount():
    dollars, euros = planned(fleet_of(pool())), planned(fleet_of(pool()), currency="EUR")
    assert euros.per_h == pytest.approx(dollars.per_h / 1.25)
    assert sum(line.per_h for line in euros.lines) == euros.per_h
    assert sum(part.per_h for part in euros.parts) == euros.per_h
