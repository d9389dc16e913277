"""Parameters and weights against published totals and a start-up log."""

from __future__ import annotations

import pytest

from planner.formulas import memory, moe
from tests.formulas.llms import DEEPSEEK_V3, GEMMA_3_27B, LLAMA_8B, LLAMA_70B, QWEN3_32B, llm


@pytest.mark.parametrize(
    ("shape", "published"),
    [
        (LLAMA_8B, 8_030_261_248),  # safetensors index of meta-llama/Llama-3.1-8B
        (LLAMA_70B, 70_553_706_496),  # safetensors index of meta-llama/Llama-3.1-70B
        (QWEN3_32B, 32.8e9),  # Qwen3 technical report, arXiv 2505.09388, Table 1
        (DEEPSEEK_V3, 671e9),  # DeepSeek-V3 technical report, arXiv 2412.19437, abstract
    ],
)
def test_parameters_are_within_one_per_cent_of_the_published_total(shape: object, published: float) -> None:
    assert memory.parameters(shape)["total"] == pytest.approx(published, rel=0.01)  # type: ignore[arg-type]


def test_llama_is_counted_to_the_last_parameter() -> None:
    assert memory.parameters(LLAMA_8B)["total"] == 8_030_261_248


def test_deepseek_activates_thirty_seven_billion() -> None:
    # The report counts 37 B active; the embedding, which is looked up and not multiplied, makes the difference.
    counts = memory.parameters(DEEPSEEK_V3)
    assert counts["active"] - counts["embedding"] == pytest.approx(37e9, rel=0.02)


def test_parts_sum_to_the_total() -> None:
    for shape in (LLAMA_8B, DEEPSEEK_V3, GEMMA_3_27B):
        counts = memory.parameters(shape)
        parts = sum(value for name, value in counts.items() if name not in ("total", "active", "mtp"))
        assert parts == counts["total"]


def test_tied_embeddings_have_no_head() -> None:
    assert memory.parameters(GEMMA_3_27B)["head"] == 0
    assert memory.parameters(llm(tied_embeddings=True))["total"] < memory.parameters(LLAMA_8B)["total"]


@pytest.mark.parametrize(
    ("dtype", "bits"), [("bf16", 16), ("fp8", 8), ("int4", 4.156), ("mxfp4", 4.25), ("nvfp4", 4.5)]
)
def test_only_linear_parameters_are_quantised(dtype: str, bits: float) -> None:
    counts = memory.parameters(LLAMA_70B)
    linear = counts["attention"] + counts["dense_mlp"]
    expected = linear * bits / 8 + 2 * (counts["total"] - linear)
    assert memory.weight_bytes(LLAMA_70B, dtype=dtype) == pytest.approx(expected, rel=1e-12)


def test_four_bits_quantise_the_experts_only() -> None:
    counts = memory.parameters(DEEPSEEK_V3)
    experts = counts["experts"] + counts["shared_experts"]
    expected = experts * 4.5 / 8 + 2 * (counts["total"] - experts)
    assert memory.weight_bytes(DEEPSEEK_V3, dtype="nvfp4") == pytest.approx(expected, rel=1e-12)


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ValueError, match="fp3"):
        memory.weight_bytes(LLAMA_8B, dtype="fp3")
    with pytest.raises(ValueError, match="KV cache"):
        memory.kv_dtype_bytes("mxfp4")


def test_layers_with_experts_are_counted() -> None:
    assert moe.expert_layers(DEEPSEEK_V3) == 58
    assert moe.expert_layers(LLAMA_8B) == 0
    every_second = llm(moe=DEEPSEEK_V3.moe.__class__(experts=128, top_k=1, expert_width=8192, every=2), layers=48)
    assert moe.expert_layers(every_second) == 24
