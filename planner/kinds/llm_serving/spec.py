"""Inputs of a fleet that serves one LLM. The defaults are the reference design."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from planner.core.kind import Spec, catalog_entry, choice, quantity

WORKLOAD = "Workload"
HARDWARE = "LLM and hardware"
RATES = "Rates"
TOPOLOGY = "Topology"
OBJECTIVES = "Objectives"
FAILURE = "Failure and repair"
DEMAND = "Demand and growth"
STEPS = "Steps, memory and network"
SITE = "Site"

LEAST_TOKENS_PER_S, MOST_TOKENS_PER_S = 1e-3, 1e7
"""Of one GPU: far beyond any, so that a slip of the decimal point is refused."""


class LlmServingSpec(Spec):
    """One LLM behind a gateway: prefill and decode pools, or replicas that do both."""

    peak_rps: float = quantity(
        500.0,
        label="Peak rate",
        group=WORKLOAD,
        unit="req/s",
        ge=0,
        le=1e7,
        help="Requests a second at the busiest time; zero is allowed.",
    )
    input_tokens: float = quantity(3000.0, label="Input, mean", group=WORKLOAD, unit="tokens", ge=1, le=1e7)
    output_tokens: float = quantity(800.0, label="Output, mean", group=WORKLOAD, unit="tokens", ge=0, le=1e7)
    prefix_hit_rate: float = quantity(
        0.5,
        label="Prefix hit rate",
        group=WORKLOAD,
        unit="of input",
        ge=0,
        le=1,
        help="Share of the input tokens read from a cache; the rest is computed.",
    )
    input_sigma: float = quantity(
        0.5,
        label="Input spread",
        group=WORKLOAD,
        unit="σ of log",
        ge=0,
        le=2,
        help="Log-normal lengths: 0 is all alike, 0.5 has its P99 at 2.8 × the mean, 1 at 6.2 ×.",
    )
    output_sigma: float = quantity(0.8, label="Output spread", group=WORKLOAD, unit="σ of log", ge=0, le=2)

    llm: str = catalog_entry("deepseek-v3", label="LLM", group=HARDWARE, table="llms")
    gpu: str = catalog_entry("h800-sxm", label="GPU", group=HARDWARE, table="gpus")
    decode_gpu: str | None = catalog_entry(
        None,
        label="GPU for decode",
        group=HARDWARE,
        table="gpus",
        empty="the same",
        help="Prefill wants compute, decode memory bandwidth: they may differ.",
    )
    gpus_per_node: int = quantity(8, label="GPUs a node", group=HARDWARE, unit="GPUs", ge=1, le=1024)
    gpu_price_usd_per_h: float = quantity(
        2.0,
        label="GPU price",
        group=HARDWARE,
        unit="USD/GPU-h",
        ge=0,
        le=1e4,
        help="2 $ is the assumption of the published day of DeepSeek (open-infra-index, day 6, February 2025).",
    )
    decode_gpu_price_usd_per_h: float | None = quantity(
        None, label="GPU price for decode", group=HARDWARE, unit="USD/GPU-h", ge=0, le=1e4, empty="the same"
    )
    kv_bytes_per_token: float | None = quantity(
        70272.0,
        label="KV cache",
        group=HARDWARE,
        unit="B/token",
        ge=1,
        le=1e9,
        empty="from the LLM",
        help="70,272 = 61 layers × (512 + 64) × 2 B: latent attention of DeepSeek-V3 in BF16. "
        "Left empty it is derived from the LLM and the KV format.",
    )
    weight_dtype: Literal["bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4"] = choice(
        "fp8",
        label="Weights",
        group=HARDWARE,
        labels={"bf16": "BF16", "fp8": "FP8", "int8": "INT8", "int4": "INT4", "mxfp4": "MXFP4", "nvfp4": "NVFP4"},
    )
    kv_dtype: Literal["bf16", "fp8"] = choice(
        "bf16", label="KV format", group=HARDWARE, labels={"bf16": "BF16", "fp8": "FP8"}
    )
    engine: str = catalog_entry("sglang", label="Engine", group=HARDWARE, table="engines")

    rate_mode: Literal["assumed", "derived"] = choice(
        "assumed",
        label="Rates",
        group=RATES,
        labels={"assumed": "Assumed", "derived": "Derived"},
        help="Assumed: the two rates below. Derived: from the figures of the LLM and the GPU by a calibrated roofline.",
    )
    prefill_tokens_per_s_per_gpu: float = quantity(
        4000.0,
        label="Prefill, computed",
        group=RATES,
        unit="tok/s/GPU",
        ge=LEAST_TOKENS_PER_S,
        le=MOST_TOKENS_PER_S,
        help="Tokens that are really computed; cached ones do not count.",
    )
    decode_tokens_per_s_per_gpu: float = quantity(
        1850.0,
        label="Decode, output",
        group=RATES,
        unit="tok/s/GPU",
        ge=LEAST_TOKENS_PER_S,
        le=MOST_TOKENS_PER_S,
        help="At the TPOT objective. 14,800 a node of 8 on the published day of DeepSeek.",
    )
    rate_uncertainty: float = quantity(
        0.15,
        label="Assumed rates, ±",
        group=RATES,
        unit="ratio",
        shown="%",
        ge=0,
        le=0.9,
        help="How far the assumed rates may be off: gives the ranges of latency. Derived rates bring their own.",
    )
    mtp: Literal["on", "off"] = choice(
        "on",
        label="MTP",
        group=RATES,
        labels={"on": "on, 1 token", "off": "off"},
        help="Multi-token prediction: a drafted token is verified with each step. The assumed rate holds for “on”.",
    )
    mtp_accepted_tokens: float = quantity(
        0.85,
        label="MTP, accepted",
        group=RATES,
        unit="tokens/step",
        ge=0,
        le=1,
        help="85–90 % of second tokens are accepted (DeepSeek-V3 report, section 5.4.3).",
    )
    mtp_step_cost: float = quantity(
        1.6,
        label="MTP, step time",
        group=RATES,
        unit="× plain",
        ge=1,
        le=3,
        help="A step that verifies a draft over a plain one; nears 2 when the exchange between experts binds.",
    )
    overlap: Literal["none", "two_batch"] = choice(
        "two_batch",
        label="Overlap",
        group=RATES,
        labels={"none": "none", "two_batch": "two micro-batches"},
        help="Whether the exchange between experts hides behind computing. Derived rates only.",
    )

    topology: Literal["disaggregated", "aggregated"] = choice(
        "disaggregated",
        label="Layout",
        group=TOPOLOGY,
        labels={"disaggregated": "Disaggregated", "aggregated": "Aggregated"},
        help="Aggregated: each unit does both, prefill in chunks between decode steps; its size is the decode unit.",
    )
    prefill_unit_gpus: int = quantity(
        32,
        label="Prefill unit",
        group=TOPOLOGY,
        unit="GPUs",
        ge=1,
        le=100_000,
        help="Bought, started and lost together: 4 nodes, expert-parallel over 32.",
    )
    decode_unit_gpus: int = quantity(
        144,
        label="Decode unit",
        group=TOPOLOGY,
        unit="GPUs",
        ge=1,
        le=100_000,
        help="18 nodes, expert-parallel over 144: 2 routed and 1 shared expert on each GPU.",
    )
    headroom: float = quantity(
        0.2,
        label="Headroom",
        group=TOPOLOGY,
        unit="ratio",
        shown="%",
        ge=0,
        le=10,
        help="Added to the need before rounding up to units.",
    )
    spare_prefill_units: int = quantity(
        0, label="Spare prefill units", group=TOPOLOGY, unit="units", ge=0, le=10_000_000
    )
    spare_decode_units: int = quantity(
        0,
        label="Spare decode units",
        group=TOPOLOGY,
        unit="units",
        ge=0,
        le=10_000_000,
        help="Bought beyond the need; they share the load while all are up.",
    )

    ttft_p99_slo_s: float = quantity(2.0, label="TTFT P99, at most", group=OBJECTIVES, unit="s", ge=1e-6, le=3600)
    tpot_slo_s: float = quantity(
        0.05,
        label="TPOT, at most",
        group=OBJECTIVES,
        unit="s",
        shown="ms",
        ge=1e-6,
        le=60,
        help="Mean gap between the tokens of one answer.",
    )
    availability: float = quantity(
        0.999,
        label="Availability",
        group=OBJECTIVES,
        unit="ratio",
        shown="%",
        ge=0.01,
        lt=1,
        help="Share of time in which the peak can be carried.",
    )

    failures_per_node_h: float = quantity(
        5e-5,
        label="Node failures",
        group=FAILURE,
        unit="1/h",
        ge=0,
        le=10,
        advanced=True,
        help="5 in 100,000 node-hours: a node fails every 2.3 years.",
    )
    repair_h: float = quantity(
        0.75,
        label="Time to rejoin",
        group=FAILURE,
        unit="h",
        shown="min",
        ge=0,
        le=10_000,
        advanced=True,
        help="Replace the node, load the weights, warm up, join.",
    )
    detection_s: float = quantity(
        3.0,
        label="Time to detect",
        group=FAILURE,
        unit="s",
        ge=0,
        le=3600,
        advanced=True,
        help="Three missed probes, one a second.",
    )

    mean_to_peak: float = quantity(
        1.0,
        label="Mean demand",
        group=DEMAND,
        unit="of peak",
        ge=0.001,
        le=1,
        advanced=True,
        help="1 is flat; 0.6 is a usual day.",
    )
    growth_per_month: float = quantity(
        0.0, label="Growth a month", group=DEMAND, unit="ratio", shown="%", ge=0, le=10, advanced=True
    )

    prefill_rank_gpus: int | None = quantity(
        None,
        label="GPUs a prompt runs on",
        group=STEPS,
        unit="GPUs",
        ge=1,
        le=1024,
        empty="1 with latent attention, else the unit",
        advanced=True,
        help="Attention ranks of a prefill unit: a prompt is computed by one rank.",
    )
    decode_rank_gpus: int | None = quantity(
        None,
        label="GPUs a sequence runs on",
        group=STEPS,
        unit="GPUs",
        ge=1,
        le=1024,
        empty="1 with latent attention, else the unit",
        advanced=True,
    )
    prefill_step_tokens: int = quantity(
        16_384,
        label="Prefill step of a unit",
        group=STEPS,
        unit="tokens",
        ge=1,
        le=10_000_000,
        advanced=True,
        help="Most tokens computed in one step; longer prompts take several.",
    )
    prefill_step_fixed_s: float = quantity(
        0.005, label="Prefill step, fixed part", group=STEPS, unit="s", shown="ms", ge=0, le=10, advanced=True
    )
    decode_step_fixed_share: float | None = quantity(
        None,
        label="Decode step, fixed part",
        group=STEPS,
        unit="of TPOT objective",
        ge=0,
        le=0.95,
        empty="from the roofline",
        advanced=True,
        help="Weights and launches: what a step takes with an almost empty batch.",
    )
    redundant_experts: int = quantity(
        32,
        label="Redundant experts",
        group=STEPS,
        unit="experts",
        ge=0,
        le=4096,
        advanced=True,
        help="Copies of busy experts that even out the load (EPLB).",
    )
    kv_memory_share: float = quantity(
        0.9, label="Memory the engine may use", group=STEPS, unit="ratio", shown="%", ge=0.01, le=1, advanced=True
    )
    runtime_bytes: float = quantity(
        8e9,
        label="Activations, buffers, graphs",
        group=STEPS,
        unit="bytes",
        shown="GB",
        ge=0,
        le=1e12,
        advanced=True,
        help="What the engine keeps on each GPU beside weights and KV cache.",
    )
    gateway_s: float = quantity(
        0.01, label="Gateway and scheduler", group=STEPS, unit="s", shown="ms", ge=0, le=60, advanced=True
    )
    handover_fixed_s: float = quantity(
        0.003, label="KV hand-over, fixed part", group=STEPS, unit="s", shown="ms", ge=0, le=60, advanced=True
    )
    nic_efficiency: float = quantity(
        0.8, label="Usable share of a NIC", group=STEPS, unit="ratio", shown="%", ge=0.01, le=1, advanced=True
    )

    pue: float = quantity(1.25, label="PUE", group=SITE, unit="×", ge=1, le=3, advanced=True)
    host_w_per_node: float = quantity(
        4600.0,
        label="Host power",
        group=SITE,
        unit="W/node",
        ge=0,
        le=100_000,
        advanced=True,
        help="10.2 kW of a DGX H100 less 8 × 700 W (NVIDIA data sheet).",
    )

    @model_validator(mode="after")
    def _ranks_fit_their_units(self) -> LlmServingSpec:
        if (
            self.prefill_rank_gpus is not None
            and self.prefill_rank_gpus > self.prefill_unit_gpus
            and self.topology == "disaggregated"
        ):
            raise ValueError("prefill_rank_gpus: a prompt cannot run on more GPUs than prefill_unit_gpus")
        if self.decode_rank_gpus is not None and self.decode_rank_gpus > self.decode_unit_gpus:
            raise ValueError("decode_rank_gpus: a sequence cannot run on more GPUs than decode_unit_gpus")
        return self

    @property
    def is_aggregated(self) -> bool:
        return self.topology == "aggregated"

    @property
    def mean_context_tokens(self) -> float:
        """Tokens in the KV cache of a sequence, averaged over its decoding."""
        return self.input_tokens + self.output_tokens / 2

    @property
    def computed_input_tokens(self) -> float:
        """Input tokens of a request that are not in a cache."""
        return self.input_tokens * (1 - self.prefix_hit_rate)
