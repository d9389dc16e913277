"""Readers of decoders that mix attention with Mamba layers."""

from __future__ import annotations

from planner.catalog.importers import ImportProblem, excerpt
from planner.catalog.importers.hf_layers import (
    DENSE,
    EXPERTS,
    FULL,
    LINEAR,
    NO_MIXER,
    NO_MLP,
    Shape,
    chosen_experts,
    decoder,
    drafts,
    first_dense,
    layer_types,
    small,
    with_experts,
)
from planner.catalog.importers.hf_reader import Config
from planner.catalog.importers.hf_recurrent import recurrent, state_width

_PATTERN = {"M": (LINEAR, NO_MLP), "*": (FULL, NO_MLP), "-": (NO_MIXER, DENSE), "E": (NO_MIXER, EXPERTS)}
_BLOCKS = {"mamba": "M", "linear_attention": "M", "attention": "*", "full_attention": "*", "mlp": "-", "moe": "E"}


def nemotron_h(config: Config) -> Shape:
    """A layer is one thing only: Mamba-2, attention, an MLP or experts, as a pattern says."""
    pattern = _pattern(config)
    shape = decoder(config, intermediate=0, head_dim=128, layers=len(pattern))
    layers, hidden = len(pattern), shape["hidden"]
    if "-" not in pattern:
        shape["intermediate"] = 0
    config.mixers = [_PATTERN[sign][0] for sign in pattern]
    mlps = [_PATTERN[sign][1] for sign in pattern]
    shape |= {"mlp_matrices": 2}
    if plain := config.mixers.count(NO_MIXER):
        shape["plain_layers"] = plain
    shape = _mamba2(shape, config, mixers=config.mixers, names=_NEMOTRON)
    config.mlps = mlps
    if EXPERTS in mlps:
        experts = config.count("n_routed_experts")
        shared = config.count("n_shared_experts", default=0, least=0)
        shape = with_experts(
            shape,
            config,
            mlps=mlps,
            experts=experts,
            top_k=config.count("num_experts_per_tok"),
            expert_width=config.count("moe_intermediate_size"),
            shared_experts=shared,
            shared_width=config.count("moe_shared_expert_intermediate_size") if shared else 0,
            latent_width=config.count("moe_latent_size", default=0, least=0),
        )
        shape["moe"] = {**shape["moe"], "layers": mlps.count(EXPERTS)}
        shape["moe"].pop("every", None)
        shape["moe"].pop("first_dense_layers", None)
        shape = small(shape, mlps.count(EXPERTS) * experts)
    shape["dense_layers"] = mlps.count(DENSE)
    config.read.update(("mtp_hybrid_override_pattern", "mtp_layers_block_type", "moe_shared_expert_overlap"))
    return drafts(small(shape, -layers * hidden), config)


def _pattern(config: Config) -> str:
    words = config.words("layers_block_type")
    if words:
        if unknown := next((word for word in words if word not in _BLOCKS), None):
            raise ImportProblem(None, "layers_block_type", f"“{excerpt(unknown)}” is not a known kind of layer")
        return "".join(_BLOCKS[word] for word in words)
    pattern = config.text("hybrid_override_pattern")
    if not pattern or set(pattern) - set(_PATTERN):
        raise ImportProblem(None, "hybrid_override_pattern", "must be a word of the signs M, *, - and E")
    return pattern


_NEMOTRON = {
    "heads": "mamba_num_heads",
    "width": "mamba_head_dim",
    "groups": "n_groups",
    "state": "ssm_state_size",
    "kernel": "conv_kernel",
    "biased": "use_conv_bias",
    "usual": "float32",
}
_GRANITE = {
    "heads": "mamba_n_heads",
    "width": "mamba_d_head",
    "groups": "mamba_n_groups",
    "state": "mamba_d_state",
    "kernel": "mamba_d_conv",
    "biased": "mamba_conv_bias",
    "usual": "bfloat16",
}


def _mamba2(shape: Shape, config: Config, *, mixers: list[str], names: dict[str, str], norm: bool = True) -> Shape:
    """Mamba-2: one projection in (gate, input, B, C, step), a convolution, one out; a state for each head."""
    hidden, heads = shape["hidden"], config.count(names["heads"])
    inner = _inner(config, hidden=hidden, heads=heads, width_key=names["width"])
    groups, states = config.count(names["groups"], default=1), config.count(names["state"])
    kernel = config.count(names["kernel"], default=4)
    channels = inner + 2 * groups * states
    params = hidden * (inner + channels + heads) + inner * hidden + channels * kernel + 3 * heads
    params += inner if norm else 0
    params += channels if config.flag(names["biased"], default=True) else 0
    config.flag("mamba_proj_bias", default=False)
    return recurrent(
        shape,
        config,
        mixers=mixers,
        kind="mamba2",
        state=inner * states * state_width(config, "mamba_ssm_cache_dtype", "mamba_ssm_dtype", usual=names["usual"]),
        convolution=channels * (kernel - 1),
        params=params,
    )


def _inner(config: Config, *, hidden: int, heads: int, width_key: str) -> int:
    """Width of the state's input: given, heads × head, or an expansion of the hidden width."""
    config.read.update((width_key, "mamba_expand"))
    if config.has("mamba_d_ssm"):
        return config.count("mamba_d_ssm")
    if config.values.get(width_key) not in (None, "auto"):
        config.read.add("mamba_expand")
        return heads * config.count(width_key)
    config.read.add(width_key)
    return config.count("mamba_expand", default=2) * hidden


def granite(config: Config) -> Shape:
    """Granite 4: Mamba-2 or attention, then experts and a shared expert (or that one alone) in every layer."""
    shape = decoder(config, tied=True)
    layers, shared = shape["layers"], config.count("shared_intermediate_size")
    mixers = layer_types(config, layers=layers) or [LINEAR] * layers
    if LINEAR in mixers:
        shape = _mamba2(shape, config, mixers=mixers, names=_GRANITE)
    config.mixers = mixers
    experts = config.count("num_local_experts", default=0, least=0)
    width = shape["intermediate"]
    if not experts:
        config.mlps = [DENSE] * layers
        shape["intermediate"] = shared
        config.read.add("num_experts_per_tok")
        return shape
    shape["intermediate"] = 0
    return with_experts(
        shape,
        config,
        mlps=first_dense(layers=layers, dense=0),
        experts=experts,
        top_k=config.count("num_experts_per_tok"),
        expert_width=width,
        shared_experts=1,
        shared_width=shared,
    )


def falcon_h1(config: Config) -> Shape:
    """Falcon-H1: attention and Mamba-2 side by side in every layer."""
    shape = decoder(config)
    layers = shape["layers"]
    gated = config.flag("mamba_rms_norm", default=False)
    shape = _mamba2(shape, config, mixers=[LINEAR] * layers, names=_GRANITE, norm=gated)
    shape["linear"]["beside_attention"] = True
    config.mixers, config.mlps = [FULL] * layers, [DENSE] * layers
    return shape


def jamba(config: Config) -> Shape:
    """Jamba: Mamba but for every n-th layer, experts in every m-th."""
    shape = decoder(config)
    layers, hidden = shape["layers"], shape["hidden"]
    period, offset = config.count("attn_layer_period", default=8), config.count("attn_layer_offset", default=4, least=0)
    mixers = [FULL if place % period == offset else LINEAR for place in range(layers)]
    inner = config.count("mamba_expand", default=2) * hidden
    states, kernel = config.count("mamba_d_state", default=16), config.count("mamba_d_conv", default=4)
    steps = -(-hidden // 16) if config.values.get("mamba_dt_rank", "auto") == "auto" else config.count("mamba_dt_rank")
    config.read.add("mamba_dt_rank")
    params = hidden * 2 * inner + inner * (steps + 2 * states) + steps * inner + inner * hidden
    params += inner * (kernel + states + 3) + steps + 2 * states
    shape = recurrent(
        shape,
        config,
        mixers=mixers,
        kind="mamba",
        state=inner * states * state_width(config, "mamba_ssm_dtype"),
        convolution=inner * (kernel - 1),
        params=params,
    )
    every = config.count("expert_layer_period", default=2)
    first = config.count("expert_layer_offset", default=1, least=0)
    experts = config.count("num_experts", default=16)
    config.flag("mamba_conv_bias", default=True), config.flag("mamba_proj_bias", default=False)
    places = [place for place in range(layers) if place % every == first] if experts > 1 else []
    return with_experts(
        shape,
        config,
        mlps=chosen_experts(places, layers=layers),
        experts=experts,
        top_k=config.count("num_experts_per_tok", default=2),
        expert_width=shape["intermediate"],
    )
