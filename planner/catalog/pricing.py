"""Which of many prices a design assumes for a GPU when it names none."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from planner.core.catalog import Price


def assumed(prices: Iterable[Price], *, gpu: str) -> Price | None:
    """The price to assume for a GPU, or None when nobody offers it on these terms.

    A team's own prices come first. Else it is the median of the on-demand prices of neoclouds: what one pays without
    a contract, without the mark-up of a hyperscaler's list price. Spot and reserved prices, costs of ownership and
    prices that an author only assumed are shown in the catalog but never enter.
    """
    offered = [price for price in prices if price.gpu == gpu and price.commitment == "on_demand"]
    own = [price for price in offered if price.market == "team"]
    chosen = own or [price for price in offered if price.market == "neocloud"]
    if len(chosen) < 2:
        return chosen[0] if chosen else None
    return _median(chosen, gpu=gpu)


def _median(prices: list[Price], *, gpu: str) -> Price:
    providers = ", ".join(price.provider for price in sorted(prices, key=lambda price: price.usd_per_h))
    return Price(
        slug=f"{gpu}-on-demand-median",
        gpu=gpu,
        usd_per_h=statistics.median(price.usd_per_h for price in prices),
        provider=f"median of {len(prices)}",
        commitment="on_demand",
        source=f"median of the on-demand prices of {providers}",
        as_of=max(price.as_of for price in prices),
        market=prices[0].market,
    )
