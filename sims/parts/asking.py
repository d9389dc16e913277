"""What a policy is asked, and what policies share: who is open, who is idle, who holds how much of the prompt."""

from __future__ import annotations

import math

import numpy as np

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.segments import NOBODY

ASK = np.dtype(
    [
        ("now_s", "f8"),
        ("luck", "f8"),
        ("router", "i8"),
        ("known", "i8"),
        ("doors", "i8"),
        ("avoid", "i8"),
        ("stem", "i8"),
        ("session", "i8"),
        ("blocks", "i8"),
        ("tokens", "i8"),
        ("matched", "i8"),
    ]
)
"""``matched`` is set by a policy that looks at the index: blocks seen at the chosen instance, or −1."""

LAST = 1e30
"""Added to the score of an instance that is to be taken only when all are like it."""
BURST = 4.0
"""Requests that may come at once before the cap of a hot prefix holds."""


@handler
def is_open(closed, ask, i):  # type: ignore[no-untyped-def]
    """Whether the router may send to the instance."""
    return closed[ask.doors, i] == 0 and i != ask.avoid


@handler
def draw(ask, count):  # type: ignore[no-untyped-def]
    """A number from 0 to ``count`` − 1; the rest of the luck is as good as new for the next draw."""
    scaled = ask.luck * count
    whole = min(int(scaled), count - 1)
    ask.luck = scaled - whole
    return whole


@handler
def draw_open(state, ask):  # type: ignore[no-untyped-def]
    """An open instance, each as likely; −1 when there is none."""
    count = len(state.instances)
    i = draw(ask, count)
    if is_open(state.closed, ask, i):
        return i
    left = 0
    for one in range(count):
        left += 1 if is_open(state.closed, ask, one) else 0
    if left == 0:
        return END
    skip = draw(ask, left)
    for one in range(count):
        if is_open(state.closed, ask, one):
            if skip == 0:
                return one
            skip -= 1
    return END


@handler
def find_matches(state, ask):  # type: ignore[no-untyped-def]
    """Fill ``state.match`` with the blocks of the path that the index sees at each instance."""
    count = len(state.instances)
    node = ask.stem
    if node == NOBODY:
        for i in range(count):
            state.match[i] = 0
    else:
        depth = state.stems[node].depth
        for i in range(count):
            seen = state.seen[node, i]
            state.match[i] = depth + seen if seen > 0 else 0
        node = state.stems[node].parent
        for _ in range(len(state.stems)):
            if node == NOBODY:
                break
            depth = state.stems[node].depth
            for i in range(count):
                if state.match[i] == 0 and state.seen[node, i] > 0:
                    state.match[i] = depth + state.seen[node, i]
            node = state.stems[node].parent
    add_tails(state, ask)


@handler
def add_tails(state, ask):  # type: ignore[no-untyped-def]
    """Add what the index sees of the session's own tail."""
    if ask.session == NOBODY:
        return
    above = state.stems[ask.stem].end if ask.stem != NOBODY else 0
    entry = state.sessions[ask.session].head
    for _ in range(len(state.entries)):
        if entry == END:
            break
        one = state.entries[entry]
        if one.seen > 0:
            state.match[one.instance] = min(ask.blocks, above + one.seen)
        entry = one.after


@handler
def root_of(stems, ask):  # type: ignore[no-untyped-def]
    """The first stem of the path; −1 when nothing of it is shared."""
    node = ask.stem
    for _ in range(len(stems)):
        if node == NOBODY or stems[node].parent == NOBODY:
            break
        node = stems[node].parent
    return node


@handler
def load_limit(loads, ask, bound):  # type: ignore[no-untyped-def]
    """The most requests an instance may have before one more, at ``bound`` × the mean of what the router sees."""
    total = 0
    count = loads.shape[1]
    for i in range(count):
        total += loads[ask.known, i]
    return bound * (total + 1) / count


@handler
def pass_over(state, ask, root):  # type: ignore[no-untyped-def]
    """Put those beyond the bound on load, or that have had their share of the prefix, behind all others, by load."""
    params = state.params[0]
    if params.bound == math.inf and params.hot_prefix_cap <= 0.0:
        return
    limit = load_limit(state.loads, ask, params.bound)
    each_s = turn_s(params, state.totals[0], len(state.instances))
    capped = root != NOBODY and each_s > 0.0
    for i in range(len(state.instances)):
        load = state.loads[ask.known, i]
        # A rate of the cap times the fleet's mean per instance, with a burst of a few.
        if load + 1 > limit or (capped and state.next_turn_s[root, i] > ask.now_s + BURST * each_s):
            state.scores[i] = LAST + load


@handler
def lowest_score(state, ask):  # type: ignore[no-untyped-def]
    """The open instance with the lowest score, each of equals as likely; −1 when none is open.

    Whoever is met first must not be favoured: routers with the same old view would all choose the same.
    """
    best, least, ties = END, 0.0, 0
    for i in range(len(state.instances)):
        score = state.scores[i]
        if (best == END or score <= least) and is_open(state.closed, ask, i):
            ties = ties + 1 if best != END and score == least else 1
            best, least = i, score
    if ties < 2:
        return best
    skip = draw(ask, ties)
    for i in range(len(state.instances)):
        if state.scores[i] == least and is_open(state.closed, ask, i):
            if skip == 0:
                return i
            skip -= 1
    return best


@handler
def turn_s(params, totals, count):  # type: ignore[no-untyped-def]
    """The time that an instance has to leave between two requests of one prefix; 0 when there is no cap."""
    if params.hot_prefix_cap <= 0.0 or totals.sent_per_s <= 0.0:
        return 0.0
    return count / (params.hot_prefix_cap * totals.sent_per_s)


@handler
def take_turn(state, ask, root, i):  # type: ignore[no-untyped-def]
    """Count a request against the cap of its prefix at the chosen instance."""
    each_s = turn_s(state.params[0], state.totals[0], len(state.instances))
    if root != NOBODY and each_s > 0.0:
        state.next_turn_s[root, i] = max(state.next_turn_s[root, i], ask.now_s) + each_s


@handler
def held_blocks(state, ask):  # type: ignore[no-untyped-def]
    """The most blocks of the path that any instance holds at this moment."""
    best = 0
    above = state.stems[ask.stem].end if ask.stem != NOBODY else 0
    if ask.session != NOBODY:
        entry = state.sessions[ask.session].head
        for _ in range(len(state.entries)):
            if entry == END:
                break
            if state.entries[entry].length > 0:
                best = max(best, above + state.entries[entry].length)
            entry = state.entries[entry].after
    node = ask.stem
    for _ in range(len(state.stems)):
        if best > 0 or node == NOBODY:
            break
        for i in range(len(state.instances)):
            entry = state.at[node, i]
            if entry != END and state.entries[entry].length > 0:
                best = max(best, state.stems[node].depth + state.entries[entry].length)
        node = state.stems[node].parent
    return min(best, ask.blocks)
