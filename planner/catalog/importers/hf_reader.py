"""A checked view of a ``config.json``: each value read is of its kind and in range, or a problem at its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planner.catalog.importers import ImportProblem, excerpt

LARGEST = 10**9
_INFINITE = re.compile(rb"(?<=[\[:,\s])-?Infinity(?=[\s,\]}])")
MOST_LAYERS = 10_000
"""Deeper than anything built; layers are looked at one by one."""
_SHOWN = 12


def without_infinity(content: bytes) -> bytes:
    """The text of a configuration with null for Infinity: published files have it, JSON does not, no shape needs it."""
    return _INFINITE.sub(b"null", content)


class Config:
    """The values of one mapping, and which of its keys were asked for.

    ``mixers`` and ``mlps`` say what each layer holds once a reader has found out; ``remarks`` what it could not take.
    """

    def __init__(
        self, values: Mapping[str, Any], *, defaults: Mapping[str, Any] | None = None, remarks: list[str] | None = None
    ) -> None:
        self.given = {key: value for key, value in values.items() if value is not None}
        self.values = {**(defaults or {}), **self.given}
        self.read: set[str] = set()
        self.remarks: list[str] = [] if remarks is None else remarks
        self.mixers: list[str] = []
        self.mlps: list[str] = []

    def has(self, key: str) -> bool:
        """Whether the key is there with a value that is neither empty, zero nor false."""
        self.read.add(key)
        return bool(self.values.get(key))

    def first(self, *keys: str) -> str | None:
        """The first of ``keys`` that is there."""
        self.read.update(keys)
        return next((key for key in keys if key in self.values), None)

    def count(self, *keys: str, default: int | None = None, least: int = 1, most: int = LARGEST) -> int:
        """The whole number at the first of ``keys`` that is there."""
        key = self.first(*keys)
        if key is None:
            if default is None:
                raise ImportProblem(None, keys[0], "is missing from the configuration")
            return default
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ImportProblem(None, key, f"must be a whole number from {least} to {most:,}, not {excerpt(value)}")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        self.read.add(key)
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise ImportProblem(None, key, f"must be true or false, not {excerpt(value)}")
        return value

    def text(self, key: str, *, default: str = "") -> str:
        self.read.add(key)
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise ImportProblem(None, key, f"must be a word, not {excerpt(value)}")
        return value

    def words(self, key: str) -> list[str]:
        self.read.add(key)
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise ImportProblem(None, key, "must be a list of words")
        return value

    def numbers(self, key: str) -> list[int]:
        """A list of whole numbers, none of them negative; empty when it is not there."""
        self.read.add(key)
        value = self.values.get(key, [])
        whole = isinstance(value, list) and all(isinstance(each, int) and 0 <= each <= LARGEST for each in value)
        if not whole:
            raise ImportProblem(None, key, "must be a list of whole numbers")
        return [int(each) for each in value]

    def part(self, key: str, *, defaults: Mapping[str, Any] | None = None) -> Config | None:
        """The mapping at a key as a view of its own; None when it is not there."""
        self.read.add(key)
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise ImportProblem(None, key, "must be a JSON object")
        return Config(value, defaults=defaults, remarks=self.remarks)

    def refuse(self, key: str, reason: str) -> None:
        """Refuse a configuration that uses this key: what it means cannot be said of an LLM here."""
        if self.has(key):
            raise ImportProblem(None, key, reason)

    def layers(self, *keys: str) -> int:
        return self.count(*(keys or ("num_hidden_layers",)), most=MOST_LAYERS)

    def by_layer(self, key: str, *, layers: int) -> list[int]:
        """A list of numbers with one for each layer; empty when it is not there."""
        found = self.numbers(key)
        if found and len(found) < layers:
            raise ImportProblem(None, key, f"has {len(found)} entries for {layers} layers")
        return found[:layers]

    def unread(self) -> list[str]:
        """Keys that nobody asked for and that may matter."""
        return sorted(key for key in self.given if key not in self.read and not _harmless(key, self.given[key]))


def unread_remark(keys: list[str]) -> list[str]:
    """A sentence that names keys nobody understood."""
    if not keys:
        return []
    names = [excerpt(key, at_most=48) for key in keys[:_SHOWN]]
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return [f"Keys not read: {', '.join(names)}{more}."]


_HARMLESS_ENDS = (
    "_token_id",
    "_token_index",
    "_eps",
    "_coef",
    "_factor",
    "_theta",
    "_act",
    "_activation",
    "_dropout",
    "_scaling",
    "_multiplier",
    "_limit",
    "_alpha",
    "_beta",
    "_placeholder",
    "_epsilon",
    "_range",
    "_softcapping",
    "_scale",
    "_freq_base",
    "_interleave",
    "_penalty",
    "_min",
    "_max",
    "_floor",
    "_position_ids",
    "_type_id",
    "_version",
    "_norm",
    "_pdrop",
    "_group_size",
    "_batch_size",
)
_HARMLESS_WORDS = """
typical_p use_unified_vision_chunk vision_soft_tokens_per_image output_gate_type mm_tokens_per_image video_preprocessor
_name_or_path architectures archs auto_map model_type transformers_version torch_dtype dtype use_cache name
rope_scaling rope_parameters rope_theta partial_rotary_factor rotary_dim initializer_range pretraining_tp ep_size
topk_method scoring_func norm_topk_prob routed_scaling_factor seq_aux aux_loss_alpha hidden_act
attention_dropout output_attentions output_hidden_states return_dict is_encoder_decoder is_decoder torchscript
use_bfloat16 tf_legacy_loss pruned_heads chunk_size_feed_forward add_cross_attention cross_attention_hidden_size
tie_encoder_decoder finetuning_task id2label label2id problem_type bad_words_ids begin_suppress_tokens top_k top_p
temperature num_beams num_beam_groups max_length min_length do_sample early_stopping length_penalty
no_repeat_ngram_size num_return_sequences remove_invalid_values return_dict_in_generate output_scores sep_token_id
suppress_tokens task_specific_params tokenizer_class prefix exponential_decay_length_penalty forced_bos_token_id
ignore_index attn_implementation _attn_implementation use_mamba_kernels residual_in_fp32 chunk_size num_logits_to_keep
rescale_prenorm_residual mamba_chunk_size time_step_rank expand initial_context_length moe_renormalize
moe_router_activation_func num_expert_group use_grouped_topk mlp_bias cache_implementation output_router_logits
mamba_hidden_act mlp_hidden_act hidden_activation max_window_layers use_bidirectional_attention
position_embedding_type original_max_position_embeddings unsloth_fixed embd_pdrop resid_pdrop use_sliding_window
mtp_use_dedicated_embeddings rope_interleave moe_router_dtype qk_head_dim is_causal encoder_no_repeat_ngram_size
diversity_penalty max_seq_len use_routing_bias use_moe_router_bias indexer_rope_interleave kv_cache_scheme
bos_token_id eos_token_id pad_token_id nope_layer_interval attn_temperature_tuning pretrained_config
vocab_size_per_layer_input norm_type
"""
_HARMLESS = frozenset(_HARMLESS_WORDS.split())


def _harmless(key: str, value: Any) -> bool:
    """Keys that change no shape: those named, those that end like one, and whatever is off or empty."""
    named = key in _HARMLESS or key.endswith(_HARMLESS_ENDS) or key.startswith(("rope_", "_"))
    return named or value in (False, 0, "", [], {})
