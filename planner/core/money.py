"""On what terms a design is paid for: the one validator of the page, the API and a stored choice."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import field_validator

from planner.core.kind import Spec, catalog_entry, choice, quantity, text
from planner.core.text import gettext_noop as _

PRICES, OWNED, DEMAND, PLAN, API = _("Prices"), _("Owned hardware"), _("Demand"), _("Commitments"), _("API")
Source = Literal["design", "list", "owned", "own_price"]
Commitment = Literal["on_demand", "reserved_1y", "reserved_3y", "spot"]
CurrencyCode = Literal["USD", "EUR", "GBP", "CNY", "JPY", "CHF", "INR"]
COMMITMENTS = {
    "on_demand": _("On demand"),
    "reserved_1y": _("Reserved 1 year"),
    "reserved_3y": _("Reserved 3 years"),
    "spot": _("Spot"),
}
HOURS_GIVEN = (24, 168)
"""Of a day, or of a week."""
_CATALOGS = _("the catalog’s")
_LISTED = _("listed")


class MoneyTerms(Spec):
    """Prices, demand and the API to compare with. What is left out comes from the catalog, with its source."""

    source: Source = choice(
        "design",
        label=_("GPU-hours priced by"),
        group=PRICES,
        labels={
            "design": _("the design’s own price"),
            "list": _("a price list"),
            "owned": _("cost of owning"),
            "own_price": _("a price of your own"),
        },
    )
    commitment: Commitment = choice(
        "on_demand", label=_("Commitment"), group=PRICES, labels=COMMITMENTS, help=_("Of a price list.")
    )
    provider: str | None = text(
        None, label=_("Provider"), group=PRICES, empty=_("the cheapest"), help=_("Of a price list.")
    )
    region: str | None = text(None, label=_("Region"), group=PRICES, empty=_("any"))
    own_price_usd_per_h: float | None = quantity(
        None, label=_("Your price"), group=PRICES, unit="USD/GPU-h", ge=0, le=1e4, empty=_("not set")
    )
    currency: CurrencyCode = choice(
        "USD",
        label=_("Currency"),
        group=PRICES,
        labels={code: code for code in ("USD", "EUR", "GBP", "CNY", "JPY", "CHF", "INR")},
    )
    date: str | None = text(
        None,
        label=_("As of"),
        group=PRICES,
        empty=_("the newest"),
        help=_("A day as 2026-11-30: prices and rates that held then."),
    )

    server_usd: float | None = quantity(
        None,
        label=_("Server, a GPU"),
        group=OWNED,
        unit="USD",
        ge=0,
        le=1e7,
        empty=_CATALOGS,
        advanced=True,
        help=_("A GPU with its share of the server."),
    )
    network_share: float | None = quantity(
        None, label=_("Network, of the server"), group=OWNED, unit="ratio", ge=0, le=5, empty=_CATALOGS, advanced=True
    )
    years: float | None = quantity(
        None, label=_("Years of use"), group=OWNED, unit="years", ge=0.5, le=20, empty=_CATALOGS, advanced=True
    )
    residual_share: float | None = quantity(
        None, label=_("Worth at the end"), group=OWNED, unit="ratio", ge=0, le=1, empty=_CATALOGS, advanced=True
    )
    interest: float | None = quantity(
        None, label=_("Interest, a year"), group=OWNED, unit="ratio", ge=0, le=1, empty=_CATALOGS, advanced=True
    )
    host_w: float | None = quantity(
        None, label=_("Host, a GPU"), group=OWNED, unit="W", ge=0, le=1e5, empty=_CATALOGS, advanced=True
    )
    drawn_share: float | None = quantity(
        None, label=_("Power drawn, of TDP"), group=OWNED, unit="ratio", ge=0, le=1, empty=_CATALOGS, advanced=True
    )
    pue: float | None = quantity(None, label=_("PUE"), group=OWNED, ge=1, le=5, empty=_CATALOGS, advanced=True)
    usd_per_kwh: float | None = quantity(
        None, label=_("Energy"), group=OWNED, unit="USD/kWh", ge=0, le=10, empty=_CATALOGS, advanced=True
    )
    colo_usd_per_kw_month: float | None = quantity(
        None, label=_("Power and room"), group=OWNED, unit="USD/kW/month", ge=0, le=1e5, empty=_CATALOGS, advanced=True
    )
    upkeep_share: float | None = quantity(
        None, label=_("Staff and upkeep, a year"), group=OWNED, unit="ratio", ge=0, le=2, empty=_CATALOGS, advanced=True
    )

    demand: Literal["global", "office", "flat", "own"] = choice(
        "global",
        label=_("Shape of a week"),
        group=DEMAND,
        labels={
            "global": _("several time zones"),
            "office": _("office hours"),
            "flat": _("flat"),
            "own": _("your hours"),
        },
    )
    mean_to_peak: float | None = quantity(
        None,
        label=_("Mean over peak"),
        group=DEMAND,
        unit="ratio",
        gt=0,
        le=1,
        empty=_("as designed"),
        help=_("Empty: that of the design, else of the shape."),
    )
    weights: tuple[float, ...] | None = quantity(
        None,
        label=_("Your hours"),
        group=DEMAND,
        empty=_("24 or 168 figures"),
        help=_("Demand in each hour of a day, or of a week from Monday on, in any unit."),
        advanced=True,
    )
    growth_per_month: float = quantity(
        0.0, label=_("Growth"), group=DEMAND, unit="ratio", ge=-0.2, le=0.5, help=_("A month, on the month before.")
    )

    horizon_years: int = quantity(
        3,
        label=_("Plan for"),
        group=PLAN,
        unit="years",
        ge=1,
        le=3,
        help=_("Three-year commitments are weighed in a plan for three years."),
    )
    load_delay_s: float = quantity(
        600.0,
        label=_("Start of a unit"),
        group=PLAN,
        unit="s",
        shown="min",
        ge=0,
        le=86400,
        help=_("From asking to serving; a rented unit is paid meanwhile."),
    )
    spot_share: float = quantity(
        0.2, label=_("On spot, at most"), group=PLAN, unit="ratio", ge=0, le=1, help=_("Of the need of an hour.")
    )
    spot_reserve: float = quantity(
        0.1,
        label=_("Reserve behind spot"),
        group=PLAN,
        unit="ratio",
        ge=0,
        le=2,
        help=_("Hours on demand that interruptions cost, of the hours on spot."),
    )
    reserved_1y_usd_per_h: float | None = quantity(
        None,
        label=_("Reserved 1 year"),
        group=PLAN,
        unit="USD/GPU-h",
        ge=0,
        le=1e4,
        empty=_LISTED,
        advanced=True,
    )
    reserved_3y_usd_per_h: float | None = quantity(
        None,
        label=_("Reserved 3 years"),
        group=PLAN,
        unit="USD/GPU-h",
        ge=0,
        le=1e4,
        empty=_LISTED,
        advanced=True,
    )
    spot_usd_per_h: float | None = quantity(
        None, label=_("Spot"), group=PLAN, unit="USD/GPU-h", ge=0, le=1e4, empty=_LISTED, advanced=True
    )

    api: str | None = catalog_entry(
        None, label=_("Compare with"), group=API, table="api_prices", empty=_("the design’s LLM")
    )

    @field_validator("date")
    @classmethod
    def _is_a_day(cls, date: str | None) -> str | None:
        if date is None:
            return None
        try:
            return dt.date.fromisoformat(date).isoformat()
        except ValueError:
            raise ValueError("Write the day as 2026-11-30.") from None

    @field_validator("weights")
    @classmethod
    def _are_hours(cls, weights: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if weights is None:
            return None
        if len(weights) not in HOURS_GIVEN:
            raise ValueError(f"Give 24 or 168 figures; these are {len(weights)}.")
        if min(weights) < 0 or max(weights) > 1e12:
            raise ValueError("Give figures from zero to 10¹².")
        return weights

    @field_validator("provider", "region")
    @classmethod
    def _says_something(cls, name: str | None) -> str | None:
        return (name or "").strip() or None
