"""Tokens of a verification step against exact enumeration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import speculation


@given(drafts=st.integers(0, 12), acceptance=st.floats(0, 1))
def test_expected_tokens_by_enumeration(drafts: int, acceptance: float) -> None:
    # k tokens come out when k − 1 drafts are accepted and the next is not; all accepted give one more.
    exact = sum((k + 1) * acceptance**k * (1 - acceptance) for k in range(drafts)) + (drafts + 1) * acceptance**drafts
    assert speculation.tokens_per_step(draft_tokens=drafts, acceptance=acceptance) == pytest.approx(exact, rel=1e-6)
