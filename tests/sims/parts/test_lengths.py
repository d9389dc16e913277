from __future__ import annotations

import numpy as np
import pytest

from sims.parts.lengths import cached_share, lognormal_tokens


def test_no_spread_means_a_fixed_length() -> None:
    found = lognormal_tokens(np.random.default_rng(1), count=50, mean_tokens=800.0, sigma=0.0, most_tokens=10**6)
    assert set(found) == {800}


def test_lengths_stay_between_one_and_the_cap() -> None:
    found = lognormal_tokens(np.random.default_rng(1), count=5000, mean_tokens=3.0, sigma=2.0, most_tokens=20)
    assert found.min() == 1
    assert found.max() == 20


def test_a_mean_of_zero_is_no_tokens_at_all() -> None:
    assert lognormal_tokens(np.random.default_rng(1), count=4, mean_tokens=0.0, sigma=1.0, most_tokens=9).sum() == 0


@pytest.mark.parametrize("mean", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_spread_hits_keep_the_mean(mean: float) -> None:
    found = cached_share(np.random.default_rng(2), count=40_000, mean=mean, spread=True)
    assert found.mean() == pytest.approx(mean, abs=0.01)
    assert found.min() >= 0.0
    assert found.max() <= 1.0


def test_hits_of_one_half_are_uniform_when_spread() -> None:
    found = cached_share(np.random.default_rng(2), count=40_000, mean=0.5, spread=True)
    assert np.quantile(found, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.01)
