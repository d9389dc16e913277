"""Two sources of step times in one picture."""

from __future__ import annotations

from planner.core.chart import Axis, Chart, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.kinds.engine_instance.sources import COMPARED, SOURCES

_SAID = {"ttft_mean_s": "TTFT", "tpot_mean_s": "TPOT", "output_tokens_per_s": "output"}


def sources_chart(result: Result) -> Chart:
    """TPOT of both sources against load; the subtitle holds the figures at the design."""
    curve = result.series["latency_sources_curve"]
    abscissa = [value if isinstance(value, int | float) else None for value in curve.column("concurrency").values]
    traces = []
    for order, (source, words) in enumerate(SOURCES.items()):
        values = curve.column(f"{source}_tpot_mean_s").values
        known = [value if isinstance(value, int | float) else None for value in values]
        traces.append(Trace(words, abscissa, known, order=order))
    return Chart(
        name="latency_sources",
        title="What do measured kernels say?",
        subtitle=_subtitle(result),
        form="line",
        x=Axis("requests in the system", "requests", log=True, start_at_zero=False),
        y=Axis("TPOT, mean", "s", shown="ms"),
        traces=tuple(traces),
        summary="TPOT against the number of requests in the system, from the roofline and from measured kernels.",
    )


def _subtitle(result: Result) -> str:
    table = result.series["latency_sources"]
    parts = []
    for name, words in _SAID.items():
        row = COMPARED.index(name)
        unit = str(table.column("unit").values[row])
        roof, kernels = (table.column(source).values[row] for source in SOURCES)
        if isinstance(roof, int | float) and isinstance(kernels, int | float):
            parts.append(f"{words} {show(kernels, unit)} against {show(roof, unit)}")
    if not parts:
        return "Mean TPOT by source; at the design neither has an answer."
    return f"At the design, kernels against roofline: {', '.join(parts)}."
