"""Readers of decoders whose experts or windows have shapes of their own: MiniMax, MiMo, Step."""

from __future__ import annotations

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.hf_dense import routed_and_shared
from planner.catalog.importers.hf_layers import (
    DENSE,
    FULL,
    WINDOW,
    Shape,
    chosen_experts,
    decoder,
    drafts,
    experts_or_none,
    first_dense,
    layer_types,
    small,
    with_experts,
    with_window,
)
from planner.catalog.importers.hf_reader import Config


def minimax_m2(config: Config) -> Shape:
    """Experts in every layer, a norm over all query heads together."""
    shape = decoder(config)
    layers = shape["layers"]
    config.mixers = [FULL] * layers
    experts = config.count("num_local_experts")
    shared = config.count("shared_intermediate_size", default=0, least=0)
    shape = with_experts(
        shape,
        config,
        mlps=first_dense(layers=layers, dense=0),
        experts=experts,
        top_k=config.count("num_experts_per_tok"),
        expert_width=shape["intermediate"],
        shared_experts=1 if shared else 0,
        shared_width=shared,
    )
    config.read.update(("attn_type_list", "qk_norm_type", "use_qk_norm"))
    norms = (shape["heads"] + shape["kv_heads"]) * shape["head_dim"] + experts
    return small(drafts(shape, config), layers * norms)


def minimax_m3(config: Config) -> Shape:
    """Grouped attention whose later layers read only blocks that a small indexer chose."""
    shape = decoder(config)
    layers, hidden = shape["layers"], shape["hidden"]
    config.mixers = [FULL] * layers
    mlps, width = experts_or_none(config, layers=layers), shape["intermediate"]
    shape["intermediate"] = (
        config.count("dense_intermediate_size", default=shape["intermediate"]) if DENSE in mlps else 0
    )
    shape = routed_and_shared(shape, config, mlps=mlps, width=width)
    if "moe" in shape and shape["moe"].get("shared_experts"):
        width = config.count("shared_intermediate_size", default=shape["moe"]["shared_width"])
        shape["moe"]["shared_width"] = width
    sparse = config.part("sparse_attention_config")
    if sparse is not None and sparse.flag("use_sparse_attention", default=True):
        heads, width = sparse.count("sparse_num_index_heads"), sparse.count("sparse_index_dim")
        sparse.read.update(sparse.given)
        own = sum(bool(each) for each in sparse.by_layer("sparse_attention_freq", layers=layers)) or layers
        block, chosen = sparse.count("sparse_block_size"), sparse.count("sparse_topk_blocks")
        local = sparse.count("sparse_local_block", default=0, least=0)
        shape["sparse_top_k"] = block * max(chosen, local)
        params = hidden * (heads + 1) * width + 2 * width
        shape["indexer"] = {"heads": heads, "head_dim": width, "layers": own, "layer_params": params}
    config.read.update(("attention_output_gate", "qk_norm_type", "use_qk_norm", "use_gemma_norm", "swiglu_alpha"))
    return small(drafts(shape, config), layers * 2 * shape["head_dim"])


def mimo(config: Config) -> Shape:
    """MiMo-7B: biases of query, key and value, draft layers behind."""
    shape = decoder(config)
    config.mixers = [FULL] * shape["layers"]
    biased = config.flag("attention_bias", default=True)
    widths = (shape["heads"] + 2 * shape["kv_heads"]) * shape["head_dim"]
    return small(drafts(shape, config), shape["layers"] * widths if biased else 0)


def mimo_v2(config: Config) -> Shape:
    """Windows with more key-value heads than the full layers; values narrower than keys."""
    shape = decoder(config)
    layers = shape["layers"]
    shape["v_dim"] = config.count("v_head_dim", default=shape["head_dim"])
    own = {
        "heads": config.count("swa_num_attention_heads", default=shape["heads"]),
        "kv_heads": config.count("swa_num_key_value_heads", default=shape["kv_heads"]),
        "head_dim": config.count("swa_head_dim", default=shape["head_dim"]),
        "v_dim": config.count("swa_v_head_dim", default=shape["v_dim"]),
    }
    pattern = config.by_layer("hybrid_layer_pattern", layers=layers)
    types = layer_types(config, layers=layers) or [WINDOW if each else FULL for each in pattern]
    if not types:
        raise ImportProblem(None, "hybrid_layer_pattern", "is missing from the configuration")
    shape = with_window(shape, config, mixers=types, **own)
    config.read.update(("attention_chunk_size", "attention_value_scale", "swa_rope_theta"))
    config.read.update(("add_swa_attention_sink_bias", "add_full_attention_sink_bias"))
    shape = routed_and_shared(shape, config)
    return small(drafts(shape, config), types.count(WINDOW) * own["heads"])


def step(config: Config) -> Shape:
    """Step-3.5 and 3.7: windows with query heads of their own, a gate for each head, experts in most layers."""
    shape = decoder(config)
    layers, hidden = shape["layers"], shape["hidden"]
    shape["kv_heads"] = config.count("num_attention_groups", "num_key_value_heads", default=shape["kv_heads"])
    config.read.update(("num_attention_groups", "num_key_value_heads", "n_shared_experts"))
    types = layer_types(config, layers=layers) or [FULL] * layers
    other = config.part("attention_other_setting")
    heads = other.count("num_attention_heads", default=shape["heads"]) if other else shape["heads"]
    if other:
        other.read.update(other.given)
    own = {"heads": heads} if heads != shape["heads"] else {}
    shape = with_window(shape, config, mixers=types, **own)
    listed = config.text("moe_layers_enum") if isinstance(config.values.get("moe_layers_enum"), str) else ""
    places = [int(each) for each in listed.split(",") if each.strip().isdigit()]
    mlps = chosen_experts(places, layers=layers) if places else experts_or_none(config, layers=layers)
    shape = with_experts(
        shape,
        config,
        mlps=mlps,
        experts=config.count("moe_num_experts", "num_experts"),
        top_k=config.count("moe_top_k", "num_experts_per_tok"),
        expert_width=config.count("moe_intermediate_size"),
        shared_experts=1,
        shared_width=config.count("share_expert_dim", "share_expert_dims", default=shape["intermediate"]),
    )
    gates = hidden * sum(heads if kind == WINDOW else shape["heads"] for kind in types)
    router = (layers - mlps.count(DENSE)) * shape["moe"]["experts"] if "moe" in shape else 0
    return small(drafts(shape, config), gates + layers * 2 * shape["head_dim"] + router)
