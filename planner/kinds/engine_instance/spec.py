"""Inputs of one replica of an inference engine. What is left out takes the engine's own default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from planner.core.kind import quantity
from planner.core.text import gettext_noop as _
from planner.kinds.engine_instance.cut import fill
from planner.kinds.engine_instance.spec_start_up import StartUpFields
from planner.kinds.engine_instance.spellings import respelled

WORKLOAD = _("Workload")
MONEY = _("Money")
OBJECTIVES = _("Objectives")


class EngineInstanceSpec(StartUpFields):
    """One LLM on one group of GPUs under one engine, at one load."""

    input_tokens: float = quantity(1024.0, label=_("Input, mean"), group=WORKLOAD, unit="tokens", ge=1, le=1e7)
    output_tokens: float = quantity(256.0, label=_("Output, mean"), group=WORKLOAD, unit="tokens", ge=1, le=1e7)
    prefix_hit_rate: float = quantity(
        0.0,
        label=_("Prefix hit rate"),
        group=WORKLOAD,
        unit="of input",
        ge=0,
        le=1,
        help=_("Share of the input read from the prefix cache; the rest is computed."),
    )
    concurrency: float | None = quantity(
        None,
        label=_("Concurrency"),
        group=WORKLOAD,
        unit="requests",
        ge=0.01,
        le=1e6,
        empty=_("32, or from the rate"),
        help=_("Requests in the system at once; each that ends is replaced. Give this or a rate."),
    )
    rate_rps: float | None = quantity(
        None,
        label=_("Request rate"),
        group=WORKLOAD,
        unit="req/s",
        ge=0,
        le=1e6,
        empty=_("from the concurrency"),
        help=_("Poisson arrivals. Give this or a concurrency."),
    )

    gpu_price_usd_per_h: float | None = quantity(
        None, label=_("GPU price"), group=MONEY, unit="USD/GPU-h", ge=0, le=1e4, empty=_("the catalog's")
    )
    utilisation: float = quantity(
        1.0,
        label=_("Utilisation"),
        group=MONEY,
        unit="ratio",
        ge=0.001,
        le=1,
        help=_("Share of the paid hours at this load; the rest is paid and idle."),
    )
    ttft_p99_slo_s: float | None = quantity(
        2.0, label=_("TTFT P99, at most"), group=OBJECTIVES, unit="s", ge=1e-6, le=3600, empty=_("none")
    )
    tpot_slo_s: float | None = quantity(
        0.05, label=_("TPOT P99, at most"), group=OBJECTIVES, unit="s", shown="ms", ge=1e-6, le=60, empty=_("none")
    )

    @model_validator(mode="before")
    @classmethod
    def _other_spellings(cls, given: Any) -> Any:
        return respelled(given) if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _one_load(self) -> EngineInstanceSpec:
        if self.concurrency is not None and self.rate_rps is not None:
            raise ValueError("concurrency and rate_rps: give one of them, not both")
        return self

    @model_validator(mode="after")
    def _ranks_make_the_gpus(self) -> EngineInstanceSpec:
        self.cut()
        return self

    def without_load(self) -> EngineInstanceSpec:
        """The replica with the load, prices and objectives at their defaults: what its memory depends on."""
        own = self.model_fields_set & set(StartUpFields.model_fields)
        return self.model_construct(_fields_set=own, **{name: getattr(self, name) for name in own})

    @classmethod
    def label_of(cls, name: str) -> str:
        """The words of a field."""
        return cls.model_fields[name].title or name

    def cut(self) -> tuple[int, int, int, int]:
        """GPUs, attention tensor-parallel ranks, attention copies and pipeline stages that the fields mean together.

        SGLang and TensorRT-LLM count attention copies inside the tensor-parallel ranks; read so when only that fits.
        Ranks that are all GPUs leave no copies where their product with the copies is written as expert ranks.
        """
        stages, copies, ranks = self.pipeline_parallel or 1, self.data_parallel_attention, self.tensor_parallel
        if self.gpus is None:
            ranks = ranks or 1
            # vLLM multiplies copies, unless its expert ranks, which are all GPUs, say that they lie inside.
            counted_inside = self.engine != "vllm" or self.expert_parallel == ranks == copies
            inside = counted_inside and copies is not None and ranks >= copies and ranks % copies == 0
            ranks, copies = (ranks // copies, copies) if inside and copies else (ranks, copies or 1)
            return ranks * copies * stages, ranks, copies, stages
        product = None if ranks is None or copies is None else ranks * copies
        if product is not None and product == self.expert_parallel and product > self.gpus == (ranks or 0) * stages:
            copies = 1
        found = fill(self.gpus, stages=stages, ranks=ranks, copies=copies, experts=self.expert_parallel)
        if found is None:
            raise ValueError(
                f"gpus: {self.gpus} is not tensor_parallel × pipeline_parallel × data_parallel_attention "
                f"({ranks or 'any'} × {stages} × {copies or 'any'})"
            )
        return self.gpus, found[0], found[1], stages
