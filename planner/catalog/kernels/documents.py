"""The configuration document by which the package knows an LLM: its own copy of a known LLM, or one of a plain form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.core.catalog import Llm
from planner.core.latency import KernelsUnavailable

_QUANTISED = ("quantization_config", "hf_quant_config")


def document(llm: Llm, *, folder: Path) -> dict[str, Any]:
    """The configuration of an LLM, without its quantisation (formats are chosen by the caller).

    Raises `KernelsUnavailable` for an architecture that is neither known to the package nor plain: layers of a kind
    the package has no form for would be left out without a word.
    """
    plain = _plain(llm)
    if plain is not None:
        return plain
    known = _known(llm, folder=folder / "model_configs")
    if known is None:
        raise KernelsUnavailable(f"The measured kernels have no description of {llm.name}: {_why(llm)}.")
    return known


def _plain(llm: Llm) -> dict[str, Any] | None:
    """Dense or evenly mixed layers with full grouped attention: the forms the package counts completely."""
    if llm.mla or llm.sliding or llm.linear or llm.sparse_top_k or llm.gated_attention:
        return None
    mixture = llm.moe
    if mixture and (mixture.shared_experts or mixture.first_dense_layers or mixture.every != 1):
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
    shape = (text.get("num_hidden_layers"), text.get("hidden_size"), text.get("num_attention_heads"))
    return shape == (llm.layers, llm.hidden, llm.heads)


def _bare(found: dict[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in found.items() if name not in _QUANTISED}
    if isinstance(made.get("text_config"), Mapping):
        made["text_config"] = _bare(dict(made["text_config"]))
    return made


def _why(llm: Llm) -> str:
    if llm.mla:
        return "no MLA kernels of its shape are described"
    if llm.linear:
        return "its linear-attention layers are not described"
    if llm.sparse_top_k:
        return "its sparse attention is not described"
    if llm.sliding:
        return "its layers with a sliding window are not described"
    return "its mix of dense, shared and routed layers is not described"
