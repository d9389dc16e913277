"""Laws of gaps against quadrature, scipy's distributions and each other."""

from __future__ import annotations

import doctest
import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from planner.formulas import gap_samples, gaps
from planner.formulas.gap_samples import Empirical
from planner.formulas.gaps import Exponential, GapLaw, LogNormal, Mixture, hyperexponential

LAWS: list[tuple[GapLaw, Any]] = [
    (Exponential(300.0), stats.expon(scale=300.0)),
    (LogNormal(120.0, 1.5), stats.lognorm(1.5, scale=120.0)),
    (LogNormal.of_mean(600.0, sigma=0.4), stats.lognorm(0.4, scale=600.0 * math.exp(-0.08))),
]
SMOOTH: list[GapLaw] = [law for law, _ in LAWS] + [hyperexponential((0.8, 0.2), means_s=(10.0, 600.0))]
EVERY: list[GapLaw] = [*SMOOTH, LogNormal(120.0, 0.0), Empirical([10.0, 30.0, 20.0, 20.0])]
TIMES_S = [0.5, 12.0, 143.6, 2_000.0]


@pytest.mark.parametrize(("law", "other"), LAWS)
@pytest.mark.parametrize("time_s", TIMES_S)
def test_laws_with_a_name_are_those_of_scipy(law: GapLaw, other: Any, time_s: float) -> None:
    assert law.mean_s == pytest.approx(other.mean())
    assert law.cdf(time_s) == pytest.approx(other.cdf(time_s), rel=1e-12)
    assert law.survival(time_s) == pytest.approx(other.sf(time_s), rel=1e-12)
    assert law.density_per_s(time_s) == pytest.approx(other.pdf(time_s), rel=1e-12)
    assert law.hazard_per_s(time_s) == pytest.approx(other.pdf(time_s) / other.sf(time_s), rel=1e-12)
    assert law.quantile_s(0.95) == pytest.approx(other.ppf(0.95), rel=1e-12)


@pytest.mark.parametrize("law", SMOOTH)
@pytest.mark.parametrize("time_s", TIMES_S)
def test_integrals_in_closed_form_are_those_of_quadrature(law: GapLaw, time_s: float) -> None:
    cuts = {"points": [time_s / 1000, time_s / 30, time_s / 5], "limit": 200}
    kept, _ = integrate.quad(law.survival, 0.0, time_s, **cuts)
    part, _ = integrate.quad(lambda t: t * law.density_per_s(t), 0.0, time_s, **cuts)
    assert law.mean_min_s(time_s) == pytest.approx(kept, rel=1e-8)
    assert law.partial_mean_s(time_s) == pytest.approx(part, rel=1e-7)


@pytest.mark.parametrize("law", EVERY)
def test_an_array_answers_as_its_numbers_do_and_the_ends_are_plain(law: GapLaw) -> None:
    times_s = np.array([0.0, 1.0, 25.0, 1e6, np.inf])
    for question in (law.cdf, law.survival, law.mean_min_s, law.partial_mean_s, law.density_per_s, law.hazard_per_s):
        many = question(times_s)
        assert many.shape == times_s.shape
        assert [question(float(time_s)) for time_s in times_s] == pytest.approx(list(many))
        assert np.isfinite(many).all()
        assert isinstance(question(25.0), float)
    assert law.cdf(0.0) == 0
    assert law.cdf(math.inf) == 1
    assert law.mean_min_s(math.inf) == pytest.approx(law.mean_s)
    assert law.partial_mean_s(math.inf) == pytest.approx(law.mean_s)


@pytest.mark.parametrize("law", EVERY)
def test_a_quantile_is_the_first_time_that_enough_gaps_do_not_exceed(law: GapLaw) -> None:
    for share in (0.1, 0.5, 0.99):
        assert law.cdf(law.quantile_s(share) * (1 + 1e-9)) >= share
        assert law.cdf(law.quantile_s(share) * (1 - 1e-9)) <= share
    assert law.quantile_s(np.array([0.1, 0.5])).shape == (2,)


def test_one_gap_for_all_is_a_step() -> None:
    law = LogNormal(120.0, 0.0)
    assert [law.cdf(119.9), law.cdf(120.0)] == [0, 1]
    assert law.mean_min_s(60.0) == 60
    assert law.mean_min_s(500.0) == 120
    assert law.quantile_s(0.3) == 120


def test_a_mixture_weighs_its_laws() -> None:
    law = Mixture((0.25, 0.75), (Exponential(10.0), LogNormal(120.0, 1.0)))
    assert law.cdf(50.0) == pytest.approx(0.25 * Exponential(10.0).cdf(50.0) + 0.75 * LogNormal(120.0, 1.0).cdf(50.0))
    assert law.quantile_s(0.0) == 0
    assert law.quantile_s(1.0) == math.inf


def test_seen_gaps_approach_the_law_they_are_drawn_from() -> None:
    law = LogNormal(120.0, 1.0)
    seen = Empirical(law.quantile_s((np.arange(20_000) + 0.5) / 20_000))
    for time_s in (20.0, 120.0, 900.0):
        assert seen.cdf(time_s) == pytest.approx(law.cdf(time_s), abs=1e-4)
        assert seen.mean_min_s(time_s) == pytest.approx(law.mean_min_s(time_s), rel=1e-3)
        assert seen.hazard_per_s(time_s) == pytest.approx(law.hazard_per_s(time_s), rel=0.05)


@pytest.mark.parametrize("module", [gaps, gap_samples])
def test_its_examples_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0
