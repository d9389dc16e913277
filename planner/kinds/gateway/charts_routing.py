"""Pictures of routing: policies side by side, load of the instances, age of the views."""

from __future__ import annotations

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result, Series
from planner.core.table import numbers
from planner.core.wording import percent
from planner.kinds.gateway.policies import LABELS
from planner.kinds.gateway.series_routing import RULES
from planner.kinds.gateway.spec import GatewaySpec


def _chosen_apart(spec: GatewaySpec, series: Series, column: str, *, name: str) -> tuple[Trace, ...]:
    """The policy of the design in a colour of its own."""
    labels, values = list(series.column("policy").values), numbers(series, column)
    mine = LABELS[spec.policy]
    return (
        Trace("this design", x=labels, y=[v if n == mine else None for n, v in zip(labels, values, strict=True)]),
        Trace(name, x=labels, y=[None if n == mine else v for n, v in zip(labels, values, strict=True)], order=1),
    )


def _told(series: Series, column: str, unit: str) -> str:
    rows = zip(series.column("policy").values, numbers(series, column), strict=True)
    return "; ".join(f"{label} {show(value, unit)}" for label, value in rows) + "."


def capacity(spec: GatewaySpec, result: Result) -> Chart:
    """What the fleet can carry with each policy."""
    series = result.series["policies"]
    gain = result.value("affinity_gain") or 1.0
    reads = "All tie: take the simplest." if gain < 1.03 else "Instances and load are the same in all rows."
    return Chart(
        name="policy_capacity",
        title="What can the instances carry with each policy?",
        subtitle=f"Request rate that saturates the first instance. {reads}",
        form="bars",
        x=Axis("saturates at", unit="req/s"),
        y=Axis("policy"),
        traces=_chosen_apart(spec, series, "capacity_rps", name="other policies"),
        limits=(Limit(spec.peak_rps, f"peak {show(spec.peak_rps, 'req/s')}", axis="x"),) if spec.peak_rps > 0 else (),
        summary=_told(series, "capacity_rps", "req/s"),
    )


def hits(spec: GatewaySpec, result: Result) -> Chart | None:
    """Prompt tokens hit with each policy."""
    series = result.series["policies"]
    if spec.peak_rps <= 0:
        return None
    held, reusable = result.value("hit_share_held") or 0.0, result.value("reusable_share") or 0.0
    return Chart(
        name="policy_hits",
        title="What do caches find with each policy?",
        subtitle=f"Share of all prompt tokens. {percent(reusable)} were sent before, {percent(held)} are held by the "
        "fleet.",
        form="bars",
        x=Axis("hit", unit="ratio", shown="%"),
        y=Axis("policy"),
        traces=_chosen_apart(spec, series, "hit_share", name="other policies"),
        limits=(Limit(held, f"held {percent(held)}", axis="x"),),
        summary=_told(series, "hit_share", "ratio"),
    )


def ttft(spec: GatewaySpec, result: Result) -> Chart | None:
    """P99 of the time to the first token with each policy; a saturated one has none."""
    series = result.series["policies"]
    values = numbers(series, "ttft_p99_s")
    if not any(values):
        return None
    lost = [str(n) for n, v in zip(series.column("policy").values, values, strict=True) if v is None]
    without = f" Saturated, so without a value: {', '.join(lost)}." if lost else ""
    return Chart(
        name="policy_ttft",
        title="How long does the first token take?",
        subtitle=f"TTFT P99: gateway, wait and prefill.{without}",
        form="bars",
        x=Axis("TTFT P99", unit="s", shown="ms"),
        y=Axis("policy"),
        traces=_chosen_apart(spec, series, "ttft_p99_s", name="other policies"),
        limits=(Limit(spec.ttft_p99_slo_s, f"objective {show(spec.ttft_p99_slo_s, 's')}", axis="x"),),
        summary=_told(series, "ttft_p99_s", "s"),
    )


def skew(spec: GatewaySpec, result: Result) -> Chart | None:
    """Load of the instances, a row each policy."""
    series = result.series["load_skew"]
    if spec.peak_rps <= 0:
        return None
    ranks = numbers(series, "rank")
    rows = [column for column in series.columns if column.name != "rank"]
    peaks = [f"{column.label} {_most(series, column.name):.3g} × the mean" for column in rows]
    return Chart(
        name="load_skew",
        title="How evenly are instances loaded?",
        subtitle="Load over the mean of all, the fullest instance left; one draw of where prefixes lie. Log shades.",
        form="heat",
        x=Axis("instance, fullest first"),
        y=Axis("load", unit="× mean", log=True, start_at_zero=False),
        traces=tuple(
            Trace(column.label, x=ranks, y=numbers(series, column.name), order=order)
            for order, column in enumerate(rows)
        ),
        summary="Fullest instances: " + "; ".join(peaks) + ".",
    )


def _most(series: Series, name: str) -> float:
    return max(value for value in numbers(series, name) if value is not None)


def stale_views(spec: GatewaySpec, result: Result) -> Chart | None:
    """What the age of the loads does to each rule, at a load of 90 %."""
    series = result.series["stale_views"]
    intervals = numbers(series, "interval")
    mean_s = (result.value("ttft_mean_s") or 0.0) - (result.value("prefill_wait_s") or 0.0)
    if spec.peak_rps <= 0 or mean_s <= 0:
        return None
    own = spec.own_dispatches == "counted"
    first = ("least_own", "least") if own else ("least", "least_own")
    order = [*first, "three", "two"]
    labels = {str(rule): label for rule, label in RULES.items()}
    return Chart(
        name="stale_views",
        title="How old may the picture of the queues be?",
        subtitle=f"Time in the system at a load of 90 %, eight gateways. Random takes 10. Here loads come every "
        f"{show(spec.view_interval_s, 's')}.",
        form="line",
        x=Axis("time between two reports", unit="prefill times", log=True, start_at_zero=False),
        y=Axis("time in the system", unit="service times"),
        traces=tuple(
            Trace(labels[rule], x=intervals, y=numbers(series, rule), order=n) for n, rule in enumerate(order)
        ),
        marks=_mark_of_views(series, first[0], spec=spec, result=result),
        summary="Time in the system against the age of the views, for four rules.",
    )


def _mark_of_views(series: Series, rule: str, *, spec: GatewaySpec, result: Result) -> tuple[Mark, ...]:
    here = numbers(result.series["view_age"], "interval")[0]
    rows = list(zip(numbers(series, "interval"), numbers(series, rule), strict=True))
    found = [(x, y) for x, y in rows if x is not None and y is not None and x == here]
    return (
        tuple(Mark(x, y, "this design") for x, y in found[:1])
        if spec.policy in ("least_requests", "cost_based")
        else ()
    )
