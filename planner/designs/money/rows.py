"""An answer of money as the lines of a CSV: section, what, amount, unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Row = tuple[str, str, Any, str]
HEADER: Row = ("section", "name", "value", "unit")


def rows(view: Mapping[str, Any]) -> Iterator[Row]:
    """Every figure of the answer."""
    yield HEADER
    for name, figure in view["bill"].items():
        yield "bill", name, figure["value"], figure["unit"]
    for table in ("lines", "purposes"):
        for row in view[table]["rows"]:
            yield table, row["label"], row["per_h"], view[table]["unit"]
    yield from _tokens(view["tokens"])
    for against in filter(None, (view["break_even"], *view["other_apis"])):
        yield from _against(against)
    if view["plan"]:
        yield from _plan(view["plan"])


def _tokens(tokens: Mapping[str, Any]) -> Iterator[Row]:
    yield "tokens", "mean over peak", tokens["mean_to_peak"], "ratio"
    for row in tokens["rows"]:
        for name, words in (
            ("per_m", "at the peak"),
            ("per_m_at_mean", "at the mean"),
            ("per_m_planned", "bought by the plan"),
        ):
            yield "tokens", f"{row['label']}, {words}", row[name], tokens["unit"]


def _against(against: Mapping[str, Any]) -> Iterator[Row]:
    name = against["name"]
    yield "break-even", f"{name}: utilisation", against["utilisation"], "ratio"
    yield (
        "break-even",
        f"{name}: input and output",
        against["api_per_m_total"]["value"],
        against["api_per_m_total"]["unit"],
    )
    for basis, tokens in against["tokens_per_day"].items():
        yield "break-even", f"{name}: {basis}", tokens, "tokens/d"


def _plan(plan: Mapping[str, Any]) -> Iterator[Row]:
    for name in ("total", "perfect", "peak", "other", "gap"):
        yield "plan", name, plan[name], plan["unit"]
    yield "plan", "regret", plan["regret"], "ratio"
    for pool in plan["pools"]:
        label = pool["label"]
        yield "plan", f"{label}: reserved 3 years", pool["reserved_3y_units"], "units"
        for year, units in enumerate(pool["reserved_1y_units"], start=1):
            yield "plan", f"{label}: reserved 1 year, year {year}", units, "units"
        for cost in pool["costs"]:
            yield "plan", f"{label}: {cost['label']}", cost["amount"], plan["unit"]
    week = plan["week"]
    for name in ("need", "committed", "on_demand", "spot"):
        for hour, amount in enumerate(week[name]):
            yield "week", f"{name}, hour {hour}", amount, week["unit"]
