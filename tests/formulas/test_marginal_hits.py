"""Worth of one more byte against the specification's rows, and against the slope of the hits."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest

from planner.formulas import marginal_hits
from planner.formulas.caching import OneShots, Sessions, characteristic_time_s, hit_share
from planner.formulas.gap_samples import Empirical
from planner.formulas.gaps import Exponential, LogNormal
from planner.formulas.marginal_hits import marginal_hits_per_s
from planner.formulas.popularity import IndependentItems, zipf

KV_BYTES, GPU_S_PER_TOKEN = 160e3, 0.292394 * 8 / 8192
REFERENCE = Sessions.geometric(LogNormal(300.0, 1.2), turns_per_s=100.0, follow_share=0.8, context_tokens=8192.0)
HBM, DRAM, SSD = 16 * 320e9, 16 * 1.5e12, 16 * 60e12


@pytest.mark.parametrize(
    ("capacity_bytes", "time_s", "share", "gpu_s_per_s", "usd_per_month"),
    # HBM; with DRAM; with SSD: 100 turns/s, log-normal 300 s, sigma 1.2, q = 0.8, 2.5 USD per GPU-hour.
    [
        (HBM, 39.6, 0.046, 2.99, 5_465),
        (HBM + DRAM, 276, 0.473, 2.76, 5_031),
        (HBM + DRAM + SSD, 35_268, 1.0, 0.000025, 0.05),
    ],
)
def test_a_terabyte_more_is_worth(
    capacity_bytes: float, time_s: float, share: float, gpu_s_per_s: float, usd_per_month: float
) -> None:
    found_s = characteristic_time_s([REFERENCE], capacity_tokens=capacity_bytes / KV_BYTES)
    assert found_s == pytest.approx(time_s, rel=2e-3)
    assert REFERENCE.gaps.cdf(found_s) == pytest.approx(share, abs=1e-3)
    gained = marginal_hits_per_s([REFERENCE], time_s=found_s) * 1e12 / KV_BYTES * GPU_S_PER_TOKEN
    assert gained == pytest.approx(gpu_s_per_s, rel=0.01)
    assert gained * 2.5 * 730 == pytest.approx(usd_per_month, rel=0.001, abs=0.005)


@pytest.mark.parametrize("law", [Exponential(300.0), LogNormal(120.0, 1.5), Empirical(np.geomspace(1.0, 900.0, 5_000))])
def test_the_margin_is_the_slope_of_the_hits(law: Exponential | LogNormal | Empirical) -> None:
    loads = [Sessions(law, 800.0, 200.0), OneShots(50.0), IndependentItems(zipf(500, exponent=0.9), 2.0, 30.0)]
    capacities = np.array([2e4, 1e5])
    reusable = sum(load.reusable_tokens_per_s for load in loads)

    def hits(tokens: np.ndarray) -> np.ndarray:
        return hit_share(loads, time_s=characteristic_time_s(loads, capacity_tokens=tokens)) * reusable

    slope = (hits(capacities * 1.01) - hits(capacities * 0.99)) / (0.02 * capacities)
    found = marginal_hits_per_s(loads, time_s=characteristic_time_s(loads, capacity_tokens=capacities))
    assert found == pytest.approx(slope, rel=0.03)
    assert marginal_hits_per_s(loads, time_s=math.inf) == 0
    assert marginal_hits_per_s(loads, time_s=0.0) >= 0
    assert marginal_hits_per_s([], time_s=10.0) == 0


def test_its_examples_hold() -> None:
    assert doctest.testmod(marginal_hits).failed == 0
