"""Layers that differ: windows with heads of their own, chunks, sparse and compressed attention, against sums."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.catalog import CompressedKv, Indexer, LinearAttention, Llm, SlidingWindow
from planner.formulas import attention, memory
from tests.formulas.llms import DEEPSEEK_V3, llm

CHUNKED = llm(sliding=SlidingWindow(window=1000, layers=24, chunked=True))
OWN_HEADS = llm(
    head_dim=192, v_dim=128, sliding=SlidingWindow(window=128, layers=20, kv_heads=16, head_dim=64, v_dim=32)
)
SPARSE = llm(
    mla=DEEPSEEK_V3.mla,
    sparse_top_k=2048,
    indexer=Indexer(heads=64, head_dim=128, layers=8, layer_params=10_000_000, sparse_layers=32),
)
COMPRESSED = llm(
    head_dim=512,
    kv_heads=1,
    sparse_top_k=512,
    compressed=CompressedKv(
        window=128, ratios=((0, 2), (4, 20), (128, 10)), q_lora_rank=1024, o_groups=8, o_lora_rank=1024
    ),
    indexer=Indexer(heads=64, head_dim=128, layers=20),
)
BESIDE = llm(linear=LinearAttention(layers=32, state_bytes=2**20, beside_attention=True))
KINDS = (CHUNKED, OWN_HEADS, SPARSE, COMPRESSED, BESIDE)


def test_windows_with_heads_of_their_own_are_summed_apart() -> None:
    full, window = 12 * 8 * (192 + 128), 20 * 16 * (64 + 32)
    assert attention.kv_bytes_per_token(OWN_HEADS, dtype_bytes=2) == full * 2
    assert attention.kv_bytes_per_token(OWN_HEADS, dtype_bytes=2, sliding_as_full=True) == (full + window) * 2
    assert attention.request_kv_bytes(OWN_HEADS, tokens=1000, dtype_bytes=2) == (full * 1000 + window * 128) * 2
    assert attention.layer_kv_bytes_per_token(OWN_HEADS, dtype_bytes=2, windowed=True) == 16 * 96 * 2


def test_compressed_entries_are_shared_by_tokens() -> None:
    # 20 layers keep a quarter, 10 a 128th, all 32 the last 128 tokens; 20 keep an index key for four tokens.
    entries = 20 * 8192 / 4 + 10 * 8192 / 128 + 32 * 128
    expected = entries * 512 * 2 + 20 * 8192 / 4 * 128 * 2
    assert attention.request_kv_bytes(COMPRESSED, tokens=8192, dtype_bytes=2) == expected
    assert attention.kv_bytes_per_token(COMPRESSED, dtype_bytes=2) == (20 / 4 + 10 / 128) * 1024


def test_layers_beside_attention_keep_both() -> None:
    plain = llm()
    assert attention.kv_bytes_per_token(BESIDE, dtype_bytes=2) == attention.kv_bytes_per_token(plain, dtype_bytes=2)
    assert attention.recurrent_state_bytes(BESIDE) == 2**20


def test_chunked_pairs_match_a_sum_over_tokens() -> None:
    full = sum(i + 0.5 for i in range(3500)) * 8
    chunked = sum(i % 1000 + 0.5 for i in range(3500)) * 24
    assert attention.prefill_flops(CHUNKED, new_tokens=3500) == pytest.approx(4 * 32 * 128 * (full + chunked))


def test_sparse_prefill_reads_what_was_chosen_and_scores_all() -> None:
    chosen = sum(min(i + 0.5, 2048) for i in range(5000)) * 32
    scored = sum(i + 0.5 for i in range(5000)) * 8
    expected = 2 * 32 * (576 + 512) * chosen + 2 * 64 * 128 * scored
    assert attention.prefill_flops(SPARSE, new_tokens=5000) == pytest.approx(expected, rel=1e-6)
    assert attention.decode_flops_per_token(SPARSE, context_tokens=100_000) == pytest.approx(
        2 * 32 * 1088 * 32 * 2048 + 2 * 64 * 128 * 8 * 100_000
    )


@pytest.mark.parametrize("shape", KINDS, ids=["chunked", "own heads", "sparse", "compressed", "beside"])
def test_prefill_in_two_pieces_does_the_same_work(shape: Llm) -> None:
    whole = attention.prefill_flops(shape, new_tokens=6000)
    first = attention.prefill_flops(shape, new_tokens=2500)
    second = attention.prefill_flops(shape, new_tokens=3500, cached_tokens=2500)
    assert first + second == pytest.approx(whole, rel=1e-9)


@given(tokens=st.floats(1, 1e6), more=st.floats(0, 1e6), shape=st.sampled_from(KINDS))
def test_more_context_never_takes_less(tokens: float, more: float, shape: Llm) -> None:
    few, many = ({"tokens": each, "dtype_bytes": 2.0} for each in (tokens, tokens + more))
    assert attention.request_kv_bytes(shape, **few) <= attention.request_kv_bytes(shape, **many)
    shorter = attention.decode_flops_per_token(shape, context_tokens=tokens)
    assert shorter <= attention.decode_flops_per_token(shape, context_tokens=tokens + more)


@given(tokens=st.floats(1, 1e6), shape=st.sampled_from(KINDS))
def test_eight_bits_gain_at_most_two_and_less_where_a_state_stays(tokens: float, shape: Llm) -> None:
    gain = attention.request_kv_bytes(shape, tokens=tokens, dtype_bytes=2) / attention.request_kv_bytes(
        shape, tokens=tokens, dtype_bytes=1
    )
    assert 1 < gain <= 2
    assert gain < 2 or not (shape.linear or shape.indexer)


@pytest.mark.parametrize("shape", [DEEPSEEK_V3, SPARSE, COMPRESSED])
def test_ranks_never_divide_a_latent(shape: Llm) -> None:
    one = attention.request_kv_bytes(shape, tokens=5000, dtype_bytes=2)
    assert attention.request_kv_bytes(shape, tokens=5000, dtype_bytes=2, tensor_parallel=8) == one


@pytest.mark.parametrize("shape", KINDS)
def test_parts_sum_to_the_total(shape: Llm) -> None:
    counts = memory.parameters(shape)
    assert sum(counts[part] for part in memory.STORED_PARTS) == counts["total"]


def test_a_vision_tower_counts_to_the_total_and_not_to_what_a_token_touches() -> None:
    seeing, blind = memory.parameters(llm(vision_params=10**9)), memory.parameters(llm())
    assert seeing["total"] - blind["total"] == 1e9
    assert seeing["active"] == blind["active"]


def test_formats_by_part_hold_only_in_the_published_format() -> None:
    shape = llm(
        native_dtype="int4", quant_bits=4.5, part_formats=(("attention", "bf16", 0.25), ("attention", "int4", 0.75))
    )
    assert memory.part_bytes_per_parameter(shape, part="attention", dtype="int4") == (0.25 * 16 + 0.75 * 4.5) / 8
    assert memory.part_bytes_per_parameter(shape, part="dense_mlp", dtype="int4") == 4.5 / 8
    assert memory.part_bytes_per_parameter(shape, part="attention", dtype="fp8") == 1.0
    assert shape.unquantised_parts == ()
