"""Pictures of one replica: memory, latency and throughput against load, money."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result, Series
from planner.kinds.engine_instance.measured_charts import measured_charts
from planner.kinds.engine_instance.sources_chart import sources_chart
from planner.kinds.engine_instance.spec import EngineInstanceSpec

_TERMS = (
    ("weights_bytes", False),
    ("kv_pool_bytes", False),
    ("activation_bytes", False),
    ("graph_bytes", False),
    ("context_bytes", False),
    ("other_bytes", True),
)
_FLAT = 1.002
"""A point of the curve is drawn in a chart against the rate only while the rate still grows by this factor."""


def charts(spec: EngineInstanceSpec, result: Result) -> Sequence[Chart]:
    """Charts of a design; those of load are left out when the replica carries none."""
    return list(_charts(spec, result))


def _charts(spec: EngineInstanceSpec, result: Result) -> Iterator[Chart]:
    yield _memory(result)
    curve = result.series.get("concurrency")
    if curve is not None:
        yield _trade(curve, result)
        yield _latency(spec, curve, result, name="ttft", label="TTFT", objective=spec.ttft_p99_slo_s)
        yield _latency(spec, curve, result, name="tpot", label="TPOT", objective=spec.tpot_slo_s)
        if result.value("cost_usd_per_h") is not None:
            yield _cost(curve, result)
    if result.value("ttft_p99_s") is not None:
        yield _slo(spec, result)
    if curve is not None and "measured" in result.series:
        yield from measured_charts(curve, result.series["measured"])
    if "latency_sources_curve" in result.series:
        yield sources_chart(result)


def _memory(result: Result) -> Chart:
    traces = []
    for order, (name, idle) in enumerate(_TERMS):
        metric = result.metrics[name]
        if metric.value:
            traces.append(Trace(metric.definition.label, ["one GPU"], [metric.value], order=order, idle=idle))
    budget = result.metrics["budget_bytes"].value
    pool = result.value("kv_pool_bytes")
    left = "nothing is left for the KV cache" if pool is None else f"{show(pool, 'bytes')} are left for the KV cache"
    return Chart(
        name="memory",
        title="Where does the memory of a GPU go?",
        subtitle=f"Terms sum to the engine's budget of {show(budget, 'bytes')}, tightest rank; {left}.",
        form="stacked",
        x=Axis("GPU"),
        y=Axis("memory of a GPU", "bytes", shown="GB"),
        traces=tuple(traces),
        limits=(Limit(budget, f"budget {show(budget, 'bytes')}", "x"),) if budget and pool is None else (),
        summary=f"Memory of one GPU by term; {left}.",
    )


def _numbers(curve: Series, name: str) -> list[float | None]:
    return [value if isinstance(value, int | float) else None for value in curve.column(name).values]


def _banded(
    values: Sequence[float | None], widths: Sequence[float | None]
) -> tuple[list[float | None], list[float | None]]:
    """Both edges of the 80 % band, a factor at each point."""
    pairs = [(value, width or 1.0) for value, width in zip(values, widths, strict=True)]
    low = [None if value is None else value / width for value, width in pairs]
    return low, [None if value is None else value * width for value, width in pairs]


def _trade(curve: Series, result: Result) -> Chart:
    """Throughput of a GPU against speed of a user, one point a concurrency."""
    speed = [None if not value else 1.0 / value for value in _numbers(curve, "tpot_mean_s")]
    per_gpu = _numbers(curve, "output_tokens_per_s_per_gpu")
    widths = _numbers(curve, "throughput_band")
    pairs = [(x, y, width) for x, y, width in zip(speed, per_gpu, widths, strict=True) if x is not None]
    tpot, own = result.value("tpot_mean_s"), result.value("output_tokens_per_s_per_gpu")
    marks = (Mark(1.0 / tpot, own, "this design"),) if tpot and own is not None else ()
    low, high = _banded([y for _, y, _ in pairs], [width for _, _, width in pairs])
    return Chart(
        name="throughput_against_speed",
        title="What does speed for a user cost in throughput?",
        subtitle="Right is faster for each user, up is more from a GPU; requests at once double from point to point.",
        form="line",
        x=Axis("speed of a user", "tok/s"),
        y=Axis("output of a GPU", "tok/s/GPU"),
        traces=(Trace("this replica", [x for x, _, _ in pairs], [y for _, y, _ in pairs], low=low, high=high),),
        marks=marks,
        summary="Output tokens a second of one GPU against output tokens a second of one user, as concurrency grows.",
    )


def _latency(
    spec: EngineInstanceSpec, curve: Series, result: Result, *, name: str, label: str, objective: float | None
) -> Chart:
    concurrency = _numbers(curve, "concurrency")
    mean, tail = f"{name}_mean_s", f"{name}_p99_s"
    low, high = _banded(_numbers(curve, tail), _numbers(curve, f"{name}_band"))
    own, at = result.value(tail), result.value("concurrency")
    marks = (Mark(at, own, show(own, "s")),) if own is not None and at and spec.rate_rps is None else ()
    met = result.metrics[tail].met
    verdict = {True: f"{label} P99 is met at the design.", False: f"{label} P99 is missed at the design."}
    return Chart(
        name=f"{name}_against_concurrency",
        title=f"How does {label} grow with load?",
        subtitle=f"Closed loop, with 80 % band on the P99. {verdict.get(met, '') if met is not None else ''}".strip(),
        form="line",
        x=Axis("requests in the system", "requests", log=True, start_at_zero=False),
        y=Axis(label, "s", shown="ms" if name == "tpot" else "", log=name == "ttft", start_at_zero=name != "ttft"),
        traces=(
            Trace(f"{label} P99", concurrency, _numbers(curve, tail), low=low, high=high, order=0),
            Trace(f"{label} mean", concurrency, _numbers(curve, mean), order=1),
        ),
        limits=(Limit(objective, f"objective {show(objective, 's')}"),) if objective else (),
        marks=marks,
        summary=f"{label} against the number of requests in the system.",
    )


def _cost(curve: Series, result: Result) -> Chart:
    """Price against the rate; past the largest rate the curve would turn on itself and is cut."""
    rates: list[float] = []
    prices: list[float] = []
    widths: list[float | None] = []
    for rate, price, width in zip(
        _numbers(curve, "request_rate_rps"),
        _numbers(curve, "cost_usd_per_m_output_tokens"),
        _numbers(curve, "throughput_band"),
        strict=True,
    ):
        if rate is None or price is None or (rates and rate < rates[-1] * _FLAT):
            continue
        rates.append(rate)
        prices.append(price)
        widths.append(width)
    rate, price = result.value("request_rate_rps"), result.value("cost_usd_per_m_output_tokens")
    low, high = _banded(prices, widths)
    return Chart(
        name="cost_per_m_output_tokens",
        title="What does load do to the price?",
        subtitle=f"The bill of {show(result.value('cost_usd_per_h'), 'USD/h')} is shared by more tokens.",
        form="line",
        x=Axis("request rate", "req/s"),
        y=Axis("cost", "USD/M output tokens", log=True, start_at_zero=False),
        traces=(Trace("this design", rates, prices, low=low, high=high),),
        marks=(Mark(rate, price, show(price, "USD")),) if rate and price else (),
        summary="Price of a million output tokens against the request rate of the replica.",
        compare=True,
    )


_SLO_BARS = tuple(
    (f"{label} {rank}", f"{label.lower()}_{rank.lower()}_s")
    for label in ("TTFT", "TPOT")
    for rank in ("P50", "P90", "P99")
)


def _slo(spec: EngineInstanceSpec, result: Result) -> Chart:
    """Latency percentiles as shares of their objectives; in seconds when an objective is missing."""
    ttft, tpot = spec.ttft_p99_slo_s, spec.tpot_slo_s
    relative = ttft is not None and tpot is not None
    names, values = [], []
    for label, name in _SLO_BARS:
        value = result.value(name)
        if value is None:
            continue
        objective = ttft if name.startswith("ttft") else tpot
        names.append(label)
        values.append(value / objective if relative and objective else value)
    limits = (Limit(1.0, "objective", "x"),) if relative else ()
    return Chart(
        name="slo_latency",
        title="How far are the objectives?" if relative else "How long do users wait?",
        subtitle="Latency as a share of its objective; below 100 % it is met." if relative else "Latency percentiles.",
        form="bars",
        x=Axis("latency"),
        y=Axis("of the objective", "ratio") if relative else Axis("latency", "s"),
        traces=(Trace("this design", names, values),),
        limits=limits,
        summary="TTFT and TPOT percentiles against their objectives.",
    )
