"""The pictures of a design, as neutral figures."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result, Series
from planner.kinds.gateway.spec import GatewaySpec
from planner.kinds.gateway.words import percent


def charts(spec: GatewaySpec, result: Result) -> Sequence[Chart]:
    """All charts of a design; those without data are left out."""
    made = [_binds(spec, result), _growth(spec, result)]
    return [chart for chart in made if chart is not None]


def numbers(series: Series, name: str) -> list[float | None]:
    """A column as figures."""
    return [value if isinstance(value, int | float) else None for value in series.column(name).values]


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


def _growth(spec: GatewaySpec, result: Result) -> Chart | None:
    series = result.series["cost_by_rate"]
    rates, prices = numbers(series, "rate_rps"), numbers(series, "cost_usd_per_m_output_tokens")
    if not any(prices):
        return None
    now = result.value("cost_usd_per_m_output_tokens")
    return Chart(
        name="cost_per_m_output_tokens",
        title="What does growth do to the price?",
        subtitle="The gateway sized for each rate. Stairs are whole replicas.",
        form="line",
        x=Axis("peak rate", unit="req/s", start_at_zero=False),
        y=Axis("cost", unit="USD/M output tokens"),
        traces=(Trace("cost", x=rates, y=prices),),
        marks=() if now is None else (Mark(spec.peak_rps, now, f"this design {show(now, 'USD')}"),),
        summary=f"Price per million output tokens against the peak rate; {show(now, 'USD/M output tokens')} here.",
        compare=True,
    )
