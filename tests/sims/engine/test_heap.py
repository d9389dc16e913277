from __future__ import annotations

import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sims.engine.heap import heap_push, heap_remove
from sims.engine.kernel import from_python

heap_push = from_python(heap_push)
heap_remove = from_python(heap_remove)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40))
def test_the_least_comes_first_as_in_the_standard_heap(moves: list[tuple[int, bool]]) -> None:
    """Pushes of keys, and removals of the least where the flag says so."""
    keys, items = np.zeros((2, 64), np.int64), np.zeros((2, 64), np.int64)
    reference: list[int] = []
    size = 0
    for item, (key, pops) in enumerate(moves):
        heap_push(keys, items, 1, size, key, item)
        heapq.heappush(reference, key)
        size += 1
        if pops:
            least = int(keys[1, 0])
            assert moves[heap_remove(keys, items, 1, size, 0)][0] == least == heapq.heappop(reference)
            size -= 1
    assert (keys[0] == 0).all()


@given(st.lists(st.integers(0, 99), min_size=1, max_size=30), st.data())
def test_any_entry_can_be_taken_out(values: list[int], data: st.DataObject) -> None:
    keys, items = np.zeros((1, 64), np.int64), np.zeros((1, 64), np.int64)
    for size, value in enumerate(values):
        heap_push(keys, items, 0, size, value, size)
    left, size = sorted(values), len(values)
    while size:
        at = data.draw(st.integers(0, size - 1))
        left.remove(values[heap_remove(keys, items, 0, size, at)])
        size -= 1
        if size:
            assert keys[0, 0] == left[0]
