"""Readers of decoders that mix attention with linear attention: delta nets and lightning attention."""

from __future__ import annotations

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.hf_dense import qwen_experts, routed_and_shared
from planner.catalog.importers.hf_latent import latent
from planner.catalog.importers.hf_layers import (
    DENSE,
    FULL,
    LINEAR,
    Shape,
    decoder,
    drafts,
    first_dense,
    layer_types,
    small,
    with_experts,
)
from planner.catalog.importers.hf_reader import Config
from planner.catalog.importers.hf_recurrent import recurrent, state_width


def qwen_hybrid(config: Config) -> Shape:
    """Qwen3-Next and Qwen3.5: gated delta nets, every n-th layer full attention with an output gate."""
    shape = decoder(config, intermediate=0, head_dim=256)
    layers, hidden = shape["layers"], shape["hidden"]
    shape["gated_attention"] = config.flag("attn_output_gate", default=True)
    interval = config.count("full_attention_interval", default=4)
    usual = [FULL if (place + 1) % interval == 0 else LINEAR for place in range(layers)]
    mixers = layer_types(config, layers=layers) or usual
    key_heads, value_heads = config.count("linear_num_key_heads"), config.count("linear_num_value_heads")
    key_width, value_width = config.count("linear_key_head_dim"), config.count("linear_value_head_dim")
    keys, values = key_heads * key_width, value_heads * value_width
    kernel = config.count("linear_conv_kernel_dim", default=4)
    channels = 2 * keys + values
    projections = hidden * (channels + values + 2 * value_heads) + values * hidden
    shape = recurrent(
        shape,
        config,
        mixers=mixers,
        kind="gated delta net",
        state=value_heads * key_width * value_width * state_width(config, "mamba_ssm_dtype"),
        convolution=channels * (kernel - 1),
        params=projections + channels * kernel + 2 * value_heads + value_width,
    )
    if not config.has("num_experts"):
        if not config.has("intermediate_size"):
            raise ImportProblem(None, "intermediate_size", "is missing from the configuration")
        config.mlps = [DENSE] * layers
    else:
        shape = qwen_experts(shape, config)
        shape["intermediate"] = shape["intermediate"] if shape["moe"].get("layers") else 0
    shape = small(shape, 2 * mixers.count(FULL) * shape["head_dim"])
    return drafts(shape, config)


def minimax_lightning(config: Config) -> Shape:
    """MiniMax-01 and M1: lightning attention, every eighth layer softmax; experts in all."""
    shape = decoder(config)
    layers, hidden, heads, width = shape["layers"], shape["hidden"], shape["heads"], shape["head_dim"]
    kinds = config.numbers("attn_type_list")
    if kinds and len(kinds) < layers:
        raise ImportProblem(None, "attn_type_list", f"has {len(kinds)} entries for {layers} layers")
    usual = layer_types(config, layers=layers) or [FULL if (place + 1) % 8 == 0 else LINEAR for place in range(layers)]
    mixers = [FULL if each else LINEAR for each in kinds[:layers]] or usual
    shape = recurrent(
        shape,
        config,
        mixers=mixers,
        kind="lightning attention",
        state=heads * width * width * state_width(config, "lightning_state_dtype", usual="float32"),
        convolution=0,
        params=5 * hidden * heads * width + heads * width,
    )
    return with_experts(
        shape,
        config,
        mlps=first_dense(layers=layers, dense=0),
        experts=config.count("num_local_experts"),
        top_k=config.count("num_experts_per_tok"),
        expert_width=shape["intermediate"],
        shared_experts=1 if config.has("shared_intermediate_size") else 0,
        shared_width=config.count("shared_intermediate_size", default=0, least=0),
    )


def kimi_linear(config: Config) -> Shape:
    """Kimi-Linear and Kimi-K3: delta attention with a gate for each channel, latent attention in the rest."""
    shape = latent(config)
    layers, hidden = shape["layers"], shape["hidden"]
    inner = config.part("linear_attn_config")
    if inner is None:
        raise ImportProblem(None, "linear_attn_config", "is missing from the configuration")
    chosen = set(inner.numbers("kda_layers"))
    inner.read.add("full_attn_layers")
    mixers = [LINEAR if place + 1 in chosen else FULL for place in range(layers)]
    heads, width = inner.count("num_heads"), inner.count("head_dim")
    wide, kernel = heads * width, inner.count("short_conv_kernel_size", default=4)
    full_rank = inner.flag("use_full_rank_gate", default=False)
    gate = hidden * wide if full_rank else (hidden + wide) * width
    params = 4 * hidden * wide + gate + (hidden + wide) * width + hidden * heads + 3 * wide * kernel + wide + heads
    shape["gated_attention"] = config.flag("mla_use_output_gate", default=False)
    config.flag("mla_use_nope", default=False)
    shape = recurrent(
        shape,
        config,
        mixers=mixers,
        kind="kimi delta attention",
        state=heads * width * width * state_width(config, "mamba_ssm_dtype", usual="float32"),
        convolution=3 * wide * (kernel - 1),
        params=params + width,
    )
    shape = drafts(routed_and_shared(shape, config), config)
    if "moe" in shape and config.has("routed_expert_hidden_size"):
        shape["moe"]["latent_width"] = config.count("routed_expert_hidden_size")
    config.read.update(("attn_res_block_size", "latent_moe_use_norm"))
    return shape
