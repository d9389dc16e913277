"""Fleets of units that differ, and hand-overs, in numbers that can be added up by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sims.parts.arrivals import Lengths, Poisson, Table
from sims.parts.traces import Trace
from sims.systems.llm_serving import Config, UnitClass
from tests.sims.systems.scene import audited, config

SLOW = UnitClass(
    count=1,
    step_s=0.01,
    step_s_per_sequence=2e-4,
    step_s_per_kv_token=0.0,
    prefill_s_per_token=1e-4,
    prefill_budget_tokens=1000,
    kv_capacity_tokens=100_000,
    prefill_ranks=2,
    decode_ranks=2,
)
FAST = replace(SLOW, step_s_per_sequence=1e-4, kv_capacity_tokens=200_000, prefill_ranks=4, decode_ranks=4)


def fleet() -> Config:
    return config(decode_classes=(FAST, SLOW), prefill_classes=(FAST, SLOW))


def test_a_unit_twice_as_fast_and_large_gets_twice_the_load() -> None:
    assert (FAST.weight(FAST, decodes=True), SLOW.weight(FAST, decodes=True)) == (1.0, 2.0)
    assert SLOW.weight(FAST, decodes=False) == 2.0
    shares: list[float] = []
    lengths = Lengths(input_tokens=200, output_tokens=200, input_sigma=0.3, output_sigma=0.3)

    def look(plane: object) -> None:
        units = plane.state.units  # type: ignore[attr-defined]
        if units.running.sum() > 50:
            shares.append(float(units[0].running / units.running.sum()))

    from sims.systems.llm_serving import simulate

    simulate(fleet(), arrivals=Poisson(60.0, lengths, duration_s=100.0), samples=100, check=look)
    assert len(shares) > 50
    assert np.mean(shares) == pytest.approx(2 / 3, abs=0.03)


def test_a_smaller_unit_is_not_filled_first_however_fast_it_is() -> None:
    small = replace(FAST, step_s_per_sequence=2.5e-5, kv_capacity_tokens=20_000)
    assert small.weight(FAST, decodes=True) == 10.0


def test_unlike_units_keep_their_books() -> None:
    found = audited(fleet(), arrivals=Poisson(60.0, Lengths(200, 100, 0.8, 0.8), requests=800), samples=50)
    assert found.finished == 800


@pytest.mark.parametrize("overlap_share", [0.0, 0.5, 1.0])
def test_a_share_of_the_hand_over_is_hidden_behind_the_prompt(overlap_share: float) -> None:
    """100 tokens: 12 ms of prefill; 5 ms of transfer, of which a share has gone before it ends; then a step."""
    setup = config(egress_s_per_token=5e-5, ingress_s_per_token=1e-6, overlap_share=overlap_share)
    found = audited(setup, arrivals=Trace(Table(np.zeros(1), np.array([100]), np.array([1]))))
    step_s = 0.01 + 2e-4 + 100 * 2e-7
    expected = 0.003 + 0.012 + (1 - overlap_share) * 0.005 + 0.001 + step_s
    assert found.batches.ttft_sum_s.sum() == pytest.approx(expected, rel=1e-12)


def test_no_more_is_hidden_than_the_prompt_takes() -> None:
    """A transfer of 100 ms behind 12 ms of prefill: 88 ms are left."""
    setup = config(egress_s_per_token=1e-3, ingress_s_per_token=0.0, overlap_share=1.0)
    found = audited(setup, arrivals=Trace(Table(np.zeros(1), np.array([100]), np.array([1]))))
    expected = 0.003 + 0.012 + 0.088 + 0.001 + 0.01 + 2e-4 + 100 * 2e-7
    assert found.batches.ttft_sum_s.sum() == pytest.approx(expected, rel=1e-12)


def test_two_prompts_of_one_step_share_the_network_of_the_rank_they_come_to() -> None:
    """Two prefill ranks send 100 tokens each to the only decode rank, 10 ms a transfer: the second waits 10 ms."""
    costs: dict[str, Any] = {
        "egress_s_per_token": 1e-5,
        "ingress_s_per_token": 1e-4,
        "decode_units": 1,
        "decode_ranks": 1,
    }
    table = Table(np.zeros(3), np.array([1, 100, 100]), np.array([0, 1, 1]))
    found = audited(config(prefill_units=1, prefill_step_s=0.0, **costs), arrivals=Trace(table))
    first_s, second_s = 0.0101 + 0.010 + 0.001, 0.0101 + 0.020 + 0.001
    one_s, both = 0.01 + 1e-4 + 100e-7, 3 * 0.003 + 1e-4
    # The second finds the first's only step under way and waits for its end.
    expected = both + first_s + one_s + max(second_s, first_s + one_s) + one_s
    assert found.batches.ttft_sum_s.sum() == pytest.approx(expected, rel=1e-9)


def test_an_overlap_that_is_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match="overlap_share"):
        config(overlap_share=1.5)
