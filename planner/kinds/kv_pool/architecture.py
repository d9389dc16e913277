"""The diagram: sessions, cache-aware gateway, prefill units, the tiers and the metadata service."""

from __future__ import annotations

from planner.core.diagram import Box, Diagram, Flow
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.words import percent

_TIERS = (("dram", "DRAM"), ("ssd", "SSD"))


def architecture(spec: KvPoolSpec, result: Result) -> Diagram:
    """The design drawn with its own counts, capacities and rates."""
    units = counted(result.value("prefill_units") or 0.0, "prefill unit")
    hits = result.value("hit_share") or 0.0
    boxes = [
        Box(
            "users",
            "Sessions",
            (show(spec.turns_per_s, "req/s"), f"contexts of {show(result.value('context_tokens'), 'tokens')}"),
            rank=0,
            form="source",
        ),
        Box(
            "index",
            "Gateway and index",
            (f"{show(result.value('lookups_per_s'), '1/s')} look-ups", show(result.value("metadata_bytes"), "bytes")),
            rank=1,
        ),
        Box(
            "prefill",
            units,
            (
                f"{show(spec.prefill_gpus, 'GPUs')} each",
                f"{_share(result, 'prefix_hit_rate')} not computed",
                f"HBM {_share(result, 'hbm_hit_share')} of hits",
            ),
            rank=2,
        ),
        *_stores(spec, result),
    ]
    flows = [
        Flow("users", "index", show(spec.turns_per_s, "req/s")),
        Flow("index", "prefill", "to the node that has it"),
        *_reads(spec, result),
    ]
    return Diagram(
        title="Pool of KV caches",
        boxes=tuple(boxes),
        flows=tuple(flows),
        summary=f"{units} behind tiers that find {percent(hits)} of what can be reused.",
    )


def _share(result: Result, name: str) -> str:
    return show(result.value(name) or 0.0, "ratio")


def _kept(spec: KvPoolSpec, result: Result, name: str) -> str:
    kept = result.value(f"{name}_keep_s")
    if spec.eviction == "value":
        return "kept by value"
    return "nothing dropped" if kept is None else f"kept {show(kept, 's')}"


def _stores(spec: KvPoolSpec, result: Result) -> list[Box]:
    sizes = {"dram": spec.nodes * spec.dram_bytes_per_node, "ssd": spec.nodes * spec.ssd_bytes_per_node}
    return [
        Box(
            name,
            f"{label} {show(sizes[name], 'bytes')}",
            (
                f"{show(result.value(f'{name}_sessions'), 'sessions')}",
                f"{_share(result, f'{name}_hit_share')} of hits",
                _kept(spec, result, name),
                f"links {_share(result, f'{name}_link_utilisation')} busy",
            ),
            rank=3,
            lane=lane,
            form="store",
        )
        for lane, (name, label) in enumerate(_TIERS)
        if sizes[name] > 0
    ]


def _reads(spec: KvPoolSpec, result: Result) -> list[Flow]:
    """What is read back and written; the first tier takes the writes."""
    sizes = {"dram": spec.dram_bytes_per_node, "ssd": spec.ssd_bytes_per_node}
    return [
        Flow(
            name,
            "prefill",
            f"read {show(result.value(f'{name}_fetch_s'), 's')}",
            both_ways=True,
        )
        for name, _ in _TIERS
        if sizes[name] > 0
    ]
