"""Weights on each rank: what tensor, pipeline, expert and data parallelism divide, and what they copy."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.catalog import Llm
from planner.formulas import memory, moe
from planner.formulas.layers import layer_classes
from planner.formulas.parameters import (
    attention_layer_parameters,
    attention_layers,
    dense_layers,
    latent_down_parameters,
    parameters,
)
from planner.formulas.stages import stage_mixes

_VOCABULARY_MULTIPLE = 64


@dataclass(frozen=True, slots=True)
class Split:
    """How a replica is cut, and what an engine keeps besides.

    ``mlp_ranks`` share the dense and shared MLPs (None: the attention ranks do); ``absorbed_copies`` are the 16-bit
    copies of the up-projections of latent attention that its absorbed form multiplies with.
    """

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    data_parallel_attention: int = 1
    redundant_experts: int = 0
    expert_padding: float = 1.0
    mlp_ranks: int | None = None
    absorbed_copies: bool = False
    vision_copies: bool = False
    """A vision tower stands whole on every rank."""

    @property
    def stage_gpus(self) -> int:
        return self.tensor_parallel * self.data_parallel_attention


def rotary_table_bytes(llm: Llm, *, max_model_len: int | None = None) -> float:
    """The table of sines and cosines each rank keeps: positions × rotary width × 2 B, never sharded [bytes].

    Scaling may stretch the positions beyond the context; windows with a base of their own have a table of their own.
    """
    width = llm.mla.rope_dim if llm.mla else llm.head_dim
    return (llm.rotary_positions or max_model_len or llm.max_context_tokens) * width * 2.0


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


def stage_weight_bytes(llm: Llm, *, dtype: str, split: Split) -> tuple[float, ...]:
    """Weights on a GPU of each pipeline stage [bytes].

    Parameters
    ----------
    llm : architecture
    dtype : number format of the weights
    split : how the replica is cut

    Returns
    -------
    tuple of float [bytes], one a stage

    Notes
    -----
    Each stage is counted by its own layers. Experts are spread over all GPUs of a stage, by expert or by slice.
    Attention, MLP and shared experts are split over the attention ranks. Replicated on each: MLA down-projections,
    router, norms, KV heads beyond one a rank, and the rotary table. Vocabulary is padded to 64.

    References
    ----------
    Shoeybi et al., "Megatron-LM", 2019, arXiv:1909.08053, section 3 (tensor parallelism of attention, MLP and
    embedding).
    """
    mixes = stage_mixes(llm, pipeline_parallel=split.pipeline_parallel)
    attention, recurrent = _mixer_rank_bytes(llm, dtype=dtype, split=split)
    dense, expert = _mlp_rank_bytes(llm, dtype=dtype, split=split)
    embedding, head = _table_bytes(llm, dtype=dtype, split=split)
    norms = parameters(llm)["norms"] * _width(llm, "norms", dtype) / llm.layers
    rotary = rotary_table_bytes(llm)
    found = []
    for stage, mix in enumerate(mixes):
        layers = mix.attention * attention + mix.state * recurrent + mix.dense * dense + mix.expert * expert
        size = layers + mix.layers * norms + rotary
        size += embedding if stage == 0 else 0.0
        size += head if stage == len(mixes) - 1 and not (llm.tied_embeddings and stage == 0) else 0.0
        found.append(size)
    return tuple(found)


def layer_weight_bytes(llm: Llm, *, dtype: str, split: Split) -> float:
    """Weights of the largest layer on a GPU: what is held twice while it is converted [bytes]."""
    mixers = _mixer_rank_bytes(llm, dtype=dtype, split=split)
    return max(mixers) + max(_mlp_rank_bytes(llm, dtype=dtype, split=split))


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
    split = Split(
        tensor_parallel=tensor_parallel,
        pipeline_parallel=pipeline_parallel,
        data_parallel_attention=data_parallel_attention,
        redundant_experts=redundant_experts,
    )
    if split.stage_gpus % expert_parallel:
        raise ValueError(f"expert_parallel {expert_parallel} does not divide the {split.stage_gpus} GPUs of a stage")
    return max(stage_weight_bytes(llm, dtype=dtype, split=split))


def _table_bytes(llm: Llm, *, dtype: str, split: Split) -> tuple[float, float]:
    """Embedding (with a vision tower, if there is one) and head."""
    padded = -(-llm.vocab // _VOCABULARY_MULTIPLE) * _VOCABULARY_MULTIPLE
    table = padded * llm.hidden / split.tensor_parallel
    vision = parameters(llm)["vision"] * _width(llm, "vision", dtype)
    vision /= 1 if split.vision_copies else split.tensor_parallel
    return table * _width(llm, "embedding", dtype) + vision, table * _width(llm, "head", dtype)


def _width(llm: Llm, part: str, dtype: str) -> float:
    return memory.part_bytes_per_parameter(llm, part=part, dtype=dtype)


def _mlp_rank_bytes(llm: Llm, *, dtype: str, split: Split) -> tuple[float, float]:
    """MLP of a dense layer, and experts with router and shared experts of a layer that has them."""
    counts, ranks = parameters(llm), split.mlp_ranks or split.tensor_parallel
    dense, expert = dense_layers(llm), moe.expert_layers(llm)
    mlp = counts["dense_mlp"] * _width(llm, "dense_mlp", dtype) / ranks / dense if dense else 0.0
    if llm.moe is None or not expert:
        return mlp, 0.0
    copies = moe.redundancy_factor(experts=llm.moe.experts, redundant_experts=split.redundant_experts)
    size = counts["experts"] * _width(llm, "experts", dtype) * copies * split.expert_padding / split.stage_gpus
    size += counts["shared_experts"] * _width(llm, "shared_experts", dtype) / ranks
    return mlp, (size + counts["router"] * _width(llm, "router", dtype)) / expert


def _mixer_rank_bytes(llm: Llm, *, dtype: str, split: Split) -> tuple[float, float]:
    """Attention of a layer with its indexer, and the mixer of a recurrent one, on a rank."""
    width, ranks = _width(llm, "attention", dtype), split.tensor_parallel
    whole, replicated = attention_layer_parameters(llm), latent_down_parameters(llm)
    attention = (replicated + (whole - replicated) / ranks + _copied_heads(llm, ranks=ranks)) * width
    if llm.indexer:
        attention += parameters(llm)["indexer"] * _width(llm, "indexer", dtype) / max(attention_layers(llm), 1)
    recurrent = ((llm.linear.layer_params if llm.linear else 0) or whole) / ranks
    if llm.mla and split.absorbed_copies:
        attention += llm.mla.kv_lora_rank * llm.heads * (llm.mla.nope_dim + llm.mla.v_dim) * 2.0 / ranks
    return attention, recurrent * width


def _copied_heads(llm: Llm, *, ranks: int) -> float:
    """Parameters of KV projections that ranks beyond the KV heads hold again, mean of an attention layer."""
    total = 0.0
    for each in layer_classes(llm):
        if not each.latent and ranks > each.kv_heads:
            projections = llm.hidden * each.kv_heads * (each.key_dim + each.value_dim)
            total += each.layers * projections * (1 / each.kv_heads - 1 / ranks)
    return total / max(attention_layers(llm), 1)
