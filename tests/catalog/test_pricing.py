from __future__ import annotations

from planner.catalog.pricing import assumed
from planner.core.catalog import Price


def price(
    usd: float, *, market: str = "neocloud", commitment: str = "on_demand", gpu: str = "toy", as_of: str = "2026-01"
):
    return Price(f"p{usd}", gpu, usd, f"provider {usd}", commitment, "list", as_of, market)


def test_the_median_of_on_demand_neocloud_prices_is_assumed():
    found = assumed([price(4, as_of="2026-03"), price(2), price(9)], gpu="toy")
    assert found.usd_per_h == 4
    assert found.as_of == "2026-03"
    assert found.source == "median of the on-demand prices of provider 2, provider 4, provider 9"


def test_of_two_prices_the_middle_is_assumed():
    assert assumed([price(2), price(3)], gpu="toy").usd_per_h == 2.5


def test_one_price_is_returned_as_it_stands():
    only = price(2)
    assert assumed([only, price(1, gpu="other")], gpu="toy") is only


def test_other_terms_never_enter():
    others = [
        price(1, commitment="spot"),
        price(1, commitment="reserved_3y"),
        price(1, commitment="owned"),
        price(10, market="hyperscaler"),
        price(2, market="quoted"),
    ]
    assert assumed(others, gpu="toy") is None
    assert assumed([*others, price(3)], gpu="toy").usd_per_h == 3


def test_the_price_of_the_team_wins():
    assert assumed([price(2), price(3), price(1.1, market="team")], gpu="toy").usd_per_h == 1.1


def test_the_shipped_price_of_an_h100_is_the_middle_of_three_offers(shipped):
    """Nebius 2.95, an unnamed provider 2.99, Crusoe 3.90."""
    assert shipped.price("H100").usd_per_h == 2.99


def test_a_gpu_nobody_rents_by_the_hour_has_no_price(shipped):
    assert shipped.price("gb200") is None
