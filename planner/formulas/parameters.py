"""Parameters of an LLM, counted by part from the shapes of its layers."""

from __future__ import annotations

from functools import lru_cache

from planner.core.catalog import Llm
from planner.formulas import moe

STORED_PARTS = (
    "embedding",
    "head",
    "attention",
    "indexer",
    "dense_mlp",
    "experts",
    "shared_experts",
    "router",
    "norms",
    "vision",
)
"""Parts of a checkpoint; ``mtp`` comes on top where draft layers are loaded."""


def attention_layer_parameters(llm: Llm) -> float:
    """Parameters of the projections of one attention layer, the mean where layers differ.

    Notes
    -----
    GQA: query, key, value and output; a gate doubles the query. MLA: down- and up-projections of query and latent,
    and the output. Compressed: queries and outputs of low rank, one latent, and the compressors.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V2", 2024, arXiv:2405.04434, equations 9–16; Ainslie et al., "GQA", arXiv:2305.13245.
    """
    if llm.compressed:
        return _compressed_layer(llm)
    if llm.mla:
        return _latent_layer(llm)
    full = _grouped_layer(llm, heads=llm.heads, kv_heads=llm.kv_heads, width=llm.head_dim, v_width=llm.v_dim)
    if llm.shared_kv_projection:
        full -= float(llm.hidden * llm.kv_heads * (llm.v_dim or llm.head_dim))
    window = llm.sliding
    if window is None:
        return full
    own = _grouped_layer(
        llm,
        heads=window.heads or llm.heads,
        kv_heads=window.kv_heads or llm.kv_heads,
        width=window.head_dim or llm.head_dim,
        v_width=window.v_dim or (window.head_dim or llm.v_dim),
    )
    layers = max(1, attention_layers(llm))
    return (window.layers * own + (layers - window.layers) * full) / layers


def attention_layers(llm: Llm) -> int:
    """Layers that keep keys and values at all: all but recurrent ones and those of an MLP only."""
    recurrent = llm.linear.layers if llm.linear and not llm.linear.beside_attention else 0
    return llm.layers - recurrent - llm.plain_layers


def dense_layers(llm: Llm) -> int:
    """Layers with a dense MLP: those without experts, unless the architecture says otherwise."""
    return llm.layers - moe.expert_layers(llm) if llm.dense_layers is None else llm.dense_layers


def _grouped_layer(llm: Llm, *, heads: int, kv_heads: int, width: int, v_width: int) -> float:
    v_width = v_width or width
    queries = heads * width * (2 if llm.gated_attention else 1)
    return float(llm.hidden * (queries + kv_heads * (width + v_width) + heads * v_width))


def _latent_layer(llm: Llm) -> float:
    mla = llm.mla
    if mla is None:
        return 0.0
    query_width = llm.heads * (mla.nope_dim + mla.rope_dim)
    query = (llm.hidden + query_width) * mla.q_lora_rank if mla.q_lora_rank else llm.hidden * query_width
    gate = llm.hidden * llm.heads * mla.v_dim if llm.gated_attention else 0
    return float(
        query
        + gate
        + llm.hidden * (mla.kv_lora_rank + mla.rope_dim)
        + mla.kv_lora_rank * llm.heads * (mla.nope_dim + mla.v_dim)
        + llm.heads * mla.v_dim * llm.hidden
    )


def _compressed_layer(llm: Llm) -> float:
    """Mean over the layers: a compressor makes entry and gate, twice as wide where blocks overlap."""
    shape = llm.compressed
    if shape is None:
        return 0.0
    wide = llm.heads * llm.head_dim
    base = (
        (llm.hidden + wide) * shape.q_lora_rank
        + llm.hidden * llm.head_dim
        + wide * shape.o_lora_rank
        + shape.o_groups * shape.o_lora_rank * llm.hidden
    )
    compressors = sum(
        layers * 2 * (2 if ratio == shape.sparse_ratio else 1) * llm.head_dim * (llm.hidden + ratio / 2)
        for ratio, layers in shape.ratios
        if ratio
    )
    return base + compressors / max(1, llm.layers)


def latent_down_parameters(llm: Llm) -> float:
    """Parameters of the MLA down-projections of one layer: every tensor-parallel rank holds all of them."""
    if llm.compressed:
        return float(llm.hidden * (llm.compressed.q_lora_rank + llm.head_dim))
    if llm.mla is None:
        return 0.0
    return float(llm.hidden * (llm.mla.q_lora_rank + llm.mla.kv_lora_rank + llm.mla.rope_dim))


def shared_expert_parameters(llm: Llm) -> float:
    """Parameters of the shared experts of one layer."""
    if llm.moe is None or not (llm.moe.shared_experts or llm.moe.shared_width):
        return 0.0
    width = llm.moe.shared_width or llm.moe.expert_width
    return float(max(llm.moe.shared_experts, 1) * llm.mlp_matrices * llm.hidden * width)


def expert_parameters(llm: Llm) -> float:
    """Parameters of one routed expert of one layer: gate (where there is one), up and down projection."""
    if llm.moe is None:
        return 0.0
    return float(llm.mlp_matrices * (llm.moe.latent_width or llm.hidden) * llm.moe.expert_width)


def router_parameters(llm: Llm) -> float:
    """Parameters of the router of one layer, and of the projections to and from the width of its experts."""
    if llm.moe is None:
        return 0.0
    return float(llm.hidden * (llm.moe.experts + 2 * llm.moe.latent_width))


def parameters(llm: Llm) -> dict[str, float]:
    """Parameters by part, counted from the architecture.

    Returns
    -------
    dict
        ``embedding``, ``head`` (0 when tied), ``attention`` (recurrent mixers included), ``indexer``, ``dense_mlp``,
        ``experts``, ``shared_experts``, ``router``, ``norms`` (with biases and other small ones), ``vision``; ``total``
        and ``active`` (what one token of text touches: no idle expert, no vision tower); ``mtp`` apart, because
        published totals leave the draft layers out.

    Notes
    -----
    MLPs of three matrices unless ``mlp_matrices`` says two.

    References
    ----------
    Shazeer, "GLU Variants Improve Transformer", 2020, arXiv:2002.05202 (three matrices of an MLP); counts are held
    against published totals in the catalog's tests.
    """
    return dict(_parameters(llm))


@lru_cache(maxsize=512)
def _parameters(llm: Llm) -> tuple[tuple[str, float], ...]:
    with_experts = moe.expert_layers(llm)
    recurrent = llm.linear.layers if llm.linear else 0
    mixer = attention_layer_parameters(llm)
    recurrent_mixer = (llm.linear.layer_params if llm.linear else 0) or mixer
    experts = llm.moe.experts if llm.moe else 0
    table = float(llm.vocab * llm.hidden)
    parts = {
        "embedding": table,
        "head": 0.0 if llm.tied_embeddings else table,
        "attention": attention_layers(llm) * mixer + recurrent * recurrent_mixer,
        "indexer": float(llm.indexer.layers * llm.indexer.layer_params) if llm.indexer else 0.0,
        "dense_mlp": float(dense_layers(llm) * llm.mlp_matrices * llm.hidden * llm.intermediate),
        "experts": with_experts * experts * expert_parameters(llm),
        "shared_experts": with_experts * shared_expert_parameters(llm),
        "router": with_experts * router_parameters(llm),
        "norms": float((2 * llm.layers + 1) * llm.hidden + llm.small_params),
        "vision": float(llm.vision_params),
    }
    total = sum(parts.values())
    idle_experts = with_experts * (experts - llm.moe.top_k) * expert_parameters(llm) if llm.moe else 0.0
    layer = mixer + shared_expert_parameters(llm) + experts * expert_parameters(llm) + router_parameters(llm)
    layer += llm.indexer.layer_params if llm.indexer else 0
    mlp = 0.0 if llm.moe else float(llm.mlp_matrices * llm.hidden * llm.intermediate)
    parts |= {"total": total, "active": total - idle_experts - parts["vision"]}
    parts["mtp"] = llm.mtp_layers * (layer + mlp + 2.0 * llm.hidden * llm.hidden)
    return tuple(parts.items())
