"""Money: published prices, missing tokens, and parts that sum to the last bit."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import cost, power


def test_a_day_of_deepseek_costs_what_was_published() -> None:
    # open-infra-index, day 6: 226.75 nodes of 8 H800 at 2 USD: 87,072 USD a day; 168 G output tokens a day.
    bill = 226.75 * 8 * 2
    assert bill * 24 == pytest.approx(87_072)
    assert cost.usd_per_million_tokens(bill, tokens_per_s=168e9 / 86_400) == pytest.approx(87_072 / 168e3)


def test_no_tokens_have_no_price() -> None:
    assert cost.usd_per_million_tokens(1088.0, tokens_per_s=0.0) is None


money = st.floats(0.0, 1e7, allow_subnormal=False)


@given(total=money, shares=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6), seed=st.integers(0, 10))
def test_parts_sum_to_the_total_in_any_order(total: float, shares: list[float], seed: int) -> None:
    whole = sum(shares) or 1.0
    parts = {f"part {index}": total * share / whole * 0.999 for index, share in enumerate(shares)}
    exact = cost.exact_parts(total, parts=parts, remainder="rest")
    values = list(exact.values())
    random.Random(seed).shuffle(values)
    assert sum(values) == total
    assert all(value >= 0 for value in values)
    for name, part in parts.items():
        assert exact[name] == pytest.approx(part, rel=1e-9, abs=1e-9 * max(total, 1e-300))


def test_parts_that_fill_the_total_leave_nothing_below_zero() -> None:
    exact = cost.exact_parts(0.3, parts={"a": 0.1, "b": 0.2}, remainder="rest")
    assert exact["rest"] >= 0
    assert sum(exact.values()) == 0.3
    assert cost.exact_parts(0.0, parts={"a": 0.0}, remainder="rest") == {"a": 0.0, "rest": 0.0}


def test_a_full_dgx_h100_draws_its_data_sheet_power() -> None:
    # NVIDIA DGX H100 data sheet: 10.2 kW at most, eight GPUs of 700 W.
    assert power.wall_power_w(gpus=8, gpu_w=700.0, nodes=1, host_w_per_node=4600.0, pue=1.0) == pytest.approx(10_200)
