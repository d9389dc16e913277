"""Cache and arithmetic of attention, against published figures and exact sums."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import attention
from tests.formulas.llms import DEEPSEEK_V3, GEMMA_3_27B, HYBRID, LLAMA_8B, LLAMA_70B, QWEN3_32B, llm


@pytest.mark.parametrize(
    ("shape", "ranks", "expected"),
    [
        (LLAMA_8B, 1, 131_072),
        (LLAMA_70B, 1, 327_680),
        (QWEN3_32B, 1, 262_144),
        (QWEN3_32B, 4, 65_536),
        (DEEPSEEK_V3, 1, 70_272),
        (DEEPSEEK_V3, 8, 70_272),
        (DEEPSEEK_V3, 16, 70_272),
    ],
)
def test_a_token_takes_the_published_bytes(shape: object, ranks: int, expected: int) -> None:
    # The specification's golden figures; DeepSeek-V3 is 61 layers of (512 + 64) latent numbers of 2 bytes.
    assert attention.kv_bytes_per_token(shape, dtype_bytes=2, tensor_parallel=ranks) == expected  # type: ignore[arg-type]


def test_more_ranks_than_heads_copy_the_heads() -> None:
    eight = attention.kv_bytes_per_token(LLAMA_8B, dtype_bytes=2, tensor_parallel=8)
    assert attention.kv_bytes_per_token(LLAMA_8B, dtype_bytes=2, tensor_parallel=32) == eight


def test_windows_and_recurrent_layers_add_nothing_at_the_margin() -> None:
    one_layer = 2 * 16 * 128 * 2
    assert attention.kv_bytes_per_token(GEMMA_3_27B, dtype_bytes=2) == 10 * one_layer
    assert attention.kv_bytes_per_token(GEMMA_3_27B, dtype_bytes=2, sliding_as_full=True) == 62 * one_layer
    assert attention.kv_bytes_per_token(HYBRID, dtype_bytes=2) == 131_072 / 32 * 8


def test_a_window_that_spans_the_context_saves_nothing() -> None:
    short = llm(max_context_tokens=4096, sliding=GEMMA_3_27B.sliding.__class__(window=4096, layers=16))
    assert attention.kv_bytes_per_token(short, dtype_bytes=2) == 131_072


def test_a_request_is_the_sum_over_its_layers() -> None:
    per_layer = 2 * 16 * 128 * 2
    assert attention.request_kv_bytes(GEMMA_3_27B, tokens=500, dtype_bytes=2) == 62 * 500 * per_layer
    assert attention.request_kv_bytes(GEMMA_3_27B, tokens=5000, dtype_bytes=2) == (10 * 5000 + 52 * 1024) * per_layer
    state = 48 * 2**20
    assert attention.request_kv_bytes(HYBRID, tokens=0, dtype_bytes=2) == state


@given(tokens=st.floats(1, 1e6), more=st.floats(0, 1e6))
def test_a_longer_request_never_takes_less(tokens: float, more: float) -> None:
    for shape in (LLAMA_8B, GEMMA_3_27B, HYBRID, DEEPSEEK_V3):
        short = attention.request_kv_bytes(shape, tokens=tokens, dtype_bytes=2)
        assert attention.request_kv_bytes(shape, tokens=tokens + more, dtype_bytes=2) >= short


def test_prefill_in_two_pieces_does_the_same_work() -> None:
    # Exact for causal attention: each pair of tokens is counted once, however the prompt is cut.
    for shape in (LLAMA_8B, GEMMA_3_27B, DEEPSEEK_V3):
        whole = attention.prefill_flops(shape, new_tokens=6000)
        first = attention.prefill_flops(shape, new_tokens=2500)
        second = attention.prefill_flops(shape, new_tokens=3500, cached_tokens=2500)
        assert first + second == pytest.approx(whole, rel=1e-12)


def test_windowed_pairs_match_a_sum_over_tokens() -> None:
    window, tokens, layers = 1024, 3000, GEMMA_3_27B.sliding.layers if GEMMA_3_27B.sliding else 0
    full = sum(i + 0.5 for i in range(tokens)) * 10
    banded = sum(min(i + 0.5, window) for i in range(tokens)) * layers
    expected = 4 * 32 * 128 * (full + banded)
    assert attention.prefill_flops(GEMMA_3_27B, new_tokens=tokens) == pytest.approx(expected, rel=1e-6)


def test_decode_over_a_context_is_four_flops_a_number() -> None:
    # Two multiply-adds a cached number pair: 4 · heads · head_dim · context a layer.
    assert attention.decode_flops_per_token(LLAMA_8B, context_tokens=1000) == 4 * 32 * 128 * 1000 * 32
