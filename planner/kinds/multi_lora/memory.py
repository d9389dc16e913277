"""One budget of GPU memory for weights, slots and KV cache: more slots, fewer tokens, smaller batches."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.formulas import adapters
from planner.formulas.adapter_pages import shared_pages
from planner.formulas.cost import exact_parts
from planner.formulas.popularity import Popularity
from planner.kinds.multi_lora.base import Base, resident_tokens
from planner.kinds.multi_lora.shapes import Adapter
from planner.kinds.multi_lora.spec import MultiLoraSpec

PARTS = ("weights", "slots", "reserved", "kv")


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a replica. Bytes are of one GPU of it, counts of the replica."""

    usable_bytes: float
    weight_bytes: float
    reserved_bytes: float
    gpu_slot_bytes: float
    resident_adapters: int
    """What the memory for adapters holds."""
    slots: int
    """In use as slots: not more than there are adapters, nor than the host keeps."""
    host_adapters: int
    kv_bytes_per_token: float
    state_bytes: float
    request_tokens: float
    in_pages: float | None = None
    """Adapters in the pages of the KV cache when as many run as can; None: they have slots."""

    @property
    def held(self) -> float:
        """Adapters that have their place taken from the budget."""
        return float(max(self.resident_adapters, self.slots)) if self.in_pages is None else self.in_pages

    @property
    def slot_bytes(self) -> float:
        """Taken from the budget by slots, in use or not."""
        return self.held * self.gpu_slot_bytes

    @property
    def kv_bytes(self) -> float:
        """What is left; below zero when it does not fit."""
        return self.pool_bytes - self.slot_bytes

    @property
    def kv_tokens(self) -> float:
        """Tokens of KV cache of a replica."""
        return max(self.kv_bytes, 0.0) / self.kv_bytes_per_token if self.kv_bytes_per_token > 0 else 0.0

    @property
    def kv_tokens_lost(self) -> float:
        """Tokens whose place the slots take."""
        return adapters.displaced_tokens(
            self.held,
            slot_bytes=self.gpu_slot_bytes,
            kv_bytes_per_token=self.kv_bytes_per_token,
        )

    @property
    def pool_bytes(self) -> float:
        """What slots or pages of adapters and KV cache share."""
        return self.usable_bytes - self.weight_bytes - self.reserved_bytes

    @property
    def kv_share_lost(self) -> float:
        """Of what slots and KV have together."""
        both = max(self.kv_bytes, 0.0) + self.slot_bytes
        return self.slot_bytes / both if both > 0 else 0.0

    @property
    def places(self) -> float:
        """Running requests whose KV fits."""
        each = self.request_tokens * self.kv_bytes_per_token + self.state_bytes
        return max(self.kv_bytes, 0.0) / each if each > 0 else math.inf

    def parts(self) -> dict[str, float]:
        """What the engine may use, part by part; they sum to it."""
        named = {"weights": self.weight_bytes, "slots": self.slot_bytes, "reserved": self.reserved_bytes}
        return exact_parts(max(self.usable_bytes, 0.0), parts=named, remainder="kv")


def memory_of(spec: MultiLoraSpec, *, base: Base, adapter: Adapter) -> Memory:
    """The budget of the spec."""
    if not spec.paged:
        return with_slots(spec, base=base, adapter=adapter, slots=spec.slots)
    plain = with_slots(spec, base=base, adapter=adapter, slots=0)
    fit = adapters.resident_adapters(max(plain.pool_bytes, 0.0), slot_bytes=adapter.gpu_slot_bytes)
    return replace(plain, resident_adapters=fit, slots=min(fit, spec.adapters, plain.host_adapters), in_pages=0.0)


def paged_for(memory: Memory, spec: MultiLoraSpec, *, seen: Popularity) -> Memory:
    """The budget when as many run as can, where adapters share the pages of the KV cache."""
    full = shared_pages(
        seen,
        pool_bytes=memory.pool_bytes,
        request_bytes=memory.request_tokens * memory.kv_bytes_per_token + memory.state_bytes,
        adapter_bytes=memory.gpu_slot_bytes,
        adapted=1 - spec.base_share,
        most=float(spec.max_batch),
    )
    return replace(memory, in_pages=min(full.adapters, float(memory.slots)))


def with_slots(spec: MultiLoraSpec, *, base: Base, adapter: Adapter, slots: int | None) -> Memory:
    """The budget with so many slots; None: as many as the memory for adapters holds."""
    resident = slots
    if resident is None:
        resident = adapters.resident_adapters(spec.adapter_memory_bytes, slot_bytes=adapter.gpu_slot_bytes)
    host = host_adapters(spec, adapter=adapter)
    return Memory(
        usable_bytes=base.memory_bytes,
        weight_bytes=base.weight_bytes / base.gpus,
        reserved_bytes=spec.reserved_bytes,
        gpu_slot_bytes=adapter.gpu_slot_bytes,
        resident_adapters=resident,
        slots=min(resident, spec.adapters, host),
        host_adapters=host,
        kv_bytes_per_token=base.kv_bytes_per_token,
        state_bytes=base.state_bytes,
        request_tokens=resident_tokens(spec),
    )


def host_adapters(spec: MultiLoraSpec, *, adapter: Adapter) -> int:
    """Adapters that the host memory of a replica keeps."""
    if spec.host_adapters is not None:
        return min(spec.host_adapters, spec.adapters)
    if adapter.file_bytes <= 0:
        return spec.adapters
    return min(int(spec.host_memory_bytes // adapter.file_bytes), spec.adapters)
