"""Key-value cache and arithmetic of attention: multi-head, grouped, latent, sliding-window and recurrent."""

from __future__ import annotations

from planner.core.catalog import Llm


def full_layers(llm: Llm) -> int:
    """Layers whose cache grows with the whole context."""
    sliding = llm.sliding.layers if llm.sliding else 0
    return attention_layers(llm) - sliding


def attention_layers(llm: Llm) -> int:
    """Layers that keep keys and values at all (all but the recurrent ones)."""
    return llm.layers - (llm.linear.layers if llm.linear else 0)


def kv_heads_per_rank(llm: Llm, *, tensor_parallel: int) -> int:
    """Key-value heads each tensor-parallel rank stores.

    With more ranks than heads the heads are replicated and the cache per GPU stops shrinking.
    """
    return max(1, -(-llm.kv_heads // tensor_parallel))


def layer_kv_bytes_per_token(llm: Llm, *, dtype_bytes: float, tensor_parallel: int = 1) -> float:
    """Cache of one token in one attention layer on one GPU.

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
    MHA, GQA, MQA: ``2 · heads_kv/rank · head_dim · b``. MLA stores one latent vector of
    ``(kv_lora_rank + rope_dim) · b``, which tensor parallelism replicates.

    References
    ----------
    Ainslie et al., "GQA", 2023, arXiv:2305.13245; DeepSeek-AI, "DeepSeek-V2", 2024, arXiv:2405.04434, Table 1.
    """
    if llm.mla:
        return (llm.mla.kv_lora_rank + llm.mla.rope_dim) * dtype_bytes
    return 2 * kv_heads_per_rank(llm, tensor_parallel=tensor_parallel) * llm.head_dim * dtype_bytes


def kv_bytes_per_token(
    llm: Llm, *, dtype_bytes: float, tensor_parallel: int = 1, sliding_as_full: bool = False
) -> float:
    """Cache that one more token takes on each GPU at a long context (the marginal figure).

    Layers with a sliding window have reached it and add nothing, recurrent layers never grow;
    ``sliding_as_full`` counts them like the others, as engines with one page size for all layers do.

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
    ``layers that still grow · bytes of a layer and token``; `layer_kv_bytes_per_token` has the second factor.

    References
    ----------
    Ainslie et al., "GQA", 2023, arXiv:2305.13245, section 2; DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, Table 1.

    Examples
    --------
    DeepSeek-V3 in 16 bits: 61 layers · (512 + 64) · 2 B = 70 272 B on every GPU.
    """
    layers = attention_layers(llm) if sliding_as_full or _window_unreached(llm) else full_layers(llm)
    return layers * layer_kv_bytes_per_token(llm, dtype_bytes=dtype_bytes, tensor_parallel=tensor_parallel)


def _window_unreached(llm: Llm) -> bool:
    return llm.sliding is not None and llm.sliding.window >= llm.max_context_tokens


def cached_layer_tokens(llm: Llm, tokens: float) -> float:
    """Tokens kept, summed over the attention layers, by a request of ``tokens``: the curve before it is in bytes."""
    if llm.sliding is None:
        return attention_layers(llm) * tokens
    return full_layers(llm) * tokens + llm.sliding.layers * min(tokens, llm.sliding.window)


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
    ``Σ_layers min(tokens, window) · bytes_per_layer_token + state``. Ranks share the recurrent state by heads.

    References
    ----------
    Jiang et al., "Mistral 7B", 2023, arXiv:2310.06825, section 2 (a rolling buffer of one window).
    """
    per_layer = layer_kv_bytes_per_token(llm, dtype_bytes=dtype_bytes, tensor_parallel=tensor_parallel)
    return cached_layer_tokens(llm, tokens) * per_layer + recurrent_state_bytes(llm, tensor_parallel=tensor_parallel)


def recurrent_state_bytes(llm: Llm, *, tensor_parallel: int = 1) -> float:
    """State of the recurrent layers of one request on each GPU, a constant at any length [bytes]."""
    return llm.linear.state_bytes / tensor_parallel if llm.linear else 0.0


def decode_flops_per_token(llm: Llm, *, context_tokens: float) -> float:
    """Attention arithmetic of one new token over its context, all heads and layers [FLOP].

    Notes
    -----
    ``4 · heads · head_dim · context`` a layer; MLA in absorbed form works on the latent vector:
    ``2 · heads · (2 · kv_lora_rank + rope_dim) · context``.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, section 2.1.2 (absorption of the up-projections).
    """
    if llm.mla:
        per_pair = 2 * llm.heads * (2 * llm.mla.kv_lora_rank + llm.mla.rope_dim)
    else:
        per_pair = 4 * llm.heads * llm.head_dim
    return per_pair * cached_layer_tokens(llm, context_tokens)


def prefill_flops(llm: Llm, *, new_tokens: float, cached_tokens: float = 0.0) -> float:
    """Attention arithmetic of a prefill of ``new_tokens`` behind ``cached_tokens``, all heads and layers [FLOP].

    Notes
    -----
    Causal: each new token sees the cached ones and half of the new ones, ``4·L·H·d·(n·p + n²/2)``; MLA runs in its
    non-absorbed form, ``2·H·(d_nope + d_rope + d_v)`` a pair; a window caps what a token sees.

    References
    ----------
    Dao, "FlashAttention-2", 2023, arXiv:2307.08691, section 4.1 (FLOP count, causal halved).
    """
    if llm.mla:
        per_pair = 2 * llm.heads * (llm.mla.nope_dim + llm.mla.rope_dim + llm.mla.v_dim)
    else:
        per_pair = 4 * llm.heads * llm.head_dim
    pairs = full_layers(llm) * _causal_pairs(new_tokens, cached_tokens)
    if llm.sliding:
        pairs += llm.sliding.layers * _window_pairs(new_tokens, cached_tokens, llm.sliding.window)
    return per_pair * pairs


def _causal_pairs(new: float, cached: float) -> float:
    return new * cached + new * new / 2


def _window_pairs(new: float, cached: float, window: float) -> float:
    """Pairs when each token sees at most ``window`` tokens: the ramp up to the window, then a band."""
    ramp = min(new, max(window - cached, 0.0))
    return _causal_pairs(ramp, min(cached, window)) + (new - ramp) * window
