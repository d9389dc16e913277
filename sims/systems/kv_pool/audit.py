"""The invariants of this system, counted afresh from requests and entries."""

from __future__ import annotations

import numpy as np

from sims.engine.invariants import conserved, holds
from sims.engine.lists import END
from sims.parts.holdings import VERSIONS, Store
from sims.systems.kv_pool.state import State


def audit(state: State) -> None:
    """Raise `InvariantError` unless requests, look-ups and blocks are conserved and all lists are whole."""
    totals, whole, store = state.totals[0], state.whole[0], state.store
    gone = int(totals.finished + totals.rejected + totals.in_flight)
    conserved(name="requests arrived", left=int(totals.arrived), right=gone)
    conserved(name="requests in slots", left=int((state.requests.stage > 0).sum()), right=int(totals.in_flight))
    at_nodes = int(state.queues.queued.sum() + (state.nodes.serving != END).sum())
    conserved(name="requests at nodes", left=at_nodes, right=int(totals.in_flight))
    conserved(name="clock ran backwards", left=int(totals.backwards), right=0)
    found = int(whole.hbm + whole.dram + whole.ssd + whole.declined + whole.missed)
    conserved(name="look-ups", left=int(whole.lookups), right=found)
    holds(whole.hit_tokens <= whole.tokens, name="more tokens hit than asked for")
    idle = (state.nodes.serving == END) & (state.nodes.alive == 1)
    plain = state.queues.queued.reshape(len(state.nodes), 2)[:, 0]
    conserved(name="idle nodes with work", left=int((idle & (plain > 0)).sum()), right=0)
    _audit_caches(store)
    _audit_owners(store)
    for line in range(len(store.lines)):
        _audit_line(store, line)


def _audit_caches(store: Store) -> None:
    entries = store.entries[store.entries.owner != END]
    sizes = entries.hi - entries.lo
    count = len(store.caches)
    held = np.bincount(entries.cache, weights=sizes, minlength=count).astype(np.int64)
    new = np.bincount(entries.cache, weights=sizes * entries.version, minlength=count).astype(np.int64)
    holds(bool(np.all(sizes > 0)), name="an entry holds nothing")
    for cache in range(count):
        one = store.caches[cache]
        conserved(name=f"blocks in cache {cache}", left=int(held[cache]), right=int(one.used))
        conserved(name=f"blocks of the new version in cache {cache}", left=int(new[cache]), right=int(one.used_new))
        conserved(name=f"entries of cache {cache}", left=int((entries.cache == cache).sum()), right=int(one.entries))
        holds(one.used <= one.capacity, name=f"cache {cache} holds more than it has room for")


def _audit_owners(store: Store) -> None:
    """Each entry hangs in its owner's chain once, and records that are free are counted."""
    held = np.flatnonzero(store.entries.owner != END)
    conserved(name="free entries", left=len(store.entries) - len(held), right=int(store.book[0].entries_left))
    reached = 0
    for owner in np.unique(store.entries.owner[held]):
        e = int(store.owners[owner].entry)
        while e != END and reached <= len(held):
            holds(store.entries[e].owner == owner, name=f"entry {e} hangs at another owner")
            reached += 1
            e = int(store.entries[e].sibling)
    conserved(name="entries in chains", left=reached, right=len(held))


def _audit_line(store: Store, line: int) -> None:
    """A list goes from its newest to its oldest entry, stamps falling, all of its cache, kind and version."""
    kinds = int(store.book[0].kinds)
    cache, version = line // kinds // VERSIONS, line // kinds % VERSIONS
    e, newer, stamp = int(store.lines[line].newest), END, np.iinfo(np.int64).max
    while e != END:
        entry = store.entries[e]
        holds(
            bool(entry.line == line and entry.cache == cache and entry.version == version and entry.newer == newer),
            name=f"entry {e} hangs in the wrong list",
        )
        holds(bool(entry.stamp < stamp), name=f"list {line} is out of order")
        newer, stamp, e = e, int(entry.stamp), int(entry.older)
    conserved(name=f"oldest of list {line}", left=newer, right=int(store.lines[line].oldest))
