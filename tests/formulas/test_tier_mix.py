"""Worth of one more byte against the specification's rows, best sizes against trying all."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest

from planner.formulas import tier_mix
from planner.formulas.caching import OneShots, Sessions, characteristic_time_s, hit_share
from planner.formulas.gap_samples import Empirical
from planner.formulas.gaps import Exponential, LogNormal
from planner.formulas.popularity import IndependentItems, zipf
from planner.formulas.tier_mix import MONTH_S, PricedTier, best_mix, marginal_hits_per_s

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


TIERS = [PricedTier(3e-4, 2.0e-7), PricedTier(2e-5, 1.7e-7)]
LOADS = [Sessions(Exponential(300.0), 8e4, 2e4), OneShots(2e4)]


def gained_by_trying(budget: float) -> float:
    """The most saved over the price, of all pairs of sizes on a grid that fit the budget."""
    sizes = np.concatenate(([0.0], np.geomspace(1e4, 3e8, 400)))
    near, far = np.meshgrid(sizes, sizes, indexing="ij")

    def hits(tokens: np.ndarray) -> np.ndarray:
        times = characteristic_time_s(LOADS, capacity_tokens=tokens.ravel())
        return hit_share(LOADS, time_s=times).reshape(tokens.shape) * 8e4 * MONTH_S

    first, both = hits(near), hits(near + far)
    cost = TIERS[0].usd_per_token_month * near + TIERS[1].usd_per_token_month * far
    saved = TIERS[0].saved_usd_per_token * first + TIERS[1].saved_usd_per_token * (both - first)
    return float(np.where(cost <= budget, saved - cost, -math.inf).max())


@pytest.mark.parametrize("budget", [math.inf, 3_000.0, 300.0])
def test_the_best_mix_is_the_best_of_all(budget: float) -> None:
    found = best_mix(TIERS, loads=LOADS, budget_usd_per_month=budget)
    assert found.usd_per_month <= budget * (1 + 1e-9)
    assert found.saved_usd_per_month - found.usd_per_month == pytest.approx(gained_by_trying(budget), rel=0.01)
    bill = sum(t.usd_per_token_month * c for t, c in zip(TIERS, found.capacity_tokens, strict=True))
    assert found.usd_per_month == pytest.approx(bill)


def test_the_last_token_earns_its_price() -> None:
    one = [PricedTier(1e-4, 2e-7)]
    found = best_mix(one, loads=LOADS)
    time_s = characteristic_time_s(LOADS, capacity_tokens=found.capacity_tokens[0])
    earned = marginal_hits_per_s(LOADS, time_s=time_s) * MONTH_S * one[0].saved_usd_per_token
    assert earned == pytest.approx(one[0].usd_per_token_month, rel=0.05)
    assert found.hit_share == pytest.approx(hit_share(LOADS, time_s=time_s))


def test_what_is_there_already_is_not_bought_again() -> None:
    alone, beside = (best_mix(TIERS[1:], loads=LOADS, held_tokens=held) for held in (0.0, 5e6))
    assert beside.capacity_tokens[0] == pytest.approx(alone.capacity_tokens[0] - 5e6, rel=0.05)
    assert beside.hit_share == pytest.approx(alone.hit_share, rel=0.01)


def test_nothing_is_bought_where_nothing_is_gained() -> None:
    for tiers, loads, budget in (
        (TIERS, LOADS, 0.0),
        ([PricedTier(1e-4, -1e-7)], LOADS, math.inf),
        (TIERS, [Sessions(Exponential(300.0), 0.0, 0.0)], math.inf),
        (TIERS, [], math.inf),
        ([], LOADS, math.inf),
    ):
        found = best_mix(tiers, loads=loads, budget_usd_per_month=budget)
        assert sum(found.capacity_tokens) == 0
        assert len(found.capacity_tokens) == len(tiers)
        assert (found.usd_per_month, found.saved_usd_per_month, found.hit_share) == (0, 0, 0)


def test_its_examples_hold() -> None:
    assert doctest.testmod(tier_mix).failed == 0
