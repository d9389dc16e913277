"""Distinct experts against exact probability and simulation-free limits."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import moe


def test_two_tokens_of_four_experts_by_enumeration() -> None:
    # All 36 equally likely pairs of choices of 2 out of 4.
    choices = list(combinations(range(4), 2))
    union = [len(set(a) | set(b)) for a, b in product(choices, choices)]
    expected = sum(union) / len(union)
    assert moe.distinct_experts(experts=4, top_k=2, tokens=2) == pytest.approx(expected)


def test_one_token_touches_exactly_its_choice() -> None:
    assert moe.distinct_experts(experts=256, top_k=8, tokens=1) == pytest.approx(8)
    assert moe.distinct_experts(experts=256, top_k=8, tokens=0.3) == pytest.approx(8)


@given(tokens=st.floats(1, 1e6), more=st.floats(0, 1e4))
def test_more_tokens_touch_more_experts_but_never_all_twice(tokens: float, more: float) -> None:
    few = moe.distinct_experts(experts=128, top_k=4, tokens=tokens)
    assert few + 1e-9 >= 4
    assert few <= moe.distinct_experts(experts=128, top_k=4, tokens=tokens + more) <= 128


def test_copies_to_nodes_are_at_most_one_an_expert() -> None:
    assert moe.destination_nodes(top_k=8, nodes=4) == 4
    assert moe.destination_nodes(top_k=2, nodes=18) == 2
