"""Pictures of a canary and of overload."""

from __future__ import annotations

from planner.core.chart import Axis, Chart, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import percent
from planner.kinds.gateway.spec import GatewaySpec


def canary(spec: GatewaySpec, result: Result) -> Chart | None:
    """Time to see a regression against the weight."""
    series = result.series["canary_by_weight"]
    weights, hold = numbers(series, "weight"), numbers(series, "hold_s")
    if not any(value is not None for value in hold):
        return None
    now = result.value("canary_hold_s")
    near = min(range(len(weights)), key=lambda n: abs((weights[n] or 0.0) - spec.canary_weight))
    return Chart(
        name="canary_by_weight",
        title="How long must a canary be held?",
        subtitle=f"To see errors rise from {show(spec.base_error_rate, 'ratio')} to "
        f"{show(spec.canary_error_rate, 'ratio')}, and P{100 * spec.latency_quantile:.3g} by "
        f"{percent(spec.latency_regression)}, with power {percent(spec.power)}.",
        form="line",
        x=Axis("weight", unit="ratio", shown="%", log=True, start_at_zero=False),
        y=Axis("time", unit="s", log=True, start_at_zero=False),
        traces=tuple(
            Trace(series.column(name).label, x=weights, y=_positive(numbers(series, name)), order=order)
            for order, name in enumerate(("hold_s", "errors_s", "latency_s"))
        ),
        marks=(Mark(weights[near] or 0.0, hold[near] or 0.0, f"this design {show(now, 's')}"),) if hold[near] else (),
        summary=f"Time to see a regression against the weight; hold {show(now, 's')} at {percent(spec.canary_weight)}.",
        compare=True,
    )


def _positive(values: list[float | None]) -> list[float | None]:
    """A logarithmic axis has no zero."""
    return [value if value else None for value in values]


def goodput(spec: GatewaySpec, result: Result) -> Chart | None:
    """Requests in time past saturation, by queue limit."""
    series = result.series["goodput_by_load"]
    loads = numbers(series, "load")
    now = result.value("goodput_rps_overload")
    lines = [column for column in series.columns if column.name != "load"]
    if now is None or not lines:
        return None
    best = result.value("queue_limit_best") or 0.0
    return Chart(
        name="goodput",
        title="What is served in time past saturation?",
        subtitle=f"All instances as queues; the best limit at {spec.overload_factor:g} × is {best:,.0f}.",
        form="line",
        x=Axis("load over saturation", unit="×"),
        y=Axis("first tokens in time", unit="req/s"),
        traces=tuple(
            Trace(
                f"{column.label}{', this design' if order == 0 else ''}",
                x=loads,
                y=numbers(series, column.name),
                order=order,
            )
            for order, column in enumerate(lines)
        ),
        marks=(Mark(spec.overload_factor, now, f"this design {show(now, 'req/s')}"),)
        if spec.overload_factor <= (loads[-1] or 0.0)
        else (),
        summary=f"Goodput against the load by queue limit; {show(now, 'req/s')} at {spec.overload_factor:g} × here.",
        compare=True,
    )
