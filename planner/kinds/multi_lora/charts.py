"""The pictures of a design, as neutral figures; those of slots and fleet have modules of their own."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import percent
from planner.kinds.multi_lora.charts_fleet import bill, growth, routings, tenant_bills, ttft
from planner.kinds.multi_lora.charts_slots import cliff, hits, trade
from planner.kinds.multi_lora.spec import MultiLoraSpec
from planner.kinds.multi_lora.words import some, times


def charts(spec: MultiLoraSpec, result: Result) -> Sequence[Chart]:
    """All charts of a design; those without data are left out."""
    made = [
        *_first(spec, result),
        _read(spec, result),
        _distinct(spec, result),
        hits(spec, result),
        _memory(result),
        trade(result),
        ttft(result),
        routings(spec, result),
        tenant_bills(spec, result),
        growth(result),
        bill(result),
    ]
    return [chart for chart in made if chart is not None]


def _first(spec: MultiLoraSpec, result: Result) -> list[Chart | None]:
    """The cliff where this design is past it, else what adapters cost a step; the first is the picture of a card."""
    waits = (result.value("slot_wait_s") or 0.0) > (result.value("swap_s") or 0.0)
    pair = [cliff(spec, result), _step(result)]
    return pair if waits else pair[::-1]


def _read(spec: MultiLoraSpec, result: Result) -> Chart:
    series = result.series["adapter_read_by_distinct"]
    counts, shares = numbers(series, "distinct"), numbers(series, "share_of_base")
    told = {count: share for count, share in zip(counts, shares, strict=True) if count in (16, 64)}
    own = result.value("distinct_in_batch")
    named = ", ".join(f"{some(count or 0)} adapters {percent(share)}" for count, share in told.items())
    return Chart(
        name="adapter_reading",
        title="What does a batch read for its adapters?",
        subtitle=f"Of one reading of the base: {named}. A step also reads KV cache, so its share is smaller.",
        form="line",
        x=Axis("different adapters in the batch", "adapters", log=True, start_at_zero=False),
        y=Axis("read", "ratio", shown="%", log=True, start_at_zero=False),
        traces=(
            Trace("of one reading of the base", x=counts, y=_positive(shares)),
            Trace(
                f"of the base's step of {spec.max_batch:,}",
                x=counts,
                y=_positive(numbers(series, "share_of_step")),
                order=1,
            ),
        ),
        limits=() if not own else (Limit(own, f"this design {some(own)}", axis="x"),),
        summary=f"Bytes of adapters over those of the base: {named}.",
    )


def _positive(values: Sequence[float | None]) -> list[float | None]:
    """For a logarithmic axis."""
    return [value if value is not None and value > 0 else None for value in values]


def _distinct(spec: MultiLoraSpec, result: Result) -> Chart:
    series = result.series["distinct_by_batch"]
    counts = numbers(series, "batch")
    running, own = result.value("running"), result.value("distinct_in_batch")
    columns = [column for column in series.columns if column.name != "batch"]
    marks = (
        () if not running or not own or running > spec.max_batch else (Mark(running, own, f"this design {some(own)}"),)
    )
    ends = ", ".join(f"{column.label} {some(numbers(series, column.name)[-1] or 0.0)}" for column in columns)
    return Chart(
        name="distinct_adapters",
        title="How many different adapters does a batch have?",
        subtitle=f"At {spec.max_batch:,} running requests: {ends}.",
        form="line",
        x=Axis("running requests", "requests", log=True, start_at_zero=False),
        y=Axis("different adapters", "adapters"),
        traces=tuple(
            Trace(column.label, x=counts, y=numbers(series, column.name), order=order)
            for order, column in enumerate(columns)
        ),
        marks=marks,
        summary=f"Different adapters at {spec.max_batch:,} running requests: {ends}.",
    )


def _step(result: Result) -> Chart:
    series = result.series["step_by_distinct"]
    counts = numbers(series, "distinct")
    columns = [column for column in series.columns if column.name != "distinct"]
    own, factor = result.value("distinct_in_batch") or 0.0, result.value("step_factor") or 1.0
    off = numbers(series, columns[0].name)[0] or 1.0
    return Chart(
        name="step_factor",
        title="How much longer does a step take with adapters?",
        subtitle=f"Switching them on takes {percent(off - 1)} before one is read; this design is at {times(factor)}.",
        form="line",
        x=Axis("different adapters in the batch", "adapters"),
        y=Axis("step over that of the base", "×", start_at_zero=False),
        traces=tuple(
            Trace(column.label, x=counts, y=numbers(series, column.name), order=order)
            for order, column in enumerate(columns)
        ),
        marks=(Mark(own, factor, f"this design {times(factor)}"),),
        summary=f"Step with adapters over the step without, at the batch of this design: {times(factor)} with "
        f"{some(own)} different adapters.",
    )


def _memory(result: Result) -> Chart:
    series = result.series["memory"]
    parts, sizes = list(series.column("part").values), numbers(series, "bytes")
    lost = result.value("kv_tokens_lost")
    return Chart(
        name="memory",
        title="What has the memory of a GPU?",
        subtitle=f"Parts sum to {show(result.value('memory_bytes'), 'bytes')}. Adapters take the place of "
        f"{show(lost, 'tokens')} of KV cache.",
        form="stacked",
        x=Axis("memory", unit="bytes", shown="GB"),
        y=Axis(""),
        traces=tuple(
            Trace(str(part), x=["one GPU"], y=[size], order=order)
            for order, (part, size) in enumerate(zip(parts, sizes, strict=True))
        ),
        summary="; ".join(f"{part} {show(size, 'bytes')}" for part, size in zip(parts, sizes, strict=True)) + ".",
    )
