"""What of a prompt is held where: its path, the entries on it, and the pieces that can be read instead of computed."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.holdings import add_owner, find, resize


@handler
def cache_of(state, tier, u):  # type: ignore[no-untyped-def]
    """The cache of a tier that a node reads and writes."""
    one = state.tiers[tier]
    return one.first if one.pooled == 1 else one.first + u


@handler
def add_step(state, owner, need, limit, base):  # type: ignore[no-untyped-def]
    """One more owner on the path of the request in hand."""
    totals = state.totals[0]
    step = state.path[totals.path]
    step.owner = owner
    step.need = need
    step.limit = max(0, min(need, limit))
    step.depth = base
    totals.path += 1


@handler
def session_owner(state, turn, now_s):  # type: ignore[no-untyped-def]
    """The owner of a session's own context, found by its ticket or made for the first turn that the run sees of it."""
    if state.tickets[turn.ticket] < 0:
        owner = add_owner(state.store, turn.kind)
        state.store.owners[owner].first_s = now_s
        state.tickets[turn.ticket] = owner
    return state.tickets[turn.ticket]


@handler
def lay_path(state, turn, now_s):  # type: ignore[no-untyped-def]
    """The owners that a request touches from its root on, with the blocks it needs of each and may find."""
    totals, block = state.totals[0], state.params[0].block_tokens
    totals.path = 0
    base = 0
    if turn.ticket < 0:
        for at in range(turn.path_from, turn.path_to):
            segment = state.routes[at]
            add_step(state, segment, state.lengths[segment], state.lengths[segment], base)
            base += state.lengths[segment]
    else:
        prompt = turn.tokens // block
        if turn.group >= 0:
            base = min(state.params[0].groups, prompt)
            add_step(state, turn.group, base, base, 0)
        owner = session_owner(state, turn, now_s)
        add_step(state, owner, turn.kept_tokens // block - base, prompt - base, base)


@handler
def note_use(state, step, now_s):  # type: ignore[no-untyped-def]
    """Remember of an owner that it was used."""
    owner = state.store.owners[step.owner]
    if owner.touches == 0:
        owner.first_s = now_s
    owner.touches += 1
    owner.seen = max(owner.seen, step.need)


@handler
def seen_before(state):  # type: ignore[no-untyped-def]
    """Blocks that a cache without limit would find: up to the first that is new."""
    blocks = 0
    for i in range(state.totals[0].path):
        step = state.path[i]
        seen = min(state.store.owners[step.owner].seen, step.limit)
        blocks += seen
        if seen < step.need:
            break
    return blocks


@handler
def find_entries(state, version, u, now_s):  # type: ignore[no-untyped-def]
    """Fill ``found`` with the entries of the path in each tier; what is past its time is emptied first."""
    store, expires = state.store, state.params[0].policy == 1
    for i in range(state.totals[0].path):
        for tier in range(3):
            e = END
            if state.tiers[tier].there == 1:
                e = find(store, state.path[i].owner, version, cache_of(state, tier, u))
            if e != END and expires:
                entry = store.entries[e]
                if now_s - entry.used_s > store.kinds[store.owners[entry.owner].kind].ttl_s:
                    store.caches[entry.cache].expired += entry.hi - entry.lo
                    resize(store, e, 0, 0)
            state.found[i, tier] = e


@handler
def cut_pieces(state):  # type: ignore[no-untyped-def]
    """Fill ``pieces`` with the unbroken run from the root, tier by tier; how many blocks it has, and those in HBM only.

    A prefix can be resumed only at whole states, so that the end of the run may be cut off.
    """
    totals = state.totals[0]
    totals.pieces = 0
    at = alone = 0
    unbroken = True
    for i in range(totals.path):
        step = state.path[i]
        inside = 0
        for tier in range(3):
            e = state.found[i, tier]
            if e != END and state.store.entries[e].lo <= inside < min(state.store.entries[e].hi, step.limit):
                entry, piece = state.store.entries[e], state.pieces[totals.pieces]
                piece.tier = tier
                piece.depth = step.depth + inside
                piece.home = entry.home
                piece.blocks = min(entry.hi, step.limit) - inside
                inside += piece.blocks
                totals.pieces += 1
            if tier == 0 and unbroken:
                alone += inside
                unbroken = inside == step.need
        at += inside
        if inside < step.need:
            break
    states = state.params[0].state_blocks
    return trim(state, at - at % states), alone - alone % states


@handler
def trim(state, usable):  # type: ignore[no-untyped-def]
    """Shorten the pieces to what can be used."""
    totals = state.totals[0]
    for _ in range(len(state.pieces)):
        if totals.pieces == 0:
            break
        piece = state.pieces[totals.pieces - 1]
        if piece.depth + piece.blocks <= usable:
            break
        piece.blocks = max(0, usable - piece.depth)
        if piece.blocks > 0:
            break
        totals.pieces -= 1
    return usable
