"""Charts of a simulation, with the estimate drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import filled, numbers
from planner.kinds.kv_pool.policies_compared import LABELS
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.words import percent

SIMULATED, ESTIMATE = 0, 1
ALIKE = 0.003
"""Points of hits that policies may differ by and still tie: lines on top of each other."""
RANKS = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_TIERS = (("hbm", "HBM"), ("dram", "DRAM"), ("ssd", "SSD"))


def charts(spec: KvPoolSpec, estimate: Result, simulated: Result) -> Sequence[Chart]:
    """Hits, first token, policies, time line, bytes, curve of the trace; those without data are left out."""
    made = [
        _hits(estimate, simulated),
        _cdf(spec, estimate, simulated),
        _policies(simulated),
        _line(
            simulated, "hits", "Where are hits found over time?", ("hbm_hit_share", "dram_hit_share", "ssd_hit_share")
        ),
        _by_policy(simulated),
        _line(simulated, "load", "How busy is prefill?", ("prefill", "prefill_without_pool")),
        _line(simulated, "queue", "How many turns are in the system?", ("in_flight",)),
        _line(simulated, "ttft", "Does the wait change over time?", ("ttft_mean_s",)),
        _line(simulated, "room", "How full are the tiers?", ("hbm_used", "dram_used", "ssd_used")),
        _moved(simulated),
        _curve(simulated),
    ]
    return [chart for chart in made if chart is not None]


def _hits(estimate: Result, simulated: Result) -> Chart | None:
    """Hits by tier, both ways."""
    if simulated.value("hit_share") is None:
        return None
    tiers = [(f"{tier}_hit_share", label) for tier, label in _TIERS]
    hit = [row for row in tiers if simulated.value(row[0]) or estimate.value(row[0])]
    names = [("hit_share", "all tiers"), *hit]
    traces = []
    for order, label, source in ((SIMULATED, "simulated", simulated), (ESTIMATE, "estimate", estimate)):
        traces.append(Trace(label, [row[1] for row in names], [source.value(row[0]) for row in names], order=order))
    both = [show(source.value("hit_share"), "ratio") for source in (simulated, estimate)]
    return Chart(
        name="simulated_hits",
        title="Does the estimate of hits hold?",
        subtitle=f"Of what came back: {both[0]} found in the simulation, {both[1]} by the estimate.",
        form="bars",
        x=Axis("hits", unit="ratio", shown="%"),
        y=Axis("tier"),
        traces=tuple(traces),
        summary=f"Hits {both[0]} simulated and {both[1]} estimated, by tier.",
    )


def _cdf(spec: KvPoolSpec, estimate: Result, simulated: Result) -> Chart | None:
    series, without = filled(simulated, "ttft_cdf"), filled(simulated, "ttft_without_cdf")
    if series is None:
        return None
    traces = [Trace("with the pool", numbers(series, "value_s"), numbers(series, "share"), order=SIMULATED)]
    if without is not None and simulated.value("ttft_p99_same_units_s") is not None:
        traces.append(Trace("HBM only", numbers(without, "value_s"), numbers(without, "share"), order=2))
    known = [(estimate.value(f"ttft_{rank}_s"), share) for rank, share in RANKS.items()]
    points = [(value, share) for value, share in known if value is not None]
    if points:
        x, y = [value for value, _ in points], [share for _, share in points]
        traces.append(Trace("estimate", x, y, order=ESTIMATE, marker_only=True))
    p99, promised = simulated.value("ttft_p99_s"), estimate.value("ttft_p99_s")
    beside = f"estimate {show(promised, 's')}" if promised is not None else "no estimate"
    alone = "" if len(traces) > 2 else " With HBM only these units do not keep up."
    return Chart(
        name="simulated_ttft_cdf",
        title="How is TTFT distributed, with the pool and without?",
        subtitle=f"P99 {show(p99, 's')} simulated, {beside}.{alone}",
        form="cdf",
        x=Axis("TTFT", "s"),
        y=Axis("share of turns", "ratio"),
        traces=tuple(traces),
        limits=(Limit(spec.ttft_p99_slo_s, f"objective {show(spec.ttft_p99_slo_s, 's')}", axis="x"),),
        summary=f"99 % of the simulated turns have their first token within {show(p99, 's')}; {beside}.{alone}",
        compare=True,
    )


def _policies(simulated: Result) -> Chart | None:
    series = filled(simulated, "policies")
    if series is None or len(series.columns[0].values) < 2:
        return None
    names = list(series.column("policy").values)
    sums = [
        sum(float(value or 0.0) for value in row)
        for row in zip(*(numbers(series, f"{tier}_hit_share") for tier, _ in _TIERS), strict=True)
    ]
    told = "; ".join(f"{name} {percent(total)}" for name, total in zip(names, sums, strict=True))
    return Chart(
        name="simulated_policies",
        title="Which eviction finds most on these turns?",
        subtitle="Hits by tier, the same turns under each.",
        form="stacked",
        x=Axis("hits", unit="ratio", shown="%"),
        y=Axis("eviction"),
        traces=tuple(
            Trace(label, x=names, y=numbers(series, f"{tier}_hit_share"), order=order)
            for order, (tier, label) in enumerate(_TIERS)
            if any(numbers(series, f"{tier}_hit_share"))
        ),
        summary=f"{told}.",
    )


def _line(simulated: Result, name: str, title: str, columns: tuple[str, ...]) -> Chart | None:
    series = filled(simulated, "timeline")
    if series is None:
        return None
    times_s, traces = numbers(series, "time_s"), []
    unit = series.column(columns[0]).unit
    for order, column in enumerate(series.column(wanted) for wanted in columns):
        values = numbers(series, column.name)
        if any(value for value in values):
            traces.append(Trace(column.label, times_s, values, order=order))
    if not traces:
        return None
    warmup_s = float(simulated.provenance.get("warmup_s") or 0.0)
    named = ", ".join(trace.name for trace in traces)
    return Chart(
        name=f"simulated_timeline_{name}",
        title=title,
        subtitle=f"{named[:1].upper()}{named[1:]} over simulated time.",
        form="line",
        x=Axis("simulated time", "s"),
        y=Axis(named if len(traces) == 1 else "", unit),
        traces=tuple(traces),
        limits=(Limit(warmup_s, "measured from here", axis="x"),) if warmup_s > 0 else (),
        summary=f"{named} over {show(float(times_s[-1] or 0.0), 's')} of simulated time.",
    )


def _by_policy(simulated: Result) -> Chart | None:
    series = filled(simulated, "hits_by_policy")
    found = [simulated.value(f"{name}_hit_share") for name in LABELS]
    known = [share for share in found if share is not None]
    if series is None or len(known) < 2 or max(known) - min(known) <= ALIKE:
        return None
    times_s = numbers(series, "time_s")
    return Chart(
        name="simulated_hits_by_policy",
        title="How do the evictions compare over time?",
        subtitle="Hits of what came back, in each stretch of time.",
        form="line",
        x=Axis("simulated time", "s"),
        y=Axis("hits", unit="ratio", shown="%"),
        traces=tuple(
            Trace(label, times_s, numbers(series, f"{name}_hit_share"), order=order)
            for order, (name, label) in enumerate(LABELS.items())
            if any(column.name == f"{name}_hit_share" for column in series.columns)
        ),
        summary="Hits over simulated time, a line for each eviction.",
    )


def _moved(simulated: Result) -> Chart | None:
    series = filled(simulated, "bytes_moved")
    if series is None:
        return None
    names, sizes = list(series.column("what").values), numbers(series, "bytes")
    return Chart(
        name="simulated_bytes",
        title="What was moved?",
        subtitle="Bytes over the whole run.",
        form="bars",
        x=Axis("moved", unit="bytes", shown="TB"),
        y=Axis("what"),
        traces=(Trace("moved", x=names, y=sizes),),
        summary="; ".join(f"{name} {show(size, 'bytes')}" for name, size in zip(names, sizes, strict=True)) + ".",
    )


def _curve(simulated: Result) -> Chart | None:
    series = filled(simulated, "trace_curve")
    if series is None:
        return None
    sizes = numbers(series, "capacity_bytes")
    most = numbers(series, "exact")[-1] or 0.0
    return Chart(
        name="simulated_trace_curve",
        title="How much of the trace is hit with more room?",
        subtitle=f"One cache of each size; without limit {percent(most)} of all blocks. The law is the estimate's.",
        form="line",
        x=Axis("capacity", unit="bytes", shown="TB", log=True, start_at_zero=False),
        y=Axis("hits of all blocks", unit="ratio", shown="%"),
        traces=(
            Trace("exact replay", sizes, numbers(series, "exact"), order=SIMULATED),
            Trace("law of reuse times", sizes, numbers(series, "law"), order=ESTIMATE),
        ),
        summary=f"Hits of the trace against capacity, up to {percent(most)} of all blocks.",
        compare=True,
    )
