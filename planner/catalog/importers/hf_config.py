"""Reads the ``config.json`` of a Hugging Face repository into the content of an LLM entry.

An architecture that is not listed is refused by name: shapes read by the rules of another one would be wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.catalog.importers import ImportProblem, excerpt
from planner.catalog.importers.hf_architectures import ARCHITECTURES, FAMILY_BY_TYPE
from planner.catalog.importers.hf_dtype import plain_format
from planner.catalog.importers.hf_parts import quantisation
from planner.catalog.importers.hf_quant import KEY, read_scheme
from planner.catalog.importers.hf_reader import Config, unread_remark
from planner.catalog.importers.hf_vision import vision_params

Shape = dict[str, Any]
_TEXT_KEYS = ("text_config", "llm_config", "language_config")
_NOT_COUNTED = {
    "audio_config": "The audio tower is not counted.",
    "talker_config": "The speech decoder is not counted.",
}


@dataclass(frozen=True, slots=True)
class ReadLlm:
    """What a configuration says: shapes, format of the weights, family, how it is quantised, and what was not taken."""

    shape: Shape
    native_dtype: str
    family: str
    quantisation: dict[str, Any] | None = None
    remarks: list[str] = field(default_factory=list)


def read_config(config: Any, *, quantised: Any = None) -> ReadLlm:
    """Architecture, number format and family of a configuration; raises `ImportProblem` naming the key.

    ``quantised`` is the content of a ``hf_quant_config.json`` beside it, where there is one.
    """
    if not isinstance(config, Mapping):
        raise ImportProblem(None, "config", "must be a JSON object: the content of a config.json")
    name, text = _architecture(config)
    family, reader, defaults = ARCHITECTURES[name]
    top = Config(config)
    view = Config(text, defaults=defaults, remarks=top.remarks)
    if text is not config and "tie_word_embeddings" not in text and "tie_word_embeddings" in config:
        view.values["tie_word_embeddings"] = config["tie_word_embeddings"]
    shape = reader(view)
    if vision := vision_params(top, hidden=shape["hidden"]):
        shape["vision_params"] = vision
    top.remarks += [remark for key, remark in _NOT_COUNTED.items() if config.get(key)]
    dtype = plain_format(config, text)
    stated = config.get(KEY) or text.get(KEY)
    if isinstance(quantised, Mapping):
        stated = {**(stated if isinstance(stated, Mapping) else {}), **quantised}
    found = None
    if stated:
        scheme = read_scheme(stated, expert_dtype=text.get("expert_dtype"))
        dtype, found = quantisation(shape, scheme, mixers=view.mixers, mlps=view.mlps, plain=dtype)
        top.remarks += scheme.remarks
    top.read |= {*_TEXT_KEYS, "vision_config", "audio_config", "tie_word_embeddings", KEY, *_NOT_COUNTED}
    view.read |= {KEY, "vision_config"}
    unread = sorted({*view.unread(), *(top.unread() if text is not config else ())})
    family = FAMILY_BY_TYPE.get(str(text.get("model_type")), FAMILY_BY_TYPE.get(str(config.get("model_type")), family))
    return ReadLlm(shape, dtype, family, found, [*dict.fromkeys(top.remarks), *unread_remark(unread)])


def _architecture(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name of the architecture and the mapping that holds the shapes of the text decoder."""
    names = config.get("architectures")
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        raise ImportProblem(None, "architectures", "is missing: the list that names the architecture of the LLM")
    name = names[0]
    if name not in ARCHITECTURES:
        raise ImportProblem(
            None, "architectures", f"“{excerpt(name, at_most=80)}” is not supported; {_supported(name)}"
        )
    key = next((key for key in _TEXT_KEYS if key in config), None)
    text = config[key] if key else config
    if not isinstance(text, Mapping):
        raise ImportProblem(None, key or "text_config", "must be a JSON object")
    return name, text


def _supported(name: str) -> str:
    """The nearest names, then all."""
    near = difflib.get_close_matches(name[:80], ARCHITECTURES, n=3, cutoff=0.75)
    hint = f"the nearest are {', '.join(near)}; " if near else ""
    return f"{hint}supported are {', '.join(sorted(ARCHITECTURES))}"
