"""Reads the ``config.json`` of a Hugging Face repository into the content of an LLM entry.

An architecture that is not listed is refused by name: shapes read by the rules of another one would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.catalog.importers import ImportProblem, excerpt
from planner.catalog.importers.hf_dtype import native_dtype

LARGEST = 10**9
Shape = dict[str, Any]


class Config:
    """A checked view of the mapping: every number read from it is a whole number in range, or a problem at its key."""

    def __init__(self, values: Mapping[str, Any], *, defaults: Mapping[str, Any] | None = None) -> None:
        self.values = {**(defaults or {}), **{key: value for key, value in values.items() if value is not None}}

    def count(self, *keys: str, default: int | None = None, least: int = 1) -> int:
        """The number at the first of ``keys`` that is there."""
        key = next((key for key in keys if key in self.values), None)
        if key is None:
            if default is None:
                raise ImportProblem(None, keys[0], "is missing from the configuration")
            return default
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
            raise ImportProblem(None, key, f"must be a whole number from {least} to {LARGEST:,}, not {excerpt(value)}")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise ImportProblem(None, key, f"must be true or false, not {excerpt(value)}")
        return value

    def words(self, key: str) -> list[str]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise ImportProblem(None, key, "must be a list of words")
        return value


def read_config(config: Any) -> tuple[Shape, str, str]:
    """Architecture, number format and family of a configuration; raises `ImportProblem` naming the key."""
    if not isinstance(config, Mapping):
        raise ImportProblem(None, "config", "must be a JSON object: the content of a config.json")
    name, text = _architecture(config)
    family, reader, defaults = ARCHITECTURES[name]
    shape = reader(Config(text, defaults=defaults))
    return shape, native_dtype(config, text), FAMILY_BY_TYPE.get(str(config.get("model_type")), family)


def _architecture(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name of the architecture and the mapping that holds the shapes of the text decoder."""
    names = config.get("architectures")
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        raise ImportProblem(None, "architectures", "is missing: the list that names the architecture of the LLM")
    name = names[0]
    if name not in ARCHITECTURES:
        known = ", ".join(sorted(ARCHITECTURES))
        raise ImportProblem(
            None, "architectures", f"“{excerpt(name, at_most=80)}” is not supported; supported are {known}"
        )
    text = config.get("text_config", config)
    if not isinstance(text, Mapping):
        raise ImportProblem(None, "text_config", "must be a JSON object")
    return name, text


def _decoder(config: Config, *, tied: bool) -> Shape:
    """What every decoder has. An explicit head_dim wins over hidden / heads."""
    hidden, heads = config.count("hidden_size"), config.count("num_attention_heads")
    head_dim = config.count("head_dim", default=hidden // heads)
    if "head_dim" not in config.values and hidden % heads:
        raise ImportProblem(None, "num_attention_heads", f"{heads} heads do not divide hidden_size {hidden}")
    return {
        "layers": config.count("num_hidden_layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": config.count("num_key_value_heads", default=heads),
        "head_dim": head_dim,
        "intermediate": config.count("intermediate_size"),
        "vocab": config.count("vocab_size"),
        "tied_embeddings": config.flag("tie_word_embeddings", default=tied),
        "max_context_tokens": config.count("max_position_embeddings"),
    }


def _with_window(shape: Shape, config: Config, *, layers: int) -> Shape:
    window = config.count("sliding_window", default=0, least=0)
    if window and layers and window < shape["max_context_tokens"]:
        shape["sliding"] = {"window": window, "layers": min(layers, shape["layers"])}
    return shape


def _sliding_layers(config: Config, *, otherwise: int) -> int:
    """Layers with a window: counted in ``layer_types`` where the configuration lists them."""
    types = config.words("layer_types")
    return types.count("sliding_attention") if types else otherwise


def _dense(config: Config) -> Shape:
    return _decoder(config, tied=False)


def _mistral(config: Config) -> Shape:
    shape = _dense(config)
    return _with_window(shape, config, layers=_sliding_layers(config, otherwise=shape["layers"]))


def _qwen(config: Config) -> Shape:
    """Qwen2 and Qwen3: the window is off unless ``use_sliding_window``, then in the layers past max_window_layers."""
    shape = _dense(config)
    if not config.flag("use_sliding_window", default=False):
        return shape
    past = max(0, shape["layers"] - config.count("max_window_layers", default=0, least=0))
    return _with_window(shape, config, layers=_sliding_layers(config, otherwise=past))


def _gemma2(config: Config) -> Shape:
    shape = _decoder(config, tied=True)
    return _with_window(shape, config, layers=_sliding_layers(config, otherwise=(shape["layers"] + 1) // 2))


def _gemma3(config: Config) -> Shape:
    """One full layer after every ``sliding_window_pattern`` − 1 with a window."""
    shape = _decoder(config, tied=True)
    full = shape["layers"] // config.count("sliding_window_pattern", default=6)
    return _with_window(shape, config, layers=_sliding_layers(config, otherwise=shape["layers"] - full))


def _mixtral(config: Config) -> Shape:
    shape = _mistral(config)
    shape["moe"] = {
        "experts": config.count("num_local_experts"),
        "top_k": config.count("num_experts_per_tok"),
        "expert_width": shape["intermediate"],
    }
    return shape


def _qwen3_moe(config: Config) -> Shape:
    shape = _qwen(config)
    if config.values.get("mlp_only_layers"):
        raise ImportProblem(None, "mlp_only_layers", "dense layers at chosen places are not supported yet")
    shape["moe"] = {
        "experts": config.count("num_experts", "num_local_experts"),
        "top_k": config.count("num_experts_per_tok"),
        "expert_width": config.count("moe_intermediate_size"),
        "every": config.count("decoder_sparse_step", default=1),
    }
    return shape


def _gpt_oss(config: Config) -> Shape:
    shape = _dense(config)
    shape["moe"] = {
        "experts": config.count("num_local_experts"),
        "top_k": config.count("num_experts_per_tok", "experts_per_token"),
        "expert_width": shape["intermediate"],
    }
    return _with_window(shape, config, layers=_sliding_layers(config, otherwise=(shape["layers"] + 1) // 2))


def _first_dense_then_experts(config: Config) -> Shape:
    """GLM-4 MoE and the experts of DeepSeek: some dense layers first, shared experts, MTP layers behind."""
    shape = _dense(config)
    width, shared = config.count("moe_intermediate_size"), config.count("n_shared_experts", default=0, least=0)
    shape["moe"] = {
        "experts": config.count("n_routed_experts"),
        "top_k": config.count("num_experts_per_tok"),
        "expert_width": width,
        "shared_experts": shared,
        "shared_width": width if shared else 0,
        "first_dense_layers": config.count("first_k_dense_replace", default=0, least=0),
        "every": config.count("moe_layer_freq", default=1),
    }
    if (groups := config.count("n_group", default=1, least=0)) > 1:
        shape["moe"] |= {"groups": groups, "groups_chosen": config.count("topk_group")}
    shape["mtp_layers"] = config.count("num_nextn_predict_layers", default=0, least=0)
    return shape


def _deepseek(config: Config) -> Shape:
    """Multi-head latent attention; the head's width is that of its query, both parts together."""
    nope, rope = config.count("qk_nope_head_dim"), config.count("qk_rope_head_dim")
    shape = _first_dense_then_experts(Config(config.values, defaults={"head_dim": nope + rope}))
    shape["head_dim"] = nope + rope
    shape["mla"] = {
        "kv_lora_rank": config.count("kv_lora_rank"),
        "rope_dim": rope,
        "q_lora_rank": config.count("q_lora_rank", default=0, least=0),
        "nope_dim": nope,
        "v_dim": config.count("v_head_dim"),
    }
    shape["sparse_top_k"] = config.count("index_topk", default=0, least=0)
    return shape


_GEMMA3 = {
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "vocab_size": 262_208,
    "max_position_embeddings": 131_072,
    "sliding_window": 4096,
}
"""What a Gemma 3 configuration may leave out (defaults of transformers' Gemma3TextConfig)."""
_GEMMA2 = {"head_dim": 256, "sliding_window": 4096}

FAMILY_BY_TYPE = {"kimi_k2": "Kimi"}
"""Families that publish under the architecture of another."""

ARCHITECTURES: Mapping[str, tuple[str, Callable[[Config], Shape], Mapping[str, Any]]] = {
    "LlamaForCausalLM": ("Llama", _dense, {}),
    "MistralForCausalLM": ("Mistral", _mistral, {}),
    "MixtralForCausalLM": ("Mistral", _mixtral, {}),
    "Qwen2ForCausalLM": ("Qwen", _qwen, {}),
    "Qwen3ForCausalLM": ("Qwen", _qwen, {}),
    "Qwen3MoeForCausalLM": ("Qwen", _qwen3_moe, {}),
    "DeepseekV2ForCausalLM": ("DeepSeek", _deepseek, {}),
    "DeepseekV3ForCausalLM": ("DeepSeek", _deepseek, {}),
    "DeepseekV32ForCausalLM": ("DeepSeek", _deepseek, {}),
    "Gemma2ForCausalLM": ("Gemma", _gemma2, _GEMMA2),
    "Gemma3ForCausalLM": ("Gemma", _gemma3, _GEMMA3),
    "Gemma3ForConditionalGeneration": ("Gemma", _gemma3, _GEMMA3),
    "GptOssForCausalLM": ("gpt-oss", _gpt_oss, {}),
    "Glm4MoeForCausalLM": ("GLM", _first_dense_then_experts, {}),
}
