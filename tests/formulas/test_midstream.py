"""Broken streams: age by sampling, and the two ways to go on."""

from __future__ import annotations

import numpy as np
import pytest

from planner.formulas import midstream


@pytest.mark.parametrize(("scv", "age"), [(1.0, 400.0), (0.0, 200.0), (3.0, 800.0)])
def test_a_cut_stream_has_the_printed_age(scv: float, age: float) -> None:
    assert midstream.age_when_cut(400.0, scv=scv) == age


@pytest.mark.parametrize("scv", [1.0, 0.25])
def test_a_failure_at_any_moment_finds_streams_of_that_age(scv: float) -> None:
    draws = np.random.default_rng(1)
    outputs = draws.gamma(1 / scv, 400 * scv, 200_000)
    ends = np.cumsum(outputs)  # one stream after the other, one token a second
    moments = draws.uniform(0, ends[-1], 100_000)
    stream = np.searchsorted(ends, moments)
    ages = moments - (ends[stream] - outputs[stream])
    assert midstream.age_when_cut(400.0, scv=scv) == pytest.approx(ages.mean(), rel=0.02)


def test_going_on_is_cheaper_than_starting_again() -> None:
    figures = {"prompt_tokens": 4096.0, "cached_tokens": 3072.0, "prefill_tokens_per_s": 20_000.0}
    going_on = midstream.resume(400.0, **figures)
    again = midstream.start_again(400.0, tpot_s=0.03, **figures)
    assert going_on == pytest.approx((1424.0, 0.0, 0.0712, 0.0))
    assert again == pytest.approx((1024.0, 400.0, 12.0512, 400.0))
    assert going_on.delay_s < again.delay_s


def test_a_stream_cut_at_its_start_costs_the_same_either_way() -> None:
    figures = {"prompt_tokens": 100.0, "cached_tokens": 200.0, "prefill_tokens_per_s": 1e4}
    assert midstream.resume(0.0, **figures) == (0, 0, 0, 0)
    assert midstream.start_again(0.0, tpot_s=0.03, **figures) == (0, 0, 0, 0)
