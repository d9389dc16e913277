"""Canary samples: printed figures, SciPy's binomial law, and tests made on random draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from planner.formulas import canary

# base, worse, weight, samples, seconds at 5,000 requests a second (as the specification's notes print them).
TABLE = [
    (0.001, 0.002, 0.01, 8_137, "163"),
    (0.001, 0.002, 0.05, 8_602, "34.4"),
    (0.001, 0.002, 0.5, 18_519, "7.4"),
    (0.001, 0.0011, 0.05, 672_895, "2692"),
    (0.01, 0.015, 0.05, 3_004, "12.0"),
]


@pytest.mark.parametrize(("base", "worse", "weight", "count", "seconds"), TABLE)
def test_the_printed_samples_are_found(base: float, worse: float, weight: float, count: int, seconds: str) -> None:
    found = canary.samples(base, worse=worse, weight=weight)
    assert found is not None
    assert round(found) == count
    digits = len(seconds.partition(".")[2])
    assert f"{canary.samples_s(found, weight=weight, request_rps=5000.0):.{digits}f}" == seconds


@pytest.mark.parametrize(("quantile", "count"), [(0.99, 5_430), (0.9, 1_232), (0.5, 722)])
def test_a_tenth_more_latency_is_seen_with_the_printed_samples(quantile: float, count: int) -> None:
    over = canary.exceedance(quantile, slower=0.1, sigma=0.8)
    found = canary.samples(1 - quantile, worse=over, weight=0.05)
    assert found is not None
    assert round(found) == count


def test_a_tenth_more_latency_exceeds_the_old_quantile_as_often_as_drawn() -> None:
    old = np.exp(0.8 * norm.ppf(0.9))
    new = 1.1 * np.exp(0.8 * np.random.default_rng(1).standard_normal(400_000))
    assert canary.exceedance(0.9, slower=0.1, sigma=0.8) == pytest.approx(np.mean(new > old), rel=0.02)
    assert canary.exceedance(0.9, slower=0.0, sigma=0.8) == pytest.approx(0.1)
    assert canary.exceedance(0.9, slower=0.1, sigma=0.0) == 1


@pytest.mark.parametrize(("count", "base", "worse"), [(8137, 0.001, 0.002), (50, 0.1, 0.3), (3004, 0.01, 0.015)])
def test_the_exact_power_is_that_of_scipys_binomial_law(count: int, base: float, worse: float) -> None:
    fewest = next(errors for errors in range(count + 2) if binom.sf(errors - 1, count, base) <= 0.05)
    expected = binom.sf(fewest - 1, count, worse)
    assert canary.exact_power(count, base=base, worse=worse) == pytest.approx(expected, rel=1e-9)


def test_the_normal_law_is_too_sure_at_the_printed_example() -> None:
    assert canary.exact_power(8137, base=0.001, worse=0.002) == pytest.approx(0.747, abs=5e-4)


@pytest.mark.parametrize(("base", "worse"), [(0.05, 0.15), (0.02, 0.1), (0.3, 0.6)])
def test_the_exact_number_is_the_first_of_all_that_has_the_power(base: float, worse: float) -> None:
    first = next(n for n in range(1, 2_000) if canary.exact_power(n, base=base, worse=worse) >= 0.8)
    assert canary.exact_samples(base, worse=worse) == first


def test_against_a_version_that_never_fails_one_error_is_enough() -> None:
    expected = math.ceil(math.log(0.2) / math.log(0.999))
    assert canary.exact_samples(0.0, worse=0.001) == expected


def test_two_samples_drawn_at_random_show_the_difference_as_often_as_planned() -> None:
    base, worse, weight = 0.02, 0.03, 0.1
    count = math.ceil(canary.samples(base, worse=worse, weight=weight) or 0)
    old = round(count * (1 - weight) / weight)
    draws = np.random.default_rng(2)
    new_rate, old_rate = draws.binomial(count, worse, 20_000) / count, draws.binomial(old, base, 20_000) / old
    pooled = weight * new_rate + (1 - weight) * old_rate
    score = (new_rate - old_rate) / np.sqrt(pooled * (1 - pooled) * (1 / count + 1 / old))
    assert np.mean(score > norm.ppf(0.95)) == pytest.approx(0.8, abs=0.02)


def test_what_is_no_worse_is_never_shown_to_be() -> None:
    assert canary.samples(0.01, worse=0.01, weight=0.1) is None
    assert canary.samples(0.01, worse=0.02, weight=0.0) is None
    assert canary.samples(0.01, worse=0.02, weight=1.0) is None
    assert canary.exact_samples(0.01, worse=0.005) is None
    assert canary.exact_samples(0.01, worse=0.0100001, at_most=10_000) is None
    assert canary.exact_power(0, base=0.01, worse=0.02) == 0
    assert canary.samples_s(100.0, weight=0.1, request_rps=0.0) is None


def test_a_roll_out_waits_for_warm_caches_and_shares_its_false_alarms() -> None:
    one, five = canary.stages([0.01, 0.05], base=0.001, worse=0.002, request_rps=5000.0, warm_s=60.0)
    assert one.samples == canary.samples(0.001, worse=0.002, weight=0.01, alpha=0.025)
    assert one.test_s is not None
    assert one.hold_s == one.test_s + 60
    assert five.weight == 0.05
    idle = canary.stages([0.1], base=0.001, worse=0.002, request_rps=0.0)[0]
    assert (idle.test_s, idle.hold_s) == (None, None)
    assert canary.stages([], base=0.001, worse=0.002, request_rps=1.0) == ()
