"""What each GPU of the catalog is assumed to cost by the hour where a search may choose among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.core.catalog import Catalog, Gpu, Price


@dataclass(frozen=True, slots=True)
class Offer:
    """The price of one GPU, with who asks it, since when, and where that is read."""

    usd_per_h: float
    provider: str
    source: str
    as_of: str = ""

    def told(self) -> dict[str, object]:
        """For the provenance of an answer."""
        return {"usd_per_h": self.usd_per_h, "provider": self.provider, "source": self.source, "as_of": self.as_of}


def offers(catalog: Catalog, *, own: Mapping[str, float | None]) -> tuple[dict[str, Offer], dict[str, str]]:
    """Prices by GPU, and of the GPUs that have none why.

    The prices of the design itself (``own``, by GPU) stand. Others are what the catalog assumes: a team's own, or the
    median on-demand price of neoclouds; where no neocloud offers one, the median list price of hyperscalers.
    """
    stated = {catalog.gpu(slug).slug: usd for slug, usd in own.items() if usd is not None}
    found: dict[str, Offer] = {}
    without: dict[str, str] = {}
    listed = catalog.prices()
    for gpu in catalog.gpus():
        offer = _offer(gpu, catalog=catalog, stated=stated, listed=listed)
        if offer is None:
            without[gpu.slug] = "no price on demand in the catalog"
        else:
            found[gpu.slug] = offer
    return found, without


def _offer(gpu: Gpu, *, catalog: Catalog, stated: Mapping[str, float], listed: Iterable[Price]) -> Offer | None:
    if gpu.slug in stated:
        return Offer(stated[gpu.slug], provider="this design", source="stated in the design")
    price = catalog.price(gpu.slug) or _list_price(gpu, listed=listed)
    if price is None:
        return None
    return Offer(price.usd_per_h, provider=price.provider, source=price.source, as_of=price.as_of)


def _list_price(gpu: Gpu, *, listed: Iterable[Price]) -> Price | None:
    """The middle one of what hyperscalers ask on demand."""
    asked = [
        price
        for price in listed
        if price.gpu == gpu.slug and price.commitment == "on_demand" and price.market == "hyperscaler"
    ]
    return sorted(asked, key=lambda price: price.usd_per_h)[len(asked) // 2] if asked else None
