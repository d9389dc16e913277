"""The scoring pool against figures of the notes, queues run event by event, and what surrounds it."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest

from planner.formulas import scoring
from planner.formulas.answer_lengths import squared_variation

LAW = scoring.service_law(30.0, variation=2.0, timeout_s=120.0)
RATE = 2048 / 300


def services(shape: int | tuple[int, ...], *, seed: int = 1) -> np.ndarray:
    sigma = math.sqrt(math.log(5.0))
    normal = np.random.default_rng(seed).standard_normal(shape)
    return np.minimum(30 / math.sqrt(5.0) * np.exp(sigma * normal), 120.0)


def ends(arrivals: np.ndarray, *, times: np.ndarray, sandboxes: int) -> tuple[np.ndarray, float]:
    """Waits in order of arrival, and when the last is done."""
    free, waits, last = [0.0] * sandboxes, [], 0.0
    for arrival, service in zip(arrivals, times, strict=True):
        begins = max(float(arrival), heapq.heappop(free))
        heapq.heappush(free, begins + float(service))
        waits.append(begins - arrival)
        last = max(last, begins + float(service))
    return np.array(waits), last


def test_the_pool_of_the_reference() -> None:
    assert LAW.mean_tokens == pytest.approx(25.350, abs=5e-4)
    assert LAW.share_at_cap == pytest.approx(0.0421, abs=5e-5)
    assert scoring.busy_sandboxes(RATE, law=LAW) == pytest.approx(173.1, abs=0.05)
    assert scoring.sandboxes_for_wait(RATE, law=LAW, wait_s=1.0) == 184


def test_the_law_is_that_of_draws() -> None:
    drawn = services(2_000_000)
    assert LAW.mean_tokens == pytest.approx(drawn.mean(), rel=0.003)
    assert squared_variation(LAW) == pytest.approx(drawn.var() / drawn.mean() ** 2, rel=0.005)
    assert LAW.expected_maximum(16) == pytest.approx(drawn.reshape(-1, 16).max(axis=1).mean(), rel=0.005)


@pytest.mark.parametrize("sandboxes", [178, 184])
def test_the_mean_wait_agrees_with_a_queue(sandboxes: int) -> None:
    count = 400_000
    random = np.random.default_rng(6)
    arrivals = np.cumsum(random.exponential(1 / RATE, size=count))
    waits, _ = ends(arrivals, times=services(count, seed=7), sandboxes=sandboxes)
    found = scoring.scoring_wait_s(RATE, law=LAW, sandboxes=sandboxes)
    assert found == pytest.approx(waits[count // 10 :].mean(), rel=0.25), "waits of a second, busy to 94 and 97 %"


def test_a_sandbox_less_waits_longer_than_the_target() -> None:
    for target in (0.01, 0.3, 5.0):
        count = scoring.sandboxes_for_wait(RATE, law=LAW, wait_s=target)
        enough, less = (scoring.scoring_wait_s(RATE, law=LAW, sandboxes=each) for each in (count, count - 1))
        assert enough is not None
        assert enough <= target
        assert less is None or less > target


def test_too_few_sandboxes_have_no_wait() -> None:
    assert scoring.scoring_wait_s(RATE, law=LAW, sandboxes=173) is None
    assert scoring.scoring_wait_s(RATE, law=LAW, sandboxes=0) is None


def test_nothing_to_score_needs_nothing() -> None:
    assert scoring.scoring_wait_s(0.0, law=LAW, sandboxes=0) == 0
    assert scoring.sandboxes_for_wait(0.0, law=LAW, wait_s=1.0) == 0
    assert scoring.burst_s(0, law=LAW, sandboxes=8) == 0


def test_a_burst_takes_its_work_and_a_tail() -> None:
    """The notes give the work over the sandboxes, 282 s; the last scores end well after."""
    assert 2048 * LAW.mean_tokens / 184 == pytest.approx(282, abs=0.5)
    times = [ends(np.zeros(2048), times=services(2048, seed=seed), sandboxes=184)[1] for seed in range(40)]
    found = scoring.burst_s(2048, law=LAW, sandboxes=184)
    assert found == pytest.approx(np.mean(times), rel=0.05)
    assert found > 340


def test_a_group_waits_for_the_longest_of_its_scores() -> None:
    assert scoring.group_score_s(wait_s=1.0, law=LAW, group=16) == pytest.approx(
        1 + services((100_000, 16)).max(axis=1).mean(), rel=0.01
    )
    assert scoring.staleness_of_scoring(26.35, step_s=300.0) == pytest.approx(0.0878, abs=1e-4)
    assert scoring.staleness_of_scoring(26.35, step_s=0.0) == 0


def test_services_without_spread_end_together() -> None:
    law = scoring.service_law(10.0, variation=0.0, timeout_s=8.0)
    assert law.mean_tokens == 8.0
    assert law.share_at_cap == 1.0
