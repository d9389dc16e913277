from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import sketch
from sims.engine.kernel import from_python

bin_of = from_python(sketch.bin_of)
record = from_python(sketch.record)
record_ramp = from_python(sketch.record_ramp)

HALF_BIN = 10 ** (1 / sketch.PER_DECADE) - 1


def histogram_of(values: np.ndarray) -> np.ndarray:
    made = np.zeros(sketch.BINS, np.int64)
    for value in values:
        record(made, float(value), 1)
    return made


@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.99, 0.999])
def test_percentiles_are_within_a_bin_of_the_exact_ones(q: float) -> None:
    values = np.random.default_rng(3).lognormal(-1.0, 1.0, 40_000)
    assert sketch.percentile(histogram_of(values), q=q) == pytest.approx(np.quantile(values, q), rel=1.1 * HALF_BIN)


def test_merging_is_addition_in_any_order() -> None:
    values = np.random.default_rng(4).exponential(0.3, 3000)
    parts = [histogram_of(part) for part in np.array_split(values, 5)]
    assert np.array_equal(sum(parts), histogram_of(values))
    assert np.array_equal(sum(reversed(parts)), histogram_of(values))


def test_an_empty_histogram_has_no_percentile_and_no_distribution() -> None:
    empty = np.zeros(sketch.BINS, np.int64)
    assert sketch.percentile(empty, q=0.5) is None
    assert sketch.cdf(empty) == []


@pytest.mark.parametrize(("value", "index"), [(0.0, 0), (-1.0, 0), (1e-9, 0), (1e12, sketch.BINS - 1)])
def test_what_lies_outside_the_range_goes_to_the_ends(value: float, index: int) -> None:
    assert bin_of(value) == index


@settings(deadline=None)  # the first call compiles
@given(
    first=st.floats(1e-4, 1.0),
    growth=st.floats(0.0, 0.01),
    steps=st.integers(1, 300),
    weight=st.integers(1, 50),
)
def test_a_ramp_is_the_sum_of_its_steps(first: float, growth: float, steps: int, weight: int) -> None:
    at_once, one_by_one = np.zeros(sketch.BINS, np.int64), np.zeros(sketch.BINS, np.int64)
    record_ramp(at_once, first, growth, steps, weight)
    for step in range(steps):
        record(one_by_one, first + growth * step, weight)
    assert at_once.sum() == steps * weight
    # Rounding at a bin's edge may put a step into the neighbouring bin, never further.
    displaced = np.abs(np.cumsum(at_once) - np.cumsum(one_by_one))
    filled = np.flatnonzero(at_once + one_by_one)
    assert displaced.max() <= weight
    assert filled[0] >= bin_of(first) - 1


def test_the_distribution_rises_to_one_and_keeps_the_tail() -> None:
    values = np.random.default_rng(5).lognormal(0.0, 1.0, 50_000)
    points = sketch.cdf(histogram_of(values))
    shares = [share for _, share in points]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(points) < 250
    assert sum(share > 0.999 for share in shares) >= 3
