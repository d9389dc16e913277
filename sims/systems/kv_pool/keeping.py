"""What a request leaves behind in the tiers, and what gives way to it."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.eviction.dispatch import choose
from sims.parts.holdings import VERSIONS, add_entry, drop, find, forget, lay_on_top, lift, resize
from sims.parts.node_links import transfer, write_route
from sims.systems.kv_pool.lookup import cache_of

COPIES, DROPPED = 0, 1


@handler
def home_of(state, owner, u, tier):  # type: ignore[no-untyped-def]
    """The node that keeps an owner's entries of a tier: the reading node's own, or one of the pool by the owner."""
    if state.tiers[tier].pooled == 0:
        return u
    nodes = len(state.nodes)
    for ahead in range(nodes):
        home = (owner + ahead) % nodes
        if state.nodes[home].alive == 1:
            return home
    return u


@handler
def write_out(state, e, blocks, u, tier, now_s):  # type: ignore[no-untyped-def]
    """Count blocks written into a lower tier and book their way there."""
    if blocks > 0 and tier > 0:
        entry = state.store.entries[e]
        state.store.caches[entry.cache].written += blocks
        if now_s >= state.params[0].serves_from_s:
            route = write_route(u, entry.home, tier == 2)
            transfer(state.links, state.speeds, route, blocks * state.params[0].block_bytes, now_s)


@handler
def belongs(one, kept, top, whole, tier):  # type: ignore[no-untyped-def]
    """Whether a tier gets what a request touches: the highest one does, the others if they keep copies."""
    if tier == 0 or (top and kept):
        return True
    return one.holds == COPIES and kept and (one.every_touch == 1 or not whole)


@handler
def keep_step(state, i, version, u, now_s):  # type: ignore[no-untyped-def]
    """Touch one owner of the path in all tiers that hold it from now on; what an exclusive tier gave up, it drops."""
    store, step = state.store, state.path[i]
    kept = store.kinds[store.owners[step.owner].kind].kept == 1
    top = True
    held = 0
    for tier in range(3):
        one, e = state.tiers[tier], state.found[i, tier]
        if one.there == 0:
            continue
        whole = held >= step.need
        held = max(held, 0 if e == END else store.entries[e].hi)
        holds = step.need > 0 and belongs(one, kept, top, whole, tier)
        if holds:
            if e == END:
                home = home_of(state, step.owner, u, tier)
                e = add_entry(store, step.owner, version, cache_of(state, tier, u), step.depth, home)
            write_out(state, e, resize(store, e, 0, max(step.need, store.entries[e].hi)), u, tier, now_s)
        elif e != END and (store.entries[e].hi == 0 or (one.holds == DROPPED and not whole)):
            drop(store, e)
            e = END
        if e != END and (holds or one.every_touch == 1 or not whole):
            lift(store, e)
            lay_on_top(store, e)
            store.entries[e].used_s = now_s
        top = False


@handler
def keep_path(state, version, u, now_s):  # type: ignore[no-untyped-def]
    """Touch the whole path, its end first, so that what all share is the most recently used."""
    for back in range(state.totals[0].path):
        keep_step(state, state.totals[0].path - 1 - back, version, u, now_s)


@handler
def hand_down(state, e, lo, hi, u, tier, now_s):  # type: ignore[no-untyped-def]
    """Put blocks that a tier evicts into the one below, on top."""
    store, entry = state.store, state.store.entries[e]
    below = cache_of(state, tier, u)
    f = find(store, entry.owner, entry.version, below)
    if f == END:
        f = add_entry(store, entry.owner, entry.version, below, entry.depth, home_of(state, entry.owner, u, tier))
        store.entries[f].lo = lo
        store.entries[f].hi = lo
    else:
        lift(store, f)
        lay_on_top(store, f)
    other = store.entries[f]
    other.used_s = entry.used_s
    held = other.hi - other.lo
    if hi >= other.lo and lo <= other.hi:
        lo = min(lo, other.lo)
        hi = max(hi, other.hi)
    elif lo < other.lo:
        # Runs with a gap between them: the one nearer the root is of more use.
        held = 0
    else:
        lo = other.lo
        hi = other.hi
    resize(store, f, lo, hi)
    write_out(state, f, hi - lo - held, u, tier, now_s)


@handler
def give_way(state, line, excess, u, tier, now_s):  # type: ignore[no-untyped-def]
    """Evict the deepest blocks of a list's oldest entry; all of it when nothing is in excess: then its time is up."""
    store = state.store
    e = store.lines[line].oldest
    entry = store.entries[e]
    hi = entry.hi
    take = hi - entry.lo if excess <= 0 else min(excess, hi - entry.lo)
    if excess <= 0:
        store.caches[entry.cache].expired += take
    else:
        store.caches[entry.cache].evicted += take
        if tier < 2 and take > 0:
            one = state.tiers[tier + 1]
            if one.there == 1 and one.holds != COPIES and store.kinds[store.owners[entry.owner].kind].kept == 1:
                hand_down(state, e, hi - take, hi, u, tier + 1, now_s)
    resize(store, e, entry.lo, hi - take)
    if entry.lo == entry.hi:
        drop(store, e)


@handler
def over_quota(cache, quota):  # type: ignore[no-untyped-def]
    """The version that holds more than its quota and by how much; −1 and 0 when none does; below 0 is no quota."""
    if quota < 0.0:
        return -1, 0
    room = int(quota * cache.capacity)
    new = cache.used_new - room
    old = cache.used - cache.used_new - (cache.capacity - room)
    if new > 0:
        return 1, new
    if old > 0:
        return 0, old
    return -1, 0


@handler
def settle(state, u, now_s):  # type: ignore[no-untyped-def]
    """Evict from the caches of a node, from above downwards, until each holds no more than it may."""
    store, params = state.store, state.params[0]
    kinds = store.book[0].kinds
    for tier in range(3):
        if state.tiers[tier].there == 0:
            continue
        c = cache_of(state, tier, u)
        cache = store.caches[c]
        for _ in range(2 * len(store.entries) + 2):
            first, count, excess = c * VERSIONS * kinds, VERSIONS * kinds, cache.used - cache.capacity
            version, beyond = over_quota(cache, params.new_quota)
            if version >= 0:
                first, count, excess = first + version * kinds, kinds, max(excess, beyond)
            line = choose(params.policy, store, first, count, excess > 0, now_s)
            if line < 0:
                break
            if excess > 0 and cache.full_s > now_s:
                cache.full_s = now_s
            give_way(state, line, excess, u, tier, now_s)


@handler
def end_session(state, turn):  # type: ignore[no-untyped-def]
    """After its last turn a session's owner lives on only in what is held of it."""
    if turn.ticket >= 0 and turn.last == 1:
        owner = state.tickets[turn.ticket]
        state.tickets[turn.ticket] = END
        state.store.owners[owner].live = 0
        forget(state.store, owner)
