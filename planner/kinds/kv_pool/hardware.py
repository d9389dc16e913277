"""Inputs of the LLM, the GPUs that compute prompts, and the tiers that keep what they computed."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import catalog_entry, choice, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.kv_pool.load import LoadInputs

LLM = _("LLM and GPU")
TIERS = _("Tiers")
LINKS = _("Links")

_FROM_LLM, _FROM_GPU = _("from the LLM"), _("from the GPU")


class HardwareInputs(LoadInputs):
    """What computes, what keeps, and the links between."""

    llm: str = catalog_entry(
        "llama-3-1-70b",
        label=_("LLM"),
        group=LLM,
        table="llms",
        help=_("Fills what is left empty below, and tells windows, states and latents."),
    )
    gpu: str = catalog_entry("h100-sxm", label=_("GPU"), group=LLM, table="gpus")
    kv_bytes_per_token: float | None = quantity(
        160e3,
        label=_("KV cache"),
        group=LLM,
        unit="B/token",
        ge=1,
        le=1e9,
        empty=_FROM_LLM,
        help=_("160 kB: a 70 B LLM with grouped heads in FP8, rounded (80 layers × 2 × 8 × 128 = 163,840 B)."),
    )
    kv_dtype: Literal["bf16", "fp8"] = choice(
        "fp8",
        label=_("KV format"),
        group=LLM,
        labels={"bf16": "BF16", "fp8": "FP8"},
        help=_("Counts only while the KV cache is taken from the LLM."),
    )
    active_parameters: float | None = quantity(
        70.6e9,
        label=_("Parameters of a token"),
        group=LLM,
        unit="parameters",
        ge=1e6,
        le=1e14,
        empty=_FROM_LLM,
        help=_("Active ones; a token of prefill takes twice as many FLOP."),
    )
    attention_width: float | None = quantity(
        0.0,
        label=_("Attention width"),
        group=LLM,
        unit="numbers",
        ge=0,
        le=1e9,
        empty=_FROM_LLM,
        help=_(
            "Layers × heads × head width; attention of n tokens takes 2 × this × n² FLOP. Zero leaves it out, as the "
            "reference does; empty counts it."
        ),
        advanced=True,
    )
    layers: int | None = quantity(
        None, label=_("Layers"), group=LLM, unit="layers", ge=1, le=10_000, empty=_FROM_LLM, advanced=True
    )
    gpu_flops_per_s: float | None = quantity(
        989e12,
        label=_("GPU, dense peak"),
        group=LLM,
        unit="FLOP/s",
        shown="TFLOP/s",
        ge=1e9,
        le=1e18,
        empty=_FROM_GPU,
        help=_("989 TFLOP/s: H100 in BF16 without sparsity (NVIDIA data sheet)."),
    )
    mfu: float = quantity(
        0.5,
        label=_("Share of the peak in prefill"),
        group=LLM,
        unit="ratio",
        shown="%",
        ge=0.01,
        le=1,
        help=_("Model FLOP utilisation; 50 % is the reference's."),
    )
    prefill_gpus: int = quantity(
        8,
        label=_("GPUs a prompt runs on"),
        group=LLM,
        unit="GPUs",
        ge=1,
        le=1024,
        help=_("A unit of prefill; it reads with the links of as many GPUs."),
    )

    nodes: int = quantity(16, label=_("Nodes"), group=TIERS, unit="nodes", ge=1, le=100_000)
    gpus_per_node: int = quantity(8, label=_("GPUs a node"), group=TIERS, unit="GPUs", ge=1, le=1024)
    hbm_bytes_per_gpu: float = quantity(
        40e9,
        label=_("HBM for KV"),
        group=TIERS,
        unit="bytes/GPU",
        shown="GB/GPU",
        ge=0,
        le=1e13,
        help=_("What weights and buffers leave of a GPU's memory."),
    )
    dram_bytes_per_node: float = quantity(
        1.5e12,
        label=_("DRAM"),
        group=TIERS,
        unit="bytes/node",
        shown="TB/node",
        ge=0,
        le=1e15,
        help=_("Zero leaves the tier out."),
    )
    ssd_bytes_per_node: float = quantity(
        60e12,
        label=_("SSD"),
        group=TIERS,
        unit="bytes/node",
        shown="TB/node",
        ge=0,
        le=1e17,
        help=_("Zero leaves the tier out."),
    )
    dram_read_bytes_per_s: float = quantity(
        8 * 50e9,
        label=_("DRAM, read"),
        group=LINKS,
        unit="bytes/s/node",
        shown="GB/s/node",
        ge=1e6,
        le=1e15,
        help=_("Of a node, one way: PCIe from its own memory, RDMA from another's. 8 × 50 GB/s is the best case."),
    )
    ssd_read_bytes_per_s: float = quantity(
        8 * 6e9,
        label=_("SSD, read"),
        group=LINKS,
        unit="bytes/s/node",
        shown="GB/s/node",
        ge=1e5,
        le=1e15,
        help=_("Of a node: 8 drives of 6 GB/s (PCIe 4) at 32 or more requests in flight; 11 GB/s a drive on PCIe 5."),
    )
    ssd_write_bytes_per_s: float = quantity(
        8 * 3e9,
        label=_("SSD, write"),
        group=LINKS,
        unit="bytes/s/node",
        shown="GB/s/node",
        ge=1e5,
        le=1e15,
        help=_("Of a node; dense drives write about half as fast as they read (3.2 GB/s: Solidigm D5-P5336)."),
        advanced=True,
    )
    network_bytes_per_s: float = quantity(
        8 * 50e9,
        label=_("Network"),
        group=LINKS,
        unit="bytes/s/node",
        shown="GB/s/node",
        ge=1e6,
        le=1e15,
        help=_("Of a node, one way: 8 × 400 Gbit/s."),
        advanced=True,
    )
    link_efficiency: float = quantity(
        1.0,
        label=_("Usable share of the links"),
        group=LINKS,
        unit="ratio",
        shown="%",
        ge=0.01,
        le=1,
        help=_("Mooncake measured 87 of 100, 142 of 200 and 190 of 400 GB/s a node: 48 % of eight 400 Gbit/s NICs."),
        advanced=True,
    )
    dram_latency_s: float = quantity(
        1e-4,
        label=_("DRAM, latency"),
        group=LINKS,
        unit="s",
        shown="ms",
        ge=0,
        le=60,
        help=_("Look-up, request and first byte over the network: an assumption."),
        advanced=True,
    )
    ssd_latency_s: float = quantity(
        1e-3,
        label=_("SSD, latency"),
        group=LINKS,
        unit="s",
        shown="ms",
        ge=0,
        le=60,
        help=_("Look-up, request and first byte: an assumption."),
        advanced=True,
    )
    latent_reads: Literal["broadcast", "each_gpu"] = choice(
        "broadcast",
        label=_("Latent caches are read"),
        group=LINKS,
        labels={"broadcast": _("Once, then broadcast"), "each_gpu": _("By each GPU of a prompt")},
        help=_("A latent (MLA) is on every rank of tensor parallelism; grouped heads are split instead."),
        advanced=True,
    )
