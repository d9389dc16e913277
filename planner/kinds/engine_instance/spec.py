"""Inputs of one replica of an inference engine. What is left out takes the engine's own default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import model_validator

from planner.core.kind import Spec, catalog_entry, choice, quantity, text
from planner.core.text import gettext_noop as _
from planner.kinds.engine_instance.cut import fill
from planner.kinds.engine_instance.spellings import respelled

LLM = _("LLM and GPU")
PLACEMENT = _("Placement")
PRECISION = _("Precision")
ENGINE = _("Engine")
WORKLOAD = _("Workload")
MONEY = _("Money")
OBJECTIVES = _("Objectives")

WeightDtype = Literal["bf16", "fp16", "fp8", "int8", "int4", "mxfp4", "nvfp4"]
KvDtype = Literal["bf16", "fp16", "fp8", "int8", "nvfp4"]
_DTYPE_WORDS = {"bf16": "BF16", "fp16": "FP16", "fp8": "FP8", "int8": "INT8", "int4": "INT4 (AWQ, GPTQ)"}
_FOUR_BIT_WORDS = {"mxfp4": "MXFP4", "nvfp4": "NVFP4"}


class EngineInstanceSpec(Spec):
    """One LLM on one group of GPUs under one engine, at one load."""

    llm: str = catalog_entry("llama-3-1-8b", label=_("LLM"), group=LLM, table="llms")
    gpu: str = catalog_entry("h100-sxm", label=_("GPU"), group=LLM, table="gpus")
    gpus: int | None = quantity(
        None,
        label=_("GPUs"),
        group=LLM,
        unit="GPUs",
        ge=1,
        le=4096,
        empty=_("as placed"),
        help=_("All GPUs of the replica: tensor × pipeline × attention data-parallel ranks."),
    )
    tensor_parallel: int | None = quantity(
        None, label=_("Tensor parallel"), group=PLACEMENT, unit="ranks", ge=1, le=1024, empty=_("all GPUs, else 1")
    )
    pipeline_parallel: int | None = quantity(
        None, label=_("Pipeline parallel"), group=PLACEMENT, unit="stages", ge=1, le=64, empty="1", advanced=True
    )
    expert_parallel: int | None = quantity(
        None,
        label=_("Expert parallel"),
        group=PLACEMENT,
        unit="ranks",
        ge=1,
        le=4096,
        empty=_("all GPUs with data-parallel attention, else 1"),
        advanced=True,
        help=_("GPUs that share the experts by whole experts. It does not change the bytes a GPU holds."),
    )
    data_parallel_attention: int | None = quantity(
        None,
        label=_("Attention data parallel"),
        group=PLACEMENT,
        unit="copies",
        ge=1,
        le=4096,
        empty=_("what the GPUs leave"),
        advanced=True,
        help=_("Copies of attention, each with its own cache; of an LLM without experts, whole copies."),
    )
    context_parallel: int | None = quantity(
        None,
        label=_("Context parallel"),
        group=PLACEMENT,
        unit="ranks",
        ge=1,
        le=1024,
        empty="1",
        advanced=True,
        help=_("Tensor-parallel ranks that share a request's cache by tokens in decode (DCP)."),
    )

    weight_dtype: WeightDtype | None = choice(
        None,
        label=_("Weights"),
        group=PRECISION,
        labels={**_DTYPE_WORDS, **_FOUR_BIT_WORDS},
        empty=_("as published"),
    )
    kv_dtype: KvDtype | None = choice(
        None,
        label=_("KV cache"),
        group=PRECISION,
        labels={**{name: _DTYPE_WORDS[name] for name in ("bf16", "fp16", "fp8", "int8")}, "nvfp4": "NVFP4"},
        empty="BF16",
    )
    checkpoint_bytes: float | None = quantity(
        None,
        label=_("Checkpoint"),
        group=PRECISION,
        unit="bytes",
        shown="GB",
        ge=1,
        le=1e14,
        empty=_("counted from the architecture"),
        advanced=True,
        help=_("Size of the checkpoint files; overrides the count."),
    )

    engine: Literal["vllm", "sglang", "tensorrt_llm"] = choice(
        "vllm",
        label=_("Engine"),
        group=ENGINE,
        labels={"vllm": "vLLM", "sglang": "SGLang", "tensorrt_llm": "TensorRT-LLM"},
    )
    engine_version: str | None = text(None, label=_("Engine version"), group=ENGINE, empty=_("the newest known"))
    memory_fraction: float | None = quantity(
        None,
        label=_("Memory fraction"),
        group=ENGINE,
        unit="ratio",
        ge=0.01,
        le=1,
        empty=_("the engine's"),
        help=_("vLLM: of the GPU. SGLang: of what is free before loading. TensorRT-LLM: of what a trial run leaves."),
    )
    max_model_len: int | None = quantity(
        None, label=_("Longest request"), group=ENGINE, unit="tokens", ge=1, le=10**8, empty=_("the LLM's context")
    )
    max_num_seqs: int | None = quantity(
        None, label=_("Running at most"), group=ENGINE, unit="requests", ge=1, le=10**6, empty=_("the engine's")
    )
    max_num_batched_tokens: int | None = quantity(
        None,
        label=_("Tokens a step"),
        group=ENGINE,
        unit="tokens",
        ge=1,
        le=10**7,
        empty=_("the engine's"),
        advanced=True,
        help=_("Largest step; also the prefill chunk."),
    )
    block_size: int | None = quantity(
        None,
        label=_("Block"),
        group=ENGINE,
        unit="tokens",
        ge=1,
        le=4096,
        empty=_("the engine's"),
        advanced=True,
    )
    hybrid_cache: Literal["unified_pages", "hybrid_manager"] | None = choice(
        None,
        label=_("Pages of mixed layers"),
        group=ENGINE,
        labels={"unified_pages": _("one page for all layers"), "hybrid_manager": _("by kind of layer")},
        empty=_("the engine's"),
        advanced=True,
    )
    graph_capture: bool | None = choice(
        None,
        label=_("Graph capture"),
        group=ENGINE,
        labels={"true": _("on"), "false": _("off")},
        empty=_("the engine's"),
        advanced=True,
    )
    adapters: int = quantity(
        0,
        label=_("Adapter slots"),
        group=ENGINE,
        unit="adapters",
        ge=0,
        le=10**5,
        advanced=True,
        help=_("LoRA adapters of rank 16 on all linear layers, resident at once."),
    )
    draft: int = quantity(
        0,
        label=_("Draft tokens"),
        group=ENGINE,
        unit="tokens",
        ge=0,
        le=16,
        advanced=True,
        help=_("Tokens proposed a step by the LLM's own draft layer (MTP, EAGLE); 0: no speculation."),
    )
    draft_acceptance: float = quantity(
        0.8,
        label=_("Draft acceptance"),
        group=ENGINE,
        unit="ratio",
        ge=0,
        le=1,
        advanced=True,
        help=_("Probability that a draft token is accepted, given that the ones before it were."),
    )
    latency_source: Literal["roofline", "measured_kernels"] = choice(
        "roofline",
        label=_("Step times from"),
        group=ENGINE,
        labels={"roofline": _("calibrated roofline"), "measured_kernels": _("measured kernels")},
        advanced=True,
        help=_(
            "Kernel tables of the optional package aiconfigurator-core; docs/how-to/measured-kernels.md installs it."
        ),
    )

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

    @classmethod
    def label_of(cls, name: str) -> str:
        """The words of a field."""
        return cls.model_fields[name].title or name

    def cut(self) -> tuple[int, int, int, int]:
        """GPUs, attention tensor-parallel ranks, attention copies and pipeline stages that the fields mean together.

        SGLang and TensorRT-LLM count attention copies inside the tensor-parallel ranks; read so when only that fits.
        """
        stages, copies, ranks = self.pipeline_parallel or 1, self.data_parallel_attention, self.tensor_parallel
        if self.gpus is None:
            ranks = ranks or 1
            inside = self.engine != "vllm" and copies is not None and ranks >= copies and ranks % copies == 0
            ranks, copies = (ranks // copies, copies) if inside and copies else (ranks, copies or 1)
            return ranks * copies * stages, ranks, copies, stages
        found = fill(self.gpus, stages=stages, ranks=ranks, copies=copies)
        if found is None:
            raise ValueError(
                f"gpus: {self.gpus} is not tensor_parallel × pipeline_parallel × data_parallel_attention "
                f"({ranks or 'any'} × {stages} × {copies or 'any'})"
            )
        return self.gpus, found[0], found[1], stages
