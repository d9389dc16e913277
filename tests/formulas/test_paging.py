"""Blocks of a KV pool against lines that engines printed at start-up."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.catalog import LinearAttention, Llm, SlidingWindow
from planner.formulas import attention, paging
from planner.formulas.stages import Mix, stage_mixes
from tests.formulas.llms import GEMMA_3_27B, HYBRID, LLAMA_8B, llm

GIB = 2**30
GPT_OSS = llm(layers=36, kv_heads=8, head_dim=64, sliding=SlidingWindow(window=128, layers=18))
QWEN_STATE = 32 * 128 * 128 * 4 + 3 * (2 * 16 * 128 + 32 * 128) * 2
QWEN_35B = llm(layers=40, kv_heads=2, head_dim=256, linear=LinearAttention(layers=30, state_bytes=30 * QWEN_STATE))


def grouped(
    shape: Llm, *, pool_bytes: float, token: float, in_flight: int, stage: int = 0, stages: int = 1, **more: Any
) -> paging.Pool:
    windows, states = shape.sliding.layers if shape.sliding else 0, shape.linear.layers if shape.linear else 0
    given_: dict[str, Any] = {"block_size": 16, "window_token_bytes": token, "state_blocks": 2, **more}
    return paging.grouped_pool(
        shape,
        mix=stage_mixes(shape, pipeline_parallel=stages)[stage],
        groups=paging.layer_groups(full=attention.full_layers(shape), window=windows, state=states),
        pool_bytes=pool_bytes,
        layer_token_bytes=token,
        in_flight_tokens=in_flight,
        **given_,
    )


def test_a_plain_llm_prints_whole_blocks() -> None:
    # vLLM 0.15, Llama-3.1-8B: 19.28 GiB are 157,936 tokens, 1.20 requests of 131,072.
    pool = paging.uniform_pool(pool_bytes=19.28 * GIB, block_size=16, token_bytes=131_072)
    assert pool.tokens_by_blocks() == 157_936
    assert pool.requests(131_072) == pytest.approx(1.20, abs=0.005)


def test_half_sliding_layers_print_the_concurrency_of_the_log() -> None:
    # vLLM 0.22, gpt-oss-120b on H200: 57.24 GiB, requests of 2,068 tokens: 399.23 at once, 825,607 tokens.
    pool = grouped(GPT_OSS, pool_bytes=57.24 * GIB, token=2 * 8 * 64 * 2, in_flight=8192)
    assert pool.requests(2068) == pytest.approx(399.23, abs=0.03)
    assert pool.tokens_by_requests(longest=2068) == pytest.approx(825_607, rel=1e-4)


def test_all_sliding_layers_take_one_block_more() -> None:
    # vLLM 0.9.1, e5-mistral-7b (window 4,096): 547,776 tokens and 526.71 requests of 1,024, not 534.94.
    shape = llm(sliding=SlidingWindow(window=4096, layers=32))
    pool = grouped(shape, pool_bytes=547_776 * 131_072, token=4096, in_flight=8192)
    assert pool.tokens_by_blocks() == 547_776
    assert pool.requests(1024) == pytest.approx(526.71, abs=0.005)


def test_five_window_layers_for_a_full_one_are_padded_as_in_the_log() -> None:
    # vLLM 0.11, gemma-3-27b on one MI300X: 109.86 GiB are 89,994 blocks ("Add 8 padding layers"), 205,696 tokens by
    # seven groups, 50.05 requests of 4,096 with 8,192 tokens in flight.
    pool = grouped(GEMMA_3_27B, pool_bytes=109.86 * GIB, token=2 * 16 * 128 * 2, in_flight=8192)
    assert pool.blocks == pytest.approx(89_994, abs=5)
    assert pool.groups == 7
    assert pool.tokens_by_blocks() == pytest.approx(205_696, rel=1e-4)
    assert pool.requests(4096) == pytest.approx(50.05, abs=0.005)


@pytest.mark.parametrize(
    ("layers", "size", "made"),
    [
        ((10, 52, 0), 10, (1, 6, 0)),  # gemma-3-27b
        ((13, 12, 0), 13, (1, 1, 0)),  # gpt-oss-20b with a draft layer: padded to 13 each, not 12 and 24
        ((12, 18, 0), 12, (1, 2, 0)),  # at 1.5 times the smaller one the smaller is the size
        ((10, 0, 30), 10, (1, 0, 3)),  # Qwen3.6-35B
    ],
)
def test_groups_of_layers(layers: tuple[int, int, int], size: int, made: tuple[int, int, int]) -> None:
    found = paging.layer_groups(full=layers[0], window=layers[1], state=layers[2])
    assert found.size == size
    assert (found.full, found.window, found.state) == made


def test_recurrent_layers_stretch_the_block_as_in_the_log() -> None:
    # vLLM 0.24, Qwen3.6-35B with FP8 cache on an RTX 5090: block of 2,096 tokens, 4.33 requests of 131,072, in all
    # 567,978 tokens.
    token = 2 * 2 * 256
    block = paging.stretched_block(block_size=16, layer_token_bytes=token, state_layer_bytes=QWEN_STATE, step=16)
    assert block == 2096
    pool = grouped(QWEN_35B, pool_bytes=5.98 * GIB, token=token, in_flight=8192, block_size=block)
    assert pool.requests(131_072) == pytest.approx(4.33, abs=0.005)
    assert pool.tokens_by_requests(longest=131_072) == 567_978


def test_chunks_start_anew_and_keep_no_block_beside() -> None:
    # ⌈min(8192 + 2048, L)/16⌉ for chunked layers, one block more for windows that slide.
    chunked = llm(layers=48, sliding=SlidingWindow(window=8192, layers=36, chunked=True))
    sliding = llm(layers=48, sliding=SlidingWindow(window=8192, layers=36))
    for shape, blocks in ((chunked, 640), (sliding, 641)):
        pool = grouped(shape, pool_bytes=1e10, token=4096, in_flight=2048)
        assert pool.blocks_of(100_000) == 6250 + 3 * blocks


def test_a_smaller_page_gets_a_longer_block() -> None:
    # Window layers of half the bytes a token: their block is twice as long, the page the same.
    pool = grouped(GPT_OSS, pool_bytes=1e10, token=4096, in_flight=0, window_token_bytes=2048)
    assert (pool.block_size, pool.window_block_size) == (16, 32)
    assert pool.blocks == math.floor(1e10 / (18 * 16 * 4096))


def test_stages_share_the_layers_of_their_groups() -> None:
    whole = grouped(GPT_OSS, pool_bytes=1e10, token=4096, in_flight=0)
    half = grouped(GPT_OSS, pool_bytes=1e10, token=4096, in_flight=0, stage=1, stages=2)
    assert half.blocks == 2 * whole.blocks or half.blocks == 2 * whole.blocks + 1
    assert half.groups == whole.groups


@given(tokens=st.integers(1, 10**7))
def test_a_printed_size_leads_back_to_its_pool(tokens: int) -> None:
    def made(size: float) -> paging.Pool:
        return paging.uniform_pool(pool_bytes=size, block_size=16, token_bytes=131_072)

    found = paging.pool_bytes_of(tokens, pool=made, count=paging.Pool.tokens_by_blocks)
    assert made(found).tokens_by_blocks() == math.ceil(tokens / 16) * 16
    assert made(found - 2).tokens_by_blocks() < tokens


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
        few, many = (grouped(shape, pool_bytes=each, token=4096, in_flight=2048) for each in (size, size + more))
        assert many.requests(5000) >= few.requests(5000)


def two_pools(mix: Mix, **more: float) -> paging.Pool:
    sizes = {"pool_bytes": 10e9, "layer_token_bytes": 8192, "window_token_bytes": 8192, "state_bytes": 0, **more}
    return paging.two_pools(mix=mix, block_size=1, window_ratio=0.8, state_ratio=0.9, **sizes)


def test_two_pools_share_by_their_ratio() -> None:
    pool = two_pools(Mix(layers=62, full=10, window=52, state=0, dense=62, expert=0))
    assert pool.blocks == math.floor(10e9 / ((10 + 0.8 * 52) * 8192))
    assert pool.most_requests == math.inf


def test_states_of_their_own_limit_the_requests() -> None:
    pool = two_pools(
        Mix(layers=32, full=8, window=0, state=24, dense=32, expert=0), pool_bytes=1.9e9, state_bytes=48 * 2**20
    )
    assert pool.most_requests == pytest.approx(0.9e9 / (48 * 2**20))
    assert pool.requests(1) == pool.most_requests


def test_sglang_splits_states_and_cache_as_in_the_log() -> None:
    # SGLang 2026-04, Qwen3.5-9B on two GPUs: 14.08 - 22.93 · 0.2 = 9.49 GB, of which states 4.48 (186 slots with the
    # convolutions) and keys and values 5.00.
    rest = (14.08 - 22.93 * 0.2) * GIB
    mix = Mix(layers=32, full=8, window=0, state=24, dense=32, expert=0)
    pool = two_pools(mix, pool_bytes=rest, layer_token_bytes=2 * 2 * 256 * 2, state_bytes=4.48 * GIB / 186)
    assert pool.tokens_by_blocks() == pytest.approx(327_310, rel=0.002)
    assert pool.most_requests == pytest.approx(186, abs=2)
