"""Waits of turns that come in clusters, against theory and against a queue of a few lines."""

from __future__ import annotations

import numpy as np
import pytest

from planner.formulas import clustered, queueing
from planner.formulas.clustered import Cluster


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("scv", [0.0, 1.0, 4.0])
def test_turns_that_come_alone_wait_as_in_m_g_1(rho: float, scv: float) -> None:
    wait_s = clustered.mean_wait_s(rho, service_s=2.0, service_scv=scv)
    assert wait_s == pytest.approx(rho * 2.0 * (1 + scv) / (2 * (1 - rho)), rel=1e-9)
    assert wait_s == pytest.approx(queueing.mean_wait_s(rho, servers=1, service_s=2.0, service_scv=scv), rel=1e-9)


@pytest.mark.parametrize("mean", [2.0, 10.0, 50.0])
def test_turns_that_come_at_once_wait_as_batches_do(mean: float) -> None:
    """M^X/M/1 with geometric batches: W = s (rho + E[X(X-1)] / (2 E[X])) / (1 - rho)."""
    follow, rho = 1 - 1 / mean, 0.7
    batch = Cluster(share=1.0, follow_share=follow, gap_s=1e-7, service_s=1.0, later_service_s=1.0)
    wait_s = clustered.mean_wait_s(rho, service_s=1.0, service_scv=1.0, clusters=[batch])
    assert wait_s == pytest.approx((rho + (mean - 1)) / (1 - rho), rel=0.01)


def waits_s(*, follow: float, gap_s: float, rho: float, turns: int, seed: int) -> np.ndarray:
    """Lindley's recursion on sessions with exponential pauses and services of mean one."""
    random = np.random.default_rng(seed)
    sizes = random.geometric(1 - follow, int(turns * (1 - follow)))
    starts = np.cumsum(random.exponential(1 / (rho * (1 - follow)), len(sizes)))
    pauses = [np.concatenate(([0.0], random.exponential(gap_s, size - 1))).cumsum() for size in sizes]
    arrivals = np.sort(np.concatenate([start + each for start, each in zip(starts, pauses, strict=True)]))
    found, wait = np.empty(len(arrivals)), 0.0
    for place, (apart, service) in enumerate(
        zip(np.diff(arrivals, prepend=arrivals[0]), random.exponential(1.0, len(arrivals)), strict=True)
    ):
        wait = max(wait - apart, 0.0)
        found[place] = wait
        wait += service
    return found


@pytest.mark.parametrize(("follow", "gap_s", "rho"), [(0.8, 100.0, 0.8), (0.94, 25.0, 0.6), (0.94, 60.0, 0.5)])
def test_sessions_that_return_wait_nearly_as_simulated(follow: float, gap_s: float, rho: float) -> None:
    bound = Cluster(share=1.0, follow_share=follow, gap_s=gap_s, service_s=1.0, later_service_s=1.0)
    expected = clustered.mean_wait_s(rho, service_s=1.0, service_scv=1.0, clusters=[bound])
    alone = clustered.mean_wait_s(rho, service_s=1.0, service_scv=1.0)
    simulated = np.mean(
        [waits_s(follow=follow, gap_s=gap_s, rho=rho, turns=200_000, seed=seed).mean() for seed in (1, 2)]
    )
    assert 0.6 * simulated < expected < 1.05 * simulated
    assert alone < expected


def test_later_turns_grow_with_the_window_and_end_at_all_of_them() -> None:
    times = np.geomspace(1e-6, 1e9, 50)
    found = clustered.later_turns(times, follow_share=0.75, gap_s=3.0)
    assert np.all(np.diff(found) >= -1e-12)
    assert found[-1] == pytest.approx(6.0)
    assert found[0] == pytest.approx(0.75 / 3.0 * 1e-6, rel=1e-4)


def test_no_load_waits_for_nobody_and_too_much_for_ever() -> None:
    assert clustered.mean_wait_s(0.0, service_s=1.0, service_scv=1.0) == 0.0
    assert clustered.mean_wait_s(1.0, service_s=1.0, service_scv=1.0) is None
