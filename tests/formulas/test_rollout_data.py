"""Handing GPUs over, data returned, and money, against arithmetic by hand."""

from __future__ import annotations

import pytest

from planner.formulas.colocation import optimiser_bytes_per_gpu, switch_s
from planner.formulas.returned_data import returned_bytes, routing_bytes_per_token
from planner.formulas.rollout_cost import fleet_usd_per_h, parts_of_step_usd, step_usd, usd_per_useful_sample


def test_an_optimiser_of_32e9_parameters_on_64_gpus() -> None:
    offloaded = optimiser_bytes_per_gpu(32e9, gpus=64)
    assert offloaded == 6e9
    assert switch_s(offloaded, host_link_bytes_per_s=25e9) == pytest.approx(2 * 0.24)
    assert switch_s(offloaded, host_link_bytes_per_s=25e9, reshard_s=3.0) == pytest.approx(3.48)


@pytest.mark.parametrize(("layers", "expected"), [(48, (384, 768, 1536)), (58, (464, 928, 1856))])
def test_choices_of_experts_outweigh_log_probabilities(layers: int, expected: tuple[int, ...]) -> None:
    """Qwen3-30B-A3B and DeepSeek-V3: 8 experts in 48 and in 58 layers."""
    found = tuple(routing_bytes_per_token(expert_layers=layers, top_k=8, index_bytes=each) for each in (1, 2, 4))
    assert found == expected


def test_the_bytes_of_a_step() -> None:
    assert returned_bytes(16.384e6, routing_bytes_per_token=1536, token_bytes=0.0) == pytest.approx(25.2e9, rel=0.002)
    assert returned_bytes(16.384e6) == pytest.approx(16.384e6 * 8)


def test_a_sample_costs_its_share_of_what_is_used() -> None:
    rents = fleet_usd_per_h(
        {"training": 64, "generation": 25, "sandboxes": 184},
        prices_usd_per_h={"training": 2.0, "generation": 2.0, "sandboxes": 0.05},
    )
    whole = sum(rents.values())
    assert whole == pytest.approx(64 * 2 + 25 * 2 + 184 * 0.05)
    one = usd_per_useful_sample(whole, step_s=300.0, samples=2048, discarded=0.1)
    assert one == pytest.approx(whole / 12 / (2048 * 0.9))
    assert usd_per_useful_sample(whole, step_s=300.0, samples=2048, discarded=1.0) is None
    parts = parts_of_step_usd(rents, step_s=301.7, busy={"training": 0.97, "generation": 0.61, "sandboxes": 0.94})
    assert sum(parts.values()) == step_usd(whole, step_s=301.7)
    assert parts["training"] == pytest.approx(128 * 301.7 / 3600 * 0.97)
