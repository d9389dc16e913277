"""The invariants of this system, counted afresh: no request lost or made up, caches and index true to each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from sims.engine.invariants import conserved, holds
from sims.engine.lists import END
from sims.parts.calls import DECODING, FREE, HUNG, PREFILLING, QUEUED, SENDING, SILENT
from sims.systems.gateway.state import State


def audit(state: State) -> None:
    """Raise `InvariantError` unless requests and blocks are conserved and the clock never ran backwards."""
    totals = state.totals[0]
    flying = state.calls[state.calls.stage != FREE]
    conserved(name="requests in slots", left=len(flying), right=int(totals.in_flight))
    ended = int(totals.finished + totals.rejected + totals.lost + totals.cut)
    conserved(name="requests arrived", left=int(totals.arrived), right=ended + int(totals.in_flight))
    conserved(name="clock ran backwards", left=int(totals.backwards), right=0)
    conserved(name="requests left with the gateway", left=int((flying.stage == SENDING).sum()), right=0)
    conserved(name="requests queued", left=int((flying.stage == QUEUED).sum()), right=int(state.queues.queued.sum()))
    conserved(name="requests hung", left=int((flying.stage == HUNG).sum()), right=int(state.lines.queued[SILENT]))
    _audit_instances(state, flying)
    _audit_caches(state)


def _audit_instances(state: State, flying: Any) -> None:
    count = len(state.instances)
    at_work = flying[np.isin(flying.stage, (PREFILLING, DECODING))]
    running = np.bincount(at_work.instance, minlength=count)
    holds(bool((running == state.instances.running).all()), name="slots held are not the requests running")
    holds(bool((running <= state.params[0].slots).all()), name="more requests run than there are slots")
    there = flying[flying.stage != SENDING]
    loads = np.bincount(there.instance, minlength=count)
    holds(bool((loads == state.loads[0]).all()), name="loads are not the requests at the instances")
    idle = (state.instances.up == 1) & (state.instances.prefilling == END)
    idle &= state.instances.running < state.params[0].slots
    waiting = state.queues.queued.reshape(-1, 2).sum(axis=1)
    conserved(name="idle instances with work", left=int((idle & (waiting > 0)).sum()), right=0)
    holds(bool((state.instances.running[state.instances.up == 0] == 0).all()), name="a dead instance works")


def _audit_caches(state: State) -> None:
    entries, count = state.entries, len(state.instances)
    held = entries[entries.length > 0]
    used = np.bincount(held.instance, weights=held.length, minlength=count)
    holds(bool((used == state.caches.used).all()), name="blocks of the segments are not those of the cache")
    holds(bool((used <= state.params[0].cache_blocks).all()), name="a cache holds more than it can")
    linked = np.bincount(held.instance, minlength=count)
    holds(bool((linked == state.caches.entries).all()), name="entries in the order of use are not those held")
    for i in range(count):
        _audit_order(state, i)
    known = state.at != END
    stems, owners = np.nonzero(known)
    rows = entries[state.at[known]]
    holds(bool(((rows.stem == stems) & (rows.instance == owners)).all()), name="the table points at a wrong entry")
    if state.params[0].index_period_s <= 0 and (state.instances.up == 1).all():
        holds(bool((rows.seen == rows.length).all()), name="the live index differs from the caches")
        holds(bool((state.seen[known] == rows.length).all()), name="the index's table differs from the caches")
    holds(bool((state.seen[~known] == 0).all()), name="the index tells of prefixes that nobody knows")
    parents = state.stems.parent[rows.stem]
    deeper = (parents >= 0) & (rows.length > 0)
    whole = state.stems.end[parents[deeper]] - state.stems.depth[parents[deeper]]
    above = entries[state.at[parents[deeper], owners[deeper]]].length
    holds(bool((above == whole).all()), name="a cached prefix has a hole")


def _audit_order(state: State, i: int) -> None:
    cache, seen, entry = state.caches[i], 0, int(state.caches[i].newest)
    last = END
    while entry != END and seen <= cache.entries:
        holds(int(state.entries[entry].newer) == last, name="the order of use is broken")
        last, entry = entry, int(state.entries[entry].older)
        seen += 1
    conserved(name=f"entries of cache {i}", left=seen, right=int(cache.entries))
    holds(last == int(cache.oldest), name="the order of use ends wrongly")
