"""Pictures of the fleet: first tokens, routing, the bill of tenants and of the whole, the price by rate."""

from __future__ import annotations

import math

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import counted, percent
from planner.kinds.multi_lora.spec import MultiLoraSpec

SHOWN_TENANTS = 10
LONG_S = 2.0
"""From where times are told in seconds."""


def ttft(result: Result) -> Chart | None:
    """First tokens by where the adapter is, part by part."""
    series = result.series["ttft_parts"]
    found = list(series.column("found").values)
    if not found:
        return None
    sums = [result.value(name) for name in ("ttft_hot_s", "ttft_warm_s", "ttft_cold_s")]
    told = "; ".join(f"{name} {show(total, 's')}" for name, total in zip(found, sums, strict=True))
    return Chart(
        name="ttft_by_level",
        title="How long does the first token take, by where the adapter is?",
        subtitle=f"Means: {told}.",
        form="stacked",
        x=Axis("time to the first token", "s", shown="ms" if max(each or 0.0 for each in sums) < LONG_S else "s"),
        y=Axis("adapter"),
        traces=tuple(
            Trace(column.label, x=found, y=numbers(series, column.name), order=order)
            for order, column in enumerate(series.columns[1:])
            if any(numbers(series, column.name))
        ),
        summary=f"Mean time to the first token: {told}.",
    )


def routings(spec: MultiLoraSpec, result: Result) -> Chart:
    """What the same replicas do in time with each way of routing."""
    series = result.series["routings"]
    names = list(series.column("routing").values)
    rates, shares = numbers(series, "max_rps"), numbers(series, "gpu_hit_share")
    told = "; ".join(
        f"{name} {show(rate, 'req/s')}, {percent(share)} hit"
        for name, rate, share in zip(names, rates, shares, strict=True)
    )
    return Chart(
        name="routing",
        title="What do the same replicas do in time, by where requests go?",
        subtitle=f"{told}.",
        form="bars",
        x=Axis("the fleet does in time", "req/s"),
        y=Axis("requests go"),
        traces=(Trace("the fleet does in time", x=names, y=rates),),
        limits=(Limit(spec.requests_per_s, f"load {show(spec.requests_per_s, 'req/s')}", axis="x"),),
        summary=f"{told}.",
    )


def tenant_bills(spec: MultiLoraSpec, result: Result) -> Chart | None:
    """What the largest tenants pay, part by part, and what is left."""
    series = result.series["tenant_bill"]
    names, totals = list(series.column("tenant").values), numbers(series, "usd_per_h")
    if not names or not any(totals):
        return None
    # The first tenants have the most popular adapters; the last row is what none has used.
    first, others = min(SHOWN_TENANTS, len(names) - 1), max(spec.tenants - SHOWN_TENANTS, 0)
    left = totals[-1] or 0.0
    rows = [*names[:first], *([counted(others, "other")] if others else []), *(names[-1:] if left > 0 else [])]

    def picked(values: list[float | None]) -> list[float | None]:
        rest = [math.fsum(each or 0.0 for each in values[first:-1])] if others else []
        return [*values[:first], *rest, *([0.0] if left > 0 else [])]

    traces = []
    for order, column in enumerate(("base", "adapters", "slots", "loads")):
        values = numbers(series, f"{column}_usd_per_h")
        label = series.column(f"{column}_usd_per_h").label
        traces.append(Trace(label, x=rows, y=picked(values), order=order))
    if left > 0:
        traces.append(Trace("not used", x=rows, y=[*([0.0] * (len(rows) - 1)), left], idle=True))
    bill = result.value("cost_usd_per_h")
    return Chart(
        name="tenant_bill",
        title="What does each tenant pay?",
        subtitle=f"Bars sum to {show(bill, 'USD')}/h. Tenants of rare adapters pay more a token: their "
        "slots and loads serve fewer.",
        form="stacked",
        x=Axis("cost", "USD/h"),
        y=Axis("tenant"),
        traces=tuple(traces),
        summary=f"Cost by tenant; {show(totals[-1], 'USD/h')} of {show(bill, 'USD/h')} are allocated to none.",
    )


def growth(result: Result) -> Chart | None:
    """The price sized for each rate."""
    series = result.series["cost_by_rate"]
    rates, prices = numbers(series, "rate_rps"), numbers(series, "cost_usd_per_m_output_tokens")
    if not any(prices):
        return None
    now, rate = (
        result.value("cost_usd_per_m_output_tokens"),
        (result.value("max_rps") or 0.0) * (result.value("utilisation") or 0.0),
    )
    return Chart(
        name="cost_per_m_output_tokens",
        title="What does growth do to the price?",
        subtitle="Replicas sized for each rate, spare ones included. Teeth are whole replicas.",
        form="line",
        x=Axis("requests", unit="req/s", start_at_zero=False),
        y=Axis("cost", unit="USD/M output tokens"),
        traces=(Trace("cost", x=rates, y=prices),),
        marks=() if now is None or rate <= 0 else (Mark(rate, now, f"this design {show(now, 'USD')}"),),
        summary=f"Price per million output tokens against the request rate; {show(now, 'USD/M output tokens')} here.",
        compare=True,
    )


def bill(result: Result) -> Chart | None:
    """The lines of the fleet."""
    series = result.series["bill"]
    rows = [
        (str(name), usd)
        for name, usd in zip(series.column("part").values, numbers(series, "usd_per_h"), strict=True)
        if usd and usd > 1e-6
    ]
    total = result.value("cost_usd_per_h") or 0.0
    if total <= 0 or not rows:
        return None
    names = [name for name, _ in rows]
    idle = {"not used", "spare replicas"}
    return Chart(
        name="bill",
        title=f"Where do {show(total, 'USD')}/h go?",
        subtitle="Parts sum to the bill. The tint is bought, not used.",
        form="bars",
        x=Axis("cost", unit="USD/h"),
        y=Axis("part"),
        traces=(
            Trace("used", x=names, y=[None if name in idle else usd for name, usd in rows]),
            Trace("bought, not used", x=names, y=[usd if name in idle else None for name, usd in rows], idle=True),
        ),
        summary="; ".join(f"{name} {show(usd, 'USD/h')}" for name, usd in rows) + ".",
    )
