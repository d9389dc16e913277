"""What caches hold of whom: each entry is a run of blocks of one owner in one cache.

An owner is a session's own context, a prefix that many share, or a segment of a trace. Requests touch whole paths and
caches evict the deepest block of the entry they choose, so that what is held of an owner is always one run of
neighbouring blocks ``lo`` … ``hi``; above all lower tiers it starts at the root. Memory follows entries, not blocks.

Entries hang in the list of their cache, class and LLM version, newest first, and in the chain of their owner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.records import pool_of, records

VERSIONS = 2

ENTRY = np.dtype(
    [
        ("owner", "i8"),
        ("cache", "i8"),
        ("line", "i8"),
        ("version", "i8"),
        ("lo", "i8"),
        ("hi", "i8"),
        ("depth", "i8"),
        ("home", "i8"),
        ("stamp", "i8"),
        ("used_s", "f8"),
        ("newer", "i8"),
        ("older", "i8"),
        ("sibling", "i8"),
    ]
)
OWNER = np.dtype(
    [
        ("entry", "i8"),
        ("live", "i8"),
        ("seen", "i8"),
        ("touches", "i8"),
        ("first_s", "f8"),
        ("kind", "i8"),
        ("next", "i8"),
    ]
)
CACHE = np.dtype(
    [
        ("capacity", "i8"),
        ("used", "i8"),
        ("used_new", "i8"),
        ("entries", "i8"),
        ("written", "i8"),
        ("evicted", "i8"),
        ("expired", "i8"),
        ("full_s", "f8"),
    ]
)
LINE = np.dtype([("newest", "i8"), ("oldest", "i8")])
KIND = np.dtype([("ttl_s", "f8"), ("kept", "i8"), ("shared", "i8")])
BOOK = np.dtype(
    [
        ("free_entry", "i8"),
        ("entries_left", "i8"),
        ("free_owner", "i8"),
        ("owners_left", "i8"),
        ("stamp", "i8"),
        ("kinds", "i8"),
        ("save_s", "f8"),
        ("save_deeper_s", "f8"),
    ]
)


class Store(NamedTuple):
    """All caches with their entries. ``kinds`` are classes of owners, ``worth[kind, bin]`` their return by age."""

    entries: np.recarray
    owners: np.recarray
    caches: np.recarray
    lines: np.recarray
    kinds: np.recarray
    book: np.recarray
    worth: NDArray[np.float64]


def make_store(*, caches: int, kinds: int, owners: int, entries: int, worth: NDArray[np.float64]) -> Store:
    """Empty caches without capacity; the first ``owners`` owners are permanent."""
    lines = records(LINE, count=caches * kinds * VERSIONS)
    lines.newest = lines.oldest = END
    book = records(BOOK, count=1)
    book[0].kinds = kinds
    store = Store(
        entries=records(ENTRY, count=0),
        owners=records(OWNER, count=0),
        caches=records(CACHE, count=caches),
        lines=lines,
        kinds=records(KIND, count=kinds),
        book=book,
        worth=worth,
    )
    store.caches.full_s = np.inf
    book[0].free_entry = book[0].free_owner = END
    store = with_entries(with_owners(store, owners + 1), entries)
    store.owners.live[:owners] = 1
    book[0].free_owner, book[0].owners_left = owners, 1
    return store


def with_entries(store: Store, more: int) -> Store:
    """The same with ``more`` free entries."""
    kept = len(store.entries)
    entries = pool_of(ENTRY, slots=kept + more, link="newer", old=store.entries)
    entries.newer[-1] = store.book[0].free_entry
    entries.owner[kept:] = END
    store.book[0].free_entry = kept
    store.book[0].entries_left += more
    return store._replace(entries=entries)


def with_owners(store: Store, more: int) -> Store:
    """The same with ``more`` free owners."""
    kept = len(store.owners)
    owners = pool_of(OWNER, slots=kept + more, old=store.owners)
    owners.entry[kept:] = END
    owners.next[-1] = store.book[0].free_owner
    store.book[0].free_owner = kept
    store.book[0].owners_left += more
    return store._replace(owners=owners)


@handler
def find(store, owner, version, cache):  # type: ignore[no-untyped-def]
    """The owner's entry in a cache under a version; −1 when it has none."""
    e = store.owners[owner].entry
    for _ in range(len(store.entries)):
        if e == END or (store.entries[e].cache == cache and store.entries[e].version == version):
            break
        e = store.entries[e].sibling
    return e


@handler
def line_of(store, cache, kind, version):  # type: ignore[no-untyped-def]
    """The list of a cache's entries of a kind and version; those of a version lie side by side."""
    return (cache * VERSIONS + version) * store.book[0].kinds + kind


@handler
def lay_on_top(store, e):  # type: ignore[no-untyped-def]
    """Make an entry that is in no list the newest of its own."""
    entry, line = store.entries[e], store.lines[store.entries[e].line]
    store.book[0].stamp += 1
    entry.stamp = store.book[0].stamp
    entry.newer = END
    entry.older = line.newest
    if line.newest == END:
        line.oldest = e
    else:
        store.entries[line.newest].newer = e
    line.newest = e


@handler
def lift(store, e):  # type: ignore[no-untyped-def]
    """Take an entry out of its list."""
    entry, line = store.entries[e], store.lines[store.entries[e].line]
    if entry.newer == END:
        line.newest = entry.older
    else:
        store.entries[entry.newer].older = entry.older
    if entry.older == END:
        line.oldest = entry.newer
    else:
        store.entries[entry.older].newer = entry.newer


@handler
def add_entry(store, owner, version, cache, depth, home):  # type: ignore[no-untyped-def]
    """An empty entry on top of its list; the caller has checked that one is free."""
    book = store.book[0]
    e = book.free_entry
    entry = store.entries[e]
    book.free_entry = entry.newer
    book.entries_left -= 1
    entry.owner = owner
    entry.cache = cache
    entry.version = version
    entry.line = line_of(store, cache, store.owners[owner].kind, version)
    entry.lo = 0
    entry.hi = 0
    entry.depth = depth
    entry.home = home
    entry.sibling = store.owners[owner].entry
    store.owners[owner].entry = e
    store.caches[cache].entries += 1
    lay_on_top(store, e)
    return e


@handler
def resize(store, e, lo, hi):  # type: ignore[no-untyped-def]
    """Let an entry hold other blocks; how many more than before."""
    entry, cache = store.entries[e], store.caches[store.entries[e].cache]
    more = (hi - lo) - (entry.hi - entry.lo)
    entry.lo = lo
    entry.hi = hi
    cache.used += more
    if entry.version == 1:
        cache.used_new += more
    return more


@handler
def drop(store, e):  # type: ignore[no-untyped-def]
    """Remove an entry with all it holds; an owner that is over and holds nothing more is forgotten."""
    resize(store, e, 0, 0)
    lift(store, e)
    entry, book = store.entries[e], store.book[0]
    owner = entry.owner
    if store.owners[owner].entry == e:
        store.owners[owner].entry = entry.sibling
    else:
        before = store.owners[owner].entry
        for _ in range(len(store.entries)):
            if store.entries[before].sibling == e:
                break
            before = store.entries[before].sibling
        store.entries[before].sibling = entry.sibling
    store.caches[entry.cache].entries -= 1
    entry.owner = END
    entry.newer = book.free_entry
    book.free_entry = e
    book.entries_left += 1
    forget(store, owner)


@handler
def forget(store, owner):  # type: ignore[no-untyped-def]
    """Give an owner's record back if it is over and nothing of it is held."""
    if store.owners[owner].live == 0 and store.owners[owner].entry == END:
        store.owners[owner].next = store.book[0].free_owner
        store.book[0].free_owner = owner
        store.book[0].owners_left += 1


@handler
def add_owner(store, kind):  # type: ignore[no-untyped-def]
    """A record for a new owner; the caller has checked that one is free."""
    owner = store.book[0].free_owner
    record = store.owners[owner]
    store.book[0].free_owner = record.next
    store.book[0].owners_left -= 1
    record.entry = END
    record.live = 1
    record.seen = 0
    record.touches = 0
    record.kind = kind
    return owner
