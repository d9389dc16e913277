from __future__ import annotations

import numpy as np

from sims.engine.streams import replication_seed, stream


def test_a_stream_depends_on_the_seed_and_its_name_alone() -> None:
    alone = stream(7, name="arrivals").random(5)
    stream(7, name="something new").random(100)
    assert np.array_equal(alone, stream(7, name="arrivals").random(5))
    assert not np.array_equal(alone, stream(8, name="arrivals").random(5))
    assert not np.array_equal(alone, stream(7, name="lengths").random(5))


def test_the_size_of_the_draws_does_not_change_them() -> None:
    whole, parts = stream(1, name="x"), stream(1, name="x")
    assert np.array_equal(whole.exponential(2.0, 1000), np.concatenate([parts.exponential(2.0, 250) for _ in range(4)]))


def test_the_first_replication_has_the_seed_and_the_others_have_their_own_whatever_is_simulated() -> None:
    drawn = [replication_seed(7, place=place) for place in range(64)]
    assert drawn[0] == 7
    assert len(set(drawn)) == 64
    assert all(0 <= seed < 1 << 63 for seed in drawn)
    assert drawn[1:] != [replication_seed(8, place=place) for place in range(1, 64)]
    assert drawn == [replication_seed(7, place=place) for place in range(64)]
