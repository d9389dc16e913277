"""Ranks of a decode unit in lockstep, in numbers that can be added up by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sims.parts.arrivals import Table
from sims.parts.traces import Trace
from sims.systems.llm_serving import Config, Outcome
from tests.sims.systems.scene import audited, config, poisson

BARE: dict[str, Any] = {
    "prefill_units": 1,
    "prefill_budget_tokens": 10**6,
    "prefill_s_per_token": 1e-12,
    "decode_units": 1,
    "decode_ranks": 2,
    "step_s": 0.01,
    "step_s_per_sequence": 0.0,
    "step_s_per_kv_token": 0.0,
    "kv_capacity_tokens": 10**6,
}


FIRST = (0.0, 1, 0)
"""A prompt without an answer: those that come while it is computed go into the next step together."""
LAST = (20.0, 1, 0)
"""Another, with which the measuring window ends."""


def served(*requests: tuple[float, int, int], **changes: Any) -> Outcome:
    """Requests of (moment, prompt, answer) on one unit of two ranks, prefill being next to nothing."""
    at_s, prompts, answers = (np.array(column) for column in zip(*requests, strict=True))
    table = Table(at_s=at_s.astype(float), input=prompts.astype(np.int64), output=answers.astype(np.int64))
    return audited(Config(**{**BARE, **changes}), arrivals=Trace(table), samples=3)


@pytest.mark.parametrize("most_steps", [10**9, 1])
def test_a_step_lasts_as_long_as_its_slowest_rank_and_another_may_become_it(most_steps: int) -> None:
    """One sequence of 1,000 tokens, and from its second step on two of 100: they gain a token a step, and pass it."""
    c = 2e-6
    found = served(
        (0.0, 1000, 2000), (0.0, 100, 2000), (0.0, 100, 2000), step_s_per_kv_token=c / 2, most_steps=most_steps
    )
    one, two = np.append(1000 + np.arange(2000), 0), np.append(0, 200 + 2 * np.arange(2000))
    assert (one >= two).sum() == 803
    expected = (0.01 + c * np.maximum(one, two)).sum()
    assert found.simulated_s == pytest.approx(expected, rel=1e-9)
    if most_steps > 1:
        assert found.events < 20


def test_what_the_ranks_wait_for_each_other_is_told() -> None:
    """The slowest rank's work over the mean's, and what it adds to the steps."""
    c = 2e-6
    found = served(FIRST, (0.0, 3000, 1000), (0.0, 1000, 1000), LAST, step_s_per_kv_token=c / 2)
    slow, fast = 3000 + np.arange(1000), 1000 + np.arange(1000)
    most, mean = c * slow.sum(), c * (slow + fast).sum() / 2
    assert found.rates["rank_imbalance"] == pytest.approx(most / mean, rel=1e-9)
    assert found.rates["rank_wait"] == pytest.approx((most - mean) / (1000 * 0.01 + most), rel=1e-9)


def test_a_balanced_unit_takes_as_long_as_one_without_ranks() -> None:
    requests = [(0.0, 500, 300)] * 4
    costs = {"step_s_per_sequence": 1e-4, "step_s_per_kv_token": 1e-7}
    apart, whole = served(FIRST, *requests, **costs), served(FIRST, *requests, decode_ranks=1, **costs)
    assert apart.simulated_s == pytest.approx(whole.simulated_s, rel=1e-12)


def test_a_full_rank_holds_up_only_those_that_were_sent_to_it() -> None:
    """Ranks of 1,000 tokens: the third request does not fit beside the first, the fourth fits beside the second."""
    costs = {"kv_capacity_tokens": 2000, "step_s_per_kv_token": 1e-9}
    found = served((0.0, 500, 100), (0.001, 700, 100), (0.002, 800, 100), (0.003, 30, 10), **costs)
    ttft_s = found.batches.ttft_sum_s.sum()
    # Steps of 10 ms: 1 begins at 0, 2 to 4 come while it runs; 3 waits until 1 has ended its 100 steps.
    assert ttft_s == pytest.approx(0.010 + (0.020 - 0.001) + (1.010 - 0.002) + (0.020 - 0.003), rel=1e-3)


def test_a_rank_runs_no_more_than_its_share_of_the_sequences() -> None:
    """Two sequences on two ranks, one each: of four the last two wait for the first to end."""
    found = served(FIRST, *[(0.0, 10, 100)] * 4, max_running=2)
    assert found.batches.ttft_sum_s.sum() == pytest.approx(2 * 0.01 + 2 * 1.01, rel=1e-6)


RETRACTING: dict[str, Any] = {"kv_admission": "retract", "decode_ranks": 1, "kv_capacity_tokens": 1000}


def test_a_full_rank_sends_the_last_admitted_back_to_prefill() -> None:
    """Two of 400 tokens fill 1,000 in 100 steps; the second is computed again and goes on when the first has ended."""
    found = served(FIRST, (0.0, 400, 300), (0.0, 400, 300), **RETRACTING)
    assert found.finished == 3
    assert found.preempted == 1
    # 100 steps together, 200 of the first alone: beside it there is no room for 500 tokens. Then 200 of the second.
    assert found.batches.ttft_sum_s.sum() == pytest.approx(2 * 0.01, abs=1e-6)
    assert found.simulated_s == pytest.approx(1.00 + 2.00 + 2.00, rel=1e-6)


def test_reserving_lets_nobody_in_who_might_have_to_go() -> None:
    found = served(FIRST, (0.0, 400, 300), (0.0, 400, 300), **{**RETRACTING, "kv_admission": "reserve"})
    assert found.preempted == 0
    assert found.simulated_s == pytest.approx(6.0, rel=1e-6)


def test_air_at_admission_keeps_sequences_apart_that_would_collide() -> None:
    """With 300 tokens for each the second waits until the first has ended."""
    found = served(FIRST, (0.0, 400, 300), (0.0, 400, 300), **RETRACTING, kv_headroom_tokens=300)
    assert found.preempted == 0
    assert found.simulated_s == pytest.approx(6.0, rel=1e-6)


@pytest.mark.parametrize(("name", "value"), [("kv_admission", "hope"), ("kv_headroom_tokens", 0)])
def test_an_impossible_admission_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        served(FIRST, **{name: value})


@pytest.mark.parametrize("kv_admission", ["reserve", "retract"])
def test_accepted_drafts_shorten_answers_and_steps_together_are_steps_one_by_one(kv_admission: str) -> None:
    """At 1.7 tokens a step an answer takes 10/17 of the steps, and TPOT is that much of a step."""
    setup: dict[str, Any] = {"kv_admission": kv_admission, "kv_capacity_tokens": 6000, "tokens_per_step": 1.7}
    macro, single = (
        audited(config(**setup, most_steps=most), arrivals=poisson(requests=300), samples=20) for most in (10**9, 1)
    )
    assert macro.finished == single.finished == 300
    assert macro.events < single.events
    assert macro.batches.output_tokens.sum() == single.batches.output_tokens.sum()
    assert macro.simulated_s == pytest.approx(single.simulated_s, rel=1e-9)
    for name in ("ttft_sum_s", "tpot_sum_s", "e2e_sum_s"):
        assert macro.batches[name].sum() == pytest.approx(single.batches[name].sum(), rel=1e-9)
    plain = audited(config(kv_capacity_tokens=6000), arrivals=poisson(requests=300), samples=20)
    each_s = [run.batches.tpot_sum_s.sum() / run.batches.tpot_n.sum() for run in (macro, plain)]
    assert 0.45 * each_s[1] < each_s[0] < 0.75 * each_s[1]
