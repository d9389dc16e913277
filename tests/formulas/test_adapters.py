"""Bytes of adapters against counts by hand from the published shapes of each LLM."""

from __future__ import annotations

import doctest

import pytest

from planner.core.catalog import CompressedKv, LinearAttention, Moe, SlidingWindow
from planner.formulas import adapter_shapes, adapters
from planner.formulas.adapter_shapes import ATTENTION, LINEAR, TARGETS, Matrix, adapted_matrices, target_names
from tests.formulas.llms import DEEPSEEK_V3, HYBRID, LLAMA_8B, LLAMA_70B, llm

QWEN3_30B = llm(
    slug="qwen3-30b-a3b",
    layers=48,
    hidden=2048,
    heads=32,
    kv_heads=4,
    intermediate=6144,
    moe=Moe(experts=128, top_k=8, expert_width=768),
)
GPT_OSS_20B = llm(
    slug="gpt-oss-20b",
    layers=24,
    hidden=2880,
    heads=64,
    kv_heads=8,
    head_dim=64,
    intermediate=2880,
    moe=Moe(experts=32, top_k=4, expert_width=2880),
    sliding=SlidingWindow(window=128, layers=12),
)
ALL = frozenset(TARGETS) - {"embedding", "head"}


def of(facts: object, *targets: str) -> tuple[Matrix, ...]:
    return adapted_matrices(facts, targets=frozenset(targets))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("targets", "parameters"), [(("q", "v"), 6_815_744), (ATTENTION, 13_631_488), (LINEAR, 41_943_040)]
)
def test_an_8b_of_rank_16(targets: tuple[str, ...], parameters: int) -> None:
    assert adapters.adapter_parameters(of(LLAMA_8B, *targets), rank=16) == parameters


@pytest.mark.parametrize(
    ("ways", "partly", "fully"),
    [
        (1, 83_886_080, 83_886_080),
        (2, 56_623_104, 41_943_040),
        (4, 42_991_616, 20_971_520),
        (8, 36_175_872, 10_485_760),
    ],
)
def test_tensor_parallel_ranks_of_an_8b(ways: int, partly: int, fully: int) -> None:
    matrices = of(LLAMA_8B, *LINEAR)
    assert adapters.rank_bytes(matrices, rank=16, tensor_parallel=ways) == partly
    assert adapters.rank_bytes(matrices, rank=16, tensor_parallel=ways, fully_sharded=True) == fully


def test_more_ranks_than_heads_hold_one_head_each() -> None:
    keys = of(LLAMA_8B, "k")
    assert adapters.rank_bytes(keys, rank=16, tensor_parallel=16) == 2 * 16 * 32 * (4096 + 128)


def test_routed_experts_have_factors_of_their_own() -> None:
    assert adapters.adapter_parameters(of(QWEN3_30B, *ATTENTION), rank=16) == 13_369_344
    assert adapters.adapter_parameters(of(QWEN3_30B, "experts"), rank=16) == 830_472_192
    assert adapters.adapter_bytes(of(QWEN3_30B, *ALL), rank=16) == 1_687_683_072
    assert adapters.adapter_bytes(of(GPT_OSS_20B, *ALL), rank=32) == 881_197_056


def test_a_factor_that_experts_share_is_counted_once_a_layer() -> None:
    experts = of(QWEN3_30B, "experts")
    # of gate and up the side of 2,048 is shared, of down too: 128 experts keep three sides of 768
    by_hand = 16 * 48 * 3 * (2048 + 128 * 768)
    assert adapters.adapter_parameters(experts, rank=16, shared_factors=True) == by_hand
    dense = of(LLAMA_8B, *LINEAR)
    assert adapters.adapter_parameters(dense, rank=16, shared_factors=True) == 41_943_040


def test_latent_attention() -> None:
    latent = of(DEEPSEEK_V3, *ATTENTION)
    assert {each.target for each in latent} == {"q_a", "q_b", "kv_a", "kv_b", "o"}
    assert adapters.adapter_parameters(latent, rank=16) == 97_006_592
    assert adapters.adapter_bytes(of(DEEPSEEK_V3, *LINEAR, "shared_experts"), rank=16) == 252_700_672
    assert adapters.adapter_bytes(of(DEEPSEEK_V3, *ALL), rank=16) == 13_389_260_800


def test_downward_projections_of_latent_attention_are_whole_on_each_rank() -> None:
    down = of(DEEPSEEK_V3, "q_a", "kv_a")
    assert {each.target for each in down} == {"q_a", "kv_a"}
    assert adapters.rank_bytes(down, rank=16, tensor_parallel=8) == adapters.adapter_bytes(down, rank=16)
    assert adapters.rank_bytes(down, rank=16, tensor_parallel=8, fully_sharded=True) == 2 * 16 * 61 * (8704 + 7744)


def test_whole_experts_on_ranks() -> None:
    experts = of(QWEN3_30B, "experts")
    size = adapters.rank_bytes(experts, rank=16, tensor_parallel=8, expert_parallel=8)
    assert size == 2 * 830_472_192 / 8


def test_layers_with_a_window_keep_their_own_shapes() -> None:
    mixed = llm(slug="mixed", sliding=SlidingWindow(window=128, layers=20, heads=16, kv_heads=4, head_dim=64))
    # 12 full layers of 32 and 8 heads of 128, 20 of 16 and 4 heads of 64
    by_hand = 16 * (12 * (2 * 8192 + 2 * 5120) + 20 * (2 * (4096 + 1024) + 2 * (4096 + 256)))
    assert adapters.adapter_parameters(of(mixed, *ATTENTION), rank=16) == by_hand
    assert adapters.kernels(of(mixed, *LINEAR)) == 256


def test_recurrent_layers_have_no_attention_to_adapt() -> None:
    assert isinstance(HYBRID.linear, LinearAttention)
    assert {each.count for each in of(HYBRID, *ATTENTION)} == {8}


def test_compressed_attention_has_low_rank_outputs() -> None:
    shape = CompressedKv(window=128, ratios=((4, 32),), q_lora_rank=1024, o_groups=8, o_lora_rank=512)
    found = of(llm(slug="compressed", compressed=shape), *ATTENTION)
    by_hand = (4096 + 1024) + (1024 + 4096) + (4096 + 128) + 8 * (512 + 512) + (8 * 512 + 4096)
    assert adapters.adapter_parameters(found, rank=1) == 32 * by_hand


def test_vocabulary_matrices_add_hidden_and_vocabulary() -> None:
    assert adapters.adapter_parameters(of(LLAMA_8B, "embedding", "head"), rank=16) == 2 * 16 * (4096 + 128_256)


def test_targets_that_an_llm_has() -> None:
    assert target_names(DEEPSEEK_V3, targets=TARGETS) == TARGETS
    assert target_names(QWEN3_30B, targets=ALL) == (*ATTENTION, "experts")


@pytest.mark.parametrize(
    ("matrices", "copies", "together", "apart"),
    [
        (of(LLAMA_8B, *LINEAR), 448, 256, 448),  # the two launch counts of the specification's table
        (of(LLAMA_70B, *LINEAR), 1120, 640, 1120),
        (of(QWEN3_30B, *ATTENTION), 384, 4 * 48, 8 * 48),
        (of(QWEN3_30B, *ALL), 384 + 2 * 48 * 3 * 128, 8 * 48, 14 * 48),
        (of(DEEPSEEK_V3, *ATTENTION), 610, 8 * 61, 10 * 61),
        (of(DEEPSEEK_V3, "experts", "gate"), 2 * 58 * 256 * 3 + 2 * 3, 4 * 58 + 2 * 3, 6 * 58 + 2 * 3),
    ],
)
def test_tensors_and_kernels(matrices: tuple[Matrix, ...], copies: int, together: int, apart: int) -> None:
    assert adapters.tensors(matrices) == copies
    assert adapters.kernels(matrices) == together
    assert adapters.kernels(matrices, fused=False) == apart


def test_a_plain_list_of_matrices() -> None:
    rows = [(4096, 4096), (4096, 1024), (4096, 1024), (4096, 4096), (4096, 14336), (4096, 14336), (14336, 4096)]
    plain = [Matrix(str(at), d_in, d_out, 32) for at, (d_in, d_out) in enumerate(rows)]
    assert adapters.adapter_bytes(plain, rank=16) == 83_886_080
    assert adapters.tensors(plain) == adapters.kernels(plain) == 448


def test_slots_and_the_tokens_they_displace() -> None:
    slot = adapters.adapter_bytes(of(LLAMA_8B, *LINEAR), rank=16)
    assert adapters.resident_adapters(8 * 2**30, slot_bytes=slot) == 102
    assert adapters.displaced_tokens(1, slot_bytes=slot, kv_bytes_per_token=131_072) == 640
    assert adapters.displaced_tokens(102, slot_bytes=slot, kv_bytes_per_token=131_072) == 65_280
    assert adapters.resident_adapters(8 * 2**30, slot_bytes=0.0) == 0
    assert adapters.displaced_tokens(1, slot_bytes=slot, kv_bytes_per_token=0.0) == 0


def test_vllm_takes_certain_ranks() -> None:
    assert [adapters.allowed_rank(rank) for rank in (1, 2, 16, 48, 256, 257, 512, 513)] == [
        1,
        8,
        16,
        64,
        256,
        320,
        512,
        None,
    ]


@pytest.mark.parametrize("module", [adapters, adapter_shapes])
def test_examples_in_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
