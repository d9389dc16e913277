"""Splits of the roles against figures of the notes and the best of all splits."""

from __future__ import annotations

import pytest

from planner.formulas.rollout_split import Training, balanced, generation_gpu_s, whole_units

WORK = 16.384e6 / (2500 * 0.9)


def test_generation_is_tokens_over_the_rate_reached() -> None:
    assert generation_gpu_s(16.384e6, tokens_per_s=2500.0, utilisation=0.9) == pytest.approx(7281.8, abs=0.05)
    dropped = generation_gpu_s(16.384e6, tokens_per_s=2500.0, utilisation=0.9, discarded=0.1, filtered=2 / 17)
    assert dropped == pytest.approx(WORK / 0.9 * 17 / 15)
    assert generation_gpu_s(1.0, tokens_per_s=2500.0, utilisation=0.9, filtered=1.0) is None


@pytest.mark.parametrize(("gpus", "train", "step_s"), [(64, 46.40, 413.78), (128, 92.81, 206.89)])
def test_linear_training_splits_by_work(gpus: int, train: float, step_s: float) -> None:
    found = balanced(gpus, training=Training(300.0, 64), generation_gpu_s=WORK)
    assert found.train_gpus == pytest.approx(train, abs=0.01)
    assert found.rollout_gpus == pytest.approx(gpus - train, abs=0.01)
    assert found.step_s == pytest.approx(step_s, abs=0.01)
    assert found.step_s == pytest.approx((19_200 + WORK) / gpus)


def test_training_that_scales_worse_takes_more_gpus() -> None:
    found = balanced(128, training=Training(300.0, 64, exponent=0.8), generation_gpu_s=WORK)
    assert found.train_gpus == pytest.approx(94.77, abs=0.01)
    assert found.train_s == pytest.approx(found.generation_s)
    assert found.step_s == pytest.approx(219.1, abs=0.05)


@pytest.mark.parametrize("gpus", [17, 64, 100, 128, 250])
@pytest.mark.parametrize(("train_unit", "rollout_unit"), [(1, 1), (8, 8), (16, 4), (4, 16), (8, 1)])
@pytest.mark.parametrize("exponent", [1.0, 0.7])
def test_whole_units_are_the_best_of_all(gpus: int, train_unit: int, rollout_unit: int, exponent: float) -> None:
    training = Training(300.0, 64, exponent=exponent)
    found = whole_units(
        gpus, training=training, generation_gpu_s=WORK, train_unit=train_unit, rollout_unit=rollout_unit
    )
    steps = [
        max(training.at(train), WORK / ((gpus - train) // rollout_unit * rollout_unit))
        for train in range(train_unit, gpus - rollout_unit + 1, train_unit)
    ]
    assert (found is None) == (not steps)
    if found is not None:
        assert found.step_s == pytest.approx(min(steps))
        assert found.train_gpus % train_unit == 0
        assert found.rollout_gpus % rollout_unit == 0
        assert found.train_gpus + found.rollout_gpus <= gpus


def test_roles_without_work_need_no_gpus() -> None:
    assert balanced(64, training=Training(300.0, 64), generation_gpu_s=0.0).rollout_gpus == 0
    assert balanced(64, training=Training(0.0, 64), generation_gpu_s=WORK).train_gpus == 0
    assert whole_units(8, training=Training(300.0, 64), generation_gpu_s=WORK, train_unit=8) is None
