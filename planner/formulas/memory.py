"""Number formats, and the bytes of an LLM's weights in them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from planner.core.catalog import Llm
from planner.formulas import moe
from planner.formulas.parameters import (
    STORED_PARTS,
    attention_layer_parameters,
    expert_parameters,
    latent_down_parameters,
    parameters,
    shared_expert_parameters,
)

__all__ = [
    "BITS_PER_PARAMETER",
    "FOUR_BIT",
    "STORED_PARTS",
    "attention_layer_parameters",
    "dtype_name",
    "expert_padding",
    "expert_parameters",
    "kv_dtype_bytes",
    "latent_down_parameters",
    "parameters",
    "part_bytes_per_parameter",
    "rank_weight_bytes",
    "rotary_table_bytes",
    "shared_expert_parameters",
    "stage_layers",
    "stage_weight_bytes",
    "weight_bytes",
]

BITS_PER_PARAMETER: Mapping[str, float] = {
    "fp32": 32.0,
    "bf16": 16.0,
    "fp16": 16.0,
    "fp8": 8.0,
    "int8": 8.16,
    "int4": 4.156,
    "mxfp4": 4.25,
    "nvfp4": 4.5,
}
"""Width of a quantised linear parameter with its scales: int8 and int4 by groups of 128 (GPTQ, AWQ), MXFP4 one 8-bit
scale a 32 (OCP Microscaling v1.0, section 5), NVFP4 one 8-bit scale a 16."""

FOUR_BIT = ("int4", "mxfp4", "nvfp4")
_ALIASES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "fp4": "nvfp4", "awq": "int4", "gptq": "int4"}
_KV_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp32": 4.0, "fp8": 1.0, "int8": 1.0, "nvfp4": 0.5 + 1 / 16}
_EXPERT_PARTS = ("experts", "shared_experts")
_LINEAR_PARTS = ("attention", "indexer", "dense_mlp", *_EXPERT_PARTS)


def dtype_name(dtype: str) -> str:
    """The name used here for a number format; raises ValueError on an unknown one."""
    name = _ALIASES.get(dtype.lower(), dtype.lower())
    if name not in BITS_PER_PARAMETER:
        raise ValueError(f"unknown number format “{dtype}”; known are {', '.join(BITS_PER_PARAMETER)}")
    return name


def kv_dtype_bytes(dtype: str) -> float:
    """Bytes of a cached number; NVFP4 keeps one byte of scale for 16 numbers."""
    name = dtype_name(dtype)
    if name not in _KV_BYTES:
        raise ValueError(f"no engine keeps its KV cache in {dtype}")
    return _KV_BYTES[name]


def part_bytes_per_parameter(llm: Llm, *, part: str, dtype: str) -> float:
    """Bytes of a parameter of a part (a key of `parameters`) in a checkpoint of this format.

    Notes
    -----
    In the format it was published in, each part as the configuration of the checkpoint says, where it says so. Else:
    embedding, head, router and norms stay in 16 bits, and four-bit checkpoints of an LLM with experts quantise the
    experts only (gpt-oss, Kimi-K2, DeepSeek in NVFP4).

    References
    ----------
    Open Compute Project, "OCP Microscaling Formats (MX) Specification", version 1.0, 2023, section 5 (MXFP4); the other
    widths follow from group sizes as `BITS_PER_PARAMETER` says.
    """
    return _part_bytes(llm, part, dtype_name(dtype))


@lru_cache(maxsize=4096)
def _part_bytes(llm: Llm, part: str, name: str) -> float:
    published = name == llm.native_dtype
    native = (llm.quant_bits if published else 0.0) or BITS_PER_PARAMETER[name]
    shares = [(dtype, share) for kind, dtype, share in llm.part_formats if kind == part] if published else []
    if shares:
        bits = sum(share * (native if dtype == name else BITS_PER_PARAMETER[dtype]) for dtype, share in shares)
        return bits / 8
    if part not in _LINEAR_PARTS:
        return max(2.0, native / 8) if name == "fp32" else 2.0
    if name in FOUR_BIT and llm.moe and part not in _EXPERT_PARTS:
        return 2.0
    return native / 8


def weight_bytes(llm: Llm, *, dtype: str) -> float:
    """Bytes of the whole checkpoint in a number format, draft layers left out [bytes]."""
    counts = parameters(llm)
    return sum(counts[part] * part_bytes_per_parameter(llm, part=part, dtype=dtype) for part in STORED_PARTS)


def rotary_table_bytes(llm: Llm, *, max_model_len: int | None = None) -> float:
    """The table of sines and cosines each rank keeps: positions × rotary width × 2 B, never sharded [bytes]."""
    width = llm.mla.rope_dim if llm.mla else llm.head_dim
    return (max_model_len or llm.max_context_tokens) * width * 2.0


def expert_padding(llm: Llm, *, hidden_multiple: int = 256, width_multiple: int = 128) -> float:
    """Bytes of an expert whose sides a kernel pads to its tiles, over those of a plain one.

    Notes
    -----
    gpt-oss on Hopper: 2,880 becomes 3,072 and 2,944, nine per cent more; inferred from the weights that start-up logs
    of vLLM name.

    References
    ----------
    Start-up logs of vLLM, as ``calibrations/engine_memory.toml`` names them.
    """
    if llm.moe is None:
        return 1.0
    hidden = -(-llm.hidden // hidden_multiple) * hidden_multiple
    width = -(-llm.moe.expert_width // width_multiple) * width_multiple
    return hidden * width / (llm.hidden * llm.moe.expert_width)


def stage_layers(llm: Llm, *, pipeline_parallel: int) -> tuple[int, ...]:
    """Layers of each pipeline stage: as even as can be, the rest to the middle stages first.

    The first stage also holds the embedding and the last the head, so they take the fewer layers.
    """
    base, rest = divmod(llm.layers, pipeline_parallel)
    counts = [base] * pipeline_parallel
    order = [*range(pipeline_parallel - 2, 0, -1), *sorted({0, pipeline_parallel - 1})]
    for stage in order[:rest]:
        counts[stage] += 1
    return tuple(counts)


def stage_weight_bytes(
    llm: Llm,
    *,
    dtype: str,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    data_parallel_attention: int = 1,
    redundant_experts: int = 0,
    expert_padding: float = 1.0,
) -> tuple[float, ...]:
    """Weights on a GPU of each pipeline stage [bytes].

    Parameters
    ----------
    llm : architecture
    dtype : number format of the checkpoint
    tensor_parallel : ranks that share attention
    pipeline_parallel : stages
    data_parallel_attention : copies of attention in the replica
    redundant_experts : extra copies of experts, spread over the ranks
    expert_padding : bytes of a padded expert over those of a plain one

    Returns
    -------
    tuple of float [bytes], one a stage

    Notes
    -----
    Experts are spread over all GPUs of a stage, by expert or by slice. Attention, MLP and shared experts are split over
    the attention ranks. Replicated on each: MLA down-projections, router, norms, KV heads beyond one a rank, and the
    rotary table. Vocabulary is padded to 64.

    References
    ----------
    Shoeybi et al., "Megatron-LM", 2019, arXiv:1909.08053, section 3 (tensor parallelism of attention, MLP and
    embedding).
    """
    stage_gpus = tensor_parallel * data_parallel_attention
    width = {part: part_bytes_per_parameter(llm, part=part, dtype=dtype) for part in STORED_PARTS}
    counts = parameters(llm)
    table = -(-llm.vocab // 64) * 64 * llm.hidden * width["embedding"] / tensor_parallel
    copies = moe.redundancy_factor(experts=llm.moe.experts, redundant_experts=redundant_experts) if llm.moe else 1.0
    split = sum(counts[part] * width[part] for part in ("dense_mlp", "shared_experts")) / tensor_parallel
    layers_total = (
        _attention_rank_bytes(llm, width=width["attention"], tensor_parallel=tensor_parallel)
        + split
        + counts["experts"] * width["experts"] * copies * expert_padding / stage_gpus
        + (counts["router"] + counts["norms"]) * 2.0
    )
    found = []
    layers = stage_layers(llm, pipeline_parallel=pipeline_parallel)
    for stage, count in enumerate(layers):
        first, last = stage == 0, stage == len(layers) - 1
        tables = table * ((1 if first else 0) + (1 if last and not (llm.tied_embeddings and first) else 0))
        found.append(layers_total * count / llm.layers + tables + rotary_table_bytes(llm))
    return tuple(found)


def _attention_rank_bytes(llm: Llm, *, width: float, tensor_parallel: int) -> float:
    replicated = llm.layers * latent_down_parameters(llm)
    split = parameters(llm)["attention"] - replicated
    duplicated = 0.0
    if llm.mla is None and tensor_parallel > llm.kv_heads:
        keys_values = 2.0 * llm.hidden * llm.kv_heads * llm.head_dim
        layers = llm.layers - (llm.linear.layers if llm.linear else 0)
        duplicated = layers * keys_values * (1 / llm.kv_heads - 1 / tensor_parallel)
    return (replicated + split / tensor_parallel + duplicated) * width


def rank_weight_bytes(
    llm: Llm,
    *,
    dtype: str,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    expert_parallel: int = 1,
    data_parallel_attention: int = 1,
    redundant_experts: int = 0,
) -> float:
    """Weights on the GPU that holds most of them: the heaviest pipeline stage decides [bytes].

    ``expert_parallel`` says how experts are split, not how many bytes a GPU gets: every split spreads them evenly over
    the GPUs of a stage, so that it only has to divide them.
    """
    stage_gpus = tensor_parallel * data_parallel_attention
    if stage_gpus % expert_parallel:
        raise ValueError(f"expert_parallel {expert_parallel} does not divide the {stage_gpus} GPUs of a stage")
    return max(
        stage_weight_bytes(
            llm,
            dtype=dtype,
            tensor_parallel=tensor_parallel,
            pipeline_parallel=pipeline_parallel,
            data_parallel_attention=data_parallel_attention,
            redundant_experts=redundant_experts,
        )
    )
