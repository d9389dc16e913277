"""Charts of a simulation, with the estimate drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core import timeline
from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import filled, numbers
from planner.kinds.gateway.spec import GatewaySpec

SIMULATED, ESTIMATE = 0, 1


def charts(spec: GatewaySpec, estimate: Result, simulated: Result) -> Sequence[Chart]:
    """Policies, distributions, load of the instances and the time line; those without data are left out."""
    made = [
        _policies(
            estimate,
            simulated,
            column="hit_share",
            title="What do caches find with each policy?",
            axis=Axis("hit", "ratio", shown="%"),
            unit="ratio",
        ),
        _policies(
            estimate,
            simulated,
            column="ttft_p99_s",
            title="How long does the first token take with each policy?",
            axis=Axis("TTFT P99", "s", log=True, start_at_zero=False),
            unit="s",
            limit=Limit(spec.ttft_p99_slo_s, f"objective {show(spec.ttft_p99_slo_s, 's')}", axis="x"),
        ),
        _cdf(spec, estimate, simulated),
        _skew(simulated),
        _busy(simulated),
        _drill(simulated),
        *(
            timeline.line(simulated, name=name, title=title, columns=columns, unit=unit, quiet=name in QUIET)
            for name, title, columns, unit in LINES
        ),
    ]
    return [chart for chart in made if chart is not None]


LINES = (
    ("goodput", "What arrives, and what is served in time?", ("arrivals_per_s", "goodput_per_s"), "req/s"),
    ("hits", "Are the caches warm?", ("hit_share",), "ratio"),
    ("ttft", "Does the first token change over time?", ("ttft_mean_s",), "s"),
    ("queued", "How much waits?", ("queued",), "requests"),
    ("refused", "What is turned away, tried again, lost?", ("rejected_per_s", "retried_per_s", "lost_per_s"), "req/s"),
    ("out", "How many instances are left out?", ("out",), "instances"),
)
QUIET = {"refused", "out", "queued"}
"""Time lines that are worth a picture only when something happens."""


def _policies(
    estimate: Result,
    simulated: Result,
    *,
    column: str,
    title: str,
    axis: Axis,
    unit: str,
    limit: Limit | None = None,
) -> Chart | None:
    """A figure of each policy on the same requests, simulated and estimated."""
    series, beside = filled(simulated, "simulated_policies"), filled(estimate, "policies")
    if series is None or beside is None or len(series.columns[0].values) < 2:
        return None
    labels, values = [str(name) for name in series.column("policy").values], numbers(series, column)
    if not any(value is not None for value in values):
        return None
    known = dict(zip(map(str, beside.column("policy").values), numbers(beside, column), strict=True))
    late = [n for n, keeps in zip(labels, series.column("keeps_up").values, strict=True) if keeps == "no"]
    told = "; ".join(f"{label} {show(value, unit)}" for label, value in zip(labels, values, strict=True))
    return Chart(
        name=f"simulated_policy_{column}",
        title=title,
        subtitle="The same requests through each." + (f" Not keeping up: {', '.join(late)}." if late else ""),
        form="bars",
        x=axis,
        y=Axis("policy"),
        traces=(
            Trace("simulated", labels, values, order=SIMULATED),
            Trace("estimate", labels, [known.get(label) for label in labels], order=ESTIMATE),
        ),
        limits=() if limit is None else (limit,),
        summary=f"{told}.",
    )


def _cdf(spec: GatewaySpec, estimate: Result, simulated: Result) -> Chart | None:
    series = filled(simulated, "ttft_cdf")
    if series is None:
        return None
    traces = [Trace("simulated", series.column("value_s").values, numbers(series, "share"), order=SIMULATED)]
    promised, p99 = estimate.value("ttft_p99_s"), simulated.value("ttft_p99_s")
    if promised is not None:
        traces.append(Trace("estimate", [promised], [0.99], order=ESTIMATE, marker_only=True))
    beside = f"estimate {show(promised, 's')}" if promised is not None else "no estimate"
    return Chart(
        name="simulated_ttft_cdf",
        title="How is TTFT distributed?",
        subtitle=f"P99 {show(p99, 's')} simulated, {beside}",
        form="cdf",
        x=Axis("TTFT", "s"),
        y=Axis("share of requests", "ratio"),
        traces=tuple(traces),
        limits=(Limit(spec.ttft_p99_slo_s, f"objective {show(spec.ttft_p99_slo_s, 's')}", axis="x"),),
        summary=f"TTFT: 99 % of the simulated requests stay within {show(p99, 's')}; {beside}.",
        compare=True,
    )


def _skew(simulated: Result) -> Chart | None:
    series = filled(simulated, "simulated_skew")
    if series is None:
        return None
    rows = [column for column in series.columns if column.name != "rank"]
    ranks = numbers(series, "rank")
    peaks = [f"{column.label} {(numbers(series, column.name)[0] or 0.0):.3g} × the mean" for column in rows]
    return Chart(
        name="simulated_skew",
        title="How evenly do instances work?",
        subtitle="Prefill work over the mean of all, the busiest instance left. Log shades.",
        form="heat",
        x=Axis("instance, busiest first"),
        y=Axis("prefill work", unit="× mean", log=True, start_at_zero=False),
        traces=tuple(
            Trace(column.label, x=ranks, y=numbers(series, column.name), order=order)
            for order, column in enumerate(rows)
        ),
        summary="Busiest instances: " + "; ".join(peaks) + ".",
    )


def _busy(simulated: Result) -> Chart | None:
    series = filled(simulated, "simulated_busy")
    if series is None:
        return None
    times = numbers(series, "time_s")
    rows = [column for column in series.columns if column.name != "time_s"]
    return Chart(
        name="simulated_busy",
        title="Which instances are busy when?",
        subtitle="Share of the time in prefill after the warm-up, the busiest instances of the run above.",
        form="heat",
        x=Axis("simulated time", unit="s"),
        y=Axis("in prefill", unit="ratio", shown="%"),
        traces=tuple(
            Trace(column.label, x=times, y=numbers(series, column.name), order=order)
            for order, column in enumerate(rows)
        ),
        summary="Share of the time that bands of instances spend in prefill, over simulated time.",
    )


def _drill(simulated: Result) -> Chart | None:
    series = filled(simulated, "simulated_drill")
    if series is None:
        return None
    columns = [column for column in series.columns if column.name not in ("time_s", "broken")]
    broken = numbers(series, "broken")[-1]
    ends = [f"{column.label} {show(numbers(series, column.name)[-1], 'requests')}" for column in columns]
    return Chart(
        name="simulated_drill",
        title="What did the loss of instances cost?",
        subtitle=f"In sum within {show(numbers(series, 'time_s')[-1], 's')} of the failure: {', '.join(ends)}; "
        f"{show(broken, 'streams')} broken.",
        form="step",
        x=Axis("time since the failure", "s"),
        y=Axis("requests", "requests"),
        traces=tuple(
            Trace(column.label, numbers(series, "time_s"), numbers(series, column.name), order=order)
            for order, column in enumerate(columns)
        ),
        summary="; ".join(ends) + ".",
    )
