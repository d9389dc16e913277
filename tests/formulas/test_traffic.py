"""What a token moves and computes, against arithmetic by hand on published shapes."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from planner.core.catalog import Gpu, Llm
from planner.formulas import traffic
from planner.formulas.traffic import Layout
from tests.formulas.llms import DEEPSEEK_V3, LLAMA_8B, LLAMA_70B, gpu

BANDWIDTH, BF16, FP8, LINK = 3.35e12, 989e12, 1979e12, 450e9


def amounts(llm: Llm, *, on: Gpu | None = None, dtype: str = "bf16", **layout: int) -> traffic.Amounts:
    ranks, copies = layout.get("tensor_parallel", 1), layout.get("data_parallel", 1)
    made = Layout(gpus=ranks * copies * layout.get("pipeline_parallel", 1), **layout)
    return traffic.amounts(llm, on or gpu(), layout=made, weight_dtype=dtype)


def test_a_dense_llm_on_eight_ranks() -> None:
    # Llama-3.1-70B: 80 layers of width 8,192, 64 heads and 8 KV heads of 128, MLP 28,672, vocabulary 128,256.
    attention = 80 * 8192 * (2 * 64 + 2 * 8) * 128
    mlp = 80 * 3 * 8192 * 28672
    head = 128256 * 8192
    found = amounts(LLAMA_70B, tensor_parallel=8)
    assert found.dense_read_s == pytest.approx(2 * (attention + mlp + head) / 8 / BANDWIDTH, rel=1e-3)
    assert found.dense_gemm_s == pytest.approx(2 * (attention + mlp) / 8 / BF16, rel=1e-3)
    assert found.head_gemm_s == pytest.approx(2 * head / 8 / BF16)
    # Two all-reduces a layer of a residual of 2 bytes; a ring sends 2·(n − 1)/n of it over each link.
    assert found.all_reduce_inside_s == pytest.approx(80 * 2 * 8192 * 2 * 2 * 7 / 8 / LINK)
    assert (found.reductions_inside, found.reductions_across, found.all_reduce_across_s) == (160, 0, 0)
    assert (found.expert_read_s, found.expert_gemm_s, found.top_k, found.experts) == (0, 0, 0, 1)
    # Eight passes over a residual of 2 bytes a layer, on every rank.
    assert found.activation_s == pytest.approx(80 * 2 * 8192 * 8 / BANDWIDTH)


def test_experts_are_read_one_by_one_and_computed_by_the_chosen() -> None:
    # DeepSeek-V3: 58 layers of 256 experts, three matrices of 7,168 × 2,048 each, 8 chosen; FP8.
    one = 58 * 3 * 7168 * 2048
    found = amounts(DEEPSEEK_V3, dtype="fp8", tensor_parallel=8)
    assert found.expert_read_s == pytest.approx(one / 8 / BANDWIDTH, rel=1e-3)
    assert found.expert_gemm_s == pytest.approx(8 * 2 * one / 8 / FP8, rel=1e-3)
    assert (found.expert_layers, found.latent_layers, found.experts, found.top_k) == (58, 61, 256, 8)
    assert (found.four_bit, found.blackwell, found.dense_bf16, found.expert_bf16) == (0, 0, 0, 0)


def test_copies_of_attention_hold_it_whole_and_send_tokens_further() -> None:
    ranks = amounts(DEEPSEEK_V3, dtype="fp8", tensor_parallel=8)
    copies = amounts(DEEPSEEK_V3, dtype="fp8", data_parallel=8, expert_parallel=8)
    assert copies.dense_read_s == pytest.approx(8 * ranks.dense_read_s)
    assert copies.expert_read_s == ranks.expert_read_s
    assert copies.activation_s == pytest.approx(ranks.activation_s / 8)
    assert (ranks.spread, copies.spread) == (1, 4)  # eight experts on eight GPUs: half of min(8, 8)


def test_a_token_crosses_nodes_once_an_expert_in_decode_and_once_a_node_in_prefill() -> None:
    inside = amounts(DEEPSEEK_V3, dtype="fp8", data_parallel=8, expert_parallel=8)
    assert inside.decode_network_s == inside.prefill_network_s == 0
    across = amounts(DEEPSEEK_V3, dtype="fp8", data_parallel=16, expert_parallel=16)
    assert across.decode_network_s == pytest.approx(58 * 8 * 7168 * 3 / 50e9 / 16)
    # Two nodes: a token's eight choices reach both but for one chance in 128 that all fall on one.
    assert across.decode_network_s > 3 * across.prefill_network_s > 0
    assert across.reductions_inside == across.reductions_across == 0


@pytest.mark.parametrize(("ranks", "inside"), [(8, True), (16, False)])
def test_all_reduces_leave_the_node_when_the_ranks_do(ranks: int, inside: bool) -> None:
    found = amounts(LLAMA_70B, tensor_parallel=ranks)
    assert (found.reductions_inside > 0, found.reductions_across > 0) == (inside, not inside)
    assert (found.all_reduce_inside_s > 0, found.all_reduce_across_s > 0) == (inside, not inside)


def test_replicas_of_a_plain_llm_do_not_talk() -> None:
    found = amounts(LLAMA_8B, data_parallel=4)
    assert found.all_reduce_inside_s == found.reductions_inside == 0


def test_a_stack_is_each_replica_in_its_place() -> None:
    many = [
        amounts(LLAMA_8B),
        amounts(LLAMA_70B, tensor_parallel=8),
        amounts(DEEPSEEK_V3, dtype="fp8", tensor_parallel=8),
    ]
    together = traffic.stack(many)
    for field in fields(traffic.Amounts):
        assert list(np.asarray(getattr(together, field.name))) == [getattr(one, field.name) for one in many], field.name


def test_cards_without_links_reduce_through_the_host() -> None:
    # An L40S has PCIe 4 alone: two ranks send half of each residual twice; 20 % of the rated rate, 20 µs each.
    card = gpu(scaleup_bytes_per_s=0, scaleup_gpus=1, pcie_bytes_per_s=32e9)
    found = amounts(LLAMA_70B, on=card, tensor_parallel=2)
    assert found.all_reduce_host_s == pytest.approx(80 * 2 * 8192 * 2 / 32e9)
    assert (found.reductions_host, found.reductions_inside, found.all_reduce_inside_s) == (160, 0, 0)
    pairs = amounts(
        LLAMA_70B, on=gpu(scaleup_bytes_per_s=56e9, scaleup_gpus=2, pcie_bytes_per_s=32e9), tensor_parallel=2
    )
    assert (pairs.reductions_inside, pairs.reductions_host) == (160, 0)
    assert amounts(LLAMA_70B, on=card, tensor_parallel=16).reductions_host == 0
