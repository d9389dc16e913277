from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine.kernel import from_python
from sims.parts.decode import plan_steps, span_s, steps_done, steps_to_reach
from sims.parts.records import UNIT, records
from sims.parts.step_times import NO_TABLE, step_tables

plan_steps = from_python(plan_steps)
span_s = from_python(span_s)
steps_done = from_python(steps_done)
steps_to_reach = from_python(steps_to_reach)

BATCHES = st.fixed_dictionaries(
    {
        "running": st.integers(1, 5000),
        "kv": st.integers(0, 10_000_000),
        "step_s": st.floats(0.001, 0.1),
        "step_s_per_sequence": st.floats(0.0, 1e-4),
        "step_s_per_kv_token": st.floats(0.0, 1e-8),
    }
)


def planned(batch: dict[str, float], steps: int, now_s: float = 0.0):
    unit = records(UNIT, count=1)[0]
    unit.table = NO_TABLE
    for name, value in batch.items():
        setattr(unit, name, value)
    return unit, plan_steps(unit, step_tables([]), steps, now_s)


@settings(deadline=None)  # the first call compiles
@given(BATCHES, st.integers(1, 400))
def test_a_macro_step_lasts_as_long_as_its_steps_one_by_one(batch: dict[str, float], steps: int) -> None:
    _, ends_s = planned(batch, steps, now_s=3.0)
    now_s, kv = 3.0, batch["kv"]
    for _ in range(steps):
        now_s += batch["step_s"] + batch["step_s_per_sequence"] * batch["running"] + batch["step_s_per_kv_token"] * kv
        kv += batch["running"]
    assert ends_s == pytest.approx(now_s, rel=1e-9)


@settings(deadline=None)  # the first call compiles
@given(BATCHES, st.integers(1, 400), st.floats(0.0, 1.2))
def test_steps_done_are_those_that_have_ended(batch: dict[str, float], steps: int, part: float) -> None:
    unit, ends_s = planned(batch, steps)
    at_s = ends_s * part
    ended = sum(span_s(unit, count) <= at_s for count in range(1, steps + 1))
    assert steps_done(unit, at_s) == ended


@settings(deadline=None)  # the first call compiles
@given(BATCHES, st.integers(1, 400), st.floats(1e-6, 1.0))
def test_the_boundary_after_a_moment_is_the_first_one(batch: dict[str, float], steps: int, part: float) -> None:
    unit, ends_s = planned(batch, steps)
    at_s = ends_s * part
    found = steps_to_reach(unit, at_s)
    assert span_s(unit, found) >= at_s * (1 - 1e-12) or found > steps
    assert found == 1 or span_s(unit, found - 1) < at_s
    assert np.isfinite(span_s(unit, found))
