"""Readers of latent attention: DeepSeek and those built like it, with and without an indexer, and compressed caches."""

from __future__ import annotations

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.hf_dense import routed_and_shared
from planner.catalog.importers.hf_layers import FULL, Shape, decoder, drafts, first_dense, small
from planner.catalog.importers.hf_reader import Config


def deepseek(config: Config) -> Shape:
    """Multi-head latent attention, dense layers first, then experts; an indexer where the configuration has one."""
    return with_indexer(drafts(routed_and_shared(latent(config), config), config), config)


def latent(config: Config) -> Shape:
    """Shapes of latent attention; the head's width is that of its query, both parts together."""
    nope, rope = config.count("qk_nope_head_dim"), config.count("qk_rope_head_dim")
    shape = decoder(config, head_dim=nope + rope)
    shape["head_dim"] = nope + rope
    query, key_value = config.count("q_lora_rank", default=0, least=0), config.count("kv_lora_rank")
    shape["mla"] = {
        "kv_lora_rank": key_value,
        "rope_dim": rope,
        "q_lora_rank": query,
        "nope_dim": nope,
        "v_dim": config.count("v_head_dim"),
    }
    config.mixers = [FULL] * shape["layers"]
    config.flag("attention_bias", default=False)
    config.read.add("layer_types")
    return small(shape, shape["layers"] * (query + key_value))


def with_indexer(shape: Shape, config: Config) -> Shape:
    """The lightning indexer: query heads from the low-rank query, one key head, a weight for each head."""
    if not config.has("index_topk"):
        return shape
    heads, width = config.count("index_n_heads"), config.count("index_head_dim")
    layers = shape["layers"]
    own = config.words("indexer_types")
    if own and len(own) < layers:
        raise ImportProblem(None, "indexer_types", f"has {len(own)} entries for {layers} layers")
    shape["sparse_top_k"] = config.count("index_topk")
    query = shape["mla"]["q_lora_rank"] or shape["hidden"]
    shape["indexer"] = {
        "heads": heads,
        "head_dim": width,
        "layers": own[:layers].count("full") if own else layers,
        "layer_params": query * heads * width + shape["hidden"] * (width + heads) + 2 * width,
    }
    if own[:layers].count("full") not in (0, layers):
        shape["indexer"]["sparse_layers"] = layers
    config.read.update(
        ("index_topk_freq", "index_skip_topk_offset", "index_share_for_mtp_iteration", "index_topk_pattern")
    )
    return shape


def deepseek_v4(config: Config) -> Shape:
    """One latent as key and value of all heads; each layer keeps a window and compressed entries of what is older."""
    width, rope = config.count("head_dim"), config.count("qk_rope_head_dim", default=64)
    shape = decoder(config, intermediate=0) | {"intermediate": 0}
    layers, hidden = shape["layers"], shape["hidden"]
    ratios = config.by_layer("compress_ratios", layers=layers)
    if not ratios:
        raise ImportProblem(None, "compress_ratios", "is missing from the configuration")
    if 1 in ratios:
        raise ImportProblem(None, "compress_ratios", "a ratio of 1 compresses nothing; 0 means the window alone")
    sparse = min((ratio for ratio in ratios if ratio), default=0)
    heads, index_width = config.count("index_n_heads"), config.count("index_head_dim")
    shape["compressed"] = {
        "window": config.count("sliding_window"),
        "ratios": [{"ratio": ratio, "layers": ratios.count(ratio)} for ratio in sorted(set(ratios))],
        "q_lora_rank": config.count("q_lora_rank"),
        "o_groups": config.count("o_groups"),
        "o_lora_rank": config.count("o_lora_rank"),
        "rope_dim": rope,
        "sparse_ratio": sparse,
    }
    shape["sparse_top_k"] = config.count("index_topk")
    entry = 2 * 2 * index_width * (hidden + sparse / 2) + hidden * heads
    params = int(shape["compressed"]["q_lora_rank"] * heads * index_width + entry) + index_width
    shape["indexer"] = {"heads": heads, "head_dim": index_width, "layers": ratios.count(sparse), "layer_params": params}
    config.mixers = [FULL] * layers
    shape = routed_and_shared(shape, config, mlps=first_dense(layers=layers, dense=0))
    mult = config.count("hc_mult", default=1)
    connections = 2 * (2 + mult) * mult * (mult * hidden + 1) + 6
    norms = shape["compressed"]["q_lora_rank"] + width
    config.read.update(("expert_dtype", "num_hash_layers", "hc_sinkhorn_iters", "compress_rope_theta"))
    extra = layers * (connections + norms + shape["heads"]) + mult * (mult * hidden + 1) + 1
    return small(drafts(shape, config), extra)
