"""The numbers of a step against the roofline they come from: its decode steps, its prefills, and what mixing may do."""

from __future__ import annotations

from typing import Any

import pytest

from planner.formulas import mixed_step, roofline
from tests.formulas.llms import DEEPSEEK_V3, GEMMA_3_27B, LLAMA_8B, LLAMA_70B, QWEN3_32B, gpu
from tests.formulas.test_roofline import made

CONTEXT = 1500.0
MOST = 4096.0
REPLICAS: dict[str, roofline.Replica] = {
    "one GPU": made(LLAMA_8B, gpu(), engine="vllm"),
    "four ranks": made(LLAMA_70B, gpu(), engine="vllm", weight_dtype="fp8", tensor_parallel=4),
    "SGLang": made(QWEN3_32B, gpu(), engine="sglang", weight_dtype="fp8", tensor_parallel=2),
    "windows": made(GEMMA_3_27B, gpu(), engine="vllm"),
    "experts on eight ranks": made(DEEPSEEK_V3, gpu(), weight_dtype="fp8", tensor_parallel=8, expert_parallel=8),
    "eight copies": made(DEEPSEEK_V3, gpu(), weight_dtype="fp8", data_parallel=8, expert_parallel=8),
    "four stages": made(LLAMA_70B, gpu(), engine="vllm", pipeline_parallel=4),
}
WITHOUT_STAGES = [name for name in REPLICAS if name != "four stages"]


def numbers(name: str, **wanted: Any) -> mixed_step.StepNumbers:
    return mixed_step.step_numbers(REPLICAS[name], most_tokens=MOST, context_tokens=CONTEXT, **wanted)


@pytest.mark.parametrize("name", REPLICAS)
@pytest.mark.parametrize("sequences", [1, 4, 17, 64, 255, 1000])
def test_a_step_without_prompts_is_the_decode_step(name: str, sequences: int) -> None:
    replica = REPLICAS[name]
    # Below one sequence a stage the estimate still works on a whole one.
    batch = max(sequences, replica.layout.pipeline_parallel)
    step = replica.decode_step(batch=batch * replica.data_parallel, context_tokens=CONTEXT)
    assert numbers(name).at(sequences=batch, kv_tokens=batch * CONTEXT) == pytest.approx(step.total_s, rel=0.01)


@pytest.mark.parametrize("name", ["one GPU", "four ranks", "experts on eight ranks", "eight copies"])
def test_a_token_of_context_costs_what_it_costs_the_estimate_at_any_length(name: str) -> None:
    step = REPLICAS[name].decode_step(batch=8 * REPLICAS[name].data_parallel, context_tokens=9000)
    assert numbers(name).at(sequences=8, kv_tokens=8 * 9000) == pytest.approx(step.total_s, rel=0.01)


def test_drafts_are_priced_as_the_estimate_prices_them() -> None:
    step = REPLICAS["four ranks"].decode_step(batch=32, context_tokens=CONTEXT, tokens_per_sequence=3.0)
    found = numbers("four ranks", tokens_per_sequence=3.0).at(sequences=32, kv_tokens=32 * CONTEXT)
    assert found == pytest.approx(step.total_s, rel=0.01)


@pytest.mark.parametrize("name", WITHOUT_STAGES)
@pytest.mark.parametrize("tokens", [1500, 4096])
def test_a_step_of_one_prompt_is_its_prefill_with_the_launches_of_a_step(name: str, tokens: int) -> None:
    replica = REPLICAS[name]
    # A prompt on each rank: what ranks share is then as busy as in the estimate, which loads one rank.
    prefill = replica.prefill(new_tokens=tokens)
    pairs = tokens**2 / 2
    made_of = numbers(name)
    found = made_of.at(sequences=0, kv_tokens=0, prompt_tokens=tokens, token_pairs=pairs) - made_of.prompt_step_s
    launches = roofline.step_overhead_s(replica.amounts, coefficients=replica.coefficients)
    read = replica.decode_step(batch=1e6, context_tokens=1).read_s
    assert found >= 0.99 * (launches + prefill.latency_s)
    assert found <= launches + prefill.latency_s + read


@pytest.mark.parametrize("name", REPLICAS)
def test_mixing_is_cheaper_than_two_steps_and_dearer_than_either(name: str) -> None:
    made_of = numbers(name)
    decode = made_of.at(sequences=64, kv_tokens=64 * CONTEXT)
    for prompt in (16, 128, 1024, 4000):
        chunk = {"prompt_tokens": float(prompt), "token_pairs": prompt**2 / 2}
        alone = made_of.at(sequences=0, kv_tokens=0, **chunk)
        both = made_of.at(sequences=64, kv_tokens=64 * CONTEXT, **chunk)
        assert max(decode, alone) <= both < decode + alone


def test_experts_are_shared_by_ranks_and_attention_is_not() -> None:
    found, alone = numbers("eight copies"), numbers("one GPU")
    all_busy = found.of_rank(tokens=2048, mean_tokens=2048, own_s=0.0)
    one_busy = found.of_rank(tokens=2048, mean_tokens=256, own_s=0.0)
    assert found.at(sequences=1, kv_tokens=0) < one_busy < all_busy
    assert 0.5 < found.pooled_share < 1.0
    assert alone.of_rank(tokens=2048, mean_tokens=256, own_s=0.0) == alone.of_rank(
        tokens=2048, mean_tokens=2048, own_s=0.0
    )


def test_stages_work_on_a_share_each() -> None:
    # A round of a batch through four stages reads every stage's weights once; the rate of prompts is four times higher.
    replica = REPLICAS["four stages"]
    found = mixed_step.step_numbers(replica, most_tokens=4 * 4000, context_tokens=CONTEXT)
    round_s = found.at(sequences=0, kv_tokens=0, prompt_tokens=4 * 4000, token_pairs=4 * 4000**2 / 2)
    assert 4 * 4000 / round_s == pytest.approx(4000 / replica.prefill(new_tokens=4000).busy_s, rel=0.05)


def test_all_times_scale_together() -> None:
    found = numbers("one GPU")
    longer = found.scaled(1.5, request=0.5)
    asked = {"sequences": 9.0, "kv_tokens": 9000.0, "prompt_tokens": 700.0, "token_pairs": 1e6}
    assert longer.at(**asked) == pytest.approx(1.5 * found.at(**asked))
    assert longer.request_s == 0.5 * found.request_s
