"""Inputs of multi-tenant adapters: those of base, load and engine, then tenants, objectives and prices."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from planner.core.kind import choice, quantity
from planner.core.text import gettext_noop as _
from planner.formulas.adapters import VLLM_RANKS, allowed_rank
from planner.kinds.multi_lora.inputs_engine import EngineInputs

TENANTS = _("Tenants")
OBJECTIVES = _("Objectives")
PRICES = _("Prices")

_NESTED = ("qv", "attention", "linear", "experts")


class MultiLoraSpec(EngineInputs):
    """One base LLM that serves many adapters of many tenants. The defaults are the reference."""

    tenants: int = quantity(
        100,
        label=_("Tenants"),
        group=TENANTS,
        unit="tenants",
        ge=1,
        le=10_000,
        help=_("Who is limited and billed."),
    )
    tenant_adapters: Literal["dealt", "blocks"] = choice(
        "dealt",
        label=_("Adapters of a tenant"),
        group=TENANTS,
        labels={"dealt": _("Popular and rare ones"), "blocks": _("The first tenant has the most popular")},
        help=_("Dealt in turn, or in blocks by popularity, which makes tenants unequal."),
    )
    fairness: Literal["weighted", "first_come"] = choice(
        "weighted",
        label=_("Who is admitted next"),
        group=TENANTS,
        labels={"weighted": _("The tenant that had least, by weight"), "first_come": _("Who came first")},
    )
    premium_share: float = quantity(
        0.1, label=_("Premium tenants"), group=TENANTS, unit="ratio", shown="%", ge=0, le=1, advanced=True
    )
    premium_weight: float = quantity(
        4.0, label=_("Weight of a premium tenant"), group=TENANTS, unit="×", ge=1, le=1000, advanced=True
    )
    output_weight: float = quantity(
        2.0,
        label=_("Weight of an output token"),
        group=TENANTS,
        unit="input tokens",
        gt=0,
        le=100,
        help=_("In counters of fairness and in the bill: what an output token counts beside an input token."),
        advanced=True,
    )
    noisy_factor: float = quantity(
        20.0,
        label=_("A noisy tenant sends"),
        group=TENANTS,
        unit="× its share",
        ge=1,
        le=1e4,
        help=_("The largest tenant, for what happens to the others."),
    )
    tenant_limit_rps: float | None = quantity(
        None,
        label=_("Rate limit a tenant"),
        group=TENANTS,
        unit="req/s",
        gt=0,
        le=1e6,
        empty=_("none"),
        help=_("More is refused at the gateway."),
    )
    tenant_slots: int | None = quantity(
        None,
        label=_("Slots a tenant, at most"),
        group=TENANTS,
        unit="slots",
        ge=1,
        le=100_000,
        empty=_("no quota"),
        help=_("Of a replica. Counters of tokens do not keep a tenant with many adapters from holding all slots."),
        advanced=True,
    )

    ttft_p99_slo_s: float = quantity(2.0, label=_("TTFT P99"), group=OBJECTIVES, unit="s", gt=0, le=3600)
    tpot_slo_s: float = quantity(0.03, label=_("TPOT"), group=OBJECTIVES, unit="s", shown="ms", gt=0, le=10)

    gpu_price_usd_per_h: float | None = quantity(
        2.5,
        label=_("GPU price"),
        group=PRICES,
        unit="USD/GPU-h",
        ge=0,
        le=1e4,
        empty=_("from the catalog"),
        help=_("An assumption; prices of this GPU with their sources are in the catalog."),
    )

    @model_validator(mode="after")
    def _parts_fit(self) -> MultiLoraSpec:
        self._ranks_fit()
        self._levels_fit()
        if self.popularity == "trace" and self.workload is None:
            raise ValueError("workload: name the trace whose adapters are to be counted")
        if self.tenants > self.adapters and self.popularity == "zipf":
            raise ValueError("tenants: there are more tenants than adapters")
        return self

    def _ranks_fit(self) -> None:
        if self.max_rank is not None and self.rank > self.max_rank:
            raise ValueError(f"rank: adapters of rank {self.rank} do not fit slots of rank {self.max_rank} (max_rank)")
        if self.engine == "vllm" and self.max_rank is not None and self.max_rank not in VLLM_RANKS:
            allowed = ", ".join(map(str, VLLM_RANKS))
            raise ValueError(f"max_rank: vLLM takes {allowed}, not {self.max_rank}")
        wanted = self.enabled_targets
        if wanted is not None and _NESTED.index(wanted) < _NESTED.index(self.targets):
            raise ValueError("enabled_targets: adapters have matrices that slots have no room for (targets)")

    def _levels_fit(self) -> None:
        if self.paged:
            return
        if self.slots is not None and self.host_adapters is not None and self.host_adapters < self.slots:
            raise ValueError(
                f"host_adapters: {self.host_adapters} in host memory are fewer than {self.slots} slots on the GPU; "
                "engines refuse that, because every slot is filled from host memory"
            )
        if self.slots is not None and self.slots < self.adapters and self.pinned_adapters >= self.slots:
            raise ValueError(f"pinned_adapters: {self.pinned_adapters} leave none of {self.slots} slots for the others")

    @property
    def paged(self) -> bool:
        """Whether adapters lie in the pages of the KV cache, at their own size and without slots."""
        return self.engine == "slora"

    @property
    def slot_rank(self) -> int:
        """Rank that a slot has room for."""
        if self.paged:
            return self.rank
        if self.max_rank is not None:
            return self.max_rank
        return (allowed_rank(self.rank) if self.engine == "vllm" else None) or self.rank

    @property
    def slot_targets(self) -> str:
        """Matrices that a slot has room for."""
        if self.paged or self.enabled_targets is None:
            return self.targets
        return self.enabled_targets
