"""Readers of decoders with attention in every layer: dense ones and those with experts."""

from __future__ import annotations

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.hf_layers import (
    BOTH,
    DENSE,
    FULL,
    WINDOW,
    Shape,
    biases,
    chosen_experts,
    decoder,
    drafts,
    experts_or_none,
    first_dense,
    layer_types,
    small,
    windowed,
    with_experts,
    with_window,
)
from planner.catalog.importers.hf_reader import Config

_MOST_STRETCH = 1000


def dense(config: Config) -> Shape:
    """Llama and those built like it; windows where ``layer_types`` names some."""
    shape = decoder(config)
    types = layer_types(config, layers=shape["layers"]) or [FULL] * shape["layers"]
    biased = config.flag("attention_bias", default=False)
    return small(with_window(shape, config, mixers=types), biases(shape, query=biased, output=biased))


def tied(config: Config) -> Shape:
    """Cohere's Command: like Llama with tied embeddings and one norm a layer."""
    shape = decoder(config, tied=True)
    types = layer_types(config, layers=shape["layers"])
    pattern = config.count("sliding_window_pattern", default=0, least=0)
    if not types and config.has("sliding_window"):
        types = _every_nth_full(shape["layers"], pattern or 4)
    shape = with_window(shape, config, mixers=types or [FULL] * shape["layers"])
    return small(shape, -shape["layers"] * shape["hidden"])


def two_matrices(config: Config) -> Shape:
    """Nemotron-4: squared ReLU without a gate, norms with a bias."""
    shape = dense(config) | {"mlp_matrices": 2}
    return small(shape, (2 * shape["layers"] + 1) * shape["hidden"])


def mistral(config: Config) -> Shape:
    """A window over all layers, where there is one."""
    shape = decoder(config)
    types = layer_types(config, layers=shape["layers"]) or [WINDOW] * shape["layers"]
    return with_window(shape, config, mixers=types)


def qwen2(config: Config) -> Shape:
    """Biases of query, key and value; the window is off unless ``use_sliding_window`` is set."""
    shape = _qwen(config)
    return small(shape, biases(shape, query=True, output=False))


def qwen3(config: Config) -> Shape:
    """Norms of queries and keys; biases only where the configuration says so."""
    shape = _qwen(config)
    biased = config.flag("attention_bias", default=False)
    return small(_query_norms(shape), biases(shape, query=biased, output=biased))


def _query_norms(shape: Shape) -> Shape:
    return small(shape, 2 * shape["layers"] * shape["head_dim"])


def _qwen(config: Config) -> Shape:
    """The window is off unless ``use_sliding_window``, then in the layers past max_window_layers."""
    shape = decoder(config)
    layers = shape["layers"]
    types = layer_types(config, layers=layers)
    if not config.flag("use_sliding_window", default=False):
        config.read.add("sliding_window")
        config.mixers = [FULL] * layers
        return shape
    first = min(layers, config.count("max_window_layers", default=0, least=0))
    return with_window(shape, config, mixers=types or [FULL] * first + [WINDOW] * (layers - first))


def gemma2(config: Config) -> Shape:
    shape = decoder(config, tied=True)
    types = layer_types(config, layers=shape["layers"])
    alternating = [WINDOW if place % 2 == 0 else FULL for place in range(shape["layers"])]
    return small(with_window(shape, config, mixers=types or alternating), 2 * shape["layers"] * shape["hidden"])


def gemma3(config: Config) -> Shape:
    """One full layer after every ``sliding_window_pattern`` − 1 with a window."""
    shape = decoder(config, tied=True)
    types = layer_types(config, layers=shape["layers"])
    pattern = config.count("sliding_window_pattern", "_sliding_window_pattern", default=6)
    shape = with_window(shape, config, mixers=types or _every_nth_full(shape["layers"], pattern))
    shape |= _stretched_rotary(config, positions=shape["max_context_tokens"])
    return small(_query_norms(shape), 2 * shape["layers"] * shape["hidden"])


def _stretched_rotary(config: Config, *, positions: int) -> Shape:
    """Linear scaling stretches the table of the full layers by its factor; windows have a plain one of their own."""
    scaling = config.part("rope_scaling")
    if scaling is None or "linear" not in (scaling.text("rope_type"), scaling.text("type")):
        return {}
    factor = scaling.values.get("factor")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 <= factor <= _MOST_STRETCH:
        raise ImportProblem(None, "rope_scaling", "of the linear kind has a factor from 1 to 1,000")
    return {"rotary_positions": round(positions * (factor + 1))}


def _every_nth_full(layers: int, pattern: int) -> list[str]:
    return [FULL if (place + 1) % pattern == 0 else WINDOW for place in range(layers)]


def gemma4(config: Config) -> Shape:
    """Full layers with wider and fewer heads, keys and values by one projection; experts beside the dense MLP."""
    for key, reason in (
        ("num_kv_shared_layers", "layers that reuse the cache of another are not supported yet"),
        ("hidden_size_per_layer_input", "embeddings for each layer are not supported yet"),
    ):
        config.refuse(key, reason)
    shape = decoder(config, tied=True)
    layers, kv_heads, width = shape["layers"], shape["kv_heads"], shape["head_dim"]
    types = layer_types(config, layers=layers) or _every_nth_full(layers, 6)
    same = config.flag("attention_k_eq_v", default=False)
    full_width = config.count("global_head_dim", default=width)
    full_heads = config.count("num_global_key_value_heads", default=kv_heads) if same else kv_heads
    shape |= {"kv_heads": full_heads, "head_dim": full_width, "shared_kv_projection": same}
    own = {"kv_heads": kv_heads, "head_dim": width} if (kv_heads, width) != (full_heads, full_width) else {}
    shape = with_window(shape, config, mixers=types, **own)
    norms = 2 * layers * shape["hidden"] + layers
    norms += 2 * sum(full_width if kind == FULL else width for kind in types)
    if config.flag("enable_moe_block", default=False):
        experts = config.count("num_experts")
        shape = with_experts(
            shape,
            config,
            mlps=[BOTH] * layers,
            experts=experts,
            top_k=config.count("top_k_experts", "num_experts_per_tok"),
            expert_width=config.count("moe_intermediate_size"),
        )
        norms += layers * (4 * shape["hidden"] + experts)
    config.read.update(("use_double_wide_mlp", "sliding_window_pattern"))
    return small(shape, norms)


def mixtral(config: Config) -> Shape:
    shape = mistral(config)
    return _all_experts(shape, config, width=shape["intermediate"])


def _all_experts(shape: Shape, config: Config, *, width: int) -> Shape:
    return with_experts(
        shape,
        config,
        mlps=first_dense(layers=shape["layers"], dense=0),
        experts=config.count("num_local_experts", "num_experts"),
        top_k=config.count("num_experts_per_tok", "experts_per_token"),
        expert_width=width,
    )


def phi_moe(config: Config) -> Shape:
    """Phi-3.5-MoE: Mixtral with biases and norms that have one."""
    shape = mixtral(config)
    biased = config.flag("attention_bias", default=False)
    extra = biases(shape, query=biased, output=biased) + (2 * shape["layers"] + 1) * shape["hidden"]
    extra += shape["vocab"] if config.flag("lm_head_bias", default=False) else 0
    return small(shape, extra)


def qwen2_moe(config: Config) -> Shape:
    return qwen_experts(qwen2(config), config)


def qwen3_moe(config: Config) -> Shape:
    return qwen_experts(qwen3(config), config)


def qwen_experts(shape: Shape, config: Config) -> Shape:
    """Experts in every ``decoder_sparse_step``-th layer but those of ``mlp_only_layers``; one shared expert, gated."""
    layers, step = shape["layers"], config.count("decoder_sparse_step", default=1)
    left_out = set(config.numbers("mlp_only_layers"))
    places = [place for place in range(layers) if place not in left_out and (place + 1) % step == 0]
    shared = config.count("shared_expert_intermediate_size", default=0, least=0)
    shape = with_experts(
        shape,
        config,
        mlps=chosen_experts(places, layers=layers),
        experts=config.count("num_experts", "num_local_experts"),
        top_k=config.count("num_experts_per_tok"),
        expert_width=config.count("moe_intermediate_size"),
        shared_experts=1 if shared else 0,
        shared_width=shared,
    )
    return small(shape, len(places) * shape["hidden"] if shared else 0)


def gpt_oss(config: Config) -> Shape:
    """Biases everywhere, a sink for each head."""
    shape = decoder(config)
    layers = shape["layers"]
    alternating = [WINDOW if place % 2 == 0 else FULL for place in range(layers)]
    types = layer_types(config, layers=layers) or alternating
    shape = _all_experts(with_window(shape, config, mixers=types), config, width=shape["intermediate"])
    moe = shape["moe"]
    extra = biases(shape, query=True, output=True) + layers * shape["heads"]
    extra += layers * moe["experts"] * (1 + 2 * moe["expert_width"] + shape["hidden"])
    config.flag("attention_bias", default=True)
    return small(shape, extra)


def llama4(config: Config) -> Shape:
    """Chunked attention with rotary embedding; every fourth layer full and without. Experts in every n-th layer."""
    dense_width = config.count("intermediate_size_mlp", default=16_384)
    shape = decoder(config)
    layers, width = shape["layers"], shape["intermediate"]
    shape["intermediate"] = dense_width
    rotary = config.by_layer("no_rope_layers", layers=layers)
    interval = config.count("no_rope_layer_interval", default=4)
    chunked = [bool(each) for each in rotary] or [(place + 1) % interval != 0 for place in range(layers)]
    types = layer_types(config, layers=layers) or [WINDOW if each else FULL for each in chunked]
    chunk = config.count("attention_chunk_size", default=8192)
    shape = windowed(shape, config, mixers=types, window=chunk, chunked=True)
    places = config.numbers("moe_layers")
    step = config.count("interleave_moe_layer_step", default=1, least=0)
    every = [place for place in range(layers) if step and (place + 1) % step == 0]
    return with_experts(
        shape,
        config,
        mlps=chosen_experts(places or every, layers=layers),
        experts=config.count("num_local_experts"),
        top_k=config.count("num_experts_per_tok", default=1),
        expert_width=width,
        shared_experts=1,
        shared_width=width,
    )


def glm4_moe(config: Config) -> Shape:
    """Some dense layers first, shared experts, draft layers behind (GLM-4.5, dots.llm1)."""
    shape = decoder(config)
    types = layer_types(config, layers=shape["layers"]) or [FULL] * shape["layers"]
    shape = routed_and_shared(with_window(shape, config, mixers=types), config)
    biased = config.flag("attention_bias", default=False)
    shape = _query_norms(shape) if config.flag("use_qk_norm", default=False) else shape
    return small(drafts(shape, config), biases(shape, query=biased, output=False))


def _groups(config: Config) -> dict[str, int]:
    """Groups of experts of which a token first chooses some (node-limited routing)."""
    config.read.update(("n_group", "topk_group"))
    groups = config.count("n_group", default=1, least=0)
    return {"groups": groups, "groups_chosen": config.count("topk_group")} if groups > 1 else {}


def routed_and_shared(
    shape: Shape, config: Config, *, mlps: list[str] | None = None, width: int | None = None
) -> Shape:
    """Experts as DeepSeek-V2 and those after it write them."""
    layers = shape["layers"]
    width = config.count("moe_intermediate_size", default=width)
    shared = config.count("n_shared_experts", "num_shared_experts", default=0, least=0)
    own = mlps or experts_or_none(config, layers=layers)
    shape = with_experts(
        shape,
        config,
        mlps=own,
        experts=config.count("n_routed_experts", "num_experts", "num_local_experts"),
        top_k=config.count("num_experts_per_tok", "num_experts_per_token"),
        expert_width=width,
        shared_experts=shared,
        shared_width=config.count("shared_expert_dim", "share_expert_dim", default=width) if shared else 0,
        **_groups(config),
    )
    return small(shape, sum(mlp != DENSE for mlp in own) * shape["moe"]["experts"] if "moe" in shape else 0)
