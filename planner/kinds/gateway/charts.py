"""The pictures of a design, as neutral figures: those of the gateway itself, its price and its bill."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import percent
from planner.kinds.gateway.charts_change import canary, goodput
from planner.kinds.gateway.charts_failure import after_loss, lost
from planner.kinds.gateway.charts_routing import capacity, hits, skew, stale_views, ttft
from planner.kinds.gateway.spec import GatewaySpec


def charts(spec: GatewaySpec, result: Result) -> Sequence[Chart]:
    """All charts of a design; those without data are left out."""
    made = [
        capacity(spec, result),
        hits(spec, result),
        ttft(spec, result),
        skew(spec, result),
        _binds(spec, result),
        _saturation(spec, result),
        _cores(result),
        lost(spec, result),
        after_loss(spec, result),
        goodput(spec, result),
        canary(spec, result),
        stale_views(spec, result),
        _growth(spec, result),
        _bill(result),
    ]
    return [chart for chart in made if chart is not None]


def _binds(spec: GatewaySpec, result: Result) -> Chart:
    series = result.series["resources"]
    names = list(series.column("resource").values)
    shares, after = numbers(series, "share"), numbers(series, "survivor")
    told = [f"{name} {percent(share)}" for name, share in zip(names, shares, strict=True) if share is not None]
    return Chart(
        name="gateway_resources",
        title="What binds the gateway?",
        subtitle="Share of each resource of a replica at the peak, and of those left when one is lost.",
        form="bars",
        x=Axis("used", unit="ratio", shown="%"),
        y=Axis("resource"),
        traces=(
            Trace("all replicas", x=names, y=shares),
            Trace("one lost, clients coming back", x=names, y=after, order=1),
        ),
        limits=(
            Limit(spec.usable_share, f"planned {percent(spec.usable_share)}", axis="x"),
            Limit(1.0, "full", axis="x"),
        ),
        summary="; ".join(told) + ".",
    )


def _saturation(spec: GatewaySpec, result: Result) -> Chart | None:
    series = result.series["saturation"]
    names, rates = list(series.column("part").values), numbers(series, "rate_rps")
    if spec.peak_rps <= 0:
        return None
    told = [f"{name} {show(rate, 'req/s')}" for name, rate in zip(names, rates, strict=True)]
    return Chart(
        name="gateway_bottleneck",
        title="Is the gateway the bottleneck?",
        subtitle="Request rate at which each part is full, on a log scale. Decisions are cheap: files and events come "
        "first.",
        form="bars",
        x=Axis("full at", unit="req/s", log=True, start_at_zero=False),
        y=Axis("part"),
        traces=(Trace("full at", x=names, y=rates),),
        limits=(Limit(spec.peak_rps, f"peak {show(spec.peak_rps, 'req/s')}", axis="x"),),
        summary="; ".join(told) + ".",
    )


def _cores(result: Result) -> Chart | None:
    series = result.series["cores"]
    names, cores = list(series.column("work").values), numbers(series, "cores")
    total = sum(each or 0.0 for each in cores)
    if total <= 0:
        return None
    told = [f"{name} {show(each, 'cores')}" for name, each in zip(names, cores, strict=True)]
    return Chart(
        name="gateway_cores",
        title="What do the cores do?",
        subtitle=f"Parts sum to {show(total, 'cores')} of all replicas.",
        form="bars",
        x=Axis("cores", unit="cores"),
        y=Axis("work"),
        traces=(Trace("cores", x=names, y=cores),),
        summary="; ".join(told) + ".",
    )


def _growth(spec: GatewaySpec, result: Result) -> Chart | None:
    series = result.series["cost_by_rate"]
    rates, prices = numbers(series, "rate_rps"), numbers(series, "cost_usd_per_m_output_tokens")
    if not any(prices):
        return None
    now = result.value("cost_usd_per_m_output_tokens")
    return Chart(
        name="cost_per_m_output_tokens",
        title="What does growth do to the price?",
        subtitle="The gateway sized for each rate. Teeth are whole replicas.",
        form="line",
        x=Axis("peak rate", unit="req/s", start_at_zero=False),
        y=Axis("cost", unit="USD/M output tokens"),
        traces=(Trace("cost", x=rates, y=prices),),
        marks=() if now is None else (Mark(spec.peak_rps, now, f"this design {show(now, 'USD')}"),),
        summary=f"Price per million output tokens against the peak rate; {show(now, 'USD/M output tokens')} here.",
        compare=True,
    )


def _bill(result: Result) -> Chart | None:
    series = result.series["bill"]
    rows = [
        (name, amount)
        for name, amount in zip(series.column("part").values, numbers(series, "usd_per_h"), strict=True)
        if amount
    ]
    bill = result.value("cost_usd_per_h") or 0.0
    if bill <= 0:
        return None
    names = [name for name, _ in rows]
    idle = {"replicas, headroom", "replicas, spare"}
    used: list[float | None] = [None if name in idle else amount for name, amount in rows]
    bought: list[float | None] = [amount if name in idle else None for name, amount in rows]
    return Chart(
        name="bill",
        title=f"Where do {show(bill, 'USD')}/h go?",
        subtitle="Parts sum to the bill. The tint is bought, not used.",
        form="bars",
        x=Axis("cost", unit="USD/h"),
        y=Axis("part"),
        traces=(Trace("used", x=names, y=used), Trace("bought, not used", x=names, y=bought, idle=True)),
        summary="; ".join(f"{name} {show(amount, 'USD/h')}" for name, amount in rows) + ".",
    )
