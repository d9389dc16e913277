"""Blocks of a KV pool against lines that engines printed at start-up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.catalog import LinearAttention, SlidingWindow
from planner.formulas import paging
from tests.formulas.llms import GEMMA_3_27B, HYBRID, LLAMA_8B, llm

GIB = 2**30


def test_a_plain_llm_prints_whole_blocks() -> None:
    # vLLM 0.15, Llama-3.1-8B: 19.28 GiB are 157,936 tokens, 1.20 requests of 131,072.
    pool = paging.uniform_pool(LLAMA_8B, pool_bytes=19.28 * GIB, block_size=16, token_bytes=131_072)
    assert pool.blocks * pool.block_size == 157_936
    assert pool.requests(131_072) == pytest.approx(1.20, abs=0.005)


def test_half_sliding_layers_print_the_concurrency_of_the_log() -> None:
    # vLLM 0.22, gpt-oss-120b on H200: 57.24 GiB, requests of 2,068 tokens: 399.23 at once.
    shape = llm(layers=36, kv_heads=8, head_dim=64, sliding=SlidingWindow(window=128, layers=18))
    pool = paging.grouped_pool(
        shape,
        pool_bytes=57.24 * GIB,
        block_size=16,
        layer_token_bytes=2 * 8 * 64 * 2,
        state_bytes=0,
        in_flight_tokens=8192,
    )
    assert pool.requests(2068) == pytest.approx(399.23, abs=0.03)


def test_all_sliding_layers_take_one_block_more() -> None:
    # vLLM 0.9.1, e5-mistral-7b (window 4,096): 547,776 tokens and 526.71 requests of 1,024, not 534.94.
    shape = llm(sliding=SlidingWindow(window=4096, layers=32))
    pool = paging.grouped_pool(
        shape,
        pool_bytes=547_776 * 131_072,
        block_size=16,
        layer_token_bytes=4096,
        state_bytes=0,
        in_flight_tokens=8192,
    )
    assert pool.blocks == 547_776 / 16
    assert pool.requests(1024) == pytest.approx(526.71, abs=0.005)


def test_recurrent_layers_stretch_the_block_as_in_the_log() -> None:
    # vLLM 0.24, Qwen3.6-35B with FP8 cache on an RTX 5090: block of 2,096 tokens, 4.33 requests of 131,072, in all
    # 567,978 tokens.
    state_of_a_layer = 32 * 128 * 128 * 4 + 3 * (2 * 16 * 128 + 32 * 128) * 2
    shape = llm(
        layers=40, kv_heads=2, head_dim=256, linear=LinearAttention(layers=30, state_bytes=30 * state_of_a_layer)
    )
    pool = paging.grouped_pool(
        shape,
        pool_bytes=5.98 * GIB,
        block_size=16,
        layer_token_bytes=2 * 2 * 256,
        state_bytes=30 * state_of_a_layer,
        in_flight_tokens=8192,
    )
    assert pool.block_size == 2096
    assert pool.requests(131_072) == pytest.approx(4.33, abs=0.005)
    assert int(pool.requests(131_072) * 131_072) == 567_978


@given(blocks=st.integers(1, 10**6), tokens=st.integers(1, 10**6), limit=st.integers(1, 10**6))
def test_the_longest_request_fits_and_one_more_does_not(blocks: int, tokens: int, limit: int) -> None:
    for pool in (
        paging.Pool(blocks=blocks, block_size=16, full_groups=1),
        paging.Pool(blocks=blocks, block_size=16, full_groups=2, window_groups=3, window=1024, in_flight_tokens=512),
        paging.Pool(blocks=blocks, block_size=2096, full_groups=1, state_blocks=6),
    ):
        longest = pool.longest_request(limit=limit)
        assert longest <= limit
        if longest:
            assert pool.requests(longest) >= 1
        if longest < limit:
            assert pool.requests(longest + 1) < 1
        assert pool.requests(tokens) >= pool.requests(tokens + 1)


@given(size=st.floats(1e6, 1e11), more=st.floats(0, 1e10))
def test_more_memory_never_holds_fewer_tokens(size: float, more: float) -> None:
    for shape in (LLAMA_8B, GEMMA_3_27B, HYBRID):
        few, many = (
            paging.grouped_pool(
                shape, pool_bytes=each, block_size=16, layer_token_bytes=4096, state_bytes=1e7, in_flight_tokens=2048
            )
            for each in (size, size + more)
        )
        assert many.requests(5000) >= few.requests(5000)


def test_two_pools_share_by_their_ratio() -> None:
    pool = paging.two_pools(
        GEMMA_3_27B,
        pool_bytes=10e9,
        block_size=1,
        layer_token_bytes=8192,
        state_bytes=0,
        window_ratio=0.8,
        state_ratio=0.9,
    )
    assert pool.blocks == math.floor(10e9 / ((10 + 0.8 * 52) * 8192))
    assert pool.most_requests == math.inf


def test_states_of_their_own_limit_the_requests() -> None:
    pool = paging.two_pools(
        HYBRID,
        pool_bytes=1.9e9,
        block_size=1,
        layer_token_bytes=4096,
        state_bytes=48 * 2**20,
        window_ratio=0.8,
        state_ratio=0.9,
    )
    assert pool.most_requests == pytest.approx(0.9e9 / (48 * 2**20))
    assert pool.requests(1) == pool.most_requests
