"""The bill by tenant and by line; both sum to the bill."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planner.core.result import Series
from planner.core.table import table
from planner.formulas.cost import usd_per_million_tokens
from planner.kinds.multi_lora.plan import Plan

SHOWN = 24
"""Tenants with a row of their own; the others share one."""
BILL_LABELS = {
    "base": "the base",
    "adapter_steps": "longer steps",
    "slot_rent": "slots",
    "loads": "loads",
    "idle": "not used",
    "spare": "spare replicas",
}
LINES = ("base", "adapters", "slots", "loads")


def bill(plan: Plan) -> Series:
    """The lines of the fleet."""
    parts = {} if plan.bill is None else plan.bill.parts()
    return table(
        "bill",
        "What an hour at the peak costs",
        ("part", "part", "", [BILL_LABELS[name] for name in parts]),
        ("usd_per_h", "cost", "USD/h", list(parts.values())),
    )


def tenant_bills(plan: Plan) -> Series:
    """What each tenant pays: the first ones, all others, and what is allocated to none."""
    groups = [[place] for place in range(min(SHOWN, plan.spec.tenants))]
    if plan.spec.tenants > SHOWN:
        groups.append(list(range(SHOWN, plan.spec.tenants)))
    names = [f"tenant {place + 1}" for place in range(min(SHOWN, plan.spec.tenants))]
    names += [f"{plan.spec.tenants - SHOWN:,} others"] if plan.spec.tenants > SHOWN else []
    made = plan.bill
    if made is None:
        return _bills([], [], [[]] * len(LINES), [])
    lines = [[math.fsum(getattr(made.by_tenant, line)[group]) for group in groups] for line in LINES]
    rates = [float(np.sum(plan.tenants.rates[group])) for group in groups]
    tokens = [float(np.sum(made.output_tokens_per_s[group])) for group in groups]
    nobody: list[float] = [0.0] * (len(LINES) - 1) + [0.0]
    totals = [math.fsum(parts) for parts in zip(*lines, strict=True)]
    left = made.usd_per_h - math.fsum(totals)
    prices = [usd_per_million_tokens(usd, tokens_per_s=each) for usd, each in zip(totals, tokens, strict=True)]
    return _bills(
        [*names, "allocated to no tenant"],
        [*rates, 0.0],
        [[*line, none] for line, none in zip(lines, nobody, strict=True)],
        [*totals, left],
        prices=[*prices, None],
    )


def _bills(
    names: Sequence[str],
    rates: Sequence[float],
    lines: Sequence[Sequence[float]],
    totals: Sequence[float],
    *,
    prices: Sequence[float | None] = (),
) -> Series:
    labels = {"base": "the base", "adapters": "longer steps", "slots": "slots", "loads": "loads"}
    return table(
        "tenant_bill",
        "What each tenant pays; rows sum to the bill",
        ("tenant", "tenant", "", list(names)),
        ("rate_rps", "requests", "req/s", list(rates)),
        *((f"{line}_usd_per_h", labels[line], "USD/h", list(each)) for line, each in zip(LINES, lines, strict=True)),
        ("usd_per_h", "in all", "USD/h", list(totals)),
        ("usd_per_m_output_tokens", "a million output tokens", "USD/M output tokens", list(prices)),
    )
