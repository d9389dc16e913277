"""Charts of a simulation, with the estimate drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core import timeline
from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import filled, numbers
from planner.core.wording import percent
from planner.kinds.multi_lora.simulated_series import LEVELS
from planner.kinds.multi_lora.spec import MultiLoraSpec
from planner.kinds.multi_lora.words import some

SIMULATED, ESTIMATE = 0, 1
SHOWN_TENANTS, LONG_S = 10, 2.0
FLAT = 1e-3
HARDLY = 1e-3


def charts(spec: MultiLoraSpec, estimate: Result, simulated: Result) -> Sequence[Chart]:
    """First tokens by level, ways side by side, batches, the time line, tenants; those without data are left out."""
    made = [
        _cdf(spec, estimate, simulated),
        _levels(simulated),
        _parts(simulated),
        _ways(
            estimate,
            simulated,
            column="ttft_p99_s",
            title="How long does the first token take?",
            axis=Axis("TTFT P99", "s", shown="s", log=True, start_at_zero=False),
            unit="s",
            limit=Limit(spec.ttft_p99_slo_s, f"objective {show(spec.ttft_p99_slo_s, 's')}", axis="x"),
        ),
        _ways(
            estimate,
            simulated,
            column="gpu_hit_share",
            title="Which way finds adapters on the GPU?",
            axis=Axis("found on the GPU", "ratio", shown="%"),
            unit="ratio",
        ),
        _distinct(estimate, simulated),
        *(
            timeline.line(simulated, name=name, title=title, columns=shown, unit=unit)
            for name, title, columns, unit in LINES
            if (shown := _changing(simulated, columns))
        ),
        _tenants(simulated),
        _bill(simulated),
    ]
    return [chart for chart in made if chart is not None]


LINES = (
    ("rate", "What arrives, and what is finished?", ("arrivals_per_s", "finished_per_s", "limited_per_s"), "req/s"),
    ("distinct", "How many different adapters does a batch have over time?", ("distinct",), "adapters"),
    ("swaps", "How often is an adapter brought in?", ("swaps_per_s", "downloads_per_s"), "1/s"),
    ("hits", "Where is the adapter?", ("gpu_hit_share",), "ratio"),
    ("ttft", "Does the first token change over time?", ("ttft_mean_s",), "s"),
    ("wanting", "How many adapters want a slot, replica by replica?", ("wanting",), "adapters"),
    ("waiting", "How much waits?", ("waiting",), "requests"),
)
"""Time lines; what never changes is not drawn."""


def _cdf(spec: MultiLoraSpec, estimate: Result, simulated: Result) -> Chart | None:
    series = filled(simulated, "ttft_cdf")
    if series is None:
        return None
    traces = [Trace("simulated", series.column("value_s").values, numbers(series, "share"), order=SIMULATED)]
    points = [(estimate.value(name), share) for name, share in (("ttft_p50_s", 0.5), ("ttft_p99_s", 0.99))]
    known = [(value, share) for value, share in points if value is not None]
    if known:
        values, shares = [value for value, _ in known], [share for _, share in known]
        traces.append(Trace("estimate", values, shares, order=ESTIMATE, marker_only=True))
    promised, p99 = estimate.value("ttft_p99_s"), simulated.value("ttft_p99_s")
    beside = f"estimate {show(promised, 's')}" if promised is not None else "no estimate"
    return Chart(
        name="simulated_ttft_cdf",
        title="How is TTFT distributed?",
        subtitle=f"P99 {show(p99, 's')} simulated, {beside}",
        form="cdf",
        x=Axis("TTFT", "s", shown="s", log=True, start_at_zero=False),
        y=Axis("share of requests", "ratio"),
        traces=tuple(traces),
        limits=(Limit(spec.ttft_p99_slo_s, f"objective {show(spec.ttft_p99_slo_s, 's')}", axis="x"),),
        summary=f"TTFT: 99 % of the simulated requests stay within {show(p99, 's')}; {beside}.",
        compare=True,
    )


def _levels(simulated: Result) -> Chart | None:
    """First tokens of those whose adapter was on the GPU, in host memory, in the store."""
    traces, told = [], []
    for order, (name, label) in enumerate(LEVELS):
        series = filled(simulated, f"{name}_cdf")
        if series is not None:
            traces.append(Trace(label, series.column("value_s").values, numbers(series, "share"), order=order))
            told.append(f"{label} {show(simulated.value(f'{name}_p99_s'), 's')}")
    if not traces:
        return None
    return Chart(
        name="simulated_ttft_by_level",
        title="How long does the first token take, by where the adapter was?",
        subtitle=f"P99: {'; '.join(told)}.",
        form="cdf",
        x=Axis("TTFT", "s", shown="s", log=True, start_at_zero=False),
        y=Axis("share of requests", "ratio"),
        traces=tuple(traces),
        summary=f"TTFT P99 by where the adapter was: {'; '.join(told)}.",
    )


def _parts(simulated: Result) -> Chart | None:
    series = filled(simulated, "simulated_ttft_parts")
    if series is None:
        return None
    names, seconds = list(series.column("part").values), numbers(series, "seconds")
    told = "; ".join(f"{name} {show(each, 's')}" for name, each in zip(names, seconds, strict=True))
    return Chart(
        name="simulated_ttft_parts",
        title="What did the first token wait for?",
        subtitle=f"Means; they sum to {show(simulated.value('ttft_mean_s'), 's')}.",
        form="bars",
        x=Axis("time", "s", shown="ms" if max((each or 0.0 for each in seconds), default=0.0) < LONG_S else "s"),
        y=Axis("part"),
        traces=(Trace("mean", x=names, y=seconds),),
        summary=f"{told}.",
    )


def _ways(
    estimate: Result,
    simulated: Result,
    *,
    column: str,
    title: str,
    axis: Axis,
    unit: str,
    limit: Limit | None = None,
) -> Chart | None:
    """A figure of each way on the same requests, simulated and, where it is one of the design, estimated."""
    series, beside = filled(simulated, "simulated_ways"), filled(estimate, "routings")
    if series is None or len(series.columns[0].values) < 2:
        return None
    labels, values = [str(name) for name in series.column("way").values], numbers(series, column)
    if not any(values):
        return None
    known: dict[str, float | None] = {}
    if beside is not None:
        known = dict(zip(map(str, beside.column("routing").values), numbers(beside, column), strict=True))
    late = [n for n, keeps in zip(labels, series.column("keeps_up").values, strict=True) if keeps == "no"]
    told = "; ".join(f"{label} {show(value, unit)}" for label, value in zip(labels, values, strict=True))
    return Chart(
        name=f"simulated_way_{column}",
        title=title,
        subtitle="The same requests through each." + (f" Not keeping up: {', '.join(late)}." if late else ""),
        form="bars",
        x=axis,
        y=Axis("way"),
        traces=(
            Trace("simulated", labels, values, order=SIMULATED),
            Trace("estimate", labels, [known.get(label) for label in labels], order=ESTIMATE),
        ),
        limits=() if limit is None else (limit,),
        summary=f"{told}.",
    )


def _distinct(estimate: Result, simulated: Result) -> Chart | None:
    series = filled(simulated, "simulated_distinct")
    if series is None:
        return None
    own, told = simulated.value("distinct_in_batch"), estimate.value("distinct_in_batch")
    beside = "" if told is None else f", estimate {some(told)}"
    limits = () if told is None else (Limit(told, f"estimate {some(told)}", axis="x"),)
    return Chart(
        name="simulated_distinct",
        title="How many different adapters did batches have?",
        subtitle=f"{some(own or 0.0)} on average{beside}.",
        form="line",
        x=Axis("different adapters", "adapters"),
        y=Axis("share of the busy time", "ratio", shown="%"),
        traces=(Trace("simulated", numbers(series, "distinct"), numbers(series, "share")),),
        limits=limits,
        summary=f"Different adapters in a batch: {some(own or 0.0)} on average{beside}.",
    )


def _varies(values: Sequence[float | None]) -> bool:
    """Whether a line tells anything: neither all nothing nor one and the same figure."""
    known = [value for value in values if value is not None]
    return bool(known) and max(known) - min(known) > FLAT * max(abs(each) for each in known)


def _changing(simulated: Result, columns: Sequence[str]) -> list[str]:
    """The columns of the time line that change after the warm-up."""
    series = filled(simulated, "timeline")
    if series is None:
        return []
    warmup_s = float(simulated.provenance.get("warmup_s") or 0.0)
    begun = next((place for place, at_s in enumerate(numbers(series, "time_s")) if (at_s or 0.0) > warmup_s), 0)
    return [column for column in columns if _varies(numbers(series, column)[begun:])]


def _picked(names: Sequence[object]) -> list[int]:
    """Rows worth a bar: the first tenants, and the last rows, which are all others and what none had."""
    return [place for place, name in enumerate(names) if place < SHOWN_TENANTS or not str(name).startswith("tenant ")]


def _tenants(simulated: Result) -> Chart | None:
    series = filled(simulated, "simulated_tenants")
    if series is None:
        return None
    names, tokens = list(series.column("tenant").values), numbers(series, "output_tokens_per_s")
    picked = [place for place in _picked(names) if tokens[place]]
    if not picked:
        return None
    return Chart(
        name="simulated_tenants",
        title="What does each tenant get?",
        subtitle="Output tokens a second after the warm-up; the table has requests, slots and swaps.",
        form="bars",
        x=Axis("output", "tok/s"),
        y=Axis("tenant"),
        traces=(Trace("output", [names[place] for place in picked], [tokens[place] for place in picked]),),
        summary="Output tokens a second of each tenant.",
    )


def _unused(usd: Sequence[float | None]) -> str:
    share = (usd[-1] or 0.0) / max(sum(each or 0.0 for each in usd), 1e-12)
    return f"{percent(share)} were used by none." if share > HARDLY else "Hardly anything was left unused."


def _bill(simulated: Result) -> Chart | None:
    series = filled(simulated, "simulated_tenants")
    if series is None:
        return None
    names, usd = list(series.column("tenant").values), numbers(series, "usd_per_h")
    picked = [place for place in _picked(names) if usd[place] and (usd[place] or 0.0) > 1e-6]
    if not picked:
        return None
    last = len(names) - 1
    rows = [names[place] for place in picked]
    used = [None if place == last else usd[place] for place in picked]
    idle = [usd[place] if place == last else None for place in picked]
    return Chart(
        name="simulated_bill",
        title="What does each tenant pay, by the GPU time it had?",
        subtitle=f"Rows of the table sum to the bill. {_unused(usd)}",
        form="bars",
        x=Axis("cost", "USD/h"),
        y=Axis("tenant"),
        traces=(Trace("paid", rows, used), Trace("not used", rows, idle, idle=True)),
        summary="Cost of each tenant by its GPU time.",
    )
