"""Parameters of a vision tower and its projector, from ``vision_config``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.catalog.importers.hf_reader import MOST_LAYERS, Config

_UNCOUNTED = "The vision tower (model_type “{kind}”) is not known and not counted."


def vision_params(config: Config, *, hidden: int) -> int:
    """Parameters of the tower and projector in front of a decoder of this width; 0 where there is none."""
    tower = config.part("vision_config")
    if tower is None:
        return 0
    kind = tower.text("model_type").removesuffix("_vision") or ("kimi" if "vt_hidden_size" in tower.values else "")
    reader = TOWERS.get(kind)
    if reader is None:
        config.remarks.append(_UNCOUNTED.format(kind=kind[:40]))
        return 0
    return reader(tower, config, hidden)


def _block(width: int, inner: int, *, biased: bool = True, matrices: int = 2, norms: int = 2) -> int:
    """A transformer block: attention of four square projections, an MLP, norms."""
    params = 4 * width * width + matrices * width * inner + norms * width * (2 if biased else 1)
    return params + (5 * width + inner if biased else 0)


def _qwen(tower: Config, config: Config, hidden: int) -> int:
    """Qwen3-VL and Qwen3.5: a merger of four patches, and one more for each layer whose features go in deeper."""
    del config
    width, inner = tower.count("hidden_size"), tower.count("intermediate_size")
    depth, out = tower.count("depth", most=MOST_LAYERS), tower.count("out_hidden_size", default=hidden)
    pixels = tower.count("in_channels", default=3) * tower.count("temporal_patch_size", default=2)
    patch = tower.count("patch_size", default=16)
    merged = width * tower.count("spatial_merge_size", default=2) ** 2
    mergers = merged * merged + merged + merged * out + out
    deep = len(tower.numbers("deepstack_visual_indexes"))
    embedding = (pixels * patch * patch + 1) * width + tower.count("num_position_embeddings", default=2304) * width
    return depth * _block(width, inner) + embedding + (1 + deep) * mergers + 2 * width + deep * 2 * merged


def _siglip(tower: Config, config: Config, hidden: int) -> int:
    """SigLIP behind Gemma 3: learnt positions, one projection."""
    del config
    width, inner = tower.count("hidden_size"), tower.count("intermediate_size")
    layers, patch = tower.count("num_hidden_layers", most=MOST_LAYERS), tower.count("patch_size", default=14)
    places = (tower.count("image_size", default=896) // patch) ** 2
    embedding = (3 * patch * patch + 1 + places) * width
    return layers * _block(width, inner) + embedding + 2 * width + width * hidden + width


def _gemma4(tower: Config, config: Config, hidden: int) -> int:
    """Gemma 4: gated MLP, four norms, two tables of positions."""
    del config
    width, inner = tower.count("hidden_size"), tower.count("intermediate_size")
    layers, patch = tower.count("num_hidden_layers", most=MOST_LAYERS), tower.count("patch_size", default=16)
    head = tower.count("head_dim", default=width // tower.count("num_attention_heads"))
    blocks = layers * (_block(width, inner, biased=False, matrices=3, norms=4) + 2 * head)
    places = 2 * tower.count("position_embedding_size", default=10_240)
    return blocks + (3 * patch * patch + places) * width + width * hidden


def _kimi(tower: Config, config: Config, hidden: int) -> int:
    """MoonViT: a merger of four patches; Kimi-K3's has attention of another width and no biases."""
    del config
    width, inner = (
        tower.count("vt_hidden_size", "hidden_size"),
        tower.count("vt_intermediate_size", "intermediate_size"),
    )
    layers = tower.count("vt_num_hidden_layers", "num_hidden_layers", most=MOST_LAYERS)
    patch = tower.count("patch_size", default=14)
    places = tower.count("init_pos_emb_height", default=64) * tower.count("init_pos_emb_width", default=64)
    attention = tower.count("qkv_hidden_size", default=width)
    biased = tower.flag("linear_bias", default=True)
    blocks = layers * (_block(width, inner, biased=biased) + 4 * width * (attention - width))
    merged, out = 4 * width, tower.count("text_hidden_size", default=hidden)
    projector = merged * merged + merged + merged * out + out + 2 * width
    return blocks + (3 * patch * patch + 1 + places) * width + 2 * width + projector


def _pixtral(tower: Config, config: Config, hidden: int) -> int:
    """Pixtral behind Mistral Small 3: gated MLP, rotary positions, a merger of patches."""
    width, inner = tower.count("hidden_size"), tower.count("intermediate_size")
    layers, patch = tower.count("num_hidden_layers", most=MOST_LAYERS), tower.count("patch_size", default=16)
    blocks = layers * _block(width, inner, biased=False, matrices=3)
    merge = config.count("spatial_merge_size", default=1)
    merger = merge * merge * width * width + width if merge > 1 else 0
    biased = 2 * hidden if config.flag("multimodal_projector_bias", default=merge == 1) else 0
    return blocks + (3 * patch * patch + 1) * width + merger + width * hidden + hidden * hidden + biased


def _llama4(tower: Config, config: Config, hidden: int) -> int:
    """Llama 4: learnt positions, an adapter behind the pixel shuffle, one projection."""
    del config
    width, inner = tower.count("hidden_size"), tower.count("intermediate_size")
    layers, patch = tower.count("num_hidden_layers", most=MOST_LAYERS), tower.count("patch_size", default=14)
    places = (tower.count("image_size", default=448) // patch) ** 2 + 2
    middle, out = tower.count("projector_input_dim"), tower.count("projector_output_dim")
    adapter = inner * middle + out * out + tower.count("vision_output_dim") * hidden
    return layers * _block(width, inner) + (3 * patch * patch + places + 4) * width + adapter


def _clip(tower: Config, config: Config, hidden: int) -> int:
    """MiniMax-M3: rotary positions, a projector for each patch and one for four merged."""
    width, inner = tower.count("hidden_size"), tower.count("intermediate_size")
    layers, patch = tower.count("num_hidden_layers", most=MOST_LAYERS), tower.count("patch_size", default=14)
    middle = config.count("projector_hidden_size", default=hidden)
    frames = tower.part("img_token_compression_config")
    depth = frames.count("temporal_patch_size", default=1) if frames else 1
    merge = frames.count("spatial_merge_size", default=2) if frames else 2
    projectors = (width + 1) * middle + (merge * merge * hidden + 1) * middle + 2 * (middle + 1) * hidden
    return layers * _block(width, inner) + 3 * depth * patch * patch * width + 2 * width + projectors


def _step(tower: Config, config: Config, hidden: int) -> int:
    """Step-3: a plain tower with scaled residuals; two convolutions that halve the grid, then a projection."""
    del config
    width, layers = tower.count("hidden_size", "width"), tower.count("num_hidden_layers", "layers", most=MOST_LAYERS)
    inner, patch = tower.count("intermediate_size", default=4 * width), tower.count("patch_size", default=14)
    places = (tower.count("image_size", default=728) // patch) ** 2
    convolutions = 9 * width * 2 * width + 9 * 2 * width * 4 * width + 6 * width
    embedding = (3 * patch * patch + places) * width
    return layers * (_block(width, inner) + 2 * width) + embedding + 2 * width + convolutions + 4 * width * hidden


TOWERS: Mapping[str, Callable[[Config, Config, int], int]] = {
    "qwen3_vl": _qwen,
    "qwen3_vl_moe": _qwen,
    "qwen3_5": _qwen,
    "qwen3_5_moe": _qwen,
    "siglip_vision_model": _siglip,
    "gemma4": _gemma4,
    "kimi": _kimi,
    "kimi_k25": _kimi,
    "moonvit": _kimi,
    "pixtral": _pixtral,
    "clip_vision_model": _clip,
    "llama4_vision_model": _llama4,
    "step3_vision_encoder": _step,
    "step3p7": _step,
}
