from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import ring
from sims.engine.kernel import from_python
from sims.engine.lists import END
from sims.parts.records import request_pool

put = from_python(ring.put)
steps_to_next = from_python(ring.steps_to_next)
take_all = from_python(ring.take_all)


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(1, 60), min_size=1, max_size=15), st.integers(0, 100))
def test_every_sequence_comes_up_at_its_step_even_beyond_the_reach(lengths: list[int], start: int) -> None:
    """Walks from bucket to bucket as a macro-step does; the ring reaches 8 steps, the longest needs 60."""
    pool, buckets = request_pool(len(lengths)), ring.ring_array(1, reach=8)
    for slot, length in enumerate(lengths):
        pool[slot].finish_step = start + length
        put(buckets, 0, pool, slot, start)
    step, finished = start, {}
    while len(finished) < len(lengths):
        step += steps_to_next(buckets, 0, step)
        slot = take_all(buckets, 0, step)
        while slot != END:
            after = pool[slot].next
            if pool[slot].finish_step > step:
                put(buckets, 0, pool, slot, step)
            else:
                finished[slot] = step - start
            slot = after
    assert [finished[slot] for slot in range(len(lengths))] == lengths
