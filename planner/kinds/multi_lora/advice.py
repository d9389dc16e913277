"""The reasoning around the figures: what to ask first and what else to try; what a reviewer asks is `follow_ups`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.core.kind import Question, Variant
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted, percent
from planner.kinds.multi_lora.follow_ups import follow_ups
from planner.kinds.multi_lora.series_fleet import ROUTING_LABELS
from planner.kinds.multi_lora.spec import MultiLoraSpec
from planner.kinds.multi_lora.words import times

__all__ = ["follow_ups", "questions", "variants"]

_DEFAULTS = MultiLoraSpec()
OF_SLOTS = ("slot_wait_s", "gpu_hit_share", "kv_tokens", "replica_max_rps")
OF_STEPS = ("step_factor", "tpot_s", "max_rps")
OF_LOADS = ("swap_s", "ttft_warm_s", "ttft_cold_s", "ttft_p99_s")
OF_ROUTING = ("distinct_in_batch", "gpu_hit_share", "load_imbalance", "max_rps")
OF_TENANTS = ("noisy_others_served", "refused_share", "noisy_slots")
OF_SIZE = ("adapter_bytes", "resident_adapters", "step_factor", "gpus")
"""What a change of each sort moves."""


def _state(spec: MultiLoraSpec, *fields: str) -> str:
    """A default that nobody touched is assumed; a changed field is an answer."""
    touched = any(getattr(spec, field) != getattr(_DEFAULTS, field) for field in fields)
    return "answered" if touched else "assumed"


def questions(spec: MultiLoraSpec, result: Result) -> Sequence[Question]:
    """Clarify: the answers that would change the design."""
    return (*_of_adapters(spec, result), *_of_serving(spec, result))


def _of_adapters(spec: MultiLoraSpec, result: Result) -> Sequence[Question]:
    popularity = "answered" if spec.popularity == "trace" else _state(spec, "zipf_exponent")
    return (
        Question(
            "How unequally are adapters asked for?",
            popularity if popularity == "answered" else "open",
            f"Zipf with exponent {spec.zipf_exponent:g}; the most popular has {percent(result.value('hottest_share'))}"
            if spec.popularity == "zipf"
            else f"a trace; the most popular has {percent(result.value('hottest_share'))}",
            f"Hits of the slots, {percent(result.value('gpu_hit_share'))} here, and different adapters in a batch. A "
            "log of a week with ten requests an adapter tells.",
            "zipf_exponent",
        ),
        Question(
            "What is the largest rank, and which matrices do adapters change?",
            _state(spec, "rank", "max_rank", "targets", "enabled_targets"),
            f"rank {spec.rank} in slots of rank {spec.slot_rank}",
            f"The size of every slot, {show(result.value('slot_bytes'), 'bytes')}, grows in proportion, and with it "
            "what a step reads.",
            "max_rank",
        ),
        Question(
            "Do all adapters fit into host memory?",
            _state(spec, "host_memory_bytes", "host_adapters"),
            f"{counted(result.value('host_adapters') or 0.0, 'adapter')} of {spec.adapters:,}",
            f"Whether a first request waits {show(result.value('swap_s'), 's')} or "
            f"{show(result.value('cold_load_s'), 's')} more.",
            "host_memory_bytes",
        ),
        Question(
            "Is the copy of an adapter one slab in pinned memory?",
            _state(spec, "copies_as", "host_pages", "tensor_s", "copying"),
            f"{counted(result.value('swap_copies') or 0.0, 'copy').replace('copys', 'copies')}, {spec.host_pages}",
            f"A swap takes {show(result.value('swap_s'), 's')} instead of {show(result.value('swap_in_s'), 's')}.",
            "copies_as",
        ),
    )


def _of_serving(spec: MultiLoraSpec, result: Result) -> Sequence[Question]:
    return (
        Question(
            "Which kernels does the engine have, and do they run in CUDA graphs?",
            _state(spec, "kernels", "launches", "engine", "generation"),
            f"{spec.kernels}, {spec.launches.replace('_', ' ')}",
            f"A step of one request is {times(result.value('step_factor_one') or 1.0)} that of the base.",
            "launches",
        ),
        Question(
            "How long may the first and every other token take?",
            _state(spec, "ttft_p99_slo_s", "tpot_slo_s"),
            f"TTFT P99 {show(spec.ttft_p99_slo_s, 's')}, TPOT {show(spec.tpot_slo_s, 's')}",
            f"How many run on a replica, and so {counted(result.value('replicas') or 0.0, 'replica')}.",
            "tpot_slo_s",
        ),
        Question(
            "Does traffic ask for the base itself too?",
            _state(spec, "base_share"),
            f"{percent(spec.base_share)} of the requests",
            "Whether graphs without adapters, or replicas without adapters, are worth having.",
            "base_share",
        ),
        Question(
            "What is a tenant promised against its neighbours?",
            _state(spec, "fairness", "tenant_limit_rps", "tenant_slots", "premium_weight"),
            "weighted counters" if spec.fairness == "weighted" else "first come, first served",
            f"With a noisy tenant {percent(result.value('noisy_others_served'))} of the others' requests get through.",
            "fairness",
        ),
        Question(
            "Does a system prompt open every request of an adapter?",
            _state(spec, "prefix_share"),
            f"{percent(spec.prefix_share)} of the prompt",
            f"Prefill: {percent(result.value('prefix_hit_share'))} of the prompt tokens are found.",
            "prefix_share",
        ),
    )


def variants(spec: MultiLoraSpec, result: Result) -> Sequence[Variant]:
    """Trade-offs: one change each, and beside the replicas the figures it is about."""
    routes = [
        Variant(f"Requests go: {ROUTING_LABELS[name]}", {"routing": name}, OF_ROUTING)
        for name in ("random", "hash", "load_aware")
        if name != spec.routing
    ]
    return (*routes, *_of_slots(spec, result), *_of_engine(spec), *_of_size(spec), *_of_tenants(spec))


def _of_slots(spec: MultiLoraSpec, result: Result) -> list[Variant]:
    slots = int(result.value("gpu_slots") or 0)
    changes: list[tuple[str, dict[str, Any]]] = []
    if spec.paged:
        slotted = {"engine": "sglang", "slots": None, "pinned_adapters": 0}
        return [Variant("Slots instead of pages shared with KV", slotted, OF_SLOTS)]
    changes.append(("Pages shared with KV instead of slots", {"engine": "slora"}))
    if slots >= 2:
        changes.append(
            (
                f"{counted(slots // 2, 'slot')} instead of {slots:,}",
                {"slots": slots // 2, "pinned_adapters": min(spec.pinned_adapters, slots // 2 - 1)},
            )
        )
    double = min(2 * max(slots, 1), 100_000)
    if spec.host_adapters is None or spec.host_adapters >= double:
        changes.append((f"{counted(double, 'slot')} instead of {slots:,}", {"slots": double}))
    if spec.routing != "random":
        changes.append(("One replica more an adapter", {"copies": min(spec.copies + 1, 1000)}))
    return [Variant(label, change, OF_SLOTS) for label, change in changes]


def _of_engine(spec: MultiLoraSpec) -> list[Variant]:
    found: list[tuple[str, dict[str, Any], tuple[str, ...]]] = []
    found.append(
        ("Kernels launched one by one", {"launches": "eager"}, OF_STEPS)
        if spec.launches == "graphs"
        else ("Kernels in CUDA graphs", {"launches": "graphs"}, OF_STEPS)
    )
    found.append(
        ("Gathering kernels", {"kernels": "gather"}, OF_STEPS)
        if spec.kernels == "grouped"
        else ("Grouped kernels", {"kernels": "grouped"}, OF_STEPS)
    )
    if spec.copies_as == "tensors":
        found.append(("One slab an adapter", {"copies_as": "slab"}, OF_LOADS))
    if spec.copying != "layers":
        found.append(("Copies layer by layer, behind prefill", {"copying": "layers"}, OF_LOADS))
    if spec.tensor_s < 450e-6:
        found.append(("450 µs a tensor", {"tensor_s": 450e-6, "copies_as": "tensors"}, OF_LOADS))
    found.append(("A cold-start replica", {"cold_replicas": spec.cold_replicas + 1}, OF_LOADS))
    if spec.source == "object_store":
        found.append(("All adapters on local disk", {"source": "disk"}, OF_LOADS))
    return [Variant(*each) for each in found]


def _of_size(spec: MultiLoraSpec) -> list[Variant]:
    found = []
    if spec.rank * 2 <= 512 and (spec.max_rank is None or spec.max_rank >= 2 * spec.rank):
        found.append(Variant(f"Rank {2 * spec.rank}", {"rank": 2 * spec.rank}, OF_SIZE))
    if spec.targets == "linear" and spec.enabled_targets in (None, "attention", "linear", "experts"):
        found.append(Variant("Attention matrices only", {"targets": "attention"}, OF_SIZE))
    if spec.gpus_per_replica < 64:
        found.append(
            Variant(
                f"{counted(2 * spec.gpus_per_replica, 'GPU')} a replica",
                {"gpus_per_replica": min(2 * spec.gpus_per_replica, 64)},
                ("gpus", "tpot_s", "kv_tokens"),
            )
        )
    return found


def _of_tenants(spec: MultiLoraSpec) -> list[Variant]:
    if spec.fairness == "weighted":
        found = [Variant("First come, first served", {"fairness": "first_come"}, OF_TENANTS)]
    else:
        found = [Variant("Weighted counters", {"fairness": "weighted"}, OF_TENANTS)]
    if spec.tenant_limit_rps is None and spec.requests_per_s > 0:
        limit = float(f"{4 * spec.requests_per_s / spec.tenants:.3g}")
        found.append(
            Variant(
                f"{show(limit, 'req/s')} a tenant, at most",
                {"tenant_limit_rps": min(max(limit, 1e-6), 1e6)},
                OF_TENANTS,
            )
        )
    return found
