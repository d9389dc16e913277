"""The weight matrices of an architecture by name, and which of them a list of patterns means."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from planner.catalog.importers.hf_layers import BOTH, DENSE, EXPERTS, LINEAR, NO_MIXER

_ALIASES = {
    "block_sparse_moe": "mlp",
    "feed_forward": "mlp",
    "ffn": "mlp",
    "moe": "mlp",
    "attn": "self_attn",
    "attention": "self_attn",
    "mamba": "linear_attn",
    "shared_expert": "shared_experts",
    "share_expert": "shared_experts",
    "router": "gate",
    "w1": "gate_proj",
    "w3": "up_proj",
    "w2": "down_proj",
    "gate_up_proj": "gate_proj",
    "qkv_proj": "q_proj",
    "head": "lm_head",
    "output": "lm_head",
}
_PREFIXES = ("model", "language_model", "backbone", "text_model", "decoder", "transformer")
_MIXER_ENDS = {"q_proj": "self_attn", "k_proj": "self_attn", "v_proj": "self_attn", "o_proj": "self_attn"}
_NAMED_ATTENTION = ("kimi delta attention", "lightning attention")
"""Recurrent mixers that their checkpoints call self_attn."""
_SAFE = re.compile(r"[\w.\\*|()\[\]^$?+\-]{1,200}")
_MOST_STARS = 6


@dataclass(frozen=True, slots=True)
class Module:
    """A matrix (or all experts' matrices of one layer) with the part it counts to and its parameters."""

    name: str
    part: str
    params: float


def modules(
    shape: Mapping[str, Any], *, mixers: list[str], mlps: list[str], widths: Mapping[str, float]
) -> list[Module]:
    """Every matrix of the layers, layer by layer.

    ``widths`` holds the parameters of one layer by part: attention's own by matrix, others by part.
    """
    found = []
    own = (shape.get("linear") or {}).get("kind") not in _NAMED_ATTENTION
    for place, (mixer, mlp) in enumerate(zip(mixers, mlps, strict=True)):
        found += list(_mixer(place, mixer, widths, linear="linear_attn" if own else "self_attn"))
        found += list(_mlp(place, mlp, widths, matrices=shape.get("mlp_matrices", 3)))
    return found


def _mixer(place: int, mixer: str, widths: Mapping[str, float], *, linear: str) -> Iterator[Module]:
    if mixer == NO_MIXER:
        return
    if mixer == LINEAR:
        yield Module(f"layers.{place}.{linear}.in_proj", "attention", widths["linear"] * 2 / 3)
        yield Module(f"layers.{place}.{linear}.out_proj", "attention", widths["linear"] / 3)
        return
    for name, params in widths.items():
        if name.endswith(("_proj", "_mqa")):
            yield Module(f"layers.{place}.self_attn.{name}", "attention", params)
    if widths.get("indexer"):
        yield Module(f"layers.{place}.self_attn.indexer.wq_b", "indexer", widths["indexer"])


def _mlp(place: int, mlp: str, widths: Mapping[str, float], *, matrices: int) -> Iterator[Module]:
    names = ("gate_proj", "up_proj", "down_proj")[3 - matrices :]
    kinds = []
    if mlp in (DENSE, BOTH) and widths.get("dense"):
        kinds.append(("", "dense_mlp", widths["dense"]))
    if mlp in (EXPERTS, BOTH):
        kinds.append((".experts.0", "experts", widths["experts"]))
        if widths.get("shared"):
            kinds.append((".shared_experts", "shared_experts", widths["shared"]))
    for inner, part, params in kinds:
        for name in names:
            block = "" if mlp == BOTH and part == "experts" else ".mlp"
            yield Module(f"layers.{place}{block}{inner}.{name}", part, params / matrices)


class Patterns:
    """A list of module patterns as checkpoints write them: names, wildcards, and regular expressions after ``re:``."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.names: set[str] = set()
        self.wild: dict[str, list[re.Pattern[str]]] = {}
        self.unread: list[str] = []
        for pattern in patterns:
            self._take(pattern.strip())

    def _take(self, pattern: str) -> None:
        if pattern.startswith("re:"):
            compiled = _compiled(pattern[3:])
            if compiled is None:
                self.unread.append(pattern)
            else:
                self.wild.setdefault("", []).append(compiled)
        elif "*" in pattern or "?" in pattern:
            text = canonical(pattern).strip(".")
            layer = re.search(r"layers\.(\d+)", text)
            self.wild.setdefault(layer[1] if layer else "", []).append(_wildcard(text))
        elif pattern:
            self.names.add(canonical(pattern))

    def match(self, name: str) -> bool:
        """Whether a canonical module name is meant."""
        parts = name.split(".")
        runs = (".".join(parts[first:last]) for first in range(len(parts)) for last in range(first + 1, len(parts) + 1))
        if any(run in self.names for run in runs):
            return True
        layer = parts[1] if len(parts) > 1 and parts[0] == "layers" else ""
        candidates = (*self.wild.get("", ()), *(self.wild.get(layer, ()) if layer else ()))
        return any(each.match(variant) for each in candidates for variant in (name, f"model.{name}"))


@lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """A module name without the prefixes of its checkpoint, its words those used here."""
    parts = [part for part in name.split(".") if part]
    while parts and parts[0] in _PREFIXES:
        parts.pop(0)
    ends = parts[-1] if parts else ""
    mixer = _MIXER_ENDS.get(ends) or ("linear_attn" if ends.startswith(("in_proj", "out_proj")) else "mlp")
    words = [_word(part, mixer=mixer) for part in parts]
    return ".".join(words).rstrip(".")


def _word(part: str, *, mixer: str) -> str:
    bare, star = (part[:-1], "*") if part.endswith("*") else (part, "")
    if bare == "mixer":
        return mixer + star
    if bare.startswith("in_proj"):
        return "in_proj" + star
    if "Attention" in bare:
        return "self_attn" + star
    return _ALIASES.get(bare, bare) + star


@lru_cache(maxsize=4096)
def _wildcard(text: str) -> re.Pattern[str]:
    """A wildcard over names, and over what lies below the module it names."""
    begun = text if text.startswith("*") else f"*{text}"
    return re.compile(f"{fnmatch.translate(begun)}|{fnmatch.translate(f'{begun}.*')}")


def _compiled(text: str) -> re.Pattern[str] | None:
    """A regular expression that cannot run away: short, few repetitions, none of them nested."""
    nested = re.search(r"[)\]][*+{]", text)
    if nested or not _SAFE.fullmatch(text) or sum(map(text.count, "*+")) > _MOST_STARS:
        return None
    try:
        return re.compile(text.replace("block_sparse_moe", "mlp").replace("feed_forward", "mlp"))
    except re.error:
        return None
