"""What the number of slots does: waits below the working set, and KV cache given up above it."""

from __future__ import annotations

import numpy as np

from planner.core.result import Series
from planner.core.table import table
from planner.formulas.slot_wait_law import SlotWaits
from planner.kinds.multi_lora.memory import with_slots
from planner.kinds.multi_lora.plan import Plan
from planner.kinds.multi_lora.replica import Replica
from planner.kinds.multi_lora.waiting import slot_waits_by

_POINTS, _TRADE_POINTS, _EVEN_POINTS = 22, 12, 6
_WAITED = 1e-9
BIND_LABELS = {"kv": "KV memory", "cap": "running cap", "slots": "slots", "tpot": "TPOT"}


def _counts(plan: Plan, *, least: float, most: float) -> list[int]:
    top = int(max(min(plan.replica.seen.items, plan.spec.adapters, most), 2))
    found = {round(each) for each in np.geomspace(min(least, top), top, _POINTS)}
    return sorted({*found, max(plan.replica.memory.slots, 1)})


def slot_cliff(plan: Plan) -> Series:
    """Waits at this load by slots, all else as it is."""
    found = None if plan.spec.paged else plan.latency
    safe = plan.replica.distinct(plan.running)
    most = max(2 * (safe.mean + 2 * safe.deviation), 1.3 * plan.replica.memory.slots, 8)
    counts = (
        []
        if plan.spec.paged
        else _counts(plan, least=max(min(safe.mean / 4, plan.replica.memory.slots), 1.0), most=most)
    )
    waits: list[SlotWaits | None] = [None] * len(counts)
    if found is not None:
        running, residence_s = found.rate_rps * found.residence_s, found.residence_s
        waits = slot_waits_by(plan.replica, counts, running=running, residence_s=residence_s)
    return table(
        "slot_cliff",
        "Wait for a slot by slots, at this load",
        ("slots", "slots", "slots", counts),
        ("slot_wait_s", "mean over all requests", "s", [None if one is None else _kept(one.mean_s) for one in waits]),
        ("slot_wait_p99_s", "P99", "s", [None if one is None else _kept(one.p99_s) for one in waits]),
        ("swap_s", "a copy", "s", [plan.loading.swap_s] * len(counts)),
        ("pressure", "running adapters over slots", "ratio", [safe.mean / count for count in counts]),
    )


def _kept(wait_s: float) -> float:
    """A wait without what is only the tail of an approximation."""
    return wait_s if wait_s > _WAITED else 0.0


def _with(plan: Plan, slots: int) -> Replica:
    """The replica with so many slots."""
    spec, parts = plan.spec, plan.parts
    memory = with_slots(spec, base=parts.base, adapter=parts.adapter, slots=slots)
    return Replica(spec, parts.base, parts.adapter, memory, plan.replica.seen)


def throughput_by_slots(plan: Plan) -> Series:
    """What a replica does in time by slots: few bind by themselves, many take the KV of the batch."""
    memory = plan.replica.memory
    room = memory.usable_bytes - memory.weight_bytes - memory.reserved_bytes
    most = room / memory.gpu_slot_bytes if memory.gpu_slot_bytes > 0 else plan.spec.adapters
    counts = [] if plan.spec.paged else _trade_counts(plan, most=max(most, 2.0))
    found = [_with(plan, count) for count in counts]
    return table(
        "throughput_by_slots",
        "What a replica does in time by slots",
        ("slots", "slots", "slots", counts),
        ("max_rps", "a replica does in time", "req/s", [each.best.rate_rps for each in found]),
        ("kv_tokens", "KV cache", "tokens", [each.memory.kv_tokens for each in found]),
        ("places", "running requests that fit", "requests", [min(each.places, 1e9) for each in found]),
        ("binds", "what binds", "", [BIND_LABELS[each.best.binds] for each in found]),
    )


def _trade_counts(plan: Plan, *, most: float) -> list[int]:
    top = int(min(most, 100_000))
    found = {round(each) for each in (*np.geomspace(1, top, _TRADE_POINTS), *np.linspace(1, top, _EVEN_POINTS))}
    return sorted({*found, max(min(plan.replica.memory.slots, top), 1)})
