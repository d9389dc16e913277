"""Rates over time against theory: means, integrals, dispersion, and the time change that follows them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sims.parts import moments as module
from sims.parts.moments import moments, unit_moments
from sims.parts.rates import (
    DAY_S,
    Bursts,
    Daily,
    Rate,
    Spike,
    Steady,
    expected_count,
    expected_moment_s,
    highest_per_s,
    sine_day,
)

DAY = sine_day(0.6, peak_h=14.0)


def drawn(rate: Rate, *, seed: int = 1, gap_cv: float = 1.0, **limits: float) -> np.ndarray:
    asked = {"duration_s": None, "requests": None, **limits}
    return np.concatenate([*moments(seed, rate=rate, gap_cv=gap_cv, **asked), np.empty(0)])


def gathered(blocks, *, until_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Edges and rates of pieces until a moment."""
    lengths, rates = [], []
    while sum(float(each.sum()) for each in lengths) < until_s:
        more = next(blocks)
        lengths.append(more[0])
        rates.append(more[1])
    return np.append(0.0, np.cumsum(np.concatenate(lengths))), np.concatenate(rates)


@pytest.mark.parametrize("mean_to_peak", [0.05, 0.2, 0.5, 0.6, 0.95, 1.0])
def test_a_sine_day_has_its_mean_its_peak_and_its_hour(mean_to_peak: float) -> None:
    day = np.array(sine_day(mean_to_peak, peak_h=20.0))
    assert day.mean() == pytest.approx(1.0)
    assert day.max() == pytest.approx(1 / mean_to_peak, rel=1e-3)
    assert day.min() == pytest.approx(max(0.0, 2 - 1 / mean_to_peak), abs=1e-4)
    if mean_to_peak < 1:
        assert np.argmax(day) in {20 * 60 - 1, 20 * 60}
        assert day[8 * 60] == pytest.approx(day.min(), abs=1e-9)


def test_a_day_between_mean_and_peak_is_a_sine() -> None:
    hour = (np.arange(1440) + 0.5) / 60
    expected = 1 + (1 / 0.6 - 1) * np.cos(2 * np.pi * (hour - 14) / 24)
    assert np.allclose(DAY, expected, atol=1e-5)


def test_a_day_begins_where_the_run_does_and_comes_again() -> None:
    hours = tuple(float(1 + number) for number in range(24))
    day = Daily(12.5, hours, start_s=2.5 * 3600)
    edges, rates = gathered(day.expected(), until_s=2 * DAY_S)
    assert rates[0] == pytest.approx(3.0)
    assert edges[1] == pytest.approx(1800)
    at = np.searchsorted(edges, 22 * 3600.0, side="right") - 1  # half past midnight of the second day
    assert rates[at] == pytest.approx(1.0)
    assert expected_count(day, until_s=DAY_S) == pytest.approx(12.5 * DAY_S)
    assert highest_per_s(day, until_s=3600.0) == pytest.approx(4.0)
    assert highest_per_s(day, until_s=DAY_S) == pytest.approx(24.0)


def test_a_short_day_is_the_same_day_faster() -> None:
    assert expected_count(Daily(3.0, DAY, day_s=600.0), until_s=300.0) * 144 == pytest.approx(
        expected_count(Daily(3.0, DAY), until_s=DAY_S / 2)
    )


@pytest.mark.parametrize(
    "rate",
    [Steady(2.0), Daily(2.0, DAY, day_s=500.0, start_s=100.0), Spike(Daily(2.0, DAY, day_s=500.0), 3.0, 120.0, 60.0)],
)
def test_the_moment_of_a_count_is_the_inverse_of_the_count_at_a_moment(rate: Rate) -> None:
    for until_s in (1.0, 119.0, 130.0, 700.0):
        assert expected_moment_s(rate, count=expected_count(rate, until_s=until_s)) == pytest.approx(until_s)


def test_a_rate_of_zero_never_brings_a_request() -> None:
    assert math.isinf(expected_moment_s(Steady(0.0), count=1))
    assert len(drawn(Daily(0.0, DAY), duration_s=100.0)) == 0


def test_requests_by_the_hour_are_poisson_with_the_mean_of_the_curve() -> None:
    """Counts in disjoint hours are independent Poisson variables: the chi-squared sum lies within 4 deviations."""
    rate = Daily(2.0, DAY, start_s=6 * 3600.0)
    edges = np.arange(25) * 3600.0
    counts = np.histogram(drawn(rate, duration_s=DAY_S), bins=edges)[0]
    means = np.diff([expected_count(rate, until_s=edge) for edge in edges])
    chi = float((((counts - means) ** 2) / means).sum())
    assert abs(chi - 24) < 4 * math.sqrt(2 * 24)
    # The hour beside the peak averages the cosine over 15 degrees: sin(15°)/15°.
    swing = 2 / 3 * math.sin(math.pi / 12) / (math.pi / 12)
    assert means.max() / means.min() == pytest.approx((1 + swing) / (1 - swing), rel=1e-4)


@pytest.mark.parametrize("rate", [Daily(5.0, DAY, day_s=1000.0), Bursts(5.0, 8.0, 20.0, 100.0), Steady(5.0)])
def test_the_time_change_leaves_gaps_of_rate_one(rate: Rate) -> None:
    """The integral of the rate up to each request is a Poisson process of rate 1, whatever the rate."""
    found = drawn(rate, seed=3, requests=20_000)
    edges, rates = gathered(rate.pieces(3), until_s=found[-1])
    areas = np.append(0.0, np.cumsum(np.diff(edges[: len(rates) + 1]) * rates))
    gaps = np.diff(np.interp(found, edges, areas), prepend=0.0)
    assert stats.kstest(gaps, "expon").pvalue > 1e-3


def test_requests_and_duration_end_a_process_whichever_is_first() -> None:
    bursts = Bursts(10.0, 5.0, 10.0, 50.0)
    assert len(drawn(bursts, requests=70_000)) == 70_000
    assert drawn(bursts, duration_s=50.0)[-1] <= 50.0
    assert len(drawn(bursts, duration_s=1e9, requests=7)) == 7


def test_all_rates_read_one_stream() -> None:
    """Common random numbers: the unit process under two rates is the same."""
    base, twice = drawn(Spike(Steady(3.0), 1.0, 10.0, 5.0), requests=5000), drawn(Steady(6.0), requests=5000)
    assert np.allclose(base, 2 * twice, rtol=1e-12)
    spiked = drawn(Spike(Steady(3.0), 5.0, 10.0, 5.0), requests=5000)
    before = spiked < 10.0
    assert np.array_equal(spiked[before], base[before])


def test_a_spike_multiplies_what_comes_in_it() -> None:
    spiked = drawn(Spike(Steady(100.0), 4.0, 50.0, 30.0), duration_s=200.0)
    inside = ((spiked >= 50) & (spiked < 80)).sum()
    assert inside == pytest.approx(12_000, abs=4 * 12_000**0.5)
    assert len(spiked) - inside == pytest.approx(17_000, abs=4 * 17_000**0.5)


def test_bursts_keep_the_mean_and_have_the_dispersion_of_theory() -> None:
    bursts = Bursts(20.0, 10.0, 5.0, 45.0)
    assert bursts.burst_share == pytest.approx(0.1)
    assert bursts.calm_per_s * (0.9 + 0.1 * 10) == pytest.approx(20.0)
    # p(1-p)(b-c)² = 0.09·(9·10.526)² = 807.8; τ = 4.5 s: 1 + 2·807.8·4.5/20 in windows without end.
    assert bursts.dispersion() == pytest.approx(364.5, rel=1e-3)
    window_s, windows = 20.0, 4000
    counts = np.histogram(drawn(bursts, duration_s=window_s * windows), bins=np.arange(windows + 1) * window_s)[0]
    assert counts.mean() == pytest.approx(400.0, rel=0.05)
    assert counts.var() / counts.mean() == pytest.approx(bursts.dispersion(window_s=window_s), rel=0.15)
    assert bursts.dispersion(window_s=1e-6) == pytest.approx(1.0, abs=1e-3)


def test_bursts_of_the_usual_rate_are_a_poisson_process() -> None:
    assert Bursts(20.0, 1.0, 5.0, 45.0).dispersion() == 1.0


@pytest.mark.parametrize("cv", [0.0, 0.5, 1.0, 2.0])
def test_renewal_gaps_have_their_variation(cv: float) -> None:
    found = drawn(Steady(4.0), gap_cv=cv, requests=100_000)
    gaps = np.diff(found, prepend=0.0)
    assert gaps.mean() == pytest.approx(0.25, rel=4 * cv / 316 + 1e-9)
    assert gaps.std() == pytest.approx(cv * 0.25, rel=0.04, abs=1e-9)
    counts = np.histogram(found, bins=np.arange(0.0, found[-1], 50.0))[0]
    assert counts.var() / counts.mean() == pytest.approx(cv**2, rel=0.3, abs=0.01)


def test_a_variation_of_one_is_the_poisson_process_itself() -> None:
    one, two = (
        next(unit_moments(5, gap_cv=1.0)),
        np.concatenate(list(moments(5, rate=Steady(1.0), duration_s=None, requests=len(next(unit_moments(5)))))),
    )
    assert np.array_equal(one, two)


@pytest.mark.parametrize("chunk", [1, 7, 100, 5000])
@pytest.mark.parametrize(
    ("rate", "cv"),
    [(Steady(3.0), 1.0), (Steady(3.0), 2.0), (Daily(3.0, DAY, day_s=90.0), 1.0), (Bursts(3.0, 9.0, 2.0, 5.0), 1.0)],
)
def test_draws_do_not_depend_on_the_chunk(monkeypatch: pytest.MonkeyPatch, rate: Rate, cv: float, chunk: int) -> None:
    whole = drawn(rate, gap_cv=cv, requests=900)
    monkeypatch.setattr(module, "CHUNK", chunk)
    assert np.array_equal(drawn(rate, gap_cv=cv, requests=900), whole)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sine_day(0.0),
        lambda: sine_day(1.1),
        lambda: Daily(1.0, ()),
        lambda: Daily(1.0, (0.0, 0.0)),
        lambda: Daily(1.0, (1.0, -1.0)),
        lambda: Daily(1.0, (1.0,), start_s=DAY_S),
        lambda: Bursts(1.0, -1.0, 1.0, 1.0),
        lambda: Bursts(1.0, 2.0, 0.0, 1.0),
    ],
)
def test_an_impossible_rate_is_refused(make) -> None:
    with pytest.raises(ValueError, match=r"must|need"):
        make()
