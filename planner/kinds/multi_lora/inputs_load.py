"""Inputs of the load, the fleet that serves it, and the memory for adapters."""

from __future__ import annotations

from planner.core.kind import catalog_entry, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.multi_lora.inputs_base import BaseInputs

LOAD = _("Load")
FLEET = _("Fleet")
MEMORY = _("Memory")

GIB = 1024**3


class LoadInputs(BaseInputs):
    """Requests, GPUs, and how their memory is shared."""

    requests_per_s: float = quantity(
        60.0,
        label=_("Requests"),
        group=LOAD,
        unit="req/s",
        ge=0,
        le=1e6,
        help=_("At the peak, over all tenants. Zero is allowed."),
    )
    input_tokens: float = quantity(512.0, label=_("Prompt, mean"), group=LOAD, unit="tokens", ge=1, le=1e6)
    input_sigma: float = quantity(
        0.8, label=_("Spread of prompts"), group=LOAD, unit="σ of log", ge=0, le=2.5, advanced=True
    )
    output_tokens: float = quantity(256.0, label=_("Answer, mean"), group=LOAD, unit="tokens", ge=1, le=1e6)
    output_sigma: float = quantity(
        0.8, label=_("Spread of answers"), group=LOAD, unit="σ of log", ge=0, le=2.5, advanced=True
    )
    prefix_share: float = quantity(
        0.25,
        label=_("Prompt shared within an adapter"),
        group=LOAD,
        unit="ratio",
        shown="%",
        ge=0,
        le=0.99,
        help=_("A system prompt, say. Its KV is cached per adapter, because an adapter changes keys and values."),
    )
    base_share: float = quantity(
        0.0,
        label=_("Requests without an adapter"),
        group=LOAD,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        help=_("They ask the base itself, in the same batches."),
    )

    gpu: str = catalog_entry("h100-sxm", label=_("GPU"), group=FLEET, table="gpus")
    gpus_per_replica: int = quantity(
        1,
        label=_("GPUs a replica"),
        group=FLEET,
        unit="GPUs",
        ge=1,
        le=64,
        help=_("Tensor parallel: weights, KV and adapters are split over them."),
    )
    replicas: int | None = quantity(
        None,
        label=_("Replicas"),
        group=FLEET,
        unit="replicas",
        ge=1,
        le=10_000,
        empty=_("by load"),
        help=_("With headroom and spare ones when left empty."),
    )
    headroom: float = quantity(
        0.2, label=_("Headroom"), group=FLEET, unit="ratio", shown="%", ge=0, le=10, help=_("Above the need.")
    )
    spare_replicas: int = quantity(
        1, label=_("Spare replicas"), group=FLEET, unit="replicas", ge=0, le=1000, help=_("N + 1.")
    )
    max_batch: int = quantity(
        256,
        label=_("Running requests a replica, at most"),
        group=FLEET,
        unit="requests",
        ge=1,
        le=8192,
        help=_("The engine's cap; KV memory may allow fewer."),
    )

    adapter_memory_bytes: float = quantity(
        8.0 * GIB,
        label=_("GPU memory for adapters"),
        group=MEMORY,
        unit="bytes/GPU",
        shown="GiB/GPU",
        ge=0,
        le=1e13,
        help=_("Cut into slots of one size; KV cache has the rest."),
    )
    slots: int | None = quantity(
        None,
        label=_("Slots"),
        group=MEMORY,
        unit="slots",
        ge=1,
        le=100_000,
        empty=_("all that fit"),
        help=_("Adapters in GPU memory at once, if stated; vLLM calls them max_loras."),
    )
    pinned_adapters: int = quantity(
        0,
        label=_("Pinned adapters"),
        group=MEMORY,
        unit="adapters",
        ge=0,
        le=100_000,
        help=_("The most popular ones of each replica keep their slots for good."),
        advanced=True,
    )
    host_memory_bytes: float = quantity(
        100e9,
        label=_("Host memory for adapters"),
        group=MEMORY,
        unit="bytes/replica",
        shown="GB/replica",
        ge=0,
        le=1e15,
        help=_("The second level: what is here is a copy over PCIe away."),
    )
    host_adapters: int | None = quantity(
        None,
        label=_("Adapters in host memory"),
        group=MEMORY,
        unit="adapters",
        ge=1,
        le=1_000_000,
        empty=_("all that fit"),
        help=_("If stated; vLLM calls them max_cpu_loras. Never fewer than slots."),
    )
    memory_share: float = quantity(
        0.9,
        label=_("GPU memory the engine may use"),
        group=MEMORY,
        unit="ratio",
        shown="%",
        gt=0,
        le=1,
        advanced=True,
    )
    reserved_bytes: float = quantity(
        4e9,
        label=_("Buffers and graphs"),
        group=MEMORY,
        unit="bytes/GPU",
        shown="GB/GPU",
        ge=0,
        le=1e12,
        help=_("Activations, CUDA graphs and the runtime: an assumption. The start-up log of an engine tells."),
        advanced=True,
    )
