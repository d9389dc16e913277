"""An answer of money as JSON: what the API replies, the page draws and the CSV lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from planner.core.money import COMMITMENTS, MoneyTerms
from planner.core.result import Metric, MetricDef
from planner.core.text import gettext_noop as _
from planner.designs import serial
from planner.designs.figures import figure_row
from planner.designs.money.buying import Bought, Buying
from planner.designs.money.money import BreakEven, Line, Money, summing
from planner.designs.money.offers import Quote
from planner.formulas import cost
from planner.formulas.diurnal import HOURS_PER_WEEK

PARTS = {
    "depreciation": _("Depreciation"),
    "financing": _("Financing"),
    "network": _("Network"),
    "power": _("Energy"),
    "colo": _("Power and room"),
    "upkeep": _("Staff and upkeep"),
}
COSTS = {
    "reserved_3y": COMMITMENTS["reserved_3y"],
    "reserved_1y": COMMITMENTS["reserved_1y"],
    "on_demand": COMMITMENTS["on_demand"],
    "starting": _("Starting"),
    "spot": COMMITMENTS["spot"],
}


def money_json(answer: Money) -> dict[str, Any]:
    """Amounts are in ``currency``; each unit stands beside its values."""
    per_h, per_m = f"{answer.currency}/h", f"{answer.currency}/M tokens"
    return {
        "terms": answer.terms.model_dump(mode="json"),
        "currency": {
            "code": answer.currency,
            "usd_per_unit": answer.usd_per_unit,
            "source": answer.rate_source,
        },
        "bill": {
            "per_h": {"value": answer.per_h, "unit": per_h},
            "per_day": {"value": answer.per_day, "unit": f"{answer.currency}/d"},
            "per_month": {"value": answer.per_month, "unit": f"{answer.currency}/month"},
        },
        "lines": {"unit": per_h, "rows": _lines(answer)},
        "purposes": {
            "unit": per_h,
            "rows": [{**asdict(part), "share": _share(part.per_h, of=answer.per_h)} for part in answer.parts],
        },
        "tokens": {
            "unit": per_m,
            "mean_to_peak": answer.mean_to_peak,
            "rows": [asdict(price) for price in answer.bases],
        },
        "break_even": answer.break_even and _break_even(answer, against=answer.break_even),
        "other_apis": [_break_even(answer, against=each) for each in answer.others],
        "plan": answer.buying and _plan(answer, buying=answer.buying),
        "findings": [serial.finding_json(finding) for finding in answer.findings],
    }


def money_view(answer: Money) -> dict[str, Any]:
    """As the page shows it: the answer card beside the JSON."""
    return {**money_json(answer), "answer": _answer(answer)}


def _answer(answer: Money) -> dict[str, Any]:
    """The card: the price of output as it would be paid, the bill, and what decides."""
    unit = f"{answer.currency}/M tokens"
    first = next((price for price in answer.bases if price.per_m is not None), None)
    headline = Metric(
        MetricDef("per_m", f"{first.label} tokens, at the peak" if first else _("no tokens"), unit, "lower"),
        first.per_m if first else None,
        basis=answer.basis,
    )
    buying, against = answer.buying, answer.break_even
    facts = [
        Metric(MetricDef("per_h", _("Bill"), f"{answer.currency}/h", "lower"), answer.per_h),
        Metric(MetricDef("per_month", _("A month"), f"{answer.currency}/month", "lower"), answer.per_month),
        Metric(
            MetricDef("planned", _("By the plan, a month"), f"{answer.currency}/month", "lower"),
            None if buying is None else answer.amount(buying.usd / buying.hours) * cost.HOURS_PER_MONTH,
        ),
        Metric(
            MetricDef("break_even", _("Pays from a use of"), "ratio", "lower"),
            None if against is None else against.utilisation,
        ),
    ]
    return {
        "figure": figure_row(headline),
        "sentence": _sentence(answer),
        "note": "",
        "severity": answer.findings[0].severity if answer.findings else None,
        "ok": True,
        "facts": [figure_row(fact) for fact in facts if fact.value is not None],
    }


def _sentence(answer: Money) -> str:
    """What decides: the plan's saving, or that there is no bill."""
    said = {finding.code: finding.message for finding in answer.findings}
    for code in ("no_price", "plan_saves", "api_cheaper", "api_cheaper_at_mean", "fleet_cheaper"):
        if code in said:
            return said[code]
    return _("The bill by what is bought, what it is spent on, and what a token costs.")


def _lines(answer: Money) -> list[dict[str, Any]]:
    month: Mapping[str, float] = {}
    priced = {line.name: line.per_h for line in answer.lines if line.per_h is not None}
    if answer.per_month is not None and len(priced) == len(answer.lines):
        hours = cost.HOURS_PER_MONTH
        month = summing({name: amount * hours for name, amount in priced.items()}, total=answer.per_month)
    return [_line(line, month=month.get(line.name), of=answer.per_h) for line in answer.lines]


def _line(line: Line, *, month: float | None, of: float | None) -> dict[str, Any]:
    return {
        "name": line.name,
        "label": line.label,
        "nature": line.nature,
        "quantity": line.quantity,
        "quantity_unit": line.unit,
        "per_h": line.per_h,
        "per_month": month,
        "share": None if line.per_h is None else _share(line.per_h, of=of),
        "price": line.price and _quote(line.price),
    }


def _share(amount: float, *, of: float | None) -> float | None:
    return amount / of if of else None


def _quote(quote: Quote) -> dict[str, Any]:
    return {
        "usd_per_gpu_h": quote.usd_per_h,
        "terms": quote.terms,
        "who": quote.who,
        "source": quote.source,
        "as_of": quote.as_of,
        "parts": [{"name": name, "label": PARTS[name], "usd_per_gpu_h": usd} for name, usd in quote.parts.items()],
        "figures": [
            {"name": name, "label": MoneyTerms.model_fields[name].title, **asdict(figure)}
            for name, figure in quote.figures.items()
        ],
    }


def _break_even(answer: Money, *, against: BreakEven) -> dict[str, Any]:
    api = against.api
    return {
        "api": api.slug,
        "name": api.name,
        "provider": api.provider,
        "llm": api.llm,
        "usd_per_m": {
            "input": api.input_usd_per_m,
            "cached_input": api.cached_input_usd_per_m,
            "output": api.output_usd_per_m,
        },
        "source": api.source,
        "as_of": api.as_of,
        "api_per_h": {"value": against.api_per_h, "unit": f"{answer.currency}/h"},
        "api_per_m_total": {"value": against.api_per_m, "unit": f"{answer.currency}/M tokens"},
        "utilisation": against.utilisation,
        "tokens_per_day": dict(against.tokens_per_day),
    }


def _plan(answer: Money, *, buying: Buying) -> dict[str, Any]:
    years = answer.terms.horizon_years
    return {
        "unit": answer.currency,
        "horizon_years": years,
        "total": answer.amount(buying.usd),
        "perfect": answer.amount(buying.perfect_usd),
        "peak": answer.amount(buying.peak_usd),
        "other": answer.amount(buying.other_usd),
        "regret": buying.regret,
        "saved": buying.saved,
        "gap": answer.amount(buying.gap_usd),
        "pools": [_pool(answer, bought=bought) for bought in buying.pools],
        "week": _week(buying),
    }


def _pool(answer: Money, *, bought: Bought) -> dict[str, Any]:
    mix, pool = bought.mix, bought.pool
    usd = {
        "reserved_3y": mix.reserved_3y_usd,
        "reserved_1y": mix.reserved_1y_usd,
        "on_demand": mix.on_demand_usd,
        "starting": mix.starting_usd,
        "spot": mix.spot_usd,
    }
    total = answer.amount(bought.usd)
    costs = summing({name: answer.amount(amount) for name, amount in usd.items()}, total=total)
    return {
        "name": pool.name,
        "label": pool.label,
        "noun": pool.noun,
        "unit_gpus": pool.unit_gpus,
        "units_at_peak": int(bought.units.max(initial=0)),
        "reserved_3y_units": mix.reserved_3y_units,
        "reserved_1y_units": list(mix.reserved_1y_units),
        "on_demand_units": _rented(mix.on_demand_units),
        "spot_units": _rented(mix.spot_units),
        "costs": [{"name": name, "label": COSTS[name], "amount": costs[name]} for name in COSTS],
        "total": total,
        "rates": {name: _quote(quote) for name, quote in bought.quotes.items()},
    }


def _rented(units: np.ndarray[Any, Any]) -> dict[str, float]:
    return {"most": int(units.max(initial=0)), "mean": float(units.mean())}


def _week(buying: Buying) -> dict[str, Any]:
    """The first month by hour: in GPUs where every pool has them, else in units."""
    in_gpus = all(bought.pool.unit_gpus for bought in buying.pools)

    def summed(name: str) -> list[float]:
        total = np.zeros(HOURS_PER_WEEK)
        for bought in buying.pools:
            hours = dict(_hours(bought))[name]
            total += np.tile(hours, HOURS_PER_WEEK // len(hours)) * (bought.pool.unit_gpus if in_gpus else 1)
        return [float(each) for each in total]

    names = ("need", "committed", "on_demand", "spot")
    return {"unit": "GPUs" if in_gpus else "units", **{name: summed(name) for name in names}}


def _hours(bought: Bought) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    yield "need", bought.units[0]
    yield "committed", np.full(bought.units.shape[1], bought.committed(0))
    yield "on_demand", bought.mix.on_demand_units[0]
    yield "spot", bought.mix.spot_units[0]
