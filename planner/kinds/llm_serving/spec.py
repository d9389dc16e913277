"""Inputs of a fleet that serves one LLM: those of `inputs`, and what usually stays at its default."""

from __future__ import annotations

from pydantic import model_validator

from planner.core.kind import quantity
from planner.core.text import gettext_noop as _
from planner.kinds.llm_serving.inputs import Inputs

FAILURE = _("Failure and repair")
DEMAND = _("Demand and growth")
STEPS = _("Steps, memory and network")
SITE = _("Site")


class LlmServingSpec(Inputs):
    """One LLM behind a gateway: prefill and decode pools, or replicas that do both."""

    failures_per_node_h: float = quantity(
        5e-5,
        label=_("Node failures"),
        group=FAILURE,
        unit="1/h",
        ge=0,
        le=10,
        advanced=True,
        help=_("5 in 100,000 node-hours: a node fails every 2.3 years."),
    )
    repair_h: float = quantity(
        0.75,
        label=_("Time to rejoin"),
        group=FAILURE,
        unit="h",
        shown="min",
        ge=0,
        le=10_000,
        advanced=True,
        help=_("Replace the node, load the weights, warm up, join."),
    )
    detection_s: float = quantity(
        3.0,
        label=_("Time to detect"),
        group=FAILURE,
        unit="s",
        ge=0,
        le=3600,
        advanced=True,
        help=_("Three missed probes, one a second."),
    )

    mean_to_peak: float = quantity(
        1.0,
        label=_("Mean demand"),
        group=DEMAND,
        unit="of peak",
        ge=0.001,
        le=1,
        advanced=True,
        help=_("1 is flat; 0.6 is a usual day."),
    )
    growth_per_month: float = quantity(
        0.0, label=_("Growth a month"), group=DEMAND, unit="ratio", shown="%", ge=0, le=10, advanced=True
    )

    prefill_rank_gpus: int | None = quantity(
        None,
        label=_("GPUs a prompt runs on"),
        group=STEPS,
        unit="GPUs",
        ge=1,
        le=1024,
        empty=_("1 with latent attention, else the unit within a node"),
        advanced=True,
        help=_("Attention ranks of a prefill unit: a prompt is computed by one rank."),
    )
    decode_rank_gpus: int | None = quantity(
        None,
        label=_("GPUs a sequence runs on"),
        group=STEPS,
        unit="GPUs",
        ge=1,
        le=1024,
        empty=_("1 with latent attention, else the unit within a node"),
        advanced=True,
    )
    prefill_step_tokens: int = quantity(
        16_384,
        label=_("Prefill step of a unit"),
        group=STEPS,
        unit="tokens",
        ge=1,
        le=10_000_000,
        advanced=True,
        help=_("Most tokens computed in one step; longer prompts take several."),
    )
    prefill_step_fixed_s: float = quantity(
        0.005, label=_("Prefill step, fixed part"), group=STEPS, unit="s", shown="ms", ge=0, le=10, advanced=True
    )
    decode_step_fixed_share: float | None = quantity(
        None,
        label=_("Decode step, fixed part"),
        group=STEPS,
        unit="of TPOT objective",
        ge=0,
        le=0.95,
        empty=_("from the roofline"),
        advanced=True,
        help=_("Weights and launches: what a step takes with an almost empty batch."),
    )
    redundant_experts: int = quantity(
        32,
        label=_("Redundant experts"),
        group=STEPS,
        unit="experts",
        ge=0,
        le=4096,
        advanced=True,
        help=_("Copies of busy experts that even out the load (EPLB)."),
    )
    kv_memory_share: float = quantity(
        0.9, label=_("Memory the engine may use"), group=STEPS, unit="ratio", shown="%", ge=0.01, le=1, advanced=True
    )
    runtime_bytes: float = quantity(
        8e9,
        label=_("Activations, buffers, graphs"),
        group=STEPS,
        unit="bytes",
        shown="GB",
        ge=0,
        le=1e12,
        advanced=True,
        help=_("What the engine keeps on each GPU beside weights and KV cache."),
    )
    gateway_s: float = quantity(
        0.01, label=_("Gateway and scheduler"), group=STEPS, unit="s", shown="ms", ge=0, le=60, advanced=True
    )
    handover_fixed_s: float = quantity(
        0.003, label=_("KV hand-over, fixed part"), group=STEPS, unit="s", shown="ms", ge=0, le=60, advanced=True
    )
    nic_efficiency: float = quantity(
        0.8, label=_("Usable share of a NIC"), group=STEPS, unit="ratio", shown="%", ge=0.01, le=1, advanced=True
    )

    pue: float = quantity(1.25, label=_("PUE"), group=SITE, unit="×", ge=1, le=3, advanced=True)
    host_w_per_node: float = quantity(
        4600.0,
        label=_("Host power"),
        group=SITE,
        unit="W/node",
        ge=0,
        le=100_000,
        advanced=True,
        help=_("10.2 kW of a DGX H100 less 8 × 700 W (NVIDIA data sheet)."),
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
    def is_wide(self) -> bool:
        """Whether a decode unit spans several nodes, as wide expert parallelism does."""
        return self.decode_unit_gpus > self.gpus_per_node

    @property
    def mean_context_tokens(self) -> float:
        """Tokens in the KV cache of a sequence, averaged over its decoding."""
        return self.input_tokens + self.output_tokens / 2

    @property
    def computed_input_tokens(self) -> float:
        """Input tokens of a request that are not in a cache."""
        return self.input_tokens * (1 - self.prefix_hit_rate)
