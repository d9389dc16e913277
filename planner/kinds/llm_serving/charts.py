"""The pictures of a design, as neutral figures."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.kinds.llm_serving.spec import LlmServingSpec
from planner.kinds.llm_serving.words import percent

OUTPUT_PRICE = "USD/M output tokens"
CUT = 2.0
"""Latency is drawn up to this multiple of its objective."""


def charts(spec: LlmServingSpec, result: Result) -> Sequence[Chart]:
    """Survival, bill, growth, latency and memory; those without data are left out."""
    made = [
        _capacity_left(spec, result),
        _bill(result),
        _growth(spec, result),
        _latency(spec, result, name="ttft", title="How far is the TTFT objective?", limit=spec.ttft_p99_slo_s),
        _latency(
            spec, result, name="tpot", title="Where does the TPOT objective end?", limit=spec.tpot_slo_s, shown="ms"
        ),
        _slo(spec, result),
        _memory(spec, result),
        _first_token(result),
    ]
    return [chart for chart in made if chart is not None]


def _capacity_left(spec: LlmServingSpec, result: Result) -> Chart | None:
    series = result.series["capacity_left"]
    cases, shares = list(series.column("case").values), numbers(series, "share")
    if not cases:
        return None
    lost = [f"{case}: {percent(share)}" for case, share in zip(cases, shares, strict=True) if share is not None]
    return Chart(
        name="capacity_left",
        title="What is left when a unit fails?",
        subtitle="Capacity as a share of the need. Below the line requests queue without end.",
        form="bars",
        x=Axis("capacity", unit="ratio", shown="%"),
        y=Axis("case"),
        traces=(
            Trace("enough", x=cases, y=[share if share is None or share >= 1 else None for share in shares]),
            Trace("short of the need", x=cases, y=[None if (share or 0) >= 1 else share for share in shares], order=1),
        ),
        limits=(Limit(1.0, f"need at {spec.peak_rps:,g} req/s", axis="x"),),
        summary="; ".join(lost) + ".",
    )


def _bill(result: Result) -> Chart | None:
    series = result.series["bill"]
    rows = zip(series.column("part").values, numbers(series, "usd_per_h"), strict=True)
    bill = result.value("cost_usd_per_h") or 0.0
    if bill <= 0:
        return None
    parts, amounts = zip(*((part, amount) for part, amount in rows if amount), strict=True)
    used = [name for name in parts if str(name).endswith("used")]
    bought: list[float | None] = [amount if name in used else None for name, amount in zip(parts, amounts, strict=True)]
    idle: list[float | None] = [None if name in used else amount for name, amount in zip(parts, amounts, strict=True)]
    return Chart(
        name="bill",
        title=f"Where do {show(bill, 'USD')}/h go?",
        subtitle="Parts sum to the bill. The tint is bought, not used.",
        form="bars",
        x=Axis("cost", unit="USD/h"),
        y=Axis("part"),
        traces=(Trace("used", x=parts, y=bought), Trace("bought, not used", x=parts, y=idle, idle=True)),
        summary="; ".join(f"{name} {show(a, 'USD/h')}" for name, a in zip(parts, amounts, strict=True)) + ".",
    )


def _growth(spec: LlmServingSpec, result: Result) -> Chart:
    series = result.series["cost_by_rate"]
    rates, prices = numbers(series, "rate_rps"), numbers(series, "cost_usd_per_m_output_tokens")
    now, good_to = result.value("cost_usd_per_m_output_tokens"), result.value("max_rps_within_headroom")
    bound = result.value("cost_usd_per_m_output_tokens_unrounded")
    reach = f" This fleet is good to {show(good_to, 'req/s')}." if good_to else ""
    return Chart(
        name="cost_per_m_output_tokens",
        title="What does growth do to the price?",
        subtitle=f"The fleet sized for each rate. Stairs are whole units.{reach}",
        form="line",
        x=Axis("peak rate", unit="req/s", start_at_zero=False),
        y=Axis("cost", unit=OUTPUT_PRICE),
        traces=(Trace("cost", x=rates, y=prices),),
        limits=() if bound is None else (Limit(bound, f"perfect scaling {show(bound, 'USD')}"),),
        marks=() if now is None else (Mark(spec.peak_rps, now, f"this design {show(now, 'USD')}"),),
        summary=f"Price per million output tokens against the peak rate; {show(now, OUTPUT_PRICE)} here.",
        compare=True,
    )


def _reach(rates: Sequence[float | None], values: Sequence[float | None], limit: float) -> float | None:
    """The highest rate up to which all values are within the limit."""
    reached = None
    for rate, value in zip(rates, values, strict=True):
        if value is None or value > limit:
            break
        reached = rate
    return reached


def _met(reach: float | None, rates: Sequence[float | None]) -> str:
    if reach is None:
        return "Not met at any rate shown."
    return "Met at every rate shown." if reach == rates[-1] else f"Met up to about {show(reach, 'req/s')}."


def _shown(values: Sequence[float | None], limit: float) -> list[float | None]:
    """Values up to twice the limit: beyond, the line leaves the picture and would only flatten it."""
    return [value if value is not None and value <= CUT * limit else None for value in values]


def _latency(
    spec: LlmServingSpec, result: Result, *, name: str, title: str, limit: float, shown: str = ""
) -> Chart | None:
    """P99 of the fleet as it stands against the request rate, with its range; None where none is in the picture."""
    series, metric, label = result.series["latency_by_rate"], f"{name}_p99_s", f"{name.upper()} P99"
    rates, values = numbers(series, "rate_rps"), _shown(numbers(series, metric), limit)
    if not any(value is not None for value in values):
        return None
    low, high = _edges(
        values, low=numbers(series, f"{metric}_low"), high=numbers(series, f"{metric}_high"), limit=limit
    )
    now = result.value(metric)
    return Chart(
        name=f"{name}_by_rate",
        title=title,
        subtitle=f"The fleet as it stands, with the range of its rates. {_met(_reach(rates, values, limit), rates)}",
        form="line",
        x=Axis("request rate", unit="req/s"),
        y=Axis(label, unit="s", shown=shown),
        traces=(Trace(label, x=rates, y=values, low=low, high=high),),
        limits=(Limit(limit, f"objective {show(limit, 's')}"),),
        marks=_at_design(spec, now, limit),
        summary=f"{label} against the request rate; {show(now, 's')} at {spec.peak_rps:,g} req/s.",
        compare=True,
    )


def _edges(
    values: Sequence[float | None], *, low: Sequence[float | None], high: Sequence[float | None], limit: float
) -> tuple[list[float | None], list[float | None]]:
    """The range where there is a value; its upper edge is cut where it leaves the picture or saturates."""
    rows = list(zip(values, low, high, strict=True))
    return (
        [None if value is None else below for value, below, _ in rows],
        [None if value is None else min(above or CUT * limit, CUT * limit) for value, _, above in rows],
    )


def _at_design(spec: LlmServingSpec, now: float | None, limit: float) -> tuple[Mark, ...]:
    return () if now is None or now > CUT * limit else (Mark(spec.peak_rps, now, f"this design {show(now, 's')}"),)


def _slo(spec: LlmServingSpec, result: Result) -> Chart:
    names = ("ttft_p50_s", "ttft_p90_s", "ttft_p99_s", "tpot_p50_s", "tpot_p90_s", "tpot_p99_s")
    metrics = [result.metrics[name] for name in names]
    labels = [metric.definition.label for metric in metrics]
    objectives = [spec.ttft_p99_slo_s if name.startswith("ttft") else spec.tpot_slo_s for name in names]
    shares: list[float | None] = [
        None if metric.value is None else metric.value / objective
        for metric, objective in zip(metrics, objectives, strict=True)
    ]
    told = [f"{label} {percent(share)}" for label, share in zip(labels, shares, strict=True) if share is not None]
    return Chart(
        name="slo_latency",
        title="How much of each objective is used?",
        subtitle=f"Latency as a share of its objective: TTFT {show(spec.ttft_p99_slo_s, 's')}, "
        f"TPOT {show(spec.tpot_slo_s, 's')}.",
        form="bars",
        x=Axis("of the objective", unit="ratio", shown="%"),
        y=Axis("latency"),
        traces=(Trace("of the objective", x=labels, y=shares),),
        limits=(Limit(1.0, "objective", axis="x"),),
        summary="; ".join(told) + "." if told else "No latency exists: the fleet is past saturation.",
    )


def _memory(spec: LlmServingSpec, result: Result) -> Chart:
    series = result.series["decode_memory"]
    terms, sizes = series.column("term").values, numbers(series, "bytes")
    total = sum(size for size in sizes if size is not None)
    spare = {"KV to spare", "outside the budget"}
    return Chart(
        name="decode_memory",
        title="Does a GPU of a replica have room?" if spec.is_aggregated else "Does a decode GPU have room?",
        subtitle=f"Terms sum to {show(total, 'bytes')} ({total / 2**30:.1f} GiB); KV at the rate of the GPU.",
        form="stacked",
        x=Axis("memory", unit="bytes", shown="GB"),
        y=Axis(""),
        traces=tuple(
            Trace(str(term), x=["one GPU"], y=[size], order=index, idle=term in spare)
            for index, (term, size) in enumerate(zip(terms, sizes, strict=True))
        ),
        summary="; ".join(f"{term} {show(size, 'bytes')}" for term, size in zip(terms, sizes, strict=True)) + ".",
    )


def _first_token(result: Result) -> Chart | None:
    series = result.series["ttft_parts"]
    parts, seconds = list(series.column("part").values), numbers(series, "seconds")
    if not parts:
        return None
    mean = result.value("ttft_mean_s")
    return Chart(
        name="ttft_parts",
        title="What is the first token waiting for?",
        subtitle=f"Mean, {show(mean, 's')} in all.",
        form="bars",
        x=Axis("time", unit="s", shown="ms"),
        y=Axis("part"),
        traces=(Trace("mean", x=parts, y=seconds),),
        summary="; ".join(f"{part} {show(s, 's')}" for part, s in zip(parts, seconds, strict=True)) + ".",
    )
