"""What plain draws say of replaced groups, last scores, running answers and draining instances."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from planner.formulas import replaced_groups, rollout_split, rollout_swaps, running_answers, score_tail, scoring
from planner.formulas.answer_lengths import answer_lengths
from planner.formulas.capped_lognormal import CappedLognormal
from planner.formulas.decode_step import DecodeStep
from planner.formulas.observed_lengths import ObservedLengths
from planner.formulas.rollout_cycle import Cycle, Rollout

LAW = answer_lengths(mean_tokens=8000.0, variation=1.0, cap_tokens=32000.0)
DRAWS = 300


def lengths(generator: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    assert isinstance(LAW, CappedLognormal)
    drawn = LAW.median_tokens * np.exp(LAW.sigma * generator.standard_normal(shape))
    return np.minimum(drawn, LAW.cap_tokens)


class TestReplacedGroups:
    def test_the_last_chain_is_that_of_drawn_groups(self) -> None:
        generator, dropped, found = np.random.default_rng(5), 2 / 17, []
        for _ in range(DRAWS):
            ends, open_ = np.zeros(128), np.ones(128, dtype=bool)
            while open_.any():
                ends[open_] += lengths(generator, int(open_.sum()), 16).max(axis=1)
                open_[open_] = generator.random(int(open_.sum())) < dropped
            found.append(ends.max())
        expected = replaced_groups.expected_chain_steps(LAW, group=16, groups=128, dropped=dropped)
        assert expected == pytest.approx(np.mean(found), rel=0.02)

    def test_nothing_dropped_leaves_the_longest_answer(self) -> None:
        expected = replaced_groups.expected_chain_steps(LAW, group=16, groups=128, dropped=0.0)
        assert expected == pytest.approx(LAW.expected_maximum(2048), rel=0.005)

    def test_alike_answers_make_whole_links(self) -> None:
        same = ObservedLengths.of([1000.0])
        # Half are dropped, of one group: links are geometric with mean two.
        expected = replaced_groups.expected_chain_steps(same, group=4, groups=1, dropped=0.5)
        assert expected == pytest.approx(2000.0, rel=0.02)


class TestLastScores:
    @pytest.mark.parametrize(
        ("mean_s", "variation", "timeout_s", "group"),
        [(30.0, 2.0, 120.0, 1), (60.0, 2.0, 120.0, 16), (1.0, 1.0, 120.0, 1), (20.0, 0.5, 1e9, 16)],
    )
    def test_the_last_score_is_that_of_drawn_steps(
        self, mean_s: float, variation: float, timeout_s: float, group: int
    ) -> None:
        service, token_s = scoring.service_law(mean_s, variation=variation, timeout_s=timeout_s), 0.01
        generator, found = np.random.default_rng(7), []
        assert isinstance(service, CappedLognormal)
        for _ in range(DRAWS):
            ends_s = lengths(generator, 128, 16) * token_s
            spent_s = service.median_tokens * np.exp(service.sigma * generator.standard_normal((128, 16)))
            spent_s = np.minimum(spent_s, timeout_s)
            if group == 1:
                found.append((ends_s + spent_s).max() - ends_s.max())
            else:
                found.append((ends_s.max(axis=1) + spent_s.max(axis=1)).max() - ends_s.max())
        expected = score_tail.score_tail_s(LAW, service=service, answers=2048, token_s=token_s, group=group)
        assert expected == pytest.approx(np.mean(found), rel=0.03)

    def test_scorers_that_rest_leave_no_backlog(self) -> None:
        ends_s, shares = np.linspace(0.0, 100.0, 11), np.linspace(0.0, 1.0, 11)
        assert score_tail.backlog_s(ends_s, shares=shares, work_s=90.0) == 0.0
        assert score_tail.backlog_s(ends_s, shares=shares, work_s=150.0) == pytest.approx(50.0)

    def test_a_burst_at_the_end_is_worked_off_after_it(self) -> None:
        ends_s, shares = np.array([0.0, 90.0, 100.0]), np.array([0.0, 0.0, 1.0])
        assert score_tail.backlog_s(ends_s, shares=shares, work_s=50.0) == pytest.approx(40.0)


class TestRunningAnswers:
    def test_the_spread_of_contexts_is_that_of_ages_drawn(self) -> None:
        generator = np.random.default_rng(3)
        drawn = lengths(generator, 400_000)
        # A step meets an answer in proportion to its length, anywhere in it.
        picked = generator.choice(drawn, size=200_000, p=drawn / drawn.sum())
        contexts = 1000.0 + picked * generator.random(len(picked))
        expected = running_answers.context_variation(LAW, prompt_tokens=1000.0)
        assert expected == pytest.approx(contexts.std() / contexts.mean(), rel=0.01)

    @pytest.mark.parametrize(("limit", "simulated"), [(26, 26.0), (32, 31.6), (36, 34.7), (38, 35.9), (42, 37.9)])
    def test_the_number_is_that_of_runs_that_count_every_token(self, limit: int, simulated: float) -> None:
        """Runs of `sims.systems.rl_rollout` with 301,368 tokens of KV, answers of 8,000 behind 1,000, cap 32,000."""
        variation = running_answers.context_variation(LAW, prompt_tokens=1000.0)
        found = running_answers.running_answers(38.34, variation=variation, limit=limit)
        assert found == pytest.approx(simulated, rel=0.015)

    def test_a_limit_far_below_memory_is_reached(self) -> None:
        assert running_answers.running_answers(1000.0, variation=1.0, limit=10) == pytest.approx(10.0)


class TestDraining:
    STEP = DecodeStep(0.01194, 0.000315)

    def test_it_is_slower_than_going_on_and_ends_where_training_binds(self) -> None:
        def step_s(instances: int) -> float:
            rollout = Rollout(self.STEP, LAW, 2048 / instances, 128, 300.0, 4.0, 16, 1.0)
            return rollout_swaps.draining(rollout, slots=36.0).step_s

        assert step_s(40) == pytest.approx(425.0, rel=0.03)  # simulated with 20 steps
        assert step_s(40) > step_s(50) > step_s(200) == 301.0

    def test_its_step_balances_what_is_wanted_and_written(self) -> None:
        rollout = Rollout(self.STEP, LAW, 100.0, 128, 10.0, 4.0, 16, 0.0)
        found, slots = rollout_swaps.draining(rollout, slots=36.0), 36.0
        left = slots * LAW.second_moment / (2 * LAW.mean_tokens)
        drain_s = 0.01194 * LAW.expected_longest_residual(slots) + 0.000315 * left
        written = self.STEP.tokens_per_s(slots) * found.step_s / 2 + left
        assert written / (found.step_s / 2 + drain_s) == pytest.approx(100 * LAW.mean_tokens / found.step_s)

    def test_tokens_of_groups_within_the_bound_are_not_masked(self) -> None:
        cycle, shares = Cycle(300.0, 12_800.0, 0.0, 0.0, waits=False), np.array([0.2, 0.5, 0.3])
        assert rollout_swaps.masked_share(LAW, cycle=cycle, shares=shares, bound=2) == 0.0
        drawn = np.minimum(lengths(np.random.default_rng(2), 200_000), 12_800.0)
        found = rollout_swaps.masked_share(LAW, cycle=cycle, shares=shares, bound=1)
        assert found == pytest.approx(0.3 * drawn.mean() / 8000.0, rel=0.01)


@pytest.mark.parametrize(("seconds", "generation_gpu_s"), [(1e-3, 1e5), (1e9, 1e-3)])
def test_a_role_that_takes_next_to_nothing_leaves_the_gpus_to_the_other(
    seconds: float, generation_gpu_s: float
) -> None:
    training = rollout_split.Training(seconds, 64, 0.5)
    found = rollout_split.balanced(128, training=training, generation_gpu_s=generation_gpu_s)
    assert min(found.train_gpus, found.rollout_gpus) < 0.1
    assert found.train_gpus + found.rollout_gpus == pytest.approx(128)
