"""Prefix caches of many instances and the index over them, kept as segments instead of blocks.

A prompt is a path: a chain of *stems* (prefixes that prompts share, from the root down), then a *tail* of its own
that belongs to a session, which grows it from turn to turn, or to nobody. An instance holds of each the first
``length`` blocks as one *entry*. A request touches its whole path, the root last; what must go is the deepest block
of the least recently used entry. A parent is thus never older than its children, what is cached stays a contiguous
prefix, and the entries say the same as blocks one by one would.

``seen`` is what the index tells the routers: the same, or what it was at the last refresh.
"""

from __future__ import annotations

import numpy as np

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.records import records

NOBODY = -1

ENTRY = np.dtype(
    [
        ("instance", "i4"),
        ("stem", "i4"),
        ("session", "i4"),
        ("length", "i4"),
        ("seen", "i4"),
        ("newer", "i4"),
        ("older", "i4"),
        ("after", "i4"),
        ("dirty", "i4"),
        ("next_dirty", "i4"),
    ]
)
STEM = np.dtype([("parent", "i8"), ("depth", "i8"), ("end", "i8"), ("key", "f8")])
"""Blocks before its first and up to its last, the stem it continues, and its place on a hash ring (0 … 1)."""
SESSION = np.dtype([("head", "i8"), ("generation", "i8")])
CACHE = np.dtype([("newest", "i8"), ("oldest", "i8"), ("used", "i8"), ("entries", "i8"), ("evicted", "i8")])


def caches(instances: int) -> np.recarray:
    """Empty caches."""
    made = records(CACHE, count=instances)
    made.newest = END
    made.oldest = END
    return made


@handler
def find_tail(entries, sessions, i, session):  # type: ignore[no-untyped-def]
    """The entry of a session in an instance; −1 when there is none."""
    if session == NOBODY:
        return END
    entry = sessions[session].head
    for _ in range(len(entries)):
        if entry == END or entries[entry].instance == i:
            break
        entry = entries[entry].after
    return entry


@handler
def cached_blocks(state, i, stem, session):  # type: ignore[no-untyped-def]
    """How many blocks of a path the instance holds: looked up from the deep end, whose parents are complete."""
    entry = find_tail(state.entries, state.sessions, i, session)
    if entry != END and state.entries[entry].length > 0:
        above = state.stems[stem].end if stem != NOBODY else 0
        return above + state.entries[entry].length
    node = stem
    for _ in range(len(state.stems)):
        if node == NOBODY:
            break
        entry = state.at[node, i]
        if entry != END and state.entries[entry].length > 0:
            return state.stems[node].depth + state.entries[entry].length
        node = state.stems[node].parent
    return 0


@handler
def unlink(entries, cache, entry):  # type: ignore[no-untyped-def]
    """Take an entry out of its instance's order of use."""
    newer, older = entries[entry].newer, entries[entry].older
    if newer == END:
        cache.newest = older
    else:
        entries[newer].older = older
    if older == END:
        cache.oldest = newer
    else:
        entries[older].newer = newer
    cache.entries -= 1


@handler
def link_newest(entries, cache, entry):  # type: ignore[no-untyped-def]
    """Put an entry at the most recent end."""
    entries[entry].newer = END
    entries[entry].older = cache.newest
    if cache.newest == END:
        cache.oldest = entry
    else:
        entries[cache.newest].newer = entry
    cache.newest = entry
    cache.entries += 1


@handler
def show(state, entry):  # type: ignore[no-untyped-def]
    """Let the index see what the entry holds."""
    one = state.entries[entry]
    one.seen = one.length
    if one.stem != NOBODY:
        state.seen[one.stem, one.instance] = one.length


@handler
def note_change(state, entry):  # type: ignore[no-untyped-def]
    """The index hears of a change at once, or at its next refresh."""
    if state.params[0].index_period_s <= 0.0:
        show(state, entry)
    elif state.entries[entry].dirty == 0:
        state.entries[entry].dirty = 1
        state.entries[entry].next_dirty = state.totals[0].first_dirty
        state.totals[0].first_dirty = entry


@handler
def unchain(entries, sessions, entry):  # type: ignore[no-untyped-def]
    """Take an entry out of its session's chain."""
    session = sessions[entries[entry].session]
    if session.head == entry:
        session.head = entries[entry].after
    else:
        before = session.head
        for _ in range(len(entries)):
            if entries[before].after == entry:
                break
            before = entries[before].after
        entries[before].after = entries[entry].after
    entries[entry].session = NOBODY


@handler
def drop_if_gone(state, entry):  # type: ignore[no-untyped-def]
    """Free an entry that is empty and that nobody sees any more."""
    one = state.entries[entry]
    if one.length > 0 or one.seen > 0 or one.dirty == 1:
        return
    if one.stem != NOBODY:
        state.at[one.stem, one.instance] = END
    elif one.session != NOBODY:
        unchain(state.entries, state.sessions, entry)
    one.after = state.totals[0].free_entry
    state.totals[0].free_entry = entry
    state.totals[0].entries -= 1


@handler
def new_entry(state, i, stem, session):  # type: ignore[no-untyped-def]
    """A fresh, empty entry; the caller has checked that there is one."""
    entry = state.totals[0].free_entry
    one = state.entries[entry]
    state.totals[0].free_entry = one.after
    state.totals[0].entries += 1
    one.instance = i
    one.stem = stem
    one.session = session
    one.length = 0
    one.seen = 0
    one.dirty = 0
    one.after = END
    if stem != NOBODY:
        state.at[stem, i] = entry
    elif session != NOBODY:
        one.after = state.sessions[session].head
        state.sessions[session].head = entry
    return entry


@handler
def touch(state, i, entry, length):  # type: ignore[no-untyped-def]
    """Make an entry the most recent, and at least ``length`` blocks long."""
    cache, one = state.caches[i], state.entries[entry]
    if one.length > 0 and cache.newest != entry:
        unlink(state.entries, cache, entry)
        link_newest(state.entries, cache, entry)
    elif one.length == 0:
        link_newest(state.entries, cache, entry)
    if length > one.length:
        cache.used += length - one.length
        one.length = length
        note_change(state, entry)


@handler
def evict(state, i, capacity):  # type: ignore[no-untyped-def]
    """Drop blocks, deepest of the oldest first, until the cache fits."""
    cache = state.caches[i]
    for _ in range(len(state.entries)):
        if cache.used <= capacity:
            break
        entry = cache.oldest
        one = state.entries[entry]
        take = min(one.length, cache.used - capacity)
        one.length -= take
        cache.used -= take
        cache.evicted += take
        if one.length == 0:
            unlink(state.entries, cache, entry)
        note_change(state, entry)
        drop_if_gone(state, entry)


@handler
def insert(state, i, stem, session, blocks):  # type: ignore[no-untyped-def]
    """Cache the first ``blocks`` of a path and make it the most recent, its root last; as much as fits at all."""
    blocks = min(blocks, state.params[0].cache_blocks)
    above = state.stems[stem].end if stem != NOBODY else 0
    if blocks > above:
        entry = find_tail(state.entries, state.sessions, i, session)
        if entry == END:
            entry = new_entry(state, i, NOBODY, session)
        touch(state, i, entry, blocks - above)
    node = stem
    for _ in range(len(state.stems)):
        if node == NOBODY:
            break
        want = min(blocks, state.stems[node].end) - state.stems[node].depth
        if want > 0:
            entry = state.at[node, i]
            if entry == END:
                entry = new_entry(state, i, node, NOBODY)
            touch(state, i, entry, want)
        node = state.stems[node].parent
    evict(state, i, state.params[0].cache_blocks)


@handler
def renew_session(state, session):  # type: ignore[no-untyped-def]
    """A session's place is taken by a new one; what is cached of the old one waits for eviction."""
    entry = state.sessions[session].head
    for _ in range(len(state.entries)):
        if entry == END:
            break
        after = state.entries[entry].after
        state.entries[entry].session = NOBODY
        state.entries[entry].seen = 0
        drop_if_gone(state, entry)
        entry = after
    state.sessions[session].head = END
    state.sessions[session].generation += 1
