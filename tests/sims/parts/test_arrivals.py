from __future__ import annotations

import numpy as np
import pytest

from sims.engine.streams import CHUNK
from sims.parts.arrivals import Lengths, Poisson, Table
from sims.parts.trace_plan import INSTANT_S
from sims.parts.traces import Trace

LENGTHS = Lengths(input_tokens=1000, output_tokens=200, input_sigma=0.5, output_sigma=0.8, prefix_hit_rate=0.4)


def rows(source, seed: int = 1) -> np.ndarray:
    return np.concatenate([*source.chunks(seed), np.empty(0, source_dtype())])


def source_dtype() -> np.dtype:
    from sims.parts.records import ARRIVAL

    return ARRIVAL


def table(count: int = 10) -> Table:
    numbers = np.arange(count)
    return Table(at_s=100.0 + 2.0 * numbers, input=10 + numbers, output=1 + numbers)


def test_poisson_arrivals_have_the_rate_and_the_means_that_were_asked_for() -> None:
    found = rows(Poisson(100.0, LENGTHS, duration_s=1000.0))
    # Four standard errors: of a Poisson count of 100,000, and of means with the variation of their log-normal.
    assert len(found) == pytest.approx(100_000, abs=4 * 100_000**0.5)
    assert found["input"].mean() == pytest.approx(1000, rel=4 * (np.exp(0.25) - 1) ** 0.5 / 316)
    assert found["output"].mean() == pytest.approx(200, rel=4 * (np.exp(0.64) - 1) ** 0.5 / 316)
    assert found["cached"].sum() / found["input"].sum() == pytest.approx(0.4, abs=1e-3)
    assert found["at_s"][-1] <= 1000.0
    assert (np.diff(found["at_s"]) >= 0).all()


def test_gaps_are_exponential() -> None:
    gaps = np.diff(rows(Poisson(5.0, LENGTHS, requests=50_000))["at_s"])
    assert gaps.std() == pytest.approx(0.2, rel=0.03)
    assert (gaps > 0.2).mean() == pytest.approx(np.exp(-1), abs=0.01)


@pytest.mark.parametrize("requests", [1, CHUNK, CHUNK + 1, 2 * CHUNK])
def test_the_number_of_requests_is_kept(requests: int) -> None:
    source = Poisson(10.0, LENGTHS, requests=requests)
    assert len(rows(source)) == requests
    assert source.finite
    assert source.horizon_s == pytest.approx(requests / 10.0)


def test_whichever_limit_comes_first_ends_the_run() -> None:
    assert len(rows(Poisson(10.0, LENGTHS, duration_s=1e9, requests=30))) == 30
    short = Poisson(10.0, LENGTHS, duration_s=5.0, requests=1_000_000)
    assert rows(short)["at_s"][-1] <= 5.0
    assert not short.finite


def test_another_policy_or_length_does_not_move_the_arrivals() -> None:
    other = Lengths(input_tokens=7, output_tokens=9, spread_hits=True, prefix_hit_rate=0.3)
    one, two = rows(Poisson(3.0, LENGTHS, requests=500)), rows(Poisson(3.0, other, requests=500))
    assert np.array_equal(one["at_s"], two["at_s"])


def test_sampled_lengths_come_from_the_table() -> None:
    found = rows(Poisson(10.0, LENGTHS, requests=5000, sample=table()))
    assert set(found["input"]) == set(range(10, 20))
    assert (found["output"] == found["input"] - 9).all()


def test_a_trace_starts_at_zero_and_is_scaled_in_time() -> None:
    found = rows(Trace(table(), rate_scale=4.0))
    assert found["at_s"].tolist() == [0.5 * number for number in range(10)]
    assert found["input"].tolist() == list(range(10, 20))
    assert Trace(table(), rate_scale=4.0).horizon_s == 4.5


def test_a_trace_is_cut_by_duration_or_by_requests() -> None:
    assert len(rows(Trace(table(), duration_s=6.0))) == 4
    assert len(rows(Trace(table(), rate_scale=2.0, duration_s=6.0))) == 7
    assert len(rows(Trace(table(), requests=3))) == 3
    assert len(rows(Trace(table(), requests=300, duration_s=1e6))) == 10


def test_cached_tokens_of_a_trace_win_over_the_hit_rate() -> None:
    told = Table(at_s=np.zeros(3), input=np.full(3, 100), output=np.ones(3, int), cached=np.array([0, 50, 100]))
    assert rows(Trace(told, prefix_hit_rate=0.9))["cached"].tolist() == [0, 50, 100]
    silent = Table(at_s=told.at_s, input=told.input, output=told.output)
    assert rows(Trace(silent, prefix_hit_rate=0.9))["cached"].tolist() == [90, 90, 90]


def test_a_trace_without_a_length_in_time_still_has_a_horizon() -> None:
    assert Trace(table(1)).horizon_s == INSTANT_S
    assert Trace(table(0)).horizon_s == 0.0
