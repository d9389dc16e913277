"""Inputs of an engine instance: the LLM, its placement and precision, and the engine's own settings."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import Spec, catalog_entry, choice, quantity, text
from planner.core.text import gettext_noop as _

LLM = _("LLM and GPU")
PLACEMENT = _("Placement")
PRECISION = _("Precision")
ENGINE = _("Engine")

ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt_llm": "TensorRT-LLM"}
StoredDtype = Literal[
    "bf16", "fp16", "fp8", "int8", "int4", "int4_g32", "mxfp4", "nvfp4", "nf4", "nf4_double", "q4_k_m", "q8_0"
]
WeightDtype = Literal[
    "bf16", "fp16", "fp8", "int8", "int4", "int4_g32", "fp4", "mxfp4", "nvfp4", "nf4", "nf4_double", "q4_k_m", "q8_0"
]
KvDtype = Literal["bf16", "fp16", "fp8", "int8", "nvfp4"]
_DTYPE_WORDS = {"bf16": "BF16", "fp16": "FP16", "fp8": "FP8", "int8": "INT8", "int4": "INT4 (AWQ, GPTQ)"}
_FOUR_BIT_WORDS = {
    "int4_g32": "INT4, groups of 32",
    "mxfp4": "MXFP4",
    "nvfp4": "NVFP4",
    "nf4": "NF4 (bitsandbytes)",
    "nf4_double": "NF4, scales quantised too",
    "q4_k_m": "GGUF Q4_K_M",
    "q8_0": "GGUF Q8_0",
}


class EngineFields(Spec):
    """What runs where, and how the engine is started."""

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

    redundant_experts: int = quantity(
        0,
        label=_("Redundant experts"),
        group=PLACEMENT,
        unit="experts",
        ge=0,
        le=4096,
        advanced=True,
        help=_("Further copies of popular experts, spread over the GPUs of a stage."),
    )
    all_to_all: Literal["none", "deepep"] = choice(
        "none",
        label=_("Dispatch buffers"),
        group=PLACEMENT,
        labels={"none": _("the engine's collectives"), "deepep": "DeepEP"},
        advanced=True,
        help=_("Libraries that exchange tokens between experts keep gigabytes of their own."),
    )

    weight_dtype: WeightDtype | None = choice(
        None,
        label=_("Weights"),
        group=PRECISION,
        labels={**_DTYPE_WORDS, "fp4": "FP4: MXFP4 where published so, else NVFP4", **_FOUR_BIT_WORDS},
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
    checkpoint_dtype: StoredDtype | None = choice(
        None,
        label=_("Format on disk"),
        group=PRECISION,
        labels={**_DTYPE_WORDS, **_FOUR_BIT_WORDS},
        empty=_("as the weights"),
        advanced=True,
        help=_("Where the engine quantises while it loads: both forms are in memory for a moment."),
    )

    engine: Literal["vllm", "sglang", "tensorrt_llm"] = choice(
        "vllm",
        label=_("Engine"),
        group=ENGINE,
        labels=ENGINES,
    )
    engine_version: str | None = text(None, label=_("Engine version"), group=ENGINE, empty=_("the newest known"))
    engine_core: Literal["v0", "v1"] | None = choice(
        None,
        label=_("Core of vLLM"),
        group=ENGINE,
        labels={"v0": "V0", "v1": "V1"},
        empty=_("the version's"),
        advanced=True,
        help=_("Versions 0.8 to 0.10 have both; Volta and Turing run V0."),
    )
    visible_memory_bytes: float | None = quantity(
        None,
        label=_("Visible memory"),
        group=ENGINE,
        unit="bytes",
        shown="GiB",
        ge=1e9,
        le=1e13,
        empty=_("the catalog's"),
        advanced=True,
        help=_("What the runtime reports of a GPU; ECC and drivers change it by 0.1 to 0.3 GiB."),
    )
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
    max_total_tokens: int | None = quantity(
        None,
        label=_("Tokens in the pool at most"),
        group=ENGINE,
        unit="tokens",
        ge=1,
        le=10**10,
        empty=_("what fits"),
        advanced=True,
        help=_("A limit that engines take beside the memory; the smaller one decides."),
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
