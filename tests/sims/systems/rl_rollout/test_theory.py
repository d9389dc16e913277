"""What the notes' prototypes measured and what theory says, against runs; shapes that nobody put in."""

from __future__ import annotations

import numpy as np
import pytest

from sims.systems.rl_rollout import Config, Lengths, Outcome, Problems, compare, simulate
from tests.sims.systems.rl_rollout.scene import LONG_TAIL, RATED, audited, config, problems, reference


def step_s(found: Outcome) -> float:
    assert found.step_s is not None
    return found.step_s.value


@pytest.mark.parametrize(
    ("staleness", "step", "utilisation", "older"),
    [(0, 922.0, 0.284, 0.0), (1, 527.0, 0.500, 0.14), (2, 403.0, 0.651, 0.20), (4, 301.0, 0.866, 0.36)],
)
def test_asynchronous_training_is_as_the_notes_measured(
    staleness: int, step: float, utilisation: float, older: float
) -> None:
    """Another prototype with other draws: 2 % on times and utilisation, 2 points on the share older than the bound."""
    found = simulate(reference(staleness=staleness), problems=LONG_TAIL, steps=60, warmup_steps=10)
    assert step_s(found) == pytest.approx(step, rel=0.02)
    assert found.utilisation(RATED) == pytest.approx(utilisation, rel=0.02)
    assert found.late_share == pytest.approx(older, abs=0.02)
    # When the gate binds, starts and uses both advance a batch a version.
    assert found.mean_staleness == pytest.approx(staleness, abs=0.02)
    assert found.capped_share == pytest.approx(0.0207, abs=0.002)


@pytest.mark.parametrize(("staleness", "step", "lost"), [(1, 600.0, 0.08), (2, 415.0, 0.08), (4, 330.0, 0.10)])
def test_discarding_bounds_staleness_at_a_price(staleness: int, step: float, lost: float) -> None:
    """The notes' step times within 2 %, their lost groups within 4 points: at η = 4 a steady run loses 13 %, the first
    twenty steps of an empty system the 10 % that they give."""
    setup = reference(staleness=staleness, enforcement="discard")
    found = simulate(setup, problems=LONG_TAIL, steps=60, warmup_steps=10)
    counts = found.counts
    assert step_s(found) == pytest.approx(step, rel=0.02)
    discarded = counts["groups_discarded"] / (counts["groups_discarded"] + counts["groups_consumed"])
    assert discarded == pytest.approx(lost, abs=0.04)
    assert found.late_share == 0
    assert found.group_ages[staleness + 1 :].sum() == 0


def test_no_staleness_is_exact() -> None:
    """η = 0 is synchronous training: the same run, and nothing is ever older."""
    alone, gated = (
        simulate(reference(mode=mode, staleness=0), problems=LONG_TAIL, steps=8, warmup_steps=1)
        for mode in ("synchronous", "asynchronous")
    )
    assert (gated.ages[:, 1:] == 0).all()
    assert gated.rows["at_s"] == pytest.approx(alone.rows["at_s"], rel=1e-12)


def test_one_step_off_takes_the_longer_of_the_two_and_keeps_the_tail() -> None:
    both = compare(
        {mode: reference(mode=mode) for mode in ("synchronous", "one_step_off")},
        problems=LONG_TAIL,
        steps=12,
        warmup_steps=1,
    )
    generate = both["synchronous"].parts_s["generate"]
    assert step_s(both["synchronous"]) == pytest.approx(generate + 300 + 1)
    assert step_s(both["one_step_off"]) == pytest.approx(max(generate, 300) + 1, rel=0.01)
    assert both["one_step_off"].mean_staleness == 1


def test_colocated_gpus_lose_two_switches_and_a_pause() -> None:
    found = audited(config(mode="colocated", switch_s=3.0, pause_s=0.5), problems=problems(), steps=6, warmup_steps=1)
    assert step_s(found) == pytest.approx(found.parts_s["generate"] + 5 + 2 * 3 + 0.5)
    shares = found.instance_shares
    assert shares["switch"] * found.window_s == pytest.approx(5 * 6.0)
    assert shares["train"] * found.window_s == pytest.approx(5 * 5.0)


def test_more_gpus_gain_almost_nothing_once_the_tail_binds() -> None:
    """Doubling pays while instances are full, and no more when each answer has half an instance for itself."""
    steps = [
        step_s(
            simulate(
                reference(mode="synchronous", instances=count, slots=2048),
                problems=LONG_TAIL,
                steps=6,
                warmup_steps=0,
            )
        )
        for count in (5, 10, 100, 200, 400)
    ]
    assert steps[0] / steps[1] > 1.4
    assert steps[2] / steps[3] < 1.05
    assert steps[3] / steps[4] < 1.03
    # The longest answer alone: no number of GPUs goes below it.
    assert steps[-1] > 0.0119 * 32_000 + 300


def test_staleness_pays_up_to_a_knee() -> None:
    """Each version of slack helps until training itself limits; from there on it only makes samples older."""
    found = {
        eta: simulate(reference(staleness=eta), problems=LONG_TAIL, steps=60, warmup_steps=20)
        for eta in (0, 1, 2, 4, 8)
    }
    steps = {eta: step_s(one) for eta, one in found.items()}
    assert steps[0] / steps[1] > 1.5
    assert steps[2] / steps[4] > 1.2
    assert steps[4] / steps[8] == pytest.approx(1.0, abs=0.01)
    assert found[8].mean_staleness > found[4].mean_staleness + 3


def test_long_answers_carry_the_staleness() -> None:
    found = simulate(reference(staleness=4), problems=LONG_TAIL, steps=60, warmup_steps=10)
    ages = found.staleness_by_length
    assert ages[-1] > ages[0] + 0.5
    assert (np.diff(ages[3:]) > 0).all()


@pytest.mark.parametrize(
    ("share", "stop", "mean", "wasted"), [(0.1, 17_792.0, 6306.0, 0.220), (0.25, 11_797.0, 5212.0, 0.361)]
)
def test_over_sampling_stops_at_the_quantile_and_wastes_what_the_notes_say(
    share: float, stop: float, mean: float, wasted: float
) -> None:
    """All in parallel, a second a token, single answers; 2 % for twenty batches of draws."""
    setup = reference(
        problems=2048,
        answers=1,
        instances=20,
        slots=4096,
        mode="synchronous",
        oversample=share,
        step_s=1.0,
        step_s_per_sequence=0.0,
        pause_s=0.0,
    )
    found = simulate(setup, problems=LONG_TAIL, steps=20, warmup_steps=0)
    answers, tokens = found.fates["trained_on"]
    assert found.parts_s["generate"] == pytest.approx(stop, rel=0.02)
    assert tokens / answers == pytest.approx(mean, rel=0.02)
    assert found.token_share("aborted") == pytest.approx(wasted, abs=0.01)


def test_carrying_the_rest_over_wastes_nothing() -> None:
    """What is unfinished when an over-sampled batch is full is thrown away, or goes on in the next."""
    dropped, carried, strict = (
        audited(config(oversample=0.5, enforcement=one, staleness=eta), problems=problems(), steps=20, warmup_steps=4)
        for one, eta in (("none", 0), ("carry", 4), ("carry", 0))
    )
    assert dropped.token_share("aborted") > 0.1
    assert carried.token_share("aborted", "discarded") == 0
    assert carried.counts["masked_tokens"] == 0 < carried.mean_staleness
    # Without any staleness allowed, what older weights have made stays out of the loss.
    assert strict.counts["masked_tokens"] > 0 == strict.mean_staleness
    assert dropped.mean_staleness == 0


@pytest.mark.parametrize(("shape", "dropped"), [(1.0, 2 / 17), (0.5, 0.27990), (2.0, 0.03509)])
def test_filtering_drops_the_share_of_groups_that_beta_says(shape: float, dropped: float) -> None:
    """z = E[p¹⁶ + (1 − p)¹⁶], within three standard errors of the groups that came."""
    load = Problems(Lengths(100.0, cv=1.0, cap_tokens=400), chance_a=shape, chance_b=shape)
    found = simulate(reference(filtering=True, train_s=1.0), problems=load, steps=60, warmup_steps=0)
    counts = found.counts
    groups = counts["groups_filtered"] + counts["groups_consumed"]
    assert counts["groups_filtered"] / groups == pytest.approx(
        dropped, abs=3 * (dropped * (1 - dropped) / groups) ** 0.5 + 0.5 / groups
    )
    assert found.useful_answers == found.measured_steps * 2048


@pytest.mark.parametrize(("staleness", "slower"), [(1, 1.05), (4, 1.2)])
def test_waiting_for_running_answers_costs_more_than_interrupting_them(staleness: int, slower: float) -> None:
    """Weights taken in mid-answer against instances that run empty first; the second never mixes versions."""
    kept, drained = (
        simulate(reference(staleness=staleness, swap=swap), problems=LONG_TAIL, steps=40, warmup_steps=10)
        for swap in ("keep", "drain")
    )
    assert step_s(drained) > slower * step_s(kept)
    assert drained.mean_token_staleness == pytest.approx(drained.mean_staleness, abs=1e-9)
    assert kept.mean_token_staleness < kept.mean_staleness


def test_every_mode_sees_the_same_answers() -> None:
    """The first batch of each has the same tokens; the stream does not depend on how it is cut."""
    modes = ("synchronous", "one_step_off", "colocated")
    first = {
        mode: simulate(reference(mode=mode), problems=LONG_TAIL, steps=1, warmup_steps=0).tokens_by[1, 0]
        for mode in modes
    }
    assert len(set(first.values())) == 1
    whole, cut = (
        [
            chunk
            for chunk, _ in zip(
                LONG_TAIL.chunks(1, groups=groups, answers=4, score_mean_s=3.0, score_cv=1.0),
                range(12 // groups),
                strict=False,
            )
        ]
        for groups in (12, 3)
    )
    assert (np.concatenate(cut) == whole[0]).all()


def test_an_instance_that_is_full_runs_at_its_rated_speed() -> None:
    """U = R(B)/R* with nothing else in the way: 1 at the batch at which the rate is quoted."""
    setup = reference(staleness=16, pause_s=0.0, train_s=0.0)
    found = simulate(setup, problems=LONG_TAIL, steps=60, warmup_steps=20)
    assert found.mean_running == pytest.approx(25 * 128, rel=0.001)
    assert found.utilisation(RATED) == pytest.approx(1.0, rel=0.001)
    assert isinstance(found.config, Config)
