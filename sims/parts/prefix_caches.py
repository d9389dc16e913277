"""Prefix caches of prefill units (or replicas): KV that finished prompts leave behind, found again by their blocks.

The caches are those of `sims.parts.segments`: exact, block by block, least recently used first. Prompts name their last
shared segment and their number of blocks; what follows the shared part is their own and only takes room.

An engine of a replica keeps them in the KV blocks that no request holds, and gives them up as requests take these. A
request holds all its blocks itself, also those whose content it found: what it shares with others that run is counted
for each of them, which is more than an engine that counts references needs, and never less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts import segments
from sims.parts.records import pool_of, records
from sims.parts.segments import NOBODY, cached_blocks, drop_if_gone, evict, insert, note_change, unlink

WANTS_ENTRIES = 4
"""Why a loop returned, beside those of `sims.engine.run`: no room to tell of more prompts."""

FIRST_ENTRIES = 1 << 14
MOST_ENTRIES = 1 << 25
MOST_CELLS = 1 << 27
"""Of the table that finds an instance's entry of a shared segment."""


class CacheArrays(NamedTuple):
    """Empty caches of so many instances, as `sims.parts.segments` wants them."""

    sessions: np.recarray
    caches: np.recarray
    entries: np.recarray
    at: NDArray[np.int32]
    seen: NDArray[np.int32]


def cache_arrays(instances: int, *, stems: np.recarray) -> CacheArrays:
    """Raises ValueError when prompts share more segments than the table is meant for."""
    if len(stems) * instances > MOST_CELLS:
        raise ValueError(f"{len(stems)} shared prefixes on {instances} units are more than the caches are meant for")
    shape = (max(1, len(stems)), instances)
    sessions = records(segments.SESSION, count=1)
    sessions.head = END
    return CacheArrays(
        sessions,
        segments.caches(instances),
        pool_of(segments.ENTRY, slots=FIRST_ENTRIES, link="after"),
        np.full(shape, END, np.int32),
        np.zeros(shape, np.int32),
    )


def longest_path(stems: np.recarray) -> int:
    """The most shared segments that any prompt has."""
    deep = np.zeros(len(stems), np.int64)
    for index, parent in enumerate(stems.parent.tolist()):
        deep[index] = 1 + (deep[parent] if parent >= 0 else 0)
    return int(deep.max(initial=0))


@handler
def spared_tokens(state, i, request):  # type: ignore[no-untyped-def]
    """Tokens of a prompt that an instance has in its cache and need not compute.

    None of a prompt that brings some along; the last is always computed.
    """
    if request.blocks == 0 or state.params[0].cache_blocks == 0 or request.todo < request.input + request.generated:
        return 0
    blocks = min(request.blocks, cached_blocks(state, i, request.stem, NOBODY))
    return min(request.todo - 1, request.input, blocks * state.params[0].prefix_block_tokens)


@handler
def keep_prompt(state, i, request):  # type: ignore[no-untyped-def]
    """A prompt has been computed by an instance and stays in its cache."""
    if request.blocks > 0 and state.params[0].cache_blocks > 0:
        insert(state, i, request.stem, NOBODY, request.blocks)


@handler
def keep_shared(state, i, request):  # type: ignore[no-untyped-def]
    """A prompt has been computed and its answer is still under way: what it shares can be found already."""
    if request.stem != NOBODY and state.params[0].cache_blocks > 0:
        insert(state, i, request.stem, NOBODY, min(request.blocks, state.stems[request.stem].end))


@handler
def fit_cache(state, u, e):  # type: ignore[no-untyped-def]
    """An engine's cache keeps what the blocks hold that no request has."""
    if state.params[0].cache_blocks > 0:
        free_tokens = state.engines[e].free * state.units[u].block_tokens
        evict(state, e, min(state.params[0].cache_blocks, free_tokens // state.params[0].prefix_block_tokens))


@handler
def has_entries(state, prompts):  # type: ignore[no-untyped-def]
    """Whether so many prompts may be kept; the caller asks before it begins."""
    return len(state.entries) - state.totals[0].entries >= prompts * state.params[0].path_entries


@handler
def lose_cache(state, i):  # type: ignore[no-untyped-def]
    """What an instance had cached is gone with it."""
    if state.params[0].cache_blocks == 0:
        return
    cache = state.caches[i]
    for _ in range(len(state.entries)):
        entry = cache.oldest
        if entry == END:
            break
        cache.used -= state.entries[entry].length
        state.entries[entry].length = 0
        unlink(state.entries, cache, entry)
        note_change(state, entry)
        drop_if_gone(state, entry)
