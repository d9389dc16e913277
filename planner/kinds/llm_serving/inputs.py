"""What one decides about a fleet: workload, hardware, rates, layout and objectives. The defaults are the reference."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import Spec, catalog_entry, choice, quantity
from planner.core.text import gettext_noop as _

WORKLOAD = _("Workload")
HARDWARE = _("LLM and hardware")
RATES = _("Rates")
TOPOLOGY = _("Topology")
OBJECTIVES = _("Objectives")

LEAST_TOKENS_PER_S, MOST_TOKENS_PER_S = 1e-3, 1e7
"""Of one GPU: far beyond any, so that a slip of the decimal point is refused."""


class Inputs(Spec):
    """The inputs one decides; what usually stays at its default is added by `spec.LlmServingSpec`."""

    peak_rps: float = quantity(
        500.0,
        label=_("Peak rate"),
        group=WORKLOAD,
        unit="req/s",
        ge=0,
        le=1e7,
        help=_("Requests a second at the busiest time; zero is allowed."),
    )
    input_tokens: float = quantity(3000.0, label=_("Input, mean"), group=WORKLOAD, unit="tokens", ge=1, le=1e7)
    output_tokens: float = quantity(800.0, label=_("Output, mean"), group=WORKLOAD, unit="tokens", ge=0, le=1e7)
    prefix_hit_rate: float = quantity(
        0.5,
        label=_("Prefix hit rate"),
        group=WORKLOAD,
        unit="of input",
        ge=0,
        le=1,
        help=_("Share of the input tokens read from a cache; the rest is computed."),
    )
    input_sigma: float = quantity(
        0.5,
        label=_("Input spread"),
        group=WORKLOAD,
        unit="σ of log",
        ge=0,
        le=2,
        help=_("Log-normal lengths: 0 is all alike, 0.5 has its P99 at 2.8 × the mean, 1 at 6.2 ×."),
    )
    output_sigma: float = quantity(0.8, label=_("Output spread"), group=WORKLOAD, unit="σ of log", ge=0, le=2)

    llm: str = catalog_entry("deepseek-v3", label=_("LLM"), group=HARDWARE, table="llms")
    gpu: str = catalog_entry("h800-sxm", label=_("GPU"), group=HARDWARE, table="gpus")
    decode_gpu: str | None = catalog_entry(
        None,
        label=_("GPU for decode"),
        group=HARDWARE,
        table="gpus",
        empty=_("the same"),
        help=_("Prefill wants compute, decode memory bandwidth: they may differ."),
    )
    gpus_per_node: int = quantity(8, label=_("GPUs a node"), group=HARDWARE, unit="GPUs", ge=1, le=1024)
    gpu_price_usd_per_h: float = quantity(
        2.0,
        label=_("GPU price"),
        group=HARDWARE,
        unit="USD/GPU-h",
        ge=0,
        le=1e4,
        help=_("$2 is what DeepSeek assumed for its published day (open-infra-index, day 6, February 2025)."),
    )
    decode_gpu_price_usd_per_h: float | None = quantity(
        None, label=_("GPU price for decode"), group=HARDWARE, unit="USD/GPU-h", ge=0, le=1e4, empty=_("the same")
    )
    kv_bytes_per_token: float | None = quantity(
        70272.0,
        label=_("KV cache"),
        group=HARDWARE,
        unit="B/token",
        ge=1,
        le=1e9,
        empty=_("from the LLM"),
        help=_(
            "70,272 = 61 layers × (512 + 64) × 2 B: latent attention of DeepSeek-V3 in BF16. "
            "Left empty it is derived from the LLM and the KV format."
        ),
    )
    weight_dtype: Literal["bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4"] = choice(
        "fp8",
        label=_("Weights"),
        group=HARDWARE,
        labels={"bf16": "BF16", "fp8": "FP8", "int8": "INT8", "int4": "INT4", "mxfp4": "MXFP4", "nvfp4": "NVFP4"},
    )
    kv_dtype: Literal["bf16", "fp8"] = choice(
        "bf16", label=_("KV format"), group=HARDWARE, labels={"bf16": "BF16", "fp8": "FP8"}
    )
    engine: str = catalog_entry("sglang", label=_("Engine"), group=HARDWARE, table="engines")

    rate_mode: Literal["assumed", "derived"] = choice(
        "assumed",
        label=_("Rates"),
        group=RATES,
        labels={"assumed": _("Assumed"), "derived": _("Derived")},
        help=_(
            "Assumed: the two rates below. Derived: from the figures of the LLM and the GPU by a calibrated roofline."
        ),
    )
    prefill_tokens_per_s_per_gpu: float = quantity(
        4000.0,
        label=_("Prefill, computed"),
        group=RATES,
        unit="tok/s/GPU",
        ge=LEAST_TOKENS_PER_S,
        le=MOST_TOKENS_PER_S,
        help=_("Tokens that are really computed; cached ones do not count."),
    )
    decode_tokens_per_s_per_gpu: float = quantity(
        1850.0,
        label=_("Decode, output"),
        group=RATES,
        unit="tok/s/GPU",
        ge=LEAST_TOKENS_PER_S,
        le=MOST_TOKENS_PER_S,
        help=_("At the TPOT objective. 14,800 a node of 8 on the published day of DeepSeek."),
    )
    rate_uncertainty: float = quantity(
        0.15,
        label=_("Assumed rates, ±"),
        group=RATES,
        unit="ratio",
        shown="%",
        ge=0,
        le=0.9,
        help=_("How far the assumed rates may be off: gives the ranges of latency. Derived rates bring their own."),
    )
    mtp: Literal["on", "off"] = choice(
        "on",
        label=_("MTP"),
        group=RATES,
        labels={"on": _("on, 1 token"), "off": _("off")},
        help=_("Multi-token prediction: a drafted token is verified with each step. The assumed rate holds for “on”."),
    )
    mtp_accepted_tokens: float = quantity(
        0.85,
        label=_("MTP, accepted"),
        group=RATES,
        unit="tokens/step",
        ge=0,
        le=1,
        help=_("85–90 % of second tokens are accepted (DeepSeek-V3 report, section 5.4.3)."),
    )
    mtp_step_cost: float = quantity(
        1.6,
        label=_("MTP, step time"),
        group=RATES,
        unit="× plain",
        ge=1,
        le=3,
        help=_("A step that verifies a draft over a plain one; nears 2 when the exchange between experts binds."),
    )
    overlap: Literal["none", "two_batch"] = choice(
        "two_batch",
        label=_("Overlap"),
        group=RATES,
        labels={"none": _("none"), "two_batch": _("two micro-batches")},
        help=_("Whether the exchange between experts hides behind computing. Derived rates only."),
    )

    topology: Literal["disaggregated", "aggregated"] = choice(
        "disaggregated",
        label=_("Layout"),
        group=TOPOLOGY,
        labels={"disaggregated": _("Disaggregated"), "aggregated": _("Aggregated")},
        help=_("Aggregated: each unit does both, prefill in chunks between decode steps; its size is the decode unit."),
    )
    prefill_unit_gpus: int = quantity(
        32,
        label=_("Prefill unit"),
        group=TOPOLOGY,
        unit="GPUs",
        ge=1,
        le=100_000,
        help=_("Bought, started and lost together: 4 nodes, expert-parallel over 32."),
    )
    decode_unit_gpus: int = quantity(
        144,
        label=_("Decode unit"),
        group=TOPOLOGY,
        unit="GPUs",
        ge=1,
        le=100_000,
        help=_("18 nodes, expert-parallel over 144: 2 routed and 1 shared expert on each GPU."),
    )
    headroom: float = quantity(
        0.2,
        label=_("Headroom"),
        group=TOPOLOGY,
        unit="ratio",
        shown="%",
        ge=0,
        le=10,
        help=_("Added to the need before rounding up to units."),
    )
    spare_prefill_units: int = quantity(
        0, label=_("Spare prefill units"), group=TOPOLOGY, unit="units", ge=0, le=10_000_000
    )
    spare_decode_units: int = quantity(
        0,
        label=_("Spare decode units"),
        group=TOPOLOGY,
        unit="units",
        ge=0,
        le=10_000_000,
        help=_("Bought beyond the need; they share the load while all are up."),
    )

    ttft_p99_slo_s: float = quantity(2.0, label=_("TTFT P99, at most"), group=OBJECTIVES, unit="s", ge=1e-6, le=3600)
    tpot_slo_s: float = quantity(
        0.05,
        label=_("TPOT, at most"),
        group=OBJECTIVES,
        unit="s",
        shown="ms",
        ge=1e-6,
        le=60,
        help=_("Mean gap between the tokens of one answer."),
    )
    availability: float = quantity(
        0.999,
        label=_("Availability"),
        group=OBJECTIVES,
        unit="ratio",
        shown="%",
        ge=0.01,
        lt=1,
        help=_("Share of time in which the peak can be carried."),
    )
