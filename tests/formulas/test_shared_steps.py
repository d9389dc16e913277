"""Steps shared by decode and prefill, against a replica stepped by hand and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from planner.formulas.queueing import linear_batch
from planner.formulas.shared_steps import batch_at, batch_within, boarding, covered_s, rate_rps, tpot_s


def affine(batch: float) -> float:
    return 0.006 + 2e-5 * batch


def test_a_replica_stepped_by_hand_has_the_same_times() -> None:
    """64 places, each refilled as it empties, in turn: a prompt holds all, then each gets its tokens."""
    places, answer, prefill_s = 64, 256, 0.016
    left, now_s, done = [answer * (place + 1) // places for place in range(places)], 0.0, 0
    while now_s < 60:
        now_s += affine(places)
        left = [each - 1 for each in left]
        for place, each in enumerate(left):
            if each == 0:
                left[place], done = answer, done + 1
                now_s += prefill_s
    told = rate_rps(affine(places), batch=places, prefill_s=prefill_s, output_tokens=answer)
    assert done / now_s == pytest.approx(told, rel=0.01)
    assert tpot_s(affine(places), batch=places, prefill_s=prefill_s, output_tokens=answer) == pytest.approx(
        places / (answer * told)
    )


@pytest.mark.parametrize("rate", [0.1, 5.0, 19.0])
def test_without_prefill_the_batch_is_the_linear_one(rate: float) -> None:
    found = batch_at(rate, step=affine, prefill_s=0.0, output_tokens=256, most=500)
    assert found == pytest.approx(linear_batch(demand_per_s=rate * 256, fixed_s=0.006, per_item_s=2e-5), rel=1e-6)


def test_batch_and_rate_are_inverse() -> None:
    for batch in (0.5, 3.0, 80.0, 255.0):
        rate = rate_rps(affine(batch), batch=batch, prefill_s=0.01, output_tokens=200)
        assert batch_at(rate, step=affine, prefill_s=0.01, output_tokens=200, most=256) == pytest.approx(
            batch, rel=1e-6
        )


def test_what_cannot_be_served_has_no_batch_and_no_load_has_none_running() -> None:
    most = rate_rps(affine(256), batch=256, prefill_s=0.01, output_tokens=200)
    assert batch_at(1.01 * most, step=affine, prefill_s=0.01, output_tokens=200, most=256) is None
    assert batch_at(0.0, step=affine, prefill_s=0.01, output_tokens=200, most=256) == 0.0


def test_the_batch_within_a_time_has_just_that_time() -> None:
    found = batch_within(0.02, step=affine, prefill_s=0.01, output_tokens=200, most=2000)
    assert tpot_s(affine(found), batch=found, prefill_s=0.01, output_tokens=200) == pytest.approx(0.02)
    assert batch_within(0.005, step=affine, prefill_s=0.01, output_tokens=200, most=2000) == 0.0
    assert batch_within(9.0, step=affine, prefill_s=0.01, output_tokens=200, most=2000) == 2000


@pytest.mark.parametrize(("rate", "prefill_s", "sigma"), [(5.0, 0.02, 0.0), (15.0, 0.016, 0.8), (30.0, 0.016, 0.8)])
def test_prompts_that_board_steps_wait_as_when_stepped_by_hand(rate: float, prefill_s: float, sigma: float) -> None:
    random, step_s = np.random.default_rng(5), 0.01
    came = np.cumsum(random.exponential(1 / rate, int(600 * rate)))
    own = prefill_s * np.exp(sigma * random.standard_normal(len(came)) - sigma**2 / 2)
    now_s, first, waited = 0.0, 0, []
    while first < len(came):
        last = int(np.searchsorted(came, now_s, side="right"))
        now_s += step_s + own[first:last].sum()
        waited += list(now_s - came[first:last] - own[first:last])
        first = last
    found = boarding(step_s, rate=rate, prefill_s=prefill_s, prefill_scv=np.expm1(sigma**2))
    assert found is not None
    # near half the load successive steps are alike, which the formula leaves out
    assert found.total_s == pytest.approx(np.mean(waited), rel=0.04 if rate * prefill_s < 0.3 else 0.12)


def test_prompts_beyond_the_time_of_the_replica_never_board() -> None:
    assert boarding(0.01, rate=50.0, prefill_s=0.02) is None


@pytest.mark.parametrize(
    ("duration_s", "rate"), [(0.004, 15.0), (0.0123, 15.0), (0.0123, 2.0), (0.05, 15.0), (0.2, 20.0)]
)
def test_a_copy_beside_the_steps_ends_with_one_as_when_stepped_by_hand(duration_s: float, rate: float) -> None:
    random, step_s, prefill_s, passed = np.random.default_rng(8), 0.01, 0.0125, []
    came, now_s = 0.0, 0.0
    for _ in range(6000):
        begun_s = now_s
        while now_s < begun_s + duration_s:
            # prompts that came during the last step are computed in this one
            length_s = step_s + prefill_s * random.poisson(rate * came)
            now_s, came = now_s + length_s, length_s
        passed.append(now_s - begun_s)
    told = covered_s(duration_s, step_s=step_s, rate=rate, prefill_s=prefill_s)
    assert told == pytest.approx(np.mean(passed), rel=0.03)
