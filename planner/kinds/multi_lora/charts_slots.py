"""Pictures of slots: the cliff, hits by what is held, and what a replica does in time."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import counted, percent
from planner.kinds.multi_lora.spec import MultiLoraSpec
from planner.kinds.multi_lora.words import some

LEAST_OF_COPY, LEAST_S = 0.1, 1e-4
"""Waits shorter than such a part of a copy, or than that, are not worth a point on a logarithmic axis."""


def cliff(spec: MultiLoraSpec, result: Result) -> Chart | None:
    """Waits by slots, against the time of a copy."""
    series = result.series["slot_cliff"]
    counts, swaps = numbers(series, "slots"), numbers(series, "swap_s")
    if not counts:
        return None
    least = max(LEAST_OF_COPY * (swaps[0] or 0.0), LEAST_S)
    drawn, tails = (_from(least, numbers(series, name)) for name in ("slot_wait_s", "slot_wait_p99_s"))
    if not any(drawn) or spec.requests_per_s <= 0:
        return None
    slots, wait, safe = result.value("gpu_slots") or 0.0, result.value("slot_wait_s"), result.value("safe_slots")
    waits = wait is not None and wait >= least
    waited = f"{show(wait, 's')} on average" if waits else "hardly ever"
    marks = (Mark(slots, wait, f"this design {counted(slots, 'slot')}"),) if waits and wait is not None else ()
    limits = [] if waits else [Limit(slots, f"this design {counted(slots, 'slot')}", axis="x")]
    if safe and waits:
        limits.append(Limit(safe, f"enough from {some(safe)} on", axis="x"))
    enough = "" if not safe or waits else f" {some(safe)} would be enough."
    return Chart(
        name="slot_cliff",
        title="How long does a request wait for a slot?",
        subtitle=f"At this load, log scale. With {counted(slots, 'slot')} it waits {waited}.{enough} One adapter "
        "too many waits for another to drain, not for a copy.",
        form="line",
        x=Axis("slots", "slots", log=True, start_at_zero=False),
        y=Axis("wait for a slot", "s", shown="s", log=True, start_at_zero=False),
        traces=(
            Trace("mean", x=counts, y=drawn),
            Trace("P99", x=counts, y=tails, order=1),
            Trace("a copy", x=counts, y=swaps, order=-1),
        ),
        limits=tuple(limits),
        marks=marks,
        summary=f"Wait for a slot by the number of slots; with {counted(slots, 'slot')} {waited}.",
        compare=True,
    )


def _from(least: float, waits: Sequence[float | None]) -> list[float | None]:
    return [wait if wait is not None and wait >= least else None for wait in waits]


def hits(spec: MultiLoraSpec, result: Result) -> Chart:
    """Hits of slots and of host memory."""
    series = result.series["hits_by_slots"]
    counts = numbers(series, "slots")
    slots, hit = result.value("gpu_slots") or 0.0, result.value("gpu_hit_share") or 0.0
    host = result.value("host_adapters") or 0.0
    held = hit + (result.value("host_hit_share") or 0.0)
    own = counted(slots, "slot")
    if spec.paged:
        slots = result.value("distinct_in_batch") or 0.0
        own = f"{some(slots)} in pages"
    limits = [Limit(slots, own, axis="x")]
    if host <= (counts[-1] or 0.0):
        limits.append(Limit(host, f"{host:,.0f} in host memory", axis="x"))
    return Chart(
        name="adapter_hits",
        title="Where does a request find its adapter?",
        subtitle=f"{percent(hit)} on the GPU, {percent(held)} there or in host memory. The same curve serves both "
        "levels.",
        form="line",
        x=Axis("adapters held", "adapters", log=True, start_at_zero=False),
        y=Axis("requests that find theirs", "ratio", shown="%"),
        traces=(
            Trace("this design's routing", x=counts, y=numbers(series, "hit_share")),
            *(
                Trace("any replica", x=counts, y=numbers(series, "hit_share_anywhere"), order=1)
                for _ in range(spec.routing != "random")
            ),
        ),
        limits=tuple(limits),
        summary=f"{percent(hit)} of the requests find their adapter on the GPU, with {own}.",
    )


def trade(result: Result) -> Chart | None:
    """What a replica does in time by slots: too few bind, too many take the KV cache."""
    series = result.series["throughput_by_slots"]
    counts, rates = numbers(series, "slots"), numbers(series, "max_rps")
    most = max((rate or 0.0 for rate in rates), default=0.0)
    if most <= 0:
        return None
    best = counts[[rate or 0.0 for rate in rates].index(most)] or 0.0
    slots, own = result.value("gpu_slots") or 0.0, result.value("replica_max_rps")
    marks = () if own is None or slots not in counts else (Mark(slots, own, f"this design {show(own, 'req/s')}"),)
    return Chart(
        name="slots_against_kv",
        title="How many slots let a replica do most?",
        subtitle=f"{show(most, 'req/s')} at {counted(best, 'slot')}: fewer bind by themselves, more take KV cache "
        "from the batch.",
        form="line",
        x=Axis("slots", "slots"),
        y=Axis("a replica does in time", "req/s"),
        traces=(Trace("a replica does in time", x=counts, y=rates),),
        marks=marks,
        summary=f"What a replica does in time by the number of slots: at most {show(most, 'req/s')} at "
        f"{counted(best, 'slot')}.",
    )
