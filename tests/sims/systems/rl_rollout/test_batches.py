"""Decaying batches: the exact identity, one token at a time, more answers than slots, KV that runs out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from sims.systems.rl_rollout import Lengths, Problems, Scoring, simulate
from tests.sims.systems.rl_rollout.by_token import ByToken, histogram
from tests.sims.systems.rl_rollout.scene import LONG_TAIL, STEP_S, audited, config, given, problems, reference


def one_batch(*lengths: int, prompt_tokens: float = 0.0, **changes: float) -> float:
    """How long one instance takes for a batch that it starts at once [s]."""
    setup = config(problems=1, answers=len(lengths), instances=1, slots=len(lengths), train_s=2.0, **changes)
    found = audited(setup, problems=given(*lengths, prompt_tokens=prompt_tokens), steps=1, warmup_steps=0)
    return found.parts_s["generate"]


def test_four_answers_take_exactly_nine_seconds() -> None:
    """a·K + b·ΣL with lengths 1, 2, 3, 4: 1·4 + 0.5·10."""
    assert one_batch(1, 2, 3, 4, step_s=1.0, step_s_per_sequence=0.5) == pytest.approx(9.0, abs=1e-12)


@drawn(lengths=st.lists(st.integers(1, 60), min_size=1, max_size=12), prompt=st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_a_batch_takes_exactly_what_its_lengths_say(lengths: list[int], prompt: int) -> None:
    """T = a·K + b·ΣL + c·Σ(P·L + L²/2), with prompts that take no time to compute."""
    a, b, c = 0.7, 0.03, 0.002
    expected = a * max(lengths) + b * sum(lengths) + c * sum(prompt * one + one * one / 2 for one in lengths)
    costs = {"step_s": a, "step_s_per_sequence": b, "step_s_per_kv_token": c}
    assert one_batch(*lengths, prompt_tokens=prompt, **costs) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("staleness", [0, 1, 3])
@pytest.mark.parametrize("pause_s", [0.0, 0.8])
def test_macro_steps_equal_one_token_at_a_time(staleness: int, pause_s: float) -> None:
    """Same ends of training steps and same ages; prompts differ, so that no two instances step in time."""
    setup = config(mode="asynchronous", staleness=staleness, pause_s=pause_s, step_s_per_kv_token=1e-4, train_s=11.0)
    load = problems(prompt_tokens=60.0, prompt_cv=0.5)
    found = audited(setup, problems=load, steps=12, warmup_steps=0, seed=3)
    seen = ByToken(setup, load, seed=3).run(12)
    assert found.rows["at_s"][1:] == pytest.approx(seen.ends_s, rel=1e-10)
    assert (found.ages.sum(axis=0) == histogram(seen.ages)).all()


@pytest.mark.parametrize("staleness", [0, 1, 2])
def test_masked_tokens_are_those_that_old_weights_made(staleness: int) -> None:
    """Token by token: a partial rollout keeps out of the loss what is older than the bound."""
    setup = config(
        mode="asynchronous",
        staleness=staleness,
        enforcement="carry",
        pause_s=0.8,
        step_s_per_kv_token=1e-4,
        train_s=1.0,
    )
    load = problems(prompt_tokens=60.0, prompt_cv=0.5)
    found = audited(setup, problems=load, steps=20, warmup_steps=0, seed=3)
    seen = ByToken(setup, load, seed=3).run(20)
    masked = sum(1 for age in seen.token_ages if age > staleness)
    fates = found.fates
    assert found.counts["masked_tokens"] + fates["discarded"][1] == masked
    assert (masked > 0) is (staleness > 0)
    assert fates["trained_on"][1] + fates["discarded"][1] == len(seen.token_ages)


def test_synchronous_macro_steps_equal_one_token_at_a_time() -> None:
    setup = config(mode="synchronous", pause_s=0.3, step_s_per_kv_token=1e-4, slots=3)
    load = problems(prompt_tokens=60.0, prompt_cv=0.5)
    found = audited(setup, problems=load, steps=8, warmup_steps=0, seed=5)
    seen = ByToken(setup, load, seed=5).run(8)
    assert found.rows["at_s"][1:] == pytest.approx(seen.ends_s, rel=1e-10)


def equilibrium_maximum(load: Lengths, *, count: int) -> tuple[float, float, float]:
    """Mean, squared cv, and the expected largest of ``count`` residual lives, by quadrature of one large sample."""
    lengths = np.sort(load.draw(np.random.default_rng(1), groups=400_000, answers=1).ravel().astype(float))
    mean = lengths.mean()
    grid = np.linspace(0.0, lengths[-1], 4001)
    survival = 1 - np.searchsorted(lengths, grid, side="right") / len(lengths)
    residual = np.concatenate([[0.0], np.cumsum((survival[1:] + survival[:-1]) / 2 * np.diff(grid))]) / mean
    largest = np.trapezoid(1 - np.minimum(1.0, residual) ** count, grid)
    return mean, lengths.var() / mean**2, float(largest)


@pytest.mark.parametrize("times", [2, 4, 8])
def test_more_answers_than_slots_take_the_steps_that_renewal_theory_says(times: int) -> None:
    """K ≈ L̄·(n/S − (1 + cv²)/2) + E max of S residual lives: within 6 %, as the notes found."""
    law, slots = Lengths(8000.0, cv=1.0, cap_tokens=32_000), 64
    setup = config(
        problems=times * slots, answers=1, instances=1, slots=slots, step_s=1.0, step_s_per_sequence=0.0, train_s=0.0
    )
    found = simulate(setup, problems=Problems(law), steps=40, warmup_steps=0)
    mean, cv2, largest = equilibrium_maximum(law, count=slots)
    expected = max(32_000.0, mean * (times - (1 + cv2) / 2) + largest)
    assert found.parts_s["generate"] == pytest.approx(expected, rel=0.06)


def test_decode_time_is_steps_and_tokens() -> None:
    """Busy time follows from rates: a·steps + b·tokens, however the answers were spread."""
    planes: list = []
    setup = reference(instances=9, slots=64, staleness=2, pause_s=0.0)
    simulate(setup, problems=LONG_TAIL, steps=6, warmup_steps=0, check=planes.append, check_every_s=1000.0)
    state = planes[-1].state
    decode_s = state.spent[:-1, 1] + np.where(
        state.instances.stage == 1, state.instances.start_s - state.instances.since_s, 0.0
    )
    rates = STEP_S * state.instances.step + setup.step_s_per_sequence * state.instances.tokens
    assert decode_s == pytest.approx(rates, rel=1e-9)


def test_an_instance_without_kv_puts_answers_back_and_computes_them_again() -> None:
    roomy = config(instances=2, slots=8, prefill_tokens_per_s=500.0)
    tight = config(instances=2, slots=8, prefill_tokens_per_s=500.0, kv_tokens=200.0)
    load = problems(cap_tokens=120)
    free, bound = (audited(setup, problems=load, steps=6, warmup_steps=0) for setup in (roomy, tight))
    assert free.counts["preempted"] == 0
    assert bound.counts["preempted"] > 0
    assert bound.counts["recomputed_tokens"] > 0
    # Every answer is generated once, whatever is put back.
    assert bound.tokens_by[-1].sum() == free.tokens_by[-1].sum()
    assert bound.step_s.value > free.step_s.value


def test_an_answer_that_kv_can_never_hold_is_cut_and_counted() -> None:
    found = audited(config(kv_tokens=100.0), problems=problems(prompt_tokens=30.0, cap_tokens=150), steps=4)
    assert found.ending == "complete"
    assert found.cut_share > 0
    with pytest.raises(ValueError, match="cannot hold a prompt"):
        simulate(config(kv_tokens=20.0), problems=problems(prompt_tokens=30.0), steps=4)


def test_prompts_of_a_group_are_computed_once_an_instance() -> None:
    """One instance takes the whole batch: 4 prompts when shared, 16 when not."""
    load = problems(prompt_tokens=25.0)
    for shared, prompts in ((True, 4), (False, 16)):
        setup = config(instances=1, slots=16, shared_prompts=shared, prefill_tokens_per_s=100.0)
        found = audited(setup, problems=load, steps=3, warmup_steps=0)
        assert found.counts["prefilled_tokens"] == 3 * prompts * 25
        assert found.instance_shares["prefill"] * found.window_s == pytest.approx(3 * prompts * 25 / 100)


def test_kv_computed_anew_takes_tokens_in_flight_over_the_rate() -> None:
    """128 × (1,000 + 8,000·(1 + 0.845²)/2) tokens at 15,500/s: 65 s an instance and version (8 % for the spread)."""
    setup = reference(staleness=8, swap="recompute", prefill_tokens_per_s=15_500.0, shared_prompts=False)
    load = Problems(LONG_TAIL.lengths, prompt_tokens=1000.0)
    found = simulate(setup, problems=load, steps=40, warmup_steps=15)
    tokens = 128 * (1000 + 8000 * (1 + 0.845**2) / 2)
    a_swap = found.counts["recomputed_tokens"] / (found.measured_steps * 25)
    assert a_swap == pytest.approx(tokens, rel=0.08)
    assert found.instance_shares["recompute"] * found.window_s * 25 == pytest.approx(
        found.counts["recomputed_tokens"] / 15_500, rel=0.03
    )
    assert math.isclose(sum(found.instance_shares.values()), 1.0)


def test_scoring_does_not_slow_generation_down() -> None:
    """Generation and scoring are pools apart: the same ends of answers, later batches."""
    slow = Scoring(mean_s=4.0, cv=1.0)
    plain, scored = (
        audited(config(scoring=one), problems=problems(), steps=5, warmup_steps=0) for one in (Scoring(), slow)
    )
    assert scored.parts_s["generate"] == pytest.approx(plain.parts_s["generate"], rel=1e-12)
    assert scored.parts_s["score"] > 0 == plain.parts_s["score"]
