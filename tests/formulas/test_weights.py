"""Weights of a rank against start-up logs, and what each way to cut a replica divides and copies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import files
from planner.formulas import memory, stages, weights
from tests.formulas.llms import DEEPSEEK_V3, GEMMA_3_27B, LLAMA_8B, LLAMA_70B, llm

GIB = 2**30
CATALOG = files.load()


def test_weights_of_a_rank_match_the_start_up_log() -> None:
    # vLLM prints 14.9888 GiB for Llama-3.1-8B on one GPU, 14.9595 for Llama-3 (8,192 positions of rotary table).
    assert weights.rank_weight_bytes(LLAMA_8B, dtype="bf16") / 2**30 == pytest.approx(14.9888, abs=1e-4)
    older = llm(max_context_tokens=8192)
    assert weights.rank_weight_bytes(older, dtype="bf16") / 2**30 == pytest.approx(14.9595, abs=1e-4)


def test_latent_projections_router_and_norms_are_on_every_rank() -> None:
    one = weights.rank_weight_bytes(DEEPSEEK_V3, dtype="fp8", tensor_parallel=1)
    eight = weights.rank_weight_bytes(DEEPSEEK_V3, dtype="fp8", tensor_parallel=8)
    copied = 61 * memory.latent_down_parameters(DEEPSEEK_V3) + 2 * (
        memory.parameters(DEEPSEEK_V3)["router"] + memory.parameters(DEEPSEEK_V3)["norms"]
    )
    copied += weights.rotary_table_bytes(DEEPSEEK_V3)
    assert 8 * eight - one == pytest.approx(7 * copied, rel=1e-9)


def test_attention_copies_add_their_weights_and_spread_the_experts() -> None:
    tensor = weights.rank_weight_bytes(DEEPSEEK_V3, dtype="fp8", tensor_parallel=8)
    copies = weights.rank_weight_bytes(DEEPSEEK_V3, dtype="fp8", data_parallel_attention=8, expert_parallel=8)
    counts = memory.parameters(DEEPSEEK_V3)
    # What is not experts is held whole on each GPU: seven eighths more of what tensor parallelism splits.
    assert tensor < copies < tensor + counts["total"] - counts["experts"] + counts["embedding"] + counts["head"]


def test_redundant_experts_are_stored() -> None:
    base = weights.rank_weight_bytes(DEEPSEEK_V3, dtype="fp8", data_parallel_attention=8)
    more = weights.rank_weight_bytes(DEEPSEEK_V3, dtype="fp8", data_parallel_attention=8, redundant_experts=32)
    assert more - base == pytest.approx(memory.parameters(DEEPSEEK_V3)["experts"] / 8 * 32 / 256)


def test_experts_must_divide_the_gpus() -> None:
    with pytest.raises(ValueError, match="expert_parallel 3"):
        weights.rank_weight_bytes(DEEPSEEK_V3, dtype="fp8", data_parallel_attention=8, expert_parallel=3)


@given(count=st.integers(1, 61))
def test_stages_hold_every_layer_once_and_differ_by_one(count: int) -> None:
    counts = stages.stage_layers(DEEPSEEK_V3, pipeline_parallel=count)
    assert sum(counts) == 61
    assert max(counts) - min(counts) <= 1


@given(ranks=st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_more_ranks_never_hold_more_each(ranks: int) -> None:
    for shape in (LLAMA_70B, DEEPSEEK_V3, GEMMA_3_27B):
        few = weights.rank_weight_bytes(shape, dtype="bf16", tensor_parallel=ranks)
        assert weights.rank_weight_bytes(shape, dtype="bf16", tensor_parallel=2 * ranks) <= few


def test_heaviest_stage_decides() -> None:
    found = weights.stage_weight_bytes(LLAMA_70B, dtype="bf16", split=weights.Split(pipeline_parallel=3))
    assert weights.rank_weight_bytes(LLAMA_70B, dtype="bf16", pipeline_parallel=3) == max(found)
    rotary = 3 * weights.rotary_table_bytes(LLAMA_70B)
    assert sum(found) - rotary == pytest.approx(memory.weight_bytes(LLAMA_70B, dtype="bf16"), rel=1e-3)


def test_padded_experts_of_gpt_oss() -> None:
    # 2,880 × 2,880 become 3,072 × 2,944 on Hopper.
    shape = llm(hidden=2880, moe=DEEPSEEK_V3.moe.__class__(experts=128, top_k=4, expert_width=2880))
    assert weights.expert_padding(shape) == pytest.approx(3072 * 2944 / 2880**2)


@pytest.mark.parametrize(
    ("slug", "dtype", "ranks", "gib"),
    [
        ("llama-3-1-70b", "bf16", 8, 16.4605),  # vLLM 0.6.4, vllm-project/vllm#10702
        ("mistral-large-2407", "fp8", 4, 28.7698),  # vLLM 0.6.1, #8881
        ("llama-3-8b", "nf4_double", 1, 5.3128),  # vLLM 0.5.0, bitsandbytes, #5569
        ("qwen2-5-7b", "bf16", 1, 14.2487),  # vLLM 0.6.3, #10116
        ("mistral-7b-v0-1", "bf16", 1, 13.4976),  # vLLM 0.4.1, #4760
    ],
)
def test_weights_that_engines_logged(slug: str, dtype: str, ranks: int, gib: float) -> None:
    found = weights.rank_weight_bytes(CATALOG.llm(slug), dtype=dtype, tensor_parallel=ranks)
    assert found / GIB == pytest.approx(gib, rel=0.005)


def test_dense_layers_make_the_first_stage_lighter() -> None:
    # DeepSeek-V3: the first three layers have no experts, so four stages differ though layers are even.
    mixes = stages.stage_mixes(DEEPSEEK_V3, pipeline_parallel=4)
    assert [mix.layers for mix in mixes] == [15, 15, 16, 15]
    assert [(mix.dense, mix.expert) for mix in mixes] == [(3, 12), (0, 15), (0, 16), (0, 15)]
    found = weights.stage_weight_bytes(DEEPSEEK_V3, dtype="fp8", split=weights.Split(pipeline_parallel=4))
    assert found[0] < found[1] < found[2]


@pytest.mark.parametrize(("slug", "kinds"), [("gpt-oss-120b", (18, 18, 0)), ("qwen3-5-35b-a3b", (10, 0, 30))])
@given(count=st.integers(1, 12))
def test_stages_count_the_layers_that_stand_in_them(slug: str, kinds: tuple[int, int, int], count: int) -> None:
    mixes = stages.stage_mixes(CATALOG.llm(slug), pipeline_parallel=count)
    totals = tuple(sum(getattr(mix, name) for mix in mixes) for name in ("full", "window", "state"))
    assert totals == kinds
    # Patterns of two and of four layers: no stage is more than one period away from its share.
    for mix in mixes:
        assert abs(mix.full - kinds[0] * mix.layers / sum(kinds)) <= 1


def test_absorbed_projections_are_copies_in_sixteen_bits() -> None:
    # 61 layers · 512 · 128 heads · (128 + 128) · 2 B = 2.05 GB over the ranks.
    plain = weights.stage_weight_bytes(DEEPSEEK_V3, dtype="fp8", split=weights.Split(tensor_parallel=8))
    kept = weights.stage_weight_bytes(
        DEEPSEEK_V3, dtype="fp8", split=weights.Split(tensor_parallel=8, absorbed_copies=True)
    )
    assert kept[0] - plain[0] == pytest.approx(61 * 512 * 128 * 256 * 2 / 8)


def test_heads_beyond_one_a_rank_are_held_again() -> None:
    # Eight KV heads on sixteen ranks: each head's projections stand on two of them.
    sixteen = weights.rank_weight_bytes(LLAMA_8B, dtype="bf16", tensor_parallel=16)
    eight = weights.rank_weight_bytes(LLAMA_8B, dtype="bf16", tensor_parallel=8)
    replicated = weights.rotary_table_bytes(LLAMA_8B) + memory.parameters(LLAMA_8B)["norms"] * 2
    keys_values = 32 * 2 * 4096 * 128 * 2
    assert sixteen - replicated == pytest.approx((eight - replicated) / 2 + keys_values / 2)
