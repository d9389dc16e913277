from __future__ import annotations

import numpy as np
import pytest

from sims.parts.adapter_requests import AdapterRequests, Burst
from sims.parts.arrivals import Lengths, Poisson
from sims.parts.lengths import zipf_shares
from sims.parts.popularity import Popularity

LENGTHS = Lengths(10, 5)


def drawn(popularity: Popularity, at_s: np.ndarray) -> np.ndarray:
    return popularity.draw(np.random.default_rng(1), at_s=at_s, seed=3)


def test_shares_are_zipfs() -> None:
    popularity = Popularity.zipf(50, exponent=0.9)
    counts = np.bincount(drawn(popularity, np.zeros(200_000)), minlength=50)
    # Five standard deviations of the most popular: sqrt(p (1 − p) / n).
    assert counts / 200_000 == pytest.approx(zipf_shares(50, exponent=0.9), abs=0.005)


def test_rotation_moves_everybody_up_a_rank() -> None:
    popularity = Popularity(np.array([1.0, 0.0, 0.0]), rotate_every_s=10.0)
    assert drawn(popularity, np.array([0.0, 9.9, 10.0, 25.0, 30.0])).tolist() == [0, 0, 1, 2, 0]


def test_a_shift_deals_the_ranks_anew_and_keeps_the_shares() -> None:
    popularity = Popularity.zipf(200, exponent=1.2, shifts_at_s=(50.0, 100.0))
    times = np.repeat([0.0, 50.0, 100.0], 50_000)
    counts = [np.bincount(part, minlength=200) for part in np.split(drawn(popularity, times), 3)]
    assert counts[0].argmax() == 0
    assert len({int(part.argmax()) for part in counts}) == 3
    for part in counts:
        assert np.sort(part)[::-1][:3] / 50_000 == pytest.approx(popularity.shares()[:3], abs=0.01)


def test_a_burst_comes_on_top_in_its_time_and_in_order() -> None:
    plain = AdapterRequests(Poisson(20.0, LENGTHS, duration_s=100.0), Popularity.zipf(5, exponent=0.5))
    noisy = AdapterRequests(
        plain.arrivals, plain.popularity, bursts=(Burst((3, 4), 200.0, LENGTHS, from_s=40.0, until_s=60.0),)
    )
    before, after = (np.concatenate(list(one.chunks(7))) for one in (plain, noisy))
    assert (np.diff(after["at_s"]) >= 0).all()
    assert len(after) - len(before) == pytest.approx(4000, rel=0.1)
    extra = after[~np.isin(after["at_s"], before["at_s"])]
    assert extra["at_s"].min() >= 40.0
    assert extra["at_s"].max() <= 60.0
    assert set(extra["adapter"].tolist()) == {3, 4}
    # The others are the same as without it.
    assert (after[np.isin(after["at_s"], before["at_s"])] == before).all()


def test_long_streams_are_cut_into_chunks_that_fit() -> None:
    source = AdapterRequests(
        Poisson(1000.0, LENGTHS, requests=150_000),
        Popularity.zipf(5, exponent=0.5),
        bursts=(Burst((1,), 900.0, LENGTHS),),
    )
    chunks = list(source.chunks(1))
    assert max(len(chunk) for chunk in chunks) <= 65_536
    assert (np.diff(np.concatenate(chunks)["at_s"]) >= 0).all()


def test_the_bare_base_has_its_share() -> None:
    source = AdapterRequests(Poisson(100.0, LENGTHS, requests=20_000), Popularity.zipf(5, exponent=0.5), base_share=0.3)
    adapters = np.concatenate(list(source.chunks(1)))["adapter"]
    assert (adapters < 0).mean() == pytest.approx(0.3, abs=0.015)
