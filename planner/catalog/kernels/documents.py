"""The configuration document by which the package knows an LLM: its own copy of a known LLM, or one of a plain form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from planner.core.catalog import Llm, Moe
from planner.core.latency import KernelsUnavailable

_QUANTISED = ("quantization_config", "hf_quant_config")
_SHAPE = ("layers", "hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocab", "max_context_tokens", "moe")
_NO_WORK = (
    "slug",
    "name",
    "family",
    "source",
    "hf_id",
    "aliases",
    "notes",
    "published_params",
    "published_active_params",
)
_FORMATS = ("native_dtype", "part_formats", "quant_bits", "quant_group_size", "quant_method")
_NOT_IN_A_PASS = ("tied_embeddings", "mtp_layers", "small_params", "vision_params")
"""Of text alone, without drafts; biases and norms of queries and keys are a part of the small kernels."""
_COUNTED = frozenset((*_SHAPE, *_NO_WORK, *_FORMATS, *_NOT_IN_A_PASS))
_MIXED = frozenset(("experts", "top_k", "expert_width"))


def document(llm: Llm, *, folder: Path) -> dict[str, Any]:
    """The configuration of an LLM, without its quantisation (formats are chosen by the caller).

    Raises `KernelsUnavailable` for an architecture that is neither known to the package nor plain: layers of a kind
    the package has no form for would be left out without a word.
    """
    found = _known(llm, folder=folder / "model_configs") or _plain(llm)
    if found is None:
        raise KernelsUnavailable(f"The measured kernels have no description of {llm.name}: {_why(llm)}.")
    return found


def _plain(llm: Llm) -> dict[str, Any] | None:
    """Dense or evenly mixed layers with full grouped attention: the forms the package counts completely."""
    mixture = llm.moe
    if _peculiar(llm, apart_from=_COUNTED) or (mixture and _peculiar(mixture, apart_from=_MIXED)):
        return None
    made: dict[str, Any] = {
        "num_hidden_layers": llm.layers,
        "hidden_size": llm.hidden,
        "num_attention_heads": llm.heads,
        "num_key_value_heads": llm.kv_heads,
        "head_dim": llm.head_dim,
        "intermediate_size": llm.intermediate,
        "vocab_size": llm.vocab,
        "max_position_embeddings": llm.max_context_tokens,
    }
    if not mixture:
        return {"architectures": ["LlamaForCausalLM"], **made}
    return {
        "architectures": ["MixtralForCausalLM"],
        **made,
        "num_experts_per_tok": mixture.top_k,
        "num_local_experts": mixture.experts,
        "moe_intermediate_size": mixture.expert_width,
    }


def _peculiar(facts: Llm | Moe, *, apart_from: frozenset[str]) -> list[str]:
    """Facts that differ from the plain form; a fact added later makes an LLM peculiar until it is looked at here."""
    return [
        each.name for each in fields(facts) if each.name not in apart_from and getattr(facts, each.name) != each.default
    ]


def _known(llm: Llm, *, folder: Path) -> dict[str, Any] | None:
    """The package's copy of this LLM's own configuration, when the shapes agree."""
    for name in (llm.hf_id, *llm.aliases):
        path = folder / f"{name.replace('/', '--')}_config.json"
        if name and "/" in name and path.is_file():
            found = json.loads(path.read_text(encoding="utf-8"))
            if _agrees(found, llm):
                return _bare(found)
    return None


def _agrees(found: Mapping[str, Any], llm: Llm) -> bool:
    text = found.get("text_config") or found
    shape = [text.get(name) for name in ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")]
    return shape == [llm.layers, llm.hidden, llm.heads, llm.vocab]


def _bare(found: dict[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in found.items() if name not in _QUANTISED}
    if isinstance(made.get("text_config"), Mapping):
        made["text_config"] = _bare(dict(made["text_config"]))
    return made


def _why(llm: Llm) -> str:
    if llm.mla:
        return "no MLA kernels of its shape are described"
    if llm.linear or llm.plain_layers:
        return "its linear-attention layers are not described"
    if llm.sparse_top_k or llm.indexer or llm.compressed:
        return "its sparse attention is not described"
    if llm.sliding:
        return "its layers with a sliding window are not described"
    if llm.gated_attention or llm.v_dim or llm.shared_kv_projection:
        return "its attention projections are not described"
    return "its mix of dense, shared and routed layers is not described"
