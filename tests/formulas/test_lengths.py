"""Log-normal lengths against the closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import lognorm

from planner.formulas import lengths


@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("probability", [0.01, 0.5, 0.99])
def test_quantiles_agree_with_scipy(sigma: float, probability: float) -> None:
    mean = 3000.0
    expected = lognorm.ppf(probability, s=sigma, scale=mean * math.exp(-(sigma**2) / 2))
    assert lengths.quantile(probability, mean=mean, sigma=sigma) == pytest.approx(expected)
    assert lengths.share_within(tokens=expected, mean=mean, sigma=sigma) == pytest.approx(probability)


def test_the_variation_is_that_of_the_distribution() -> None:
    frozen = lognorm(s=0.7, scale=1.0)
    assert lengths.squared_variation(0.7) == pytest.approx(frozen.var() / frozen.mean() ** 2)


@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0, 2.0])
def test_equally_likely_values_keep_the_mean(sigma: float) -> None:
    values = lengths.equally_likely(160, sigma=sigma)
    assert values.mean() == pytest.approx(1.0)
    assert np.all(np.diff(values) >= 0)


def test_lengths_without_spread_are_all_alike() -> None:
    assert lengths.quantile(0.99, mean=800.0, sigma=0.0) == 800
    assert lengths.share_within(tokens=799.0, mean=800.0, sigma=0.0) == 0
    assert lengths.share_within(tokens=801.0, mean=800.0, sigma=0.0) == 1
    assert lengths.share_within(tokens=0.0, mean=800.0, sigma=0.5) == 0
