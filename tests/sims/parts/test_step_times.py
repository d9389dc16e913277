from __future__ import annotations

import pytest

from sims.engine.kernel import from_python
from sims.parts.records import UNIT, records
from sims.parts.step_times import check_table, prompt_time_s, step_tables, step_time_s, table_s

prompt_time_s = from_python(prompt_time_s)
step_time_s = from_python(step_time_s)
table_s = from_python(table_s)

POINTS = ((1, 0.010), (64, 0.010), (128, 0.012), (1024, 0.040))


def test_a_table_is_linear_between_its_points_and_goes_on_along_its_last_slope() -> None:
    tables = step_tables([((1, 1.0), (3, 5.0)), POINTS])
    seconds = {tokens: table_s(tables, 1, tokens) for tokens in (0, 1, 30, 64, 96, 128, 576, 1024, 1920)}
    expected = {0: 0.01, 1: 0.01, 30: 0.01, 64: 0.01, 96: 0.011, 128: 0.012, 576: 0.026, 1024: 0.04, 1920: 0.068}
    assert seconds == pytest.approx(expected)
    assert [table_s(tables, 0, tokens) for tokens in (2, 3, 4, 100)] == pytest.approx([3.0, 5.0, 7.0, 199.0])


def test_a_step_is_the_sum_of_what_is_in_it() -> None:
    unit = records(UNIT, count=1)[0]
    unit.step_s, unit.step_s_per_sequence, unit.step_s_per_kv_token, unit.table = 0.001, 1e-4, 1e-6, 0
    unit.prefill_step_s, unit.prefill_s_per_token, unit.prefill_s_per_token_pair = 0.002, 1e-5, 1e-9
    assert step_time_s(unit, step_tables([POINTS]), 96, 3, 500) == pytest.approx(0.001 + 0.011 + 3e-4 + 5e-4)
    assert prompt_time_s(unit, 93, 10_000) == pytest.approx(0.002 + 93e-5 + 1e-5)
    assert prompt_time_s(unit, 0, 0) == 0.0


@pytest.mark.parametrize("points", [((1, 0.1),), ((0, 0.1), (2, 0.1)), ((2, 0.1), (2, 0.2)), ((1, 0.1), (2, -1.0))])
def test_an_impossible_table_is_refused(points: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(ValueError, match="step_table"):
        check_table(points)
