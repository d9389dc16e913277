from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine.clock import NEVER, clock_arrays, next_source, schedule
from sims.engine.kernel import from_python

next_source = from_python(next_source)
schedule = from_python(schedule)


@settings(deadline=None)  # the first call compiles
@given(
    sources=st.integers(1, 40),
    stores=st.lists(
        st.tuples(st.integers(0, 39), st.one_of(st.just(NEVER), st.integers(0, 9).map(float))), max_size=80
    ),
)
def test_the_tree_names_the_first_source_of_the_earliest_event(sources: int, stores: list[tuple[int, float]]) -> None:
    times, tree = clock_arrays(sources)
    plain = [NEVER] * len(times)
    for source, at_s in stores:
        schedule(times, tree, source % sources, at_s)
        plain[source % sources] = at_s
        assert next_source(tree) == int(np.argmin(plain))
