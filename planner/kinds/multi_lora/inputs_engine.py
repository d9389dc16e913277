"""Inputs of the kernels that apply adapters, of loading them, and of routing requests to where they are."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import choice, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.multi_lora.inputs_load import LoadInputs

ENGINE = _("Engine and kernels")
LOADING = _("Loading")
ROUTING = _("Routing")


class EngineInputs(LoadInputs):
    """What an adapter costs a step, and what it costs to bring one in."""

    engine: Literal["vllm", "sglang", "slora", "other"] = choice(
        "vllm",
        label=_("Engine"),
        group=ENGINE,
        labels={"vllm": "vLLM", "sglang": "SGLang", "slora": "S-LoRA", "other": _("Other")},
        help=_("vLLM takes certain largest ranks only; S-LoRA has no slots: adapters share pages with KV."),
    )
    kernels: Literal["grouped", "gather"] = choice(
        "grouped",
        label=_("Kernels"),
        group=ENGINE,
        labels={"grouped": _("Grouped by adapter"), "gather": _("Gathered for each token")},
        help=_("Grouped: each adapter of a batch is read once (SGMV; vLLM, SGLang). Gathered: once a token (S-LoRA)."),
    )
    launches: Literal["graphs", "eager", "old_eager"] = choice(
        "graphs",
        label=_("Kernel launches"),
        group=ENGINE,
        labels={
            "graphs": _("In CUDA graphs, 2.7 µs"),
            "eager": _("Eager, 30 µs"),
            "old_eager": _("Eager, older engines, 150 µs"),
        },
        help=_("256 more kernels a step for 32 dense layers, whether an adapter is used or not."),
    )
    specialised_graphs: Literal["on", "off"] = choice(
        "off",
        label=_("Graphs without adapters"),
        group=ENGINE,
        labels={"on": _("Captured too"), "off": _("Not captured")},
        help=_("Then batches that use no adapter run at the speed of the base."),
        advanced=True,
    )
    generation: Literal["current", "first"] = choice(
        "current",
        label=_("Engine generation"),
        group=ENGINE,
        labels={"current": _("Current"), "first": _("First (vLLM V0)")},
        help=_(
            "vLLM V0 lost a third of its throughput to adapters, which no count of bytes explains: a factor of 1.5."
        ),
        advanced=True,
    )
    sharding: Literal["default", "full"] = choice(
        "default",
        label=_("Adapters over the GPUs of a replica"),
        group=ENGINE,
        labels={"default": _("Half of each pair is copied"), "full": _("Fully sharded")},
        advanced=True,
    )
    mbu: float = quantity(
        0.8,
        label=_("Share of the memory bandwidth"),
        group=ENGINE,
        unit="ratio",
        shown="%",
        ge=0.01,
        le=1,
        help=_("In decode steps, of base and adapters alike: an assumption."),
        advanced=True,
    )
    mfu: float = quantity(
        0.5,
        label=_("Share of the peak in prefill"),
        group=ENGINE,
        unit="ratio",
        shown="%",
        ge=0.01,
        le=1,
        help=_("Model FLOP utilisation: an assumption."),
        advanced=True,
    )
    step_overhead_s: float = quantity(
        6e-4,
        label=_("Fixed part of a step"),
        group=ENGINE,
        unit="s",
        shown="ms",
        ge=0,
        le=1,
        help=_("Scheduler, sampling, attention launches. 6.6 ms measured for a step of one request, less its reading."),
        advanced=True,
    )

    pcie_bytes_per_s: float = quantity(
        25e9,
        label=_("Host to GPU"),
        group=LOADING,
        unit="bytes/s/GPU",
        shown="GB/s/GPU",
        ge=1e6,
        le=1e13,
        help=_("PCIe from pinned memory; the reference's figure."),
    )
    host_pages: Literal["pinned", "pageable"] = choice(
        "pinned",
        label=_("Host pages"),
        group=LOADING,
        labels={"pinned": _("Pinned"), "pageable": _("Pageable")},
        help=_("Pageable memory is copied at no more than 6 GB/s: an assumption."),
    )
    tensor_s: float = quantity(
        20e-6,
        label=_("Overhead a copy"),
        group=LOADING,
        unit="s",
        shown="µs",
        ge=0,
        le=0.1,
        help=_("20 µs is an assumption for pinned memory; 450 µs was measured in an engine that prepares each tensor."),
    )
    copies_as: Literal["tensors", "slab"] = choice(
        "tensors",
        label=_("An adapter is copied as"),
        group=LOADING,
        labels={"tensors": _("One copy a tensor"), "slab": _("One contiguous slab")},
        help=_("A and B of seven matrices in 32 layers are 448 copies. One slab cut 200 ms to 17 ms in vLLM."),
    )
    copying: Literal["stalls", "beside", "layers"] = choice(
        "stalls",
        label=_("While an adapter is copied"),
        group=LOADING,
        labels={
            "stalls": _("All requests wait"),
            "beside": _("Only its own request waits"),
            "layers": _("Its prefill follows layer by layer"),
        },
        help=_("Engines that copy in their stream of steps stop all that runs; vLLM does."),
    )
    source: Literal["object_store", "disk"] = choice(
        "object_store",
        label=_("Behind host memory"),
        group=LOADING,
        labels={"object_store": _("Object storage"), "disk": _("Local disk with all adapters")},
    )
    store_first_byte_s: float = quantity(
        0.15, label=_("Store, first byte"), group=LOADING, unit="s", shown="ms", ge=0, le=60, advanced=True
    )
    store_bytes_per_s: float = quantity(
        87.5e6,
        label=_("Store, a connection"),
        group=LOADING,
        unit="bytes/s",
        shown="MB/s",
        ge=1e4,
        le=1e12,
        help=_("85 to 90 MB/s (AWS, performance guidelines of S3)."),
        advanced=True,
    )
    store_connections: int = quantity(
        8, label=_("Connections a download"), group=LOADING, unit="connections", ge=1, le=1000, advanced=True
    )
    disk_bytes_per_s: float = quantity(
        5e9,
        label=_("Disk, read"),
        group=LOADING,
        unit="bytes/s",
        shown="GB/s",
        ge=1e6,
        le=1e12,
        help=_("One NVMe drive: an assumption."),
        advanced=True,
    )
    parse_s: float = quantity(
        0.05,
        label=_("Reading the file"),
        group=LOADING,
        unit="s",
        shown="ms",
        ge=0,
        le=60,
        help=_("50 ms without copies, 0.5 s and more layer by layer, of a 70 B LLM at rank 128: an upper bound here."),
        advanced=True,
    )
    cold_replicas: int = quantity(
        0,
        label=_("Cold-start replicas"),
        group=LOADING,
        unit="replicas",
        ge=0,
        le=1000,
        help=_("Hold all adapters in host memory and serve first requests while the others load in the background."),
    )

    routing: Literal["random", "hash", "load_aware"] = choice(
        "load_aware",
        label=_("Requests go"),
        group=ROUTING,
        labels={
            "random": _("To any replica"),
            "hash": _("By a hash of the adapter"),
            "load_aware": _("To its adapter, copies by load"),
        },
        help=_("By load, adapter i has ⌈4 × replicas × its share⌉ copies; a hash does not look at load."),
    )
    copies: int = quantity(
        1,
        label=_("Replicas of an adapter, at least"),
        group=ROUTING,
        unit="replicas",
        ge=1,
        le=1000,
        help=_("k: more copies survive a lost replica without a load, and cost hits."),
    )
