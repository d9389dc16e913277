"""Tables behind the charts: adapters read, steps, memory, hits; those of the fleet are in `series_fleet`."""

from __future__ import annotations

import numpy as np

from planner.core.result import Series
from planner.core.table import table
from planner.formulas.distinct import lru_hits_by_slots
from planner.kinds.multi_lora.plan import Plan
from planner.kinds.multi_lora.series_fleet import cost_by_rate, routings, ttft_parts
from planner.kinds.multi_lora.series_slots import slot_cliff, throughput_by_slots
from planner.kinds.multi_lora.series_tenants import bill, tenant_bills

REFERENCE = (1, 16, 64)
_POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
_RANKS = (1, 2, 4)
_HIT_POINTS = 24
MEMORY_LABELS = {
    "weights": "weights",
    "slots": "adapters",
    "reserved": "buffers and graphs",
    "kv": "KV cache",
}


def all_series(plan: Plan) -> dict[str, Series]:
    """Every series of a design by name."""
    made = (
        _read_by_distinct(plan),
        _step_by_distinct(plan),
        _distinct_by_batch(plan),
        _hits_by_slots(plan),
        slot_cliff(plan),
        throughput_by_slots(plan),
        _memory(plan),
        ttft_parts(plan),
        routings(plan),
        tenant_bills(plan),
        bill(plan),
        cost_by_rate(plan),
    )
    return {series.name: series for series in made}


def _batches(plan: Plan) -> list[int]:
    """Powers of two up to the running cap, which is the last."""
    most = plan.spec.max_batch
    return sorted({*(each for each in _POWERS if each < most), *REFERENCE, most})


def _read_by_distinct(plan: Plan) -> Series:
    """Bytes of the different adapters of a batch, against one reading of the base and against the step as it is."""
    each, base_bytes = plan.parts.adapter.file_bytes, plan.parts.base.read_bytes
    counts = _batches(plan)
    step = plan.replica.step(plan.spec.max_batch)
    slot_s = plan.parts.adapter.gpu_slot_bytes / plan.parts.base.bytes_per_s
    return table(
        "adapter_read_by_distinct",
        "Adapters read in a step, by how many differ",
        ("distinct", "different adapters in the batch", "adapters", counts),
        ("read_bytes", "read", "bytes", [count * each for count in counts]),
        (
            "share_of_base",
            "of one reading of the base",
            "ratio",
            [count * each / base_bytes if base_bytes > 0 else None for count in counts],
        ),
        ("share_of_step", "of the base step at the cap", "ratio", [count * slot_s / step.base_s for count in counts]),
    )


def _step_by_distinct(plan: Plan) -> Series:
    """Step with adapters over without at this design's batch, by different adapters and rank."""
    replica, batch = plan.replica, max(plan.running, 1.0)
    step = replica.step(batch)
    slot_s = plan.parts.adapter.gpu_slot_bytes / plan.parts.base.bytes_per_s
    counts = [0, *(each for each in _batches(plan) if each <= max(2 * batch, 64))]
    columns = [
        (
            f"rank_{plan.spec.slot_rank * times}",
            f"rank {plan.spec.slot_rank * times}",
            "×",
            [
                step.engine_factor * (1 + (step.launch_s + count * times * slot_s) / step.base_s)
                if step.base_s
                else None
                for count in counts
            ],
        )
        for times in _RANKS
    ]
    return table(
        "step_by_distinct",
        "Step with adapters over the step without",
        ("distinct", "different adapters in the batch", "adapters", counts),
        *columns,
    )


def _distinct_by_batch(plan: Plan) -> Series:
    """Different adapters among running requests under each routing."""
    counts = _batches(plan)
    parts, replicas = plan.parts, plan.fleet.replicas
    seen = {name: parts.replica(replicas, routing=name) for name in ("random", "hash", "load_aware")}
    labels = {"random": "any replica", "hash": "by hash", "load_aware": "copies by load"}
    return table(
        "distinct_by_batch",
        "Different adapters among the running requests of a replica",
        ("batch", "running requests", "requests", counts),
        *(
            (name, labels[name], "adapters", [replica.mean_distinct(count) for count in counts])
            for name, replica in seen.items()
        ),
    )


def slot_counts(plan: Plan, *, points: int) -> list[int]:
    """Numbers of slots worth a look: up to those of all adapters, this design's among them."""
    most = max(min(plan.spec.adapters, 4 * max(plan.replica.memory.slots, 16)), 2)
    found = {round(each) for each in np.geomspace(1, most, points)}
    return sorted({*found, max(plan.replica.memory.slots, 1)})


def _hits_by_slots(plan: Plan) -> Series:
    """Requests that find their adapter among so many, with this design's routing and without affinity."""
    counts = slot_counts(plan, points=_HIT_POINTS)
    mine, random = plan.replica.seen.popularity, plan.anywhere.seen.popularity
    return table(
        "hits_by_slots",
        "Requests that find their adapter among the last used",
        ("slots", "adapters held", "adapters", counts),
        ("hit_share", "this design's routing", "ratio", lru_hits_by_slots(mine, slots=counts).tolist()),
        ("hit_share_anywhere", "any replica", "ratio", lru_hits_by_slots(random, slots=counts).tolist()),
    )


def _memory(plan: Plan) -> Series:
    parts = plan.parts.memory.parts()
    return table(
        "memory",
        "Memory of a GPU by what it is for",
        ("part", "part", "", [MEMORY_LABELS[name] for name in parts]),
        ("bytes", "size", "bytes", list(parts.values())),
    )
