"""The index of cached prefixes when it does not follow the caches at once, and what a lost instance leaves in it."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.segments import NOBODY, drop_if_gone, find_tail, new_entry, note_change, show, unlink


@handler
def refresh_index(state):  # type: ignore[no-untyped-def]
    """Show everything that has changed since the last refresh."""
    entry = state.totals[0].first_dirty
    for _ in range(len(state.entries)):
        if entry == END:
            break
        after = state.entries[entry].next_dirty
        state.entries[entry].dirty = 0
        show(state, entry)
        drop_if_gone(state, entry)
        entry = after
    state.totals[0].first_dirty = END


@handler
def speculate(state, i, stem, session, blocks):  # type: ignore[no-untyped-def]
    """Count on a prompt being cached where it was just sent, until a refresh tells."""
    above = state.stems[stem].end if stem != NOBODY else 0
    if blocks > above and session != NOBODY:
        entry = find_tail(state.entries, state.sessions, i, session)
        if entry == END:
            entry = new_entry(state, i, NOBODY, session)
        state.entries[entry].seen = max(state.entries[entry].seen, blocks - above)
        note_change(state, entry)
    node = stem
    for _ in range(len(state.stems)):
        if node == NOBODY:
            break
        want = min(blocks, state.stems[node].end) - state.stems[node].depth
        if want > state.seen[node, i]:
            entry = state.at[node, i]
            if entry == END:
                entry = new_entry(state, i, node, NOBODY)
            state.entries[entry].seen = want
            state.seen[node, i] = want
            note_change(state, entry)
        node = state.stems[node].parent


@handler
def wipe(state, i):  # type: ignore[no-untyped-def]
    """An instance loses its cache; the index still tells of it until `forget`."""
    cache = state.caches[i]
    for _ in range(len(state.entries)):
        if cache.oldest == END:
            break
        entry = cache.oldest
        unlink(state.entries, cache, entry)
        state.entries[entry].length = 0
        drop_if_gone(state, entry)
    cache.used = 0


@handler
def forget(state, i):  # type: ignore[no-untyped-def]
    """The index drops what an instance does not hold any more."""
    for entry in range(len(state.entries)):
        one = state.entries[entry]
        if one.instance == i and one.seen > one.length:
            show(state, entry)
            drop_if_gone(state, entry)
