"""Key-value cache and arithmetic of attention: multi-head, grouped, latent, sliding-window, sparse and recurrent."""

from __future__ import annotations

from functools import lru_cache

from planner.core.catalog import Llm
from planner.formulas.layers import LayerClass, layer_classes
from planner.formulas.parameters import attention_layers

__all__ = [
    "attention_layers",
    "cached_layer_tokens",
    "decode_flops_per_token",
    "full_layers",
    "indexer_bytes_per_token",
    "kv_bytes_per_token",
    "kv_heads_per_rank",
    "layer_classes",
    "layer_kv_bytes_per_token",
    "prefill_flops",
    "recurrent_state_bytes",
    "request_kv_bytes",
]

_INDEX_SCALE_BYTES = 4
"""Beside an index key of 128 numbers in 8 bits."""
_INDEX_SCALE_GROUP = 128


def full_layers(llm: Llm) -> int:
    """Layers whose cache grows with the whole context."""
    sliding = llm.sliding.layers if llm.sliding else 0
    return attention_layers(llm) - sliding


def kv_heads_per_rank(llm: Llm, *, tensor_parallel: int) -> int:
    """Key-value heads each tensor-parallel rank stores.

    With more ranks than heads the heads are replicated and the cache per GPU stops shrinking.
    """
    return max(1, -(-llm.kv_heads // tensor_parallel))


def layer_kv_bytes_per_token(
    llm: Llm, *, dtype_bytes: float, tensor_parallel: int = 1, windowed: bool = False
) -> float:
    """Cache of one token in one attention layer on one GPU.

    Parameters
    ----------
    llm : architecture
    dtype_bytes : width of a cached number [bytes]
    tensor_parallel : attention tensor-parallel ranks
    windowed : of a layer with a sliding window, whose heads may have another shape

    Returns
    -------
    float [bytes]

    Notes
    -----
    MHA, GQA, MQA: ``heads_kv/rank · (d_key + d_value) · b``. MLA stores one latent vector of
    ``(kv_lora_rank + rope_dim) · b``, which tensor parallelism replicates; compressed attention one of
    ``head_dim · b``.

    References
    ----------
    Ainslie et al., "GQA", 2023, arXiv:2305.13245; DeepSeek-AI, "DeepSeek-V2", 2024, arXiv:2405.04434, Table 1.
    """
    classes = layer_classes(llm)
    if not classes:
        return 0.0
    return classes[-1 if windowed else 0].entry_numbers(tensor_parallel=tensor_parallel) * dtype_bytes


def kv_bytes_per_token(
    llm: Llm, *, dtype_bytes: float, tensor_parallel: int = 1, sliding_as_full: bool = False
) -> float:
    """Cache that one more token takes on each GPU at a long context (the marginal figure).

    Layers with a sliding window have reached it and add nothing, recurrent layers never grow;
    ``sliding_as_full`` counts them like the others, as engines with one page size for all layers do. What an indexer
    keeps comes on top: `indexer_bytes_per_token`.

    Parameters
    ----------
    llm : architecture
    dtype_bytes : width of a cached number [bytes]
    tensor_parallel : attention tensor-parallel ranks

    Returns
    -------
    float [bytes]

    Notes
    -----
    ``Σ layers that still grow · bytes of a layer and token``; `layer_kv_bytes_per_token` has the second factor. Where
    ``ratio`` tokens share an entry, a token adds ``1/ratio`` of it.

    References
    ----------
    Ainslie et al., "GQA", 2023, arXiv:2305.13245, section 2; DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, Table 1.

    Examples
    --------
    DeepSeek-V3 in 16 bits: 61 layers · (512 + 64) · 2 B = 70 272 B on every GPU.
    """
    return _marginal_numbers(llm, tensor_parallel, sliding_as_full) * dtype_bytes


@lru_cache(maxsize=4096)
def _marginal_numbers(llm: Llm, tensor_parallel: int, sliding_as_full: bool) -> float:
    total = 0.0
    for each in layer_classes(llm):
        if not each.window or sliding_as_full or each.window >= llm.max_context_tokens:
            share = 1.0
        elif each.ratio == 1.0 or not each.ratio:
            share = 0.0
        else:
            share = 1.0 / each.ratio
        total += each.layers * each.entry_numbers(tensor_parallel=tensor_parallel) * share
    return total


def indexer_bytes_per_token(llm: Llm, *, dtype_bytes: float) -> float:
    """Cache of a sparse-attention indexer for one more token, on every GPU alike.

    Parameters
    ----------
    llm : architecture
    dtype_bytes : width of a cached number [bytes]; in 8 bits each 128 numbers have a scale of 4 bytes

    Returns
    -------
    float [bytes]

    Notes
    -----
    One key of ``head_dim`` numbers a token and layer that has an indexer; behind a compressor one an entry.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V3.2", 2025, section 2.1 (lightning indexer): one key head shared by all query heads.

    Examples
    --------
    DeepSeek-V3.2 in 16 bits: 61 layers · 128 · 2 B = 15 616 B.
    """
    if llm.indexer is None:
        return 0.0
    scale = _INDEX_SCALE_BYTES / _INDEX_SCALE_GROUP if dtype_bytes <= 1.0 else 0.0
    ratio = llm.compressed.sparse_ratio if llm.compressed else 1
    return llm.indexer.layers * llm.indexer.head_dim * (max(dtype_bytes, 1.0) + scale) / ratio


def cached_layer_tokens(llm: Llm, tokens: float) -> float:
    """Tokens kept, summed over the attention layers, by a request of ``tokens``: the curve before it is in bytes."""
    return sum(each.layers * each.kept_tokens(tokens) for each in layer_classes(llm))


def request_kv_bytes(llm: Llm, *, tokens: float, dtype_bytes: float, tensor_parallel: int = 1) -> float:
    """Cache of a request of ``tokens`` on each GPU of its attention group, state of recurrent layers included.

    Parameters
    ----------
    llm : architecture
    tokens : length of the request so far [tokens]
    dtype_bytes : width of a cached number [bytes]
    tensor_parallel : attention tensor-parallel ranks

    Returns
    -------
    float [bytes]

    Notes
    -----
    ``Σ_layers min(tokens, window) · bytes_per_layer_token + indexer keys + state``; a compressed layer keeps its window
    and one entry for ``ratio`` tokens. Ranks share the recurrent state by heads. The buffers of blocks that are not
    full yet, a constant of some megabytes, are left out.

    References
    ----------
    Jiang et al., "Mistral 7B", 2023, arXiv:2310.06825, section 2 (a rolling buffer of one window).
    """
    numbers = sum(
        each.layers * each.kept_tokens(tokens) * each.entry_numbers(tensor_parallel=tensor_parallel)
        for each in layer_classes(llm)
    )
    index = indexer_bytes_per_token(llm, dtype_bytes=dtype_bytes) * tokens
    return numbers * dtype_bytes + index + recurrent_state_bytes(llm, tensor_parallel=tensor_parallel)


def recurrent_state_bytes(llm: Llm, *, tensor_parallel: int = 1) -> float:
    """State of the recurrent layers of one request on each GPU, a constant at any length [bytes]."""
    return llm.linear.state_bytes / tensor_parallel if llm.linear else 0.0


def decode_flops_per_token(llm: Llm, *, context_tokens: float) -> float:
    """Attention arithmetic of one new token over its context, all heads and layers [FLOP].

    Notes
    -----
    ``2 · heads · (d_key + d_value) · seen`` a layer; MLA in absorbed form works on the latent vector:
    ``2 · heads · (2 · kv_lora_rank + rope_dim) · seen``. Seen is the context, at most the window, the chunk or what an
    indexer chose; the indexer itself scores every key.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, section 2.1.2 (absorption of the up-projections).
    """
    total = 0.0
    for each in layer_classes(llm):
        seen = _entries_seen(each, context_tokens, top_k=llm.sparse_top_k)
        total += each.layers * 2 * each.heads * (each.key_dim + each.value_dim) * seen
    return total + _indexer_flops(llm, pairs=context_tokens)


def _entries_seen(each: LayerClass, context: float, *, top_k: int) -> float:
    """Entries a token reads in one layer behind ``context`` tokens."""
    if not each.window:
        return min(context, top_k) if each.sparse and top_k else context
    near = min(context, each.window)
    if each.ratio == 1.0 or not each.ratio:
        return near
    far = context / each.ratio
    return near + (min(far, top_k) if each.sparse and top_k else far)


def _indexer_flops(llm: Llm, *, pairs: float) -> float:
    if llm.indexer is None:
        return 0.0
    ratio = llm.compressed.sparse_ratio if llm.compressed else 1
    return 2.0 * llm.indexer.layers * llm.indexer.heads * llm.indexer.head_dim * pairs / ratio


def prefill_flops(llm: Llm, *, new_tokens: float, cached_tokens: float = 0.0) -> float:
    """Attention arithmetic of a prefill of ``new_tokens`` behind ``cached_tokens``, all heads and layers [FLOP].

    Notes
    -----
    Causal: each new token sees the cached ones and half of the new ones, ``2·L·H·(d_key + d_value)·(n·p + n²/2)``; MLA
    runs in its non-absorbed form, ``2·H·(d_nope + d_rope + d_v)`` a pair, unless an indexer chooses what is read; a
    window or the indexer's choice caps what a token sees, a chunk starts anew.

    References
    ----------
    Dao, "FlashAttention-2", 2023, arXiv:2307.08691, section 4.1 (FLOP count, causal halved).
    """
    total = 0.0
    for each in layer_classes(llm):
        pairs = _pairs(each, new_tokens, cached_tokens, top_k=llm.sparse_top_k)
        total += each.layers * 2 * each.heads * _pair_width(llm, each) * pairs
    return total + _indexer_flops(llm, pairs=_causal_pairs(new_tokens, cached_tokens))


def _pair_width(llm: Llm, each: LayerClass) -> int:
    if llm.mla and not each.sparse:
        return llm.mla.nope_dim + llm.mla.rope_dim + llm.mla.v_dim
    return each.key_dim + each.value_dim


def _pairs(each: LayerClass, new: float, cached: float, *, top_k: int) -> float:
    if each.chunked:
        return _chunk_pairs(cached + new, each.window) - _chunk_pairs(cached, each.window)
    if not each.window:
        return _window_pairs(new, cached, top_k) if each.sparse and top_k else _causal_pairs(new, cached)
    near = _window_pairs(new, cached, each.window)
    if each.ratio == 1.0 or not each.ratio:
        return near
    if each.sparse and top_k:
        return near + _window_pairs(new, cached, top_k * each.ratio) / each.ratio
    return near + _causal_pairs(new, cached) / each.ratio


def _causal_pairs(new: float, cached: float) -> float:
    return new * cached + new * new / 2


def _window_pairs(new: float, cached: float, window: float) -> float:
    """Pairs when each token sees at most ``window`` tokens: the ramp up to the window, then a band."""
    ramp = min(new, max(window - cached, 0.0))
    return _causal_pairs(ramp, min(cached, window)) + (new - ramp) * window


def _chunk_pairs(tokens: float, chunk: float) -> float:
    """Pairs of the first ``tokens`` tokens when each sees only those before it in its own chunk."""
    whole, rest = divmod(tokens, chunk)
    return whole * chunk * chunk / 2 + rest * rest / 2
