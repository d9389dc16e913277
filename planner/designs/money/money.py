"""The answer about money: the bill and its parts, prices of every token basis, break-even and the plan to buy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner.core.catalog import ApiPrice, Catalog
from planner.core.fleet import Fleet, TokenBasis
from planner.core.money import MoneyTerms
from planner.core.result import Basis, Finding, order_findings
from planner.core.text import gettext_noop as _
from planner.designs.money import remarks
from planner.designs.money.buying import Buying, plan_of
from planner.designs.money.offers import Quote
from planner.formulas import break_even, cost

BASES: tuple[tuple[TokenBasis, str], ...] = (
    ("output", _("output")),
    ("good_output", _("output in time")),
    ("input", _("input")),
    ("cached_input", _("cached input")),
    ("total", _("input and output")),
)
HOURS_PER_DAY = 24
SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Line:
    """What is bought, a line of the bill, in the currency of the answer by the hour; None without a price."""

    name: str
    label: str
    nature: str
    quantity: float
    unit: str
    per_h: float | None
    price: Quote | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What the bill is spent on, by the hour; the parts sum to the bill to the last bit."""

    name: str
    label: str
    per_h: float
    is_used: bool


@dataclass(frozen=True, slots=True)
class BasisPrice:
    """The whole bill over the tokens of one basis, a million of them: at the peak around the clock, and at the mean."""

    basis: TokenBasis
    label: str
    tokens_per_s: float
    per_m: float | None
    per_m_at_mean: float | None
    per_m_planned: float | None
    """What the plan costs over all its tokens."""


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Against one API: what it asks for the tokens of an hour in full use, and from which use on the fleet is cheaper.

    ``tokens_per_day`` are those of that use, by what the API bills: uncached input, cached input, output.
    """

    api: ApiPrice
    api_per_h: float
    api_per_m: float | None
    utilisation: float | None
    tokens_per_day: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Money:
    """In ``currency``, of which ``usd_per_unit`` dollars are one."""

    terms: MoneyTerms
    currency: str
    usd_per_unit: float
    rate_source: str
    per_h: float | None
    lines: tuple[Line, ...]
    parts: tuple[Part, ...]
    bases: tuple[BasisPrice, ...]
    mean_to_peak: float
    quotes: Mapping[str, Quote] = field(default_factory=dict)
    """By GPU, where the terms price it."""
    break_even: BreakEven | None = None
    others: tuple[BreakEven, ...] = ()
    """Further APIs that sell the same LLM."""
    buying: Buying | None = None
    basis: Basis = "exact"
    """Of the bill, as the design has it."""
    findings: tuple[Finding, ...] = ()

    @property
    def per_day(self) -> float | None:
        return None if self.per_h is None else self.per_h * HOURS_PER_DAY

    @property
    def per_month(self) -> float | None:
        return None if self.per_h is None else self.per_h * cost.HOURS_PER_MONTH

    def amount(self, usd: float) -> float:
        """Dollars in the currency of the answer."""
        return usd / self.usd_per_unit

    @property
    def used_share(self) -> float | None:
        """Of the bill in full use, what is not bought and idle."""
        if not self.per_h or not self.parts:
            return None
        return math.fsum(part.per_h for part in self.parts if part.is_used) / self.per_h


def money(
    fleet: Fleet,
    *,
    terms: MoneyTerms,
    catalog: Catalog,
    quotes: Mapping[str, Quote] | None = None,
    refusals: tuple[str, ...] = (),
    llm: str = "",
    basis: Basis = "exact",
) -> Money:
    """What a fleet costs. It is priced already: ``quotes`` say by what; ``refusals`` are GPUs that have no such price.

    Without a price of one pool there is no bill, and a finding says why.
    """
    rate = catalog.currency(terms.currency).rate(terms.date or "")
    bill = None if refusals else fleet.usd_per_h
    per_h = None if bill is None else bill / rate.value
    buying = None if bill is None else _planned(fleet, terms=terms, catalog=catalog)
    mean = buying.mean_to_peak if buying else fleet.mean_to_peak
    api, others = _apis(fleet, terms=terms, catalog=catalog, llm=llm, bill_usd_per_h=bill)
    found = Money(
        terms=terms,
        currency=terms.currency,
        usd_per_unit=rate.value,
        rate_source=f"{rate.source}, {rate.as_of}" if rate.as_of else rate.source,
        per_h=per_h,
        lines=_lines(fleet, usd_per_unit=rate.value, quotes=quotes or {}, total=per_h),
        parts=_parts(fleet, total=per_h),
        bases=_bases(fleet, per_h=per_h, buying=buying, mean=mean, usd_per_unit=rate.value),
        mean_to_peak=mean,
        quotes=quotes or {},
        break_even=api,
        others=others,
        buying=buying,
        basis=basis,
    )
    said = remarks.findings(found, fleet=fleet, refusals=refusals)
    return replace(found, findings=order_findings(said))


def _planned(fleet: Fleet, *, terms: MoneyTerms, catalog: Catalog) -> Buying | None:
    """The plan; None where the programme finds none in its time."""
    try:
        return plan_of(fleet, terms=terms, catalog=catalog)
    except ArithmeticError:
        return None


def _lines(fleet: Fleet, *, usd_per_unit: float, quotes: Mapping[str, Quote], total: float | None) -> tuple[Line, ...]:
    """Pools, then other items; where all have a price they sum to the bill to the last bit."""
    pools = [
        Line(
            pool.name,
            pool.label,
            "gpu" if pool.unit_gpus else "host",
            pool.gpus or pool.units,
            "GPUs" if pool.unit_gpus else "units",
            None if pool.usd_per_h is None else pool.usd_per_h / usd_per_unit,
            quotes.get(pool.gpu),
        )
        for pool in fleet.pools
        if pool.is_billed
    ]
    items = [
        Line(item.name, item.label, item.nature, item.quantity, item.unit, item.usd_per_h / usd_per_unit)
        for item in fleet.items
    ]
    lines = [*pools, *items]
    if total is None or not lines:
        return tuple(lines)
    summed = summing({line.name: line.per_h or 0.0 for line in lines}, total=total)
    return tuple(replace(line, per_h=summed[line.name]) for line in lines)


def summing(parts: Mapping[str, float], *, total: float) -> dict[str, float]:
    """The parts so that they add up to the total in any order; the largest takes what rounding left."""
    if not parts:
        return {}
    largest = max(parts, key=lambda name: parts[name])
    rest = {name: part for name, part in parts.items() if name != largest}
    exact = cost.exact_parts(total, parts=rest, remainder=largest)
    return {name: exact[name] for name in parts}


def _parts(fleet: Fleet, *, total: float | None) -> tuple[Part, ...]:
    if total is None or not fleet.purposes:
        return ()
    spent = math.fsum(purpose.usd_per_h for purpose in fleet.purposes)
    share = total / spent if spent else 0.0
    summed = summing({purpose.name: purpose.usd_per_h * share for purpose in fleet.purposes}, total=total)
    return tuple(Part(each.name, _short(each.label), summed[each.name], each.is_used) for each in fleet.purposes)


def _short(label: str) -> str:
    """The name of a part without that of the bill it stands under."""
    name = label.rpartition(": ")[2]
    return name[:1].upper() + name[1:]


def _bases(
    fleet: Fleet, *, per_h: float | None, buying: Buying | None, mean: float, usd_per_unit: float
) -> tuple[BasisPrice, ...]:
    known = [(basis, label) for basis, label in BASES if basis in fleet.tokens_per_s]
    planned, over = (buying.usd / buying.hours / usd_per_unit, buying.mean_over_plan) if buying else (None, 0.0)
    return tuple(
        BasisPrice(
            basis,
            label,
            fleet.tokens_per_s[basis],
            _per_m(per_h, tokens_per_s=fleet.tokens_per_s[basis]),
            _per_m(per_h, tokens_per_s=fleet.tokens_per_s[basis] * mean),
            _per_m(planned, tokens_per_s=fleet.tokens_per_s[basis] * over),
        )
        for basis, label in known
    )


def _per_m(per_h: float | None, *, tokens_per_s: float) -> float | None:
    return None if per_h is None else cost.usd_per_million_tokens(per_h, tokens_per_s=tokens_per_s)


def _apis(
    fleet: Fleet, *, terms: MoneyTerms, catalog: Catalog, llm: str, bill_usd_per_h: float | None
) -> tuple[BreakEven | None, tuple[BreakEven, ...]]:
    """The API of the terms, or the cheapest that sells the design's LLM to users; and the others that sell it."""
    sold = llm and any(pool.follows_demand for pool in fleet.pools)
    same = [api for api in catalog.api_prices() if sold and api.llm == llm and api.currency == "USD"]
    chosen = catalog.api_price(terms.api) if terms.api else None
    asked = [chosen, *(api for api in same if api != chosen)] if chosen else same
    rate = catalog.currency(terms.currency).rate(terms.date or "").value
    weighed = [_against(fleet, api=api, bill_usd_per_h=bill_usd_per_h, usd_per_unit=rate) for api in asked]
    if not weighed:
        return None, ()
    if chosen is None:
        weighed.sort(key=lambda each: each.api_per_h)
    return weighed[0], tuple(weighed[1:])


def _against(fleet: Fleet, *, api: ApiPrice, bill_usd_per_h: float | None, usd_per_unit: float) -> BreakEven:
    tokens = fleet.tokens_per_s
    cached, output = tokens.get("cached_input", 0.0), tokens.get("output", 0.0)
    uncached = max(tokens.get("input", 0.0) - cached, 0.0)
    usd = break_even.api_usd_per_h(
        uncached_tokens_per_s=uncached,
        cached_tokens_per_s=cached,
        output_tokens_per_s=output,
        input_usd_per_m=api.input_usd_per_m,
        cached_input_usd_per_m=api.cached_input_usd_per_m,
        output_usd_per_m=api.output_usd_per_m,
    )
    use = None
    if bill_usd_per_h is not None:
        use = break_even.break_even_utilisation(bill_usd_per_h, api_usd_per_h_at_full_use=usd)
    volume = {"uncached_input": uncached, "cached_input": cached, "output": output}
    per_day = {} if use is None else {name: use * rate * SECONDS_PER_DAY for name, rate in volume.items()}
    per_h = usd / usd_per_unit
    return BreakEven(api, per_h, _per_m(per_h, tokens_per_s=uncached + cached + output), use, per_day)
