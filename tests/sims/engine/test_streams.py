from __future__ import annotations

import numpy as np

from sims.engine.streams import stream


def test_a_stream_depends_on_the_seed_and_its_name_alone() -> None:
    alone = stream(7, name="arrivals").random(5)
    stream(7, name="something new").random(100)
    assert np.array_equal(alone, stream(7, name="arrivals").random(5))
    assert not np.array_equal(alone, stream(8, name="arrivals").random(5))
    assert not np.array_equal(alone, stream(7, name="lengths").random(5))


def test_the_size_of_the_draws_does_not_change_them() -> None:
    whole, parts = stream(1, name="x"), stream(1, name="x")
    assert np.array_equal(whole.exponential(2.0, 1000), np.concatenate([parts.exponential(2.0, 250) for _ in range(4)]))
