"""Bringing an adapter in: the copy from host memory to a slot, and before it the download to the host."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import adapter_loading
from planner.kinds.multi_lora.shapes import Adapter
from planner.kinds.multi_lora.spec import MultiLoraSpec


@dataclass(frozen=True, slots=True)
class Loading:
    """What a request pays whose adapter is not in a slot."""

    copies: int
    bare_s: float
    """Bytes over bandwidth."""
    swap_s: float
    added_s: float
    """To the first token, as far as prefill does not hide it."""
    cold_s: float
    """Download and reading the file."""
    link_bytes_per_s: float


def loading_of(spec: MultiLoraSpec, *, adapter: Adapter, prefill_s: float, layers: int) -> Loading:
    """What it costs to bring in an adapter of the spec; ``prefill_s`` of a mean prompt may hide a part."""
    link = spec.pcie_bytes_per_s
    if spec.host_pages == "pageable":
        link = min(link, adapter_loading.PAGEABLE_BYTES_PER_S)
    copies = min(adapter.tensors, 1) if spec.copies_as == "slab" else adapter.tensors
    each = adapter.gpu_file_bytes
    found = adapter_loading.swap(each, tensors=copies, tensor_s=spec.tensor_s, bytes_per_s=link)
    cold_s = _fetched_s(spec, adapter=adapter) + spec.parse_s
    return Loading(
        copies=copies,
        bare_s=each / spec.pcie_bytes_per_s,
        swap_s=found.total_s,
        added_s=adapter_loading.exposed_swap_s(
            found.total_s, prefill_s=prefill_s, layers=layers, pipelined=spec.copying == "layers"
        ),
        cold_s=cold_s,
        link_bytes_per_s=link,
    )


def _fetched_s(spec: MultiLoraSpec, *, adapter: Adapter) -> float:
    """From behind host memory: a store a network away, or a disk."""
    if spec.source == "disk":
        return adapter.file_bytes / spec.disk_bytes_per_s
    return adapter_loading.download_s(
        adapter.file_bytes,
        connections=spec.store_connections,
        first_byte_s=spec.store_first_byte_s,
        connection_bytes_per_s=spec.store_bytes_per_s,
    )
