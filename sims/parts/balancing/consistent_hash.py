"""Consistent hashing with bounded loads: the first instance clockwise from the key that has room."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.asking import is_open, load_limit, root_of
from sims.parts.segments import NOBODY


@handler
def key_of(state, ask):  # type: ignore[no-untyped-def]
    """Where the request lies on the ring: by its session, or by its prefix; one that has neither, by chance."""
    root = root_of(state.stems, ask)
    if ask.session != NOBODY and (state.params[0].hash_by_session == 1 or root == NOBODY):
        key = (ask.session + 1) * 0.6180339887498949 + state.sessions[ask.session].generation * 0.7548776662466927
        return key - int(key)
    if root != NOBODY:
        return state.stems[root].key
    return ask.luck


@handler
def first_at(marks, key):  # type: ignore[no-untyped-def]
    """The first mark at or after ``key``; past the last one it is the first again."""
    low, high = 0, len(marks)
    for _ in range(64):
        if low >= high:
            break
        middle = (low + high) >> 1
        if marks[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(marks) else 0


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen instance; −1 when none is open."""
    marks = len(state.marks)
    at = first_at(state.marks, key_of(state, ask))
    limit = load_limit(state.loads, ask, state.params[0].bound)
    fallback = END
    for _ in range(marks):
        i = state.owners[at]
        if is_open(state.closed, ask, i):
            if state.loads[ask.known, i] + 1 <= limit:
                return i
            if fallback == END:
                fallback = i
        at = at + 1 if at + 1 < marks else 0
    return fallback
