"""Pictures of money: the price against the rate, the bill by part, the best mix of tiers."""

from __future__ import annotations

from planner.core.chart import Axis, Chart, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.kinds.kv_pool.spec import KvPoolSpec

OUTPUT_PRICE = "USD/M output tokens"
_USED = ("new tokens", "computed again", "DRAM", "SSD")


def price(spec: KvPoolSpec, result: Result) -> Chart:
    """What prefill and pool add to the price of an output token, against the rate."""
    series = result.series["by_rate"]
    rates, prices = numbers(series, "turns_per_s"), numbers(series, "cost_usd_per_m_output_tokens")
    now = result.value("cost_usd_per_m_output_tokens")
    return Chart(
        name="cost_per_m_output_tokens",
        title="What does growth do to the price?",
        subtitle="Prefill and tiers over the answers, the fleet sized for each rate. Tiers stay as they are.",
        form="line",
        x=Axis("peak rate", unit="req/s", start_at_zero=False),
        y=Axis("cost", unit=OUTPUT_PRICE),
        traces=(Trace("cost", x=rates, y=prices),),
        marks=() if now is None else (Mark(spec.turns_per_s, now, f"this design {show(now, 'USD')}"),),
        summary=f"Price per million output tokens against the rate of turns; {show(now, OUTPUT_PRICE)} here.",
        compare=True,
    )


def bill(result: Result) -> Chart | None:
    """The parts of the bill, and the bill without the pool as a line."""
    series, total = result.series["bill"], result.value("cost_usd_per_h") or 0.0
    rows = [
        (str(part), amount)
        for part, amount in zip(series.column("part").values, numbers(series, "usd_per_h"), strict=True)
        if amount
    ]
    if total <= 0 or not rows:
        return None
    parts = [part for part, _ in rows]
    used: list[float | None] = [amount if part in _USED else None for part, amount in rows]
    idle: list[float | None] = [None if part in _USED else amount for part, amount in rows]
    without = result.value("cost_without_pool_usd_per_h") or 0.0
    return Chart(
        name="bill",
        title=f"Where do {show(total, 'USD')}/h go?",
        subtitle=f"Parts sum to the bill; without the pool prefill would cost {show(without, 'USD/h')}.",
        form="bars",
        x=Axis("cost", unit="USD/h"),
        y=Axis("part"),
        traces=(Trace("used", x=parts, y=used), Trace("bought, not used", x=parts, y=idle, idle=True)),
        summary="; ".join(f"{part} {show(amount, 'USD/h')}" for part, amount in rows) + ".",
    )


def mix(result: Result) -> Chart | None:
    """Bill of prefill and tiers against what is spent on tiers."""
    series = result.series["tier_mix"]
    spends, bills = numbers(series, "spend_usd_per_month"), numbers(series, "bill_usd_per_h")
    if len({spend for spend in spends if spend is not None}) < 2:
        return None
    best = min(range(len(bills)), key=lambda row: bills[row] or 0.0)
    if not spends[best]:
        return None  # the verdict says that tiers are not worth their money; a flat line would say no more
    dram, ssd = numbers(series, "dram_bytes")[best], numbers(series, "ssd_bytes")[best]
    spend, least = spends[best] or 0.0, bills[best] or 0.0
    lines = {"bill_usd_per_h": "best mix", "dram_only_usd_per_h": "DRAM only", "ssd_only_usd_per_h": "SSD only"}
    return Chart(
        name="tier_mix",
        title="How much of which tier is worth its money?",
        subtitle=f"The bill against what may be spent on tiers: least with {show(dram, 'bytes')} of DRAM and "
        f"{show(ssd, 'bytes')} of SSD.",
        form="line",
        x=Axis("may be spent on tiers", unit="USD/month"),
        y=Axis("prefill and tiers", unit="USD/h"),
        traces=tuple(
            Trace(label, x=spends, y=numbers(series, name), order=order)
            for order, (name, label) in enumerate(lines.items())
        ),
        marks=(Mark(spend, least, f"least {show(least, 'USD/h')}"),),
        summary=f"The bill is least, {show(least, 'USD/h')}, with {show(dram, 'bytes')} of DRAM and "
        f"{show(ssd, 'bytes')} of SSD.",
    )
