"""Attention layers of an LLM grouped by what they keep and what a token of theirs sees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from planner.core.catalog import Llm
from planner.formulas.parameters import attention_layers


@dataclass(frozen=True, slots=True)
class LayerClass:
    """Layers that are alike: ``layers`` of them, each with ``kv_heads`` heads of ``key_dim`` + ``value_dim`` numbers.

    ``window`` caps what a token sees (0: all); ``ratio`` tokens share a cached entry (0: tokens past the window are
    dropped); ``latent`` entries are one vector for all heads.
    """

    layers: int
    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int = 0
    chunked: bool = False
    ratio: float = 1.0
    latent: bool = False
    sparse: bool = False

    def kept_tokens(self, tokens: float) -> float:
        """Entries one layer keeps of a request of ``tokens``."""
        kept = min(tokens, self.window) if self.window else 0.0
        if self.window and self.ratio == 1.0:
            return kept
        return kept + (tokens / self.ratio if self.ratio else 0.0)

    def entry_numbers(self, *, tensor_parallel: int) -> int:
        """Numbers of one entry on one tensor-parallel rank; heads beyond one a rank are shared, a latent is copied."""
        if self.latent:
            return self.key_dim
        return max(1, -(-self.kv_heads // tensor_parallel)) * (self.key_dim + self.value_dim)


@lru_cache(maxsize=1024)
def layer_classes(llm: Llm) -> tuple[LayerClass, ...]:
    """The attention layers by class, full ones first; recurrent layers keep no tokens and are not among them."""
    if llm.compressed:
        return _compressed(llm)
    layers, window = attention_layers(llm), llm.sliding
    spare = layers - (window.layers if window else 0)
    sparse = min(spare, _sparse_layers(llm))
    found = [_full(llm, layers=spare - sparse, sparse=False), _full(llm, layers=sparse, sparse=True)]
    if window:
        found.append(_window(llm))
    return tuple(each for each in found if each.layers)


def _sparse_layers(llm: Llm) -> int:
    if not llm.sparse_top_k:
        return 0
    if llm.indexer is None:
        return llm.layers
    return llm.indexer.sparse_layers or llm.indexer.layers


def _full(llm: Llm, *, layers: int, sparse: bool) -> LayerClass:
    if llm.mla:
        latent = llm.mla.kv_lora_rank + llm.mla.rope_dim
        return LayerClass(layers, llm.heads, 1, latent, llm.mla.kv_lora_rank, latent=True, sparse=sparse)
    return LayerClass(layers, llm.heads, llm.kv_heads, llm.head_dim, llm.v_dim or llm.head_dim, sparse=sparse)


def _window(llm: Llm) -> LayerClass:
    window = llm.sliding
    if window is None:
        raise ValueError(f"{llm.slug} has no layers with a window")
    if llm.mla:
        latent = llm.mla.kv_lora_rank + llm.mla.rope_dim
        return LayerClass(window.layers, llm.heads, 1, latent, llm.mla.kv_lora_rank, window=window.window, latent=True)
    width = window.head_dim or llm.head_dim
    return LayerClass(
        window.layers,
        window.heads or llm.heads,
        window.kv_heads or llm.kv_heads,
        width,
        window.v_dim or (window.head_dim or llm.v_dim or width),
        window=window.window,
        chunked=window.chunked,
    )


def _compressed(llm: Llm) -> tuple[LayerClass, ...]:
    shape = llm.compressed
    if shape is None:
        return ()
    return tuple(
        LayerClass(
            layers,
            llm.heads,
            1,
            llm.head_dim,
            llm.head_dim,
            window=shape.window,
            ratio=float(ratio),
            latent=True,
            sparse=ratio == shape.sparse_ratio,
        )
        for ratio, layers in shape.ratios
        if layers
    )
