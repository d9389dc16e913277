"""A design on given terms: its GPU-hours priced by them, answered again, and what that comes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner import kinds
from planner.core.catalog import Catalog, UnknownEntry
from planner.core.fleet import Fleet
from planner.core.kind import Spec
from planner.core.money import MoneyTerms
from planner.core.specs import read_spec
from planner.designs import estimation
from planner.designs.estimation import Estimate
from planner.designs.money.money import Money, money
from planner.designs.money.offers import NoQuote, Quote, quote
from planner.designs.texts import InvalidField


def parse_terms(given: Mapping[str, Any]) -> MoneyTerms:
    """The checked terms; raises pydantic's ValidationError. Strict, as a spec is."""
    return read_spec(MoneyTerms, given)


def money_of(estimate: Estimate, *, terms: MoneyTerms) -> Money:
    """What a design costs on these terms; raises as `estimation.answer`, and UnknownEntry for an API that is none."""
    fleet = fleet_of(estimate)
    quotes, refusals = _quotes(fleet, terms=terms, catalog=estimate.catalog)
    changes = {pool.price_field: quotes[pool.gpu].usd_per_h for pool in _priced(fleet) if pool.gpu in quotes}
    if changes:
        spec = estimation.parse_spec(estimate.kind, spec={**estimate.spec_json, **changes})
        fleet = fleet_of(estimation.answer(estimate.kind, spec=spec, catalog=estimate.catalog))
    return money(
        fleet,
        terms=terms,
        catalog=estimate.catalog,
        quotes=quotes,
        refusals=refusals,
        llm=_llm(estimate.spec, catalog=estimate.catalog),
        basis=bill.basis if (bill := estimate.result.metrics.get("cost_usd_per_h")) else "exact",
    )


def fleet_of(estimate: Estimate) -> Fleet:
    """What the design buys; raises `InvalidField` for a kind that does not tell."""
    told = kinds.planning(estimate.kind.slug).fleet
    if told is None:
        said = _("%(kind)s does not say what it buys.") % {"kind": estimate.kind.label}
        raise InvalidField(field="kind", message=said)
    return told(estimate.spec, estimate.result, estimate.catalog)


def _priced(fleet: Fleet) -> list[Any]:
    return [pool for pool in fleet.pools if pool.gpu and pool.price_field]


def _quotes(fleet: Fleet, *, terms: MoneyTerms, catalog: Catalog) -> tuple[dict[str, Quote], tuple[str, ...]]:
    """The terms' price of each GPU, and why another has none."""
    if terms.source == "design":
        return {}, ()
    quotes: dict[str, Quote] = {}
    refusals = []
    for gpu in dict.fromkeys(pool.gpu for pool in _priced(fleet)):
        try:
            quotes[gpu] = quote(gpu, terms=terms, catalog=catalog)
        except NoQuote as why:
            refusals.append(str(why))
    return quotes, tuple(refusals)


def _llm(spec: Spec, *, catalog: Catalog) -> str:
    """The slug of the design's LLM, "" where it has none."""
    for name, info in type(spec).model_fields.items():
        extra = info.json_schema_extra
        named = getattr(spec, name)
        if isinstance(extra, Mapping) and extra.get("catalog") == "llms" and isinstance(named, str) and named:
            try:
                return catalog.llm(named).slug
            except UnknownEntry:
                return ""
    return ""
