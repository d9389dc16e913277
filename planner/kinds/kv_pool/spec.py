"""Inputs of a pool of KV caches: those of load, hardware and policies, then failure, serving and money."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from planner.core.kind import choice, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.kv_pool.policies import PolicyInputs

SERVING = _("Serving")
FAILURE = _("Upgrade and failure")
PRICES = _("Prices")


class KvPoolSpec(PolicyInputs):
    """KV caches of sessions in HBM, DRAM and SSD behind a prefill fleet. The defaults are the reference."""

    prefill_units: int | None = quantity(
        None,
        label=_("Prefill units"),
        group=SERVING,
        unit="units",
        ge=1,
        le=100_000,
        empty=_("sized for the load"),
        help=_("A unit has the GPUs that a prompt runs on."),
    )
    headroom: float = quantity(
        0.2, label=_("Headroom"), group=SERVING, unit="ratio", shown="%", ge=0, le=10, help=_("Above the need.")
    )
    ttft_p99_slo_s: float = quantity(2.0, label=_("TTFT P99"), group=SERVING, unit="s", ge=1e-3, le=3600)
    ttft_fixed_s: float = quantity(
        0.05,
        label=_("TTFT, fixed part"),
        group=SERVING,
        unit="s",
        shown="ms",
        ge=0,
        le=60,
        help=_("Gateway, look-up, launch and the first decode step: an assumption."),
        advanced=True,
    )
    overlap: Literal["layers", "none"] = choice(
        "layers",
        label=_("Fetch and compute"),
        group=SERVING,
        labels={"layers": _("Layer by layer, together"), "none": _("Fetch first")},
        help=_("Layer by layer the GPUs work on one layer while the next is read."),
    )
    contention: Literal["sharing", "fifo"] = choice(
        "sharing",
        label=_("A busy link"),
        group=SERVING,
        labels={"sharing": _("is shared by all transfers"), "fifo": _("serves one after the other")},
        help=_("At 70 % load the first makes a transfer 3.3 times as long, the second 2.2 times."),
        advanced=True,
    )
    link_limit: float = quantity(
        0.9,
        label=_("Links are used up to"),
        group=SERVING,
        unit="ratio",
        shown="%",
        ge=0.01,
        le=0.99,
        help=_("Beyond, prompts are computed again instead of read."),
        advanced=True,
    )

    canary_weight: float = quantity(
        0.5,
        label=_("Share of the new version"),
        group=FAILURE,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        help=_("During an upgrade of the LLM: the version is in the key, so old and new never hit each other."),
        advanced=True,
    )
    version_by: Literal["session", "request"] = choice(
        "session",
        label=_("A version is drawn for"),
        group=FAILURE,
        labels={"session": _("each session"), "request": _("each request")},
        advanced=True,
    )

    gpu_price_usd_per_h: float = quantity(
        2.5,
        label=_("GPU price"),
        group=PRICES,
        unit="USD/GPU-h",
        ge=0,
        le=1e4,
        help=_("An assumption; prices of this GPU with their sources are in the catalog."),
    )
    dram_usd_per_gb_month: float = quantity(
        0.33,
        label=_("DRAM price"),
        group=PRICES,
        unit="USD/GB-month",
        ge=0,
        le=1e4,
        help=_("$13 to 19 a GB by contract, early 2026 (CFM), over 48 months: $0.27 to 0.39."),
    )
    ssd_usd_per_gb_month: float = quantity(
        0.0076,
        label=_("SSD price"),
        group=PRICES,
        unit="USD/GB-month",
        ge=0,
        le=1e4,
        help=_(
            "A 30 TB TLC drive at $10,950 (first quarter of 2026, VDURA index) over 48 months; $0.0021 in mid-2025."
        ),
    )
    dram_paid: Literal["apart", "in_rent"] = choice(
        "apart",
        label=_("DRAM is paid"),
        group=PRICES,
        labels={"apart": _("By the GB"), "in_rent": _("With the GPU nodes")},
        help=_("Rented GPU nodes bring memory along; then the tier costs nothing more."),
    )
    tier_budget_usd_per_month: float | None = quantity(
        None,
        label=_("Budget of the tiers"),
        group=PRICES,
        unit="USD/month",
        ge=0,
        le=1e12,
        empty=_("what they cost"),
        help=_("For the best mix of DRAM and SSD."),
        advanced=True,
    )

    @model_validator(mode="after")
    def _parts_fit(self) -> KvPoolSpec:
        if self.output_tokens > self.new_tokens:
            raise ValueError("output_tokens: the answer is part of the new tokens of a turn and cannot exceed them")
        if self.shared_prefix_tokens > self.context_tokens:
            raise ValueError("shared_prefix_tokens: a part of the context cannot be longer than its mean")
        if self.source == "trace" and self.workload is None:
            raise ValueError("workload: name the trace that is to be replayed")
        return self
