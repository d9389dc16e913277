"""Numbers and arrays by one formula: what holds of each element holds of the number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas.elementwise import close, largest, least

NUMBERS = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8)


@given(one=NUMBERS, other=st.floats(-1e9, 1e9))
def test_arrays_give_element_by_element_what_numbers_give(one: list[float], other: float) -> None:
    column = np.array(one)
    for formula, plain in ((least, min), (largest, max)):
        together = formula(column, other)  # type: ignore[arg-type]
        back = formula(other, column)  # type: ignore[arg-type]
        assert list(together) == list(back) == [plain(each, other) for each in one]  # type: ignore[call-overload]
        assert [formula(each, other) for each in one] == list(together)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1.0, 1.0, True),
        (1.0, 1.01, True),
        (1.0, 1.02, False),
        (0.0, 0.0, True),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0]), True),
        (np.array([1.0, 2.0]), np.array([1.0, 2.1]), False),
        (np.array([-100.0]), -100.5, True),
    ],
)
def test_agreement_is_a_share_of_the_second_and_of_every_element(one: float, other: float, expected: bool) -> None:
    assert close(one, other, tolerance=0.0101) is expected
