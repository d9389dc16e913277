"""Ejected instances: caps, growing times, and how long a recovered one idles."""

from __future__ import annotations

import numpy as np
import pytest

from planner.formulas import ejection


@pytest.mark.parametrize(
    ("instances", "cap", "most"), [(200, 0.1, 20), (9, 0.1, 1), (1, 0.1, 1), (0, 0.1, 0), (30, 0.1, 3), (5, 1.0, 5)]
)
def test_a_cap_leaves_most_of_the_fleet(instances: int, cap: float, most: int) -> None:
    assert ejection.most_ejected(instances, cap_share=cap) == most


def test_a_strict_cap_lets_none_go_from_a_small_fleet() -> None:
    assert ejection.most_ejected(9, at_least_one=False) == 0


def test_each_ejection_is_longer_up_to_the_longest() -> None:
    assert [ejection.ejection_s(times) for times in (1, 2, 3, 10, 11)] == [30, 60, 90, 300, 300]
    assert ejection.ejection_s(1, base_s=600.0) == 600


@pytest.mark.parametrize(("outage_s", "times"), [(0.0, 1), (29.0, 1), (30.0, 2), (89.0, 2), (90.0, 3), (179.0, 3)])
def test_an_outage_brings_as_many_ejections_as_it_outlasts(outage_s: float, times: int) -> None:
    assert ejection.ejections_during(outage_s) == times


def test_a_recovered_instance_idles_half_an_ejection() -> None:
    draws = np.random.default_rng(7)
    waits = []
    for _ in range(4_000):
        recovered = draws.uniform(90, 180)  # in the third ejection, which ends at 180 s
        end, times = 0.0, 0
        while end <= recovered:
            times += 1
            end += 30.0 * times
        waits.append(end - recovered)
    assert ejection.idle_after_recovery_s(120.0) == pytest.approx(np.mean(waits), rel=0.03)


def test_a_breaker_without_trials_never_closes() -> None:
    assert ejection.reclosed(0.2, trials=0) is None
    assert ejection.reclosed(0.2, trials=3) == pytest.approx(0.512)
    assert ejection.reclosed(0.0, trials=3) == 1
    assert ejection.reclosed(1.0, trials=1) == 0
    assert ejection.ejections_during(10.0, base_s=0.0) == 0
    assert ejection.idle_after_recovery_s(10.0, base_s=0.0) == 0
