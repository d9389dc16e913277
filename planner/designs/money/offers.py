"""What a GPU-hour costs on given terms, where that figure comes from, and what else is on offer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planner.core.catalog import Figure
from planner.core.money import COMMITMENTS, MoneyTerms
from planner.core.quantities import show
from planner.formulas.ownership import owned_parts_usd_per_h

if TYPE_CHECKING:
    from planner.core.catalog import Catalog, Price

OWNED_FIGURES = (
    "network_share",
    "years",
    "residual_share",
    "interest",
    "host_w",
    "drawn_share",
    "pue",
    "usd_per_kwh",
    "colo_usd_per_kw_month",
    "upkeep_share",
)
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Quote:
    """A price of a GPU-hour; ``who`` and ``source`` say whose, ``parts`` what it is made of, where that is known."""

    gpu: str
    terms: str
    usd_per_h: float
    who: str
    source: str
    as_of: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def is_estimate(self) -> bool:
        return self.source.startswith("estimate:") or any(figure.is_estimate for figure in self.figures.values())


class NoQuote(LookupError):
    """Nobody offers the GPU on these terms; the message says what there is."""


def quote(gpu: str, *, terms: MoneyTerms, catalog: Catalog) -> Quote:
    """The GPU-hour by the source that the terms name, but for the design's own price; raises `NoQuote`."""
    if terms.source == "own_price":
        if terms.own_price_usd_per_h is None:
            raise NoQuote("Give your price of a GPU-hour.")
        return Quote(catalog.gpu(gpu).name, "own_price", terms.own_price_usd_per_h, "you", "your price")
    if terms.source == "owned":
        return owned(gpu, terms=terms, catalog=catalog)
    found = listed(gpu, commitment=terms.commitment, terms=terms, catalog=catalog)
    if found is None:
        raise NoQuote(_nobody(gpu, terms=terms, catalog=catalog))
    return found


def listed(gpu: str, *, commitment: str, terms: MoneyTerms, catalog: Catalog, anyone: bool = False) -> Quote | None:
    """The cheapest listed price on a commitment, of the provider and region that the terms name unless ``anyone``'s.

    What somebody only assumed counts where its provider is named, or where there is no offer beside it.
    """
    offers = [price for price in _of(gpu, terms=terms, catalog=catalog) if price.commitment == commitment]
    if not anyone:
        offers = [price for price in offers if _matches(price, terms=terms)]
    offered = [price for price in offers if price.market != "quoted" or _named(price, terms=terms)]
    chosen = min(offered or offers, key=lambda price: (price.usd_per_h, price.slug), default=None)
    if chosen is None:
        return None
    who = f"{chosen.provider}, {chosen.region}" if chosen.region else chosen.provider
    return Quote(catalog.gpu(gpu).name, commitment, chosen.usd_per_h, who, chosen.source, chosen.as_of)


def providers(gpus: Iterable[str], *, catalog: Catalog) -> tuple[list[str], list[str]]:
    """Who sells any of these GPUs, and in which regions they say so."""
    wanted = {catalog.gpu(gpu).slug for gpu in gpus}
    offers = [price for price in catalog.prices() if price.gpu in wanted and price.commitment in COMMITMENTS]
    regions = {price.region for price in offers if price.region}
    return sorted({price.provider for price in offers}, key=str.lower), sorted(regions)


def owned(gpu: str, *, terms: MoneyTerms, catalog: Catalog) -> Quote:
    """The hour of an owned GPU, each figure from the terms or else from the catalog; raises `NoQuote`."""
    found = catalog.gpu(gpu)
    known = catalog.calibration("ownership")
    figures = {name: _figure(getattr(terms, name), written=known["figures"][name]) for name in OWNED_FIGURES}
    server = known["server_usd"].get(found.slug)
    if terms.server_usd is None and server is None:
        raise NoQuote(f"The catalog has no purchase price of {found.name}: give what a GPU and its server cost.")
    figures["server_usd"] = _figure(terms.server_usd, written=server or {"unit": "USD/GPU"})
    value = {name: figure.value for name, figure in figures.items()}
    parts = owned_parts_usd_per_h(
        network_usd=value["server_usd"] * value.pop("network_share"), gpu_w=found.figure("tdp_w"), **value
    )
    sources = dict.fromkeys(figure.source for figure in figures.values())
    return Quote(
        found.name,
        "owned",
        sum(parts.values()),
        "owned",
        "; ".join(sources),
        as_of=max((figure.as_of for figure in figures.values()), default=""),
        parts=parts,
        figures=figures,
    )


def _figure(given: float | None, *, written: Mapping[str, object]) -> Figure:
    if given is not None:
        return Figure(given, str(written["unit"]), source="given")
    value, unit, source, as_of = (written[name] for name in ("value", "unit", "source", "as_of"))
    return Figure(float(str(value)), str(unit), source=str(source), as_of=str(as_of))


def _of(gpu: str, *, terms: MoneyTerms, catalog: Catalog) -> list[Price]:
    """Prices of a GPU that held on the day of the terms: of one offer at several dates the newest."""
    slug = catalog.gpu(gpu).slug
    held: dict[tuple[str, str, str], Price] = {}
    for price in sorted(catalog.prices(), key=_since):
        if price.gpu == slug and (terms.date is None or _since(price) <= terms.date):
            held[price.provider, price.region, price.commitment] = price
    return list(held.values())


def _since(price: Price) -> str:
    return price.valid_from or price.as_of


def _matches(price: Price, *, terms: MoneyTerms) -> bool:
    """A price without a region holds in each."""
    somewhere = not terms.region or not price.region or price.region.lower() == terms.region.lower()
    return somewhere and (terms.provider is None or _named(price, terms=terms))


def _named(price: Price, *, terms: MoneyTerms) -> bool:
    return terms.provider is not None and price.provider.lower() == terms.provider.lower()


def _nobody(gpu: str, *, terms: MoneyTerms, catalog: Catalog) -> str:
    """Who was asked for what, and what there is instead."""
    name = catalog.gpu(gpu).name
    who = f"{terms.provider} lists no" if terms.provider else "Nobody in the catalog lists a"
    where = f" in {terms.region}" if terms.region else ""
    when = f" by {terms.date}" if terms.date else ""
    asked = COMMITMENTS[terms.commitment].lower()
    said = f"{who} price of {name}, {asked}{where}{when}."
    offers = [price for price in _of(gpu, terms=terms, catalog=catalog) if price.commitment in COMMITMENTS]
    return f"{said} {_there_is(offers)}"


def _there_is(offers: Sequence[Price]) -> str:
    if not offers:
        return "There is no list price of it at all: give your own, or the cost of owning."
    cheapest = sorted(offers, key=lambda price: price.usd_per_h)
    words = [
        f"{price.provider}{f', {price.region}' if price.region else ''}, {COMMITMENTS[price.commitment].lower()}, "
        f"{show(price.usd_per_h, 'USD/h')}"
        for price in cheapest[:MOST_NAMED]
    ]
    more = len(cheapest) - len(words)
    return f"There are: {'; '.join(words)}{f'; and {more} more' if more else ''}."
