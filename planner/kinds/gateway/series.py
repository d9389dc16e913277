"""Tables behind the charts."""

from __future__ import annotations

import numpy as np

from planner.core.result import Column, Series
from planner.kinds.gateway.bill import bill_of
from planner.kinds.gateway.load import load_of
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.replicas import sizing

GROWTH_POINTS = 40


def all_series(plan: Plan) -> dict[str, Series]:
    """Every series of a design by name."""
    made = (_resources(plan), _cost_by_rate(plan))
    return {series.name: series for series in made}


def table(name: str, label: str, *columns: tuple[str, str, str, list[float | str | None]]) -> Series:
    """A series from plain columns."""
    return Series(name, label, tuple(Column(*column) for column in columns))


def _resources(plan: Plan) -> Series:
    sized = plan.sizing
    return table(
        "resources",
        "What the load takes of each resource of a replica",
        ("resource", "resource", "", [each.name for each in sized.resources]),
        ("share", "used", "ratio", [each.share(sized.replicas) for each in sized.resources]),
        ("survivor", "used, one replica lost", "ratio", [sized.survivor_share(each) for each in sized.resources]),
    )


def _cost_by_rate(plan: Plan) -> Series:
    """The gateway sized for each rate; the instances stay as they are."""
    spec = plan.spec
    top = 2 * (spec.peak_rps or 100.0)
    rates = sorted({*(float(rate) for rate in np.linspace(0.1 * top, top, GROWTH_POINTS)), spec.peak_rps or top})
    prices: list[float | str | None] = []
    counts: list[float | str | None] = []
    for rate in rates:
        at = spec.model_copy(update={"peak_rps": rate})
        load = load_of(at)
        sized = sizing(at, load=load, index=plan.index)
        bill = bill_of(at, load=load, sizing=sized)
        prices.append(bill.per_m_tokens(load.output_tokens_per_s))
        counts.append(sized.replicas)
    return table(
        "cost_by_rate",
        "Price and replicas, sized for each request rate",
        ("rate_rps", "peak rate", "req/s", list(rates)),
        ("cost_usd_per_m_output_tokens", "cost", "USD/M output tokens", prices),
        ("gateway_replicas", "replicas", "replicas", counts),
    )
