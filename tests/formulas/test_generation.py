"""Synchronous generation against step-by-step runs of drawn answers."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
import pytest

from planner.formulas.answer_lengths import AnswerLengths, answer_lengths
from planner.formulas.batch_decay import decay
from planner.formulas.decode_step import DecodeStep, from_quoted_rate
from planner.formulas.generation import (
    answer_work_s,
    expected_generation_s,
    expected_steps,
    generation_s,
    instances_for_deadline,
    slowest_generation_s,
)
from planner.formulas.generation_utilisation import (
    gpus_for_deadline,
    utilisation_for_deadline,
    utilisation_of_share,
)
from planner.formulas.observed_lengths import ObservedLengths

LINE = DecodeStep(0.0119, 0.00030703125)


def law_with(*, cap: float | None = 32_000.0, variation: float = 1.0) -> AnswerLengths:
    return answer_lengths(mean_tokens=8000.0, variation=variation, cap_tokens=cap)


def drawn(law: AnswerLengths, shape: tuple[int, ...], *, seed: int = 1) -> np.ndarray:
    return np.asarray(law.quantile(np.random.default_rng(seed).random(shape)))


def run(line: DecodeStep, *, lengths: list[int], slots: int, prompt: float = 0.0) -> tuple[float, int]:
    """Step by step: time and steps; each step costs a + b B + c (context), and gives every running answer a token."""
    waiting, running, clock, steps = list(reversed(lengths)), [], 0.0, 0
    while waiting or running:
        while waiting and len(running) < slots:
            running.append([waiting.pop(), 0])
        context = sum(prompt + done + 0.5 for _, done in running)
        clock += line.fixed_s + line.sequence_s * len(running) + line.kv_token_s * context
        steps += 1
        for answer in running:
            answer[1] += 1
        running = [answer for answer in running if answer[1] < answer[0]]
    return clock, steps


def steps_with_slots(lengths: np.ndarray, *, slots: int) -> float:
    """Steps of an instance that hands the next answer to the slot that is free first."""
    free = [0.0] * slots
    for length in lengths:
        heapq.heappush(free, heapq.heappop(free) + float(length))
    return max(free)


def test_four_answers_take_nine() -> None:
    assert generation_s(DecodeStep(1.0, 0.5), lengths=[1, 2, 3, 4]) == 9
    assert generation_s(DecodeStep(1.0, 0.5), lengths=[]) == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_formula_for_known_lengths_is_exact(seed: int) -> None:
    lengths = [int(each) for each in np.random.default_rng(seed).integers(1, 60, size=12)]
    line = DecodeStep(0.7, 0.11, 0.003)
    clock, steps = run(line, lengths=lengths, slots=12, prompt=40.0)
    assert steps == max(lengths)
    assert generation_s(line, lengths=lengths, prompt_tokens=40.0) == pytest.approx(clock, rel=1e-9)


def test_with_fewer_slots_only_the_steps_grow() -> None:
    lengths = [int(each) for each in np.random.default_rng(7).integers(1, 60, size=40)]
    line = DecodeStep(0.7, 0.11)
    clock, steps = run(line, lengths=lengths, slots=6)
    assert clock == pytest.approx(0.7 * steps + 0.11 * sum(lengths), rel=1e-9)
    assert steps == steps_with_slots(np.array(lengths), slots=6)


@pytest.mark.parametrize("variation", [0.5, 1.0])
@pytest.mark.parametrize(("answers", "slots"), [(96, 64), (128, 64), (256, 64), (192, 32)])
def test_steps_beyond_the_slots_agree_with_draws(answers: int, slots: int, variation: float) -> None:
    law = law_with(variation=variation)
    found = np.mean([steps_with_slots(each, slots=slots) for each in drawn(law, (200, answers))])
    assert expected_steps(law, answers=answers, slots=slots) == pytest.approx(found, rel=0.06)


@pytest.mark.parametrize("answers", [32, 64, 128])
@pytest.mark.parametrize("law", [law_with(), law_with(cap=None), law_with(cap=16_000.0), law_with(variation=0.5)])
@pytest.mark.parametrize("instances", [1, 16, 64])
def test_the_slowest_instance_agrees_with_draws(law: AnswerLengths, answers: int, instances: int) -> None:
    draws = 1_000_000 if math.isfinite(law.cap_tokens) else 6_000_000
    lengths = drawn(law, (draws // (instances * answers), instances, answers))
    times = LINE.fixed_s * lengths.max(axis=2) + LINE.sequence_s * lengths.sum(axis=2)
    found = slowest_generation_s(LINE, law=law, answers=answers, instances=instances)
    assert found == pytest.approx(times.max(axis=1).mean(), rel=0.015 if math.isfinite(law.cap_tokens) else 0.03)


def test_the_slowest_instance_with_fewer_slots_agrees_with_draws() -> None:
    law, slots, answers, instances = law_with(), 32, 128, 16
    each = drawn(law, (40, instances, answers))
    times = [
        max(LINE.fixed_s * steps_with_slots(one, slots=slots) + LINE.sequence_s * one.sum() for one in fleet)
        for fleet in each
    ]
    found = slowest_generation_s(LINE, law=law, answers=answers, instances=instances, slots=slots)
    assert found == pytest.approx(float(np.mean(times)), rel=0.05)


def test_reading_the_cache_adds_the_squares() -> None:
    law, line = law_with(), DecodeStep(0.01, 1e-4, 2e-8)
    lengths = drawn(law, (4000, 48))
    times = [generation_s(line, lengths=list(each), prompt_tokens=1000.0) for each in lengths]
    found = expected_generation_s(line, law=law, answers=48, prompt_tokens=1000.0)
    assert found == pytest.approx(np.mean(times), rel=0.005)


@pytest.mark.parametrize(
    ("shared", "share", "expected"),
    [(1, 0.25, 0.118), (1, 0.5, 0.222), (1, 1.0, 0.4), (3, 0.25, 0.211), (3, 0.5, 0.364), (3, 1.0, 0.571)],
)
def test_utilisation_with_a_tail_of_four_means(shared: float, share: float, expected: float) -> None:
    assert utilisation_of_share(shared=shared, batch_share=share, tail=4.0) == pytest.approx(expected, abs=5e-4)


def test_the_closed_form_of_utilisation_is_output_over_the_quoted_rate() -> None:
    law, answers = law_with(), 64
    seconds = expected_generation_s(LINE, law=law, answers=answers)
    tail = law.expected_maximum(answers) / law.mean_tokens
    beta = LINE.sequence_s * 128 / LINE.fixed_s
    assert utilisation_of_share(shared=beta, batch_share=answers / 128, tail=tail) == pytest.approx(
        answers * law.mean_tokens / seconds / 2500.0
    )


@pytest.mark.parametrize(
    ("fixed_s", "batch", "gpus", "longest", "expected", "utilisation"),
    [
        (0.0119, 128, 1, 8_000, 24.6, 0.889),
        (0.0119, 128, 1, 16_000, 45.9, 0.476),
        (0.0119, 128, 1, 19_400, 72.8, 0.300),
        (0.0119, 128, 1, 24_000, 349, 0.063),
        (0.0075, 256, 2, 32_000, 93, 0.234),
        (0.0045, 512, 4, 32_000, 38, 0.570),
    ],
)
def test_gpus_for_300_s_of_generation(
    fixed_s: float, batch: float, gpus: int, longest: float, expected: float, utilisation: float
) -> None:
    line = from_quoted_rate(2500.0 * gpus, batch=batch, fixed_s=fixed_s)
    assert line is not None
    tokens, longest_s = 16.384e6, fixed_s * longest
    found = gpus_for_deadline(
        tokens=tokens, token_s=line.sequence_s, longest_s=longest_s, deadline_s=300.0, gpus_per_instance=gpus
    )
    beta = line.sequence_s * batch / fixed_s
    reached = utilisation_for_deadline(shared=beta, longest_s=longest_s, deadline_s=300.0)
    assert found is not None
    assert reached is not None
    assert found == pytest.approx(expected, rel=0.01)
    assert reached == pytest.approx(utilisation, abs=0.001)
    assert tokens / (found * 2500.0 * 300.0) == pytest.approx(reached)


def test_no_fleet_shortens_the_longest_answer() -> None:
    assert (
        gpus_for_deadline(tokens=16.384e6, token_s=LINE.sequence_s, longest_s=0.0119 * 32_000, deadline_s=300.0) is None
    )
    assert utilisation_for_deadline(shared=3.3, longest_s=0.0119 * 32_000, deadline_s=300.0) is None
    assert instances_for_deadline(LINE, law=law_with(), answers=2048, deadline_s=300.0) is None


@pytest.mark.parametrize("slots", [math.inf, 100.0, 40.0, 20.0])
def test_the_fleet_for_a_deadline_meets_it(slots: float) -> None:
    law, answers, deadline = law_with(), 2048, 450.0
    fleet = instances_for_deadline(LINE, law=law, answers=answers, deadline_s=deadline, slots=slots)
    assert fleet is not None
    held = answers / fleet
    steps = max(law.expected_maximum(answers), expected_steps(law, answers=held, slots=slots))
    taken = LINE.fixed_s * steps + held * answer_work_s(LINE, law=law)
    assert taken == pytest.approx(deadline) or (taken < deadline and held == pytest.approx(slots))


def test_where_the_longest_answer_alone_counts_the_fleet_is_the_one_without_slots() -> None:
    # 302 slots bind no earlier than the longest answer: both ends of the search are then the same but for rounding.
    line = DecodeStep(0.007231666673110719, 1.898565594482289e-05, 1.0299967799295999e-08)
    law = answer_lengths(mean_tokens=10_000.0, variation=1.2, cap_tokens=64_000.0)
    deadline = 2 * line.fixed_s * law.expected_maximum(2048.0)
    asked: dict[str, Any] = {"law": law, "answers": 2048.0, "deadline_s": deadline, "prompt_tokens": 1000.0}
    fleet = instances_for_deadline(line, slots=302.099149895261, **asked)
    assert fleet == pytest.approx(instances_for_deadline(line, **asked))


@pytest.mark.parametrize(("answers", "slots"), [(64, math.inf), (200, 50.0)])
def test_the_decay_ends_with_all_tokens_and_at_the_time_of_the_whole(answers: int, slots: float) -> None:
    law = law_with()
    curve = decay(LINE, law=law, answers=answers, slots=slots, points=2000)
    assert float(np.trapezoid(curve.running, curve.steps)) == pytest.approx(answers * 8000.0, rel=0.005)
    whole = expected_generation_s(LINE, law=law, answers=answers, slots=slots)
    assert float(curve.elapsed_s[-1]) == pytest.approx(whole, rel=0.005)
    assert float(curve.running[0]) == min(answers, slots)
    mean = float(np.trapezoid(curve.utilisation(LINE, tokens_per_s=2500.0), curve.elapsed_s)) / whole
    assert mean == pytest.approx(answers * 8000.0 / whole / 2500.0, rel=0.01)


def test_doubling_instances_gains_almost_nothing_once_the_tail_binds() -> None:
    law = law_with()
    seconds = {
        fleet: slowest_generation_s(LINE, law=law, answers=2048 / fleet, instances=fleet) for fleet in (8, 16, 128, 256)
    }
    assert seconds[8] / seconds[16] > 1.4
    assert seconds[128] / seconds[256] < 1.1


def test_lengths_all_alike_have_no_tail() -> None:
    law = ObservedLengths.of([500.0])
    assert slowest_generation_s(LINE, law=law, answers=32, instances=9) == pytest.approx(
        generation_s(LINE, lengths=[500.0] * 32), rel=1e-6
    )
    assert slowest_generation_s(LINE, law=law, answers=0, instances=9) == 0
