"""The pictures of a pool, as neutral figures."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import counted
from planner.kinds.kv_pool.money_charts import bill, mix, price
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.words import percent, rounded, times

SAME_HITS = 0.01
CUT = 4.0
"""Latency is drawn up to this multiple of its objective."""


def charts(spec: KvPoolSpec, result: Result) -> Sequence[Chart]:
    """Tiers, hits, first token, policies, upgrade, money; those without data are left out."""
    made = [
        _miss_ratio(spec, result),
        _ladder(result),
        _ttft(spec, result),
        _ttft_by_rate(spec, result),
        _policies(spec, result),
        _flush(result),
        _upgrade(result),
        price(spec, result),
        bill(result),
        mix(result),
    ]
    return [chart for chart in made if chart is not None]


def _ladder(result: Result) -> Chart | None:
    series = result.series["tiers"]
    names, sizes = [str(tier) for tier in series.column("tier").values], numbers(series, "capacity_bytes")
    reads, held = numbers(series, "read_s"), numbers(series, "sessions")
    computing = result.value("recompute_s") or 0.0
    rows = [
        (name, size, read, sessions)
        for name, size, read, sessions in zip(names, sizes, reads, held, strict=True)
        if size and read
    ]
    if not rows:
        return None
    told = [f"{name} {show(size, 'bytes')}, {show(read, 's')}" for name, size, read, _ in rows]
    return Chart(
        name="tier_ladder",
        title="What does each tier hold, and how fast is it read?",
        subtitle="To the right more sessions, upwards each read takes longer. Above the line computing is quicker.",
        form="scatter",
        x=Axis("capacity, all nodes", unit="bytes", shown="TB", log=True, start_at_zero=False),
        y=Axis("reading a context", unit="s", log=True, start_at_zero=False),
        traces=tuple(
            Trace(name, x=[size], y=[read], order=order, marker_only=True, labels=[counted(sessions or 0.0, "session")])
            for order, (name, size, read, sessions) in enumerate(rows)
        ),
        limits=(Limit(computing, f"computing it {show(computing, 's')}"),),
        marks=tuple(
            Mark(size, read, f"{name}, {counted(sessions or 0.0, 'session')}", order=order)
            for order, (name, size, read, sessions) in enumerate(rows)
        ),
        summary="; ".join(told) + f"; computing {show(computing, 's')}.",
        compare=True,
    )


def _miss_ratio(spec: KvPoolSpec, result: Result) -> Chart:
    series, tiers = result.series["hits_by_capacity"], result.series["tiers"]
    column = f"{spec.eviction}_hit_share"
    sizes, shares = numbers(series, "capacity_bytes"), numbers(series, column)
    marks, hits = [], 0.0
    for name, reach, share in zip(
        tiers.column("tier").values, numbers(tiers, "reach_bytes"), numbers(tiers, "hit_share"), strict=True
    ):
        hits = rounded(hits + (share or 0.0))
        place = _place_bytes(sizes, shares, wanted=hits, reach=reach or 0.0)
        marks.append(Mark(place, hits, f"{name} {percent(hits)}"))
    return Chart(
        name="hits_by_capacity",
        title="How much is hit with more room?",
        subtitle="Hits of the reusable tokens against capacity; the dots are this design's tiers down to each.",
        form="line",
        x=Axis("capacity", unit="bytes", shown="TB", log=True, start_at_zero=False),
        y=Axis("hits", unit="ratio", shown="%"),
        traces=(Trace("hits", x=sizes, y=shares),),
        marks=tuple(marks),
        summary="; ".join(mark.label for mark in marks) + ".",
        compare=True,
    )


def _place_bytes(
    sizes: Sequence[float | None], shares: Sequence[float | None], *, wanted: float, reach: float
) -> float:
    """Where the tiers down to one lie on the curve: at their capacity, or where fewer hits are, if copies take room."""
    for size, share in zip(sizes, shares, strict=True):
        if size is not None and share is not None and (size >= reach or share >= wanted + SAME_HITS):
            return size
    return reach


def _ttft(spec: KvPoolSpec, result: Result) -> Chart | None:
    series = result.series["ttft"]
    ranks, with_pool = list(series.column("rank").values), numbers(series, "with_pool_s")
    without = numbers(series, "without_pool_s")
    if not any(value is not None for value in (*with_pool, *without)):
        return None
    fewer, longest = result.value("gpus_saved") or 0.0, max(value or 0.0 for value in (*with_pool, *without))
    return Chart(
        name="ttft",
        title="What does the pool do to the first token?",
        subtitle=f"Each on a prefill fleet sized for it; the pool's has {show(fewer, 'GPUs')} less."
        if fewer > 0
        else "Each on a prefill fleet sized for it.",
        form="bars",
        x=Axis("TTFT", unit="s", shown="ms" if longest < 2 else "s"),
        y=Axis("rank"),
        traces=(Trace("with the pool", x=ranks, y=with_pool), Trace("without the pool", x=ranks, y=without, order=1)),
        limits=(Limit(spec.ttft_p99_slo_s, f"objective {show(spec.ttft_p99_slo_s, 's')}", axis="x"),),
        summary=f"TTFT P99 {show(with_pool[-1], 's')} with the pool, {show(without[-1], 's')} without.",
    )


def _ttft_by_rate(spec: KvPoolSpec, result: Result) -> Chart | None:
    series, top = result.series["by_rate"], CUT * spec.ttft_p99_slo_s
    rates = numbers(series, "turns_per_s")
    lines = {
        label: [value if value is not None and value <= top else None for value in numbers(series, name)]
        for name, label in (
            ("ttft_p99_s", "with the pool"),
            ("ttft_p99_without_pool_s", "without the pool"),
        )
    }
    if not any(value is not None for line in lines.values() for value in line):
        return None
    now = result.value("ttft_p99_s")
    marks = (Mark(spec.turns_per_s, now, f"this design {show(now, 's')}"),) if now is not None and now <= top else ()
    return Chart(
        name="ttft_by_rate",
        title="How far does this prefill fleet carry?",
        subtitle="TTFT P99 on the fleet as it stands. A line that ends has no steady state beyond.",
        form="line",
        x=Axis("turns", unit="req/s"),
        y=Axis("TTFT P99", unit="s"),
        traces=tuple(Trace(label, x=rates, y=line, order=order) for order, (label, line) in enumerate(lines.items())),
        limits=(Limit(spec.ttft_p99_slo_s, f"objective {show(spec.ttft_p99_slo_s, 's')}"),),
        marks=marks,
        summary=f"TTFT P99 against the rate of turns; {show(now, 's')} at {spec.turns_per_s:,.10g} turns/s with the "
        "pool.",
    )


def _policies(spec: KvPoolSpec, result: Result) -> Chart:
    series = result.series["policies"]
    reaches = list(series.column("reach").values)
    columns = [column for column in series.columns if column.name != "reach"]
    told = [f"{column.label} {percent(float(column.values[-1] or 0.0))}" for column in columns]
    return Chart(
        name="policies",
        title="Does another eviction hit more?",
        subtitle=f"The same load under each; after a fixed time means {show(spec.ttl_s, 's')}.",
        form="bars",
        x=Axis("hits", unit="ratio", shown="%"),
        y=Axis("tiers"),
        traces=tuple(
            Trace(column.label, x=reaches, y=numbers(series, column.name), order=order)
            for order, column in enumerate(columns)
        ),
        summary=f"Down to the last tier: {'; '.join(told)}.",
    )


def _flush(result: Result) -> Chart | None:
    series = result.series["after_a_flush"]
    hits, usual = numbers(series, "hit_share"), result.value("hit_share") or 0.0
    if usual <= 0:
        return None
    surge, warm = result.value("flush_surge") or 1.0, result.value("flush_95_s")
    return Chart(
        name="after_a_flush",
        title="How long is the pool cold after an upgrade?",
        subtitle=f"At first prefill has {times(surge)} its usual work; 95 % of the hits are back in {show(warm, 's')}.",
        form="line",
        x=Axis("time since the flush", unit="s", shown="min"),
        y=Axis("hits", unit="ratio", shown="%"),
        traces=(Trace("hits", x=numbers(series, "time_s"), y=hits),),
        limits=(Limit(usual, f"usual {percent(usual)}"),),
        summary=f"Hits rise from none to {percent(usual)}; 95 % of that after {show(warm, 's')}.",
        compare=True,
    )


def _upgrade(result: Result) -> Chart | None:
    series, step = result.series["upgrade"], result.value("safe_weight_step")
    times_s = numbers(series, "time_s")
    if not times_s or step is None or step >= 1:
        return None
    at_once, in_steps = numbers(series, "at_once"), numbers(series, "in_steps")
    return Chart(
        name="upgrade",
        title="Does the prefill fleet survive an upgrade?",
        subtitle=f"Work over what the fleet can do, if all traffic moves at once and in steps of {percent(step)}.",
        form="line",
        x=Axis("time since the first step", unit="s", shown="h" if (times_s[-1] or 0.0) > 7200 else "min"),
        y=Axis("prefill in use", unit="ratio", shown="%"),
        traces=(Trace("all at once", x=times_s, y=at_once, order=1), Trace("in safe steps", x=times_s, y=in_steps)),
        limits=(Limit(1.0, "all the fleet can do"),),
        summary=f"All at once prefill starts at {percent(at_once[0] or 0.0)} of what the fleet can do; in steps it "
        f"stays at or below {percent(max(value or 0.0 for value in in_steps))}.",
    )
