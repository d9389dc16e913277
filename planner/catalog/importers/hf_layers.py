"""What every decoder has, and how the layers that a configuration names become the counts of an architecture."""

from __future__ import annotations

from typing import Any

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.hf_reader import Config

Shape = dict[str, Any]
FULL, WINDOW, LINEAR, NO_MIXER = "full", "window", "linear", "none"
DENSE, EXPERTS, BOTH, NO_MLP = "dense", "experts", "both", "none"
_KINDS = {
    "full_attention": FULL,
    "attention": FULL,
    "sliding_attention": WINDOW,
    "chunked_attention": WINDOW,
    "linear_attention": LINEAR,
    "mamba": LINEAR,
}


def decoder(
    config: Config,
    *,
    tied: bool = False,
    intermediate: int | None = None,
    head_dim: int | None = None,
    layers: int | None = None,
) -> Shape:
    """Width, heads and tables. An explicit head_dim wins over hidden / heads.

    ``intermediate`` and ``head_dim`` stand in where a configuration leaves them out; ``layers`` are counted elsewhere.
    """
    hidden, heads = config.count("hidden_size"), config.count("num_attention_heads")
    named = config.first("head_dim", "attention_head_dim") is not None or head_dim is not None
    if not named and hidden % heads:
        raise ImportProblem(None, "num_attention_heads", f"{heads} heads do not divide hidden_size {hidden}")
    config.read.add("num_hidden_layers")
    return {
        "layers": layers or config.layers(),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": config.count("num_key_value_heads", default=heads),
        "head_dim": config.count("head_dim", "attention_head_dim", default=head_dim or hidden // heads or 1),
        "intermediate": config.count("intermediate_size", default=intermediate, least=0 if intermediate == 0 else 1),
        "vocab": config.count("vocab_size"),
        "tied_embeddings": config.flag("tie_word_embeddings", default=tied),
        "max_context_tokens": config.count("max_position_embeddings"),
    }


def layer_types(config: Config, *, layers: int, key: str = "layer_types") -> list[str]:
    """What each layer attends with, where the configuration lists it; empty where it does not."""
    words = config.words(key)
    if not words:
        return []
    if len(words) < layers:
        raise ImportProblem(None, key, f"has {len(words)} entries for {layers} layers")
    if unknown := next((word for word in words if word not in _KINDS), None):
        known = ", ".join(_KINDS)
        raise ImportProblem(None, key, f"“{unknown[:40]}” is not a known kind of layer; known are {known}")
    return [_KINDS[word] for word in words[:layers]]


def with_window(shape: Shape, config: Config, *, mixers: list[str], **own: Any) -> Shape:
    """Note the layers with a window; a window that spans the context is none."""
    window = config.count("sliding_window", "sliding_window_size", default=0, least=0)
    if not window or window >= shape["max_context_tokens"]:
        mixers = [FULL if mixer == WINDOW else mixer for mixer in mixers]
    return windowed(shape, config, mixers=mixers, window=window, **own)


def windowed(shape: Shape, config: Config, *, mixers: list[str], window: int, **own: Any) -> Shape:
    config.mixers = mixers
    if layers := mixers.count(WINDOW):
        shape["sliding"] = {"window": window, "layers": layers, **{key: value for key, value in own.items() if value}}
    return shape


def with_experts(shape: Shape, config: Config, *, mlps: list[str], **moe: Any) -> Shape:
    """Note which layers have experts: after the first dense ones, every n-th, or as listed."""
    config.mlps = mlps
    layers = len(mlps)
    places = [place for place, mlp in enumerate(mlps) if mlp in (EXPERTS, BOTH)]
    if not places:
        return shape
    found = {key: value for key, value in moe.items() if value}
    first, every = places[0], places[1] - places[0] if len(places) > 1 else 1
    if places == list(range(first, layers)):
        found |= {"first_dense_layers": first} if first else {}
    elif places == list(range(every - 1, layers, every)):
        found |= {"every": every}
    else:
        found |= {"layers": len(places)}
    shape["moe"] = found
    dense = sum(mlp in (DENSE, BOTH) for mlp in mlps)
    if dense != layers - len(places):
        shape["dense_layers"] = dense
    return shape


def first_dense(*, layers: int, dense: int, every: int = 1) -> list[str]:
    """Dense MLPs first, then experts in every n-th layer."""
    return [EXPERTS if place >= dense and place % every == 0 else DENSE for place in range(layers)]


def listed_experts(config: Config, key: str, *, layers: int) -> list[str]:
    """A list of 0 and 1 with one entry for each layer: which have experts."""
    return [EXPERTS if each else DENSE for each in config.by_layer(key, layers=layers)]


def chosen_experts(places: list[int], *, layers: int) -> list[str]:
    """Experts in the layers at these places."""
    chosen = set(places)
    return [EXPERTS if place in chosen else DENSE for place in range(layers)]


def experts_or_none(config: Config, *, layers: int) -> list[str]:
    """``mlp_layer_types``, a list in ``moe_layer_freq``, or ``first_k_dense_replace`` and a step."""
    words = config.words("mlp_layer_types")
    first = config.count("first_k_dense_replace", default=0, least=0)
    if isinstance(config.values.get("moe_layer_freq"), list):
        return listed_experts(config, "moe_layer_freq", layers=layers)
    every = config.count("moe_layer_freq", default=1)
    if len(words) >= layers:
        return chosen_experts([place for place, word in enumerate(words[:layers]) if word != "dense"], layers=layers)
    return first_dense(layers=layers, dense=first, every=every)


def drafts(shape: Shape, config: Config) -> Shape:
    """Multi-token-prediction layers, under the names they go by."""
    layers = config.count(
        "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "mtp_num_layers", default=0, least=0
    )
    config.read.update(("num_mtp_modules", "mtp_transformer_layers", "use_mtp"))
    if layers:
        shape["mtp_layers"] = layers
    return shape


def biases(shape: Shape, *, query: bool, output: bool) -> int:
    """Biases of the projections of all attention layers."""
    layers: int = shape["layers"]
    widths: int = (shape["heads"] + 2 * shape["kv_heads"]) * shape["head_dim"] if query else 0
    hidden: int = shape["hidden"] if output else 0
    return layers * (widths + hidden)


def small(shape: Shape, params: int) -> Shape:
    """Add to what is counted with the norms."""
    if params:
        shape["small_params"] = shape.get("small_params", 0) + params
    return shape
