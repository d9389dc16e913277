"""What holds in any serving system, whatever is asked of it and whichever of its units fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import run
from sims.engine.hooks import Cancelled, NoHooks
from sims.engine.run import COMPLETE
from sims.systems.llm_serving import Failure, Outcome, simulate
from tests.sims.oracle.compare import assert_close, of_outcome
from tests.sims.systems.scene import audited, fingerprint
from tests.sims.systems.serving_cases import Case, apart, together

CASES = apart() | together()
MOMENTS_S = st.sampled_from([0.0, 0.0213, 0.31, 1.7])


@st.composite
def failing(draw: st.DrawFn) -> tuple[Case, list[Failure]]:
    """A system of which each unit of either role fails at most once; all may be gone at the same time."""
    case = draw(CASES)
    units = [("decode", unit) for unit in range(case.config.decode_units)]
    units += [("prefill", unit) for unit in range(case.config.prefill_units)]
    failures = [
        Failure(
            unit=unit,
            role=role,
            at_s=draw(MOMENTS_S),
            detection_s=draw(MOMENTS_S),
            rejoin_s=0.011 + draw(MOMENTS_S),
        )
        for role, unit in sorted(draw(st.sets(st.sampled_from(units))))
    ]
    return case, failures


FAILING = failing()


def served(case: Case, failures: Sequence[Failure] = (), **options: Any) -> Outcome:
    return simulate(case.config, arrivals=case.arrivals, failures=failures, **{"samples": 2, **options})


@settings(max_examples=80, deadline=None)
@given(FAILING)
def test_the_books_of_any_system_balance_at_every_moment(drawn: tuple[Case, list[Failure]]) -> None:
    case, failures = drawn
    found = audited(case.config, arrivals=case.arrivals, failures=failures, samples=5)
    too_large = case.table.input + case.table.output > case.config.most_tokens
    assert found.ending == COMPLETE
    assert found.arrived == len(too_large)
    assert found.rejected == too_large.sum()
    assert found.finished == found.arrived - found.rejected
    assert found.in_flight == 0


@settings(max_examples=60, deadline=None)
@given(FAILING)
def test_every_token_leaves_once(drawn: tuple[Case, list[Failure]]) -> None:
    case, failures = drawn
    found = served(case, failures)
    fits = case.table.input + case.table.output <= case.config.most_tokens
    answers = case.table.output[fits]
    assert found.batches.output_tokens.sum() == answers.sum()
    assert found.pooled("ttft").sum() == fits.sum()
    assert found.pooled("itl").sum() == sum(max(0, answer - 1) for answer in answers)


@settings(max_examples=40, deadline=None)
@given(FAILING)
def test_slices_limits_of_events_and_a_second_run_change_no_byte(drawn: tuple[Case, list[Failure]]) -> None:
    case, failures = drawn
    once = fingerprint(served(case, failures))
    assert fingerprint(served(case, failures)) == once
    assert fingerprint(served(case, failures, samples=53)) == once
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "FIRST_EVENTS", 1)
        patch.setattr(run, "MOST_EVENTS", 3)
        assert fingerprint(served(case, failures)) == once


class Leaving(NoHooks):
    """Cancels when asked for the ``after``-th time."""

    def __init__(self, after: int) -> None:
        self.left = after

    def cancelled(self) -> bool:
        self.left -= 1
        return self.left < 0


class Ticking:
    """A clock on which a second passes between two looks."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s


@settings(max_examples=30, deadline=None)
@given(FAILING, st.integers(0, 12))
def test_a_cancelled_run_leaves_nothing_behind(drawn: tuple[Case, list[Failure]], after: int) -> None:
    case, failures = drawn
    once = fingerprint(served(case, failures))
    with pytest.raises(Cancelled):
        served(case, failures, hooks=Leaving(after), clock=Ticking(), samples=50)
    assert fingerprint(served(case, failures)) == once


@settings(max_examples=80, deadline=None)
@given(FAILING)
def test_steps_taken_together_are_the_steps_one_by_one(drawn: tuple[Case, list[Failure]]) -> None:
    case, failures = drawn
    single = replace(case, config=replace(case.config, most_steps=1))
    macro, steps = served(case, failures), served(single, failures)
    assert steps.events >= macro.events
    one, two = of_outcome(macro), of_outcome(steps)
    for name in one.__dataclass_fields__:
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-9, abs=1e-9), name
    for name in ("ttft", "tpot", "itl", "e2e"):
        assert_close(macro.pooled(name), steps.pooled(name), name=name)
