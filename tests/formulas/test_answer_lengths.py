"""Capped log-normal and observed lengths against quadrature, draws, and closed forms."""

from __future__ import annotations

import math
import time
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import lognorm

from planner.formulas.answer_lengths import AnswerLengths, answer_lengths, mean_below, mean_context_tokens
from planner.formulas.answer_lengths import squared_variation as variation_squared
from planner.formulas.observed_lengths import ObservedLengths

GOLDEN = [
    # cap, cv before cap, median, longest of 16, 128, 2048, share at the cap, cv after cap: published in the notes of
    # the kind, found there by quadrature and draws
    (16_000.0, 1.0, 6_818, 15_849, 16_000, 16_000, 0.153, 0.608),
    (32_000.0, 0.5, 7_159, 17_005, 24_444, 31_607, 0.0008, 0.497),
    (32_000.0, 1.0, 5_854, 24_268, 31_793, 32_000, 0.0207, 0.845),
    (32_000.0, 1.5, 4_992, 27_111, 31_992, 32_000, 0.0435, 1.012),
    (65_536.0, 1.0, 5_680, 27_065, 48_553, 65_406, 0.0017, 0.961),
    (None, 1.0, 5_657, 27_481, 52_408, 103_582, 0.0, 1.0),
]


def reasoning() -> AnswerLengths:
    return answer_lengths(mean_tokens=8000.0, variation=1.0, cap_tokens=32_000.0)


def draws(law: AnswerLengths, shape: tuple[int, ...], *, seed: int = 5) -> np.ndarray:
    """Lengths by inversion of the log-normal law itself, cut at the cap."""
    random = np.random.default_rng(seed)
    sigma = math.sqrt(math.log(2.0))
    median = float(law.quantile(0.5))
    return np.minimum(median * np.exp(sigma * random.standard_normal(shape)), law.cap_tokens)


@pytest.mark.parametrize(("cap", "variation", "median", "of_16", "of_128", "of_2048", "at_cap", "realised"), GOLDEN)
def test_the_table_of_a_mean_of_8000_tokens(
    cap: float | None,
    variation: float,
    median: float,
    of_16: float,
    of_128: float,
    of_2048: float,
    at_cap: float,
    realised: float,
) -> None:
    law = answer_lengths(mean_tokens=8000.0, variation=variation, cap_tokens=cap)
    assert law.mean_tokens == pytest.approx(8000.0, rel=1e-9)
    assert float(law.quantile(0.5)) == pytest.approx(median, abs=0.5)
    for count, longest in ((16, of_16), (128, of_128), (2048, of_2048)):
        assert law.expected_maximum(count) == pytest.approx(longest, abs=1.0)
    assert law.share_at_cap == pytest.approx(at_cap, abs=5.1e-5 if at_cap < 0.1 else 5e-4)
    assert math.sqrt(variation_squared(law)) == pytest.approx(realised, abs=6e-4)


@pytest.mark.parametrize("cap", [9_000.0, 32_000.0, None])
@pytest.mark.parametrize("variation", [0.3, 1.0, 2.0])
def test_sums_agree_with_quadrature(cap: float | None, variation: float) -> None:
    law = answer_lengths(mean_tokens=8000.0, variation=variation, cap_tokens=cap)
    sigma, score_of_a_thousandth = math.sqrt(math.log1p(variation**2)), -3.090232306167813
    free = lognorm(s=sigma, scale=float(law.quantile(1e-3)) * math.exp(-sigma * score_of_a_thousandth))
    top = cap or float(free.ppf(1 - 1e-15))
    for reach in (2_000.0, min(20_000.0, top), top):
        steps = np.geomspace(1.0, reach, 40)
        pieces = [(0.0, 1.0), *pairwise(steps)]
        first = sum(quad(free.sf, low, high, epsabs=1e-9)[0] for low, high in pieces)
        second = sum(quad(lambda x: 2 * x * free.sf(x), low, high, epsabs=1e-6)[0] for low, high in pieces)
        assert float(law.limited_mean(reach)) == pytest.approx(first, rel=1e-6)
        assert float(law.limited_second(reach)) == pytest.approx(second, rel=1e-5)
    longest = sum(quad(lambda x: -math.expm1(300 * free.logcdf(x)), *piece, epsabs=1e-6)[0] for piece in pieces)
    assert law.expected_maximum(300) == pytest.approx(longest, rel=1e-6)


def test_means_of_short_answers_and_maxima_agree_with_draws() -> None:
    law = reasoning()
    drawn = draws(law, (4000, 128))
    assert law.expected_maximum(128) == pytest.approx(drawn.max(axis=1).mean(), rel=0.005)
    flat = np.sort(drawn.ravel())
    assert law.shortest_mean(0.8) == pytest.approx(flat[: int(0.8 * len(flat))].mean(), rel=0.005)
    assert mean_below(law, tokens=12_000.0) == pytest.approx(flat[flat < 12_000].mean(), rel=0.005)
    assert mean_below(law, tokens=40_000.0) == pytest.approx(flat[flat < 32_000].mean(), rel=0.005)
    assert float(law.within(12_000.0)) == pytest.approx((flat <= 12_000).mean(), abs=0.003)


def test_the_longest_remainder_agrees_with_draws() -> None:
    """Pick answers in proportion to their length, and a point in each: what is left of the longest of 32."""
    law, random = reasoning(), np.random.default_rng(3)
    drawn = draws(law, (200_000,))
    picked = random.choice(drawn, size=(6000, 32), p=drawn / drawn.sum())
    left = (picked * random.random(picked.shape)).max(axis=1)
    assert law.expected_longest_residual(32) == pytest.approx(left.mean(), rel=0.01)
    assert law.expected_longest_residual(1) == pytest.approx(law.second_moment / (2 * law.mean_tokens), rel=1e-6)


def test_harmonic_numbers_are_the_maxima_of_exponential_lengths() -> None:
    """8,000 H_N of exponential lengths, here as a fine sample of them: H_16 = 3.380729, H_128 = 5.433147."""
    middle = (np.arange(400_000) + 0.5) / 400_000
    law = ObservedLengths.of(-8000 * np.log1p(-middle))
    assert law.expected_maximum(16) == pytest.approx(8000 * 3.380729, rel=1e-4)
    assert law.expected_maximum(128) == pytest.approx(8000 * 5.433147, rel=1e-3)
    assert law.expected_longest_residual(16) == pytest.approx(8000 * 3.380729, rel=1e-3), "no memory"


def test_a_trace_that_is_the_law_says_what_the_law_says() -> None:
    law = reasoning()
    trace = ObservedLengths.of(law.quantile((np.arange(50_000) + 0.5) / 50_000), cap_tokens=32_000.0)
    assert trace.mean_tokens == pytest.approx(law.mean_tokens, rel=1e-4)
    assert trace.second_moment == pytest.approx(law.second_moment, rel=1e-4)
    assert trace.share_at_cap == pytest.approx(law.share_at_cap, abs=1e-4)
    assert trace.expected_maximum(128) == pytest.approx(law.expected_maximum(128), rel=1e-3)
    assert trace.expected_longest_residual(64) == pytest.approx(law.expected_longest_residual(64), rel=1e-3)
    assert trace.shortest_mean(0.9) == pytest.approx(law.shortest_mean(0.9), rel=1e-3)
    for tokens in (500.0, 9_000.0, 50_000.0):
        assert float(trace.limited_mean(tokens)) == pytest.approx(float(law.limited_mean(tokens)), rel=1e-3)
        assert float(trace.limited_second(tokens)) == pytest.approx(float(law.limited_second(tokens)), rel=1e-3)


def test_four_lengths_by_hand() -> None:
    law = ObservedLengths.of([4.0, 1.0, 3.0, 2.0], cap_tokens=4.0)
    assert law.expected_maximum(1) == 2.5
    assert law.expected_maximum(2) == pytest.approx((1 + 2 * 3 + 3 * 5 + 4 * 7) / 16)
    assert law.share_at_cap == 0.25
    assert mean_below(law, tokens=4.0) == pytest.approx(2.0)
    assert mean_below(law, tokens=0.5) is None
    assert law.shortest_mean(0.625) == pytest.approx((1 + 2 + 3 * 0.5) / 2.5)
    assert float(law.limited_mean(2.5)) == pytest.approx((1 + 2 + 2.5 + 2.5) / 4)
    assert float(law.within(0.5)) == 0.0


def test_lengths_without_spread_and_lengths_at_the_cap_are_all_alike() -> None:
    for law in (
        answer_lengths(mean_tokens=500.0, variation=0.0),
        answer_lengths(mean_tokens=500.0, variation=1.0, cap_tokens=500.0),
    ):
        assert law.expected_maximum(4096) == 500
        assert law.expected_longest_residual(1) == pytest.approx(250.0)
        assert variation_squared(law) == 0
    assert answer_lengths(mean_tokens=500.0, variation=1.0, cap_tokens=500.0).share_at_cap == 1
    with pytest.raises(ValueError, match="does not fit under a cap"):
        answer_lengths(mean_tokens=501.0, variation=1.0, cap_tokens=500.0)


def test_a_mean_just_under_the_cap_has_a_law() -> None:
    law = answer_lengths(mean_tokens=7_990.0, variation=1.0, cap_tokens=8_000.0)
    assert law.mean_tokens == pytest.approx(7_990.0)
    assert law.share_at_cap > 0.9
    assert law.expected_maximum(16) == pytest.approx(8_000.0, rel=1e-3)


def test_the_context_of_a_step_is_that_of_long_answers() -> None:
    assert mean_context_tokens(reasoning(), prompt_tokens=1000.0) == pytest.approx(7_856, rel=1e-3)


def test_a_law_takes_under_a_millisecond() -> None:
    started = time.perf_counter()
    for spread in np.linspace(0.5, 1.5, 50):
        law = answer_lengths(mean_tokens=8000.0, variation=float(spread), cap_tokens=32_000.0)
        law.expected_maximum(2048)
    assert (time.perf_counter() - started) / 50 < 5e-3, "0.1 ms on a quiet machine"
