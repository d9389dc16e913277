"""Adapters with waiting requests on a replica: in the one line those that could run now, in the other those that want
a slot. Who is next follows from the scheduler: the request that came first, or the tenant served least.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.adapters import NO_LINE
from sims.parts.fair_share import counter


@handler
def enter_line(state, u, k, line):  # type: ignore[no-untyped-def]
    """Put an adapter whose requests wait into a line."""
    cell = state.cells[u, k]
    cell.line = line
    cell.at = state.lined[u, line]
    state.lines[u, line, cell.at] = k
    state.lined[u, line] += 1


@handler
def leave_line(state, u, k):  # type: ignore[no-untyped-def]
    """Take an adapter out of its line, if it is in one; the last takes its place."""
    cell = state.cells[u, k]
    line, at = cell.line, cell.at
    if line == NO_LINE:
        return
    state.lined[u, line] -= 1
    last = state.lines[u, line, state.lined[u, line]]
    state.lines[u, line, at] = last
    state.cells[u, last].at = at
    cell.line = NO_LINE


@handler
def rank(state, u, k):  # type: ignore[no-untyped-def]
    """What decides first: the tenant's counter, or nothing."""
    if state.params[0].fair == 0:
        return 0.0
    return counter(state, u, state.tenant_of[k])


@handler
def is_passed_over(state, u, k, room):  # type: ignore[no-untyped-def]
    """Whether an adapter's turn has not come: no place is kept for it, or its tenant has all the slots it may."""
    cell, t = state.cells[u, k], state.tenant_of[k]
    if cell.claimed == 1:
        return False
    if not room:
        return True
    return cell.users == 0 and state.lanes[u, t].slots >= state.tenants[t].slots and k != state.params[0].adapters


@handler
def first_in_line(state, u, line, room):  # type: ignore[no-untyped-def]
    """The adapter whose first request is next; without room only one that a place is kept for. −1 when none is."""
    best, best_rank, best_seq = END, 0.0, 0
    for at in range(state.lined[u, line]):
        k = state.lines[u, line, at]
        cell = state.cells[u, k]
        if is_passed_over(state, u, k, room):
            continue
        its = rank(state, u, k)
        if best == END or its < best_rank or (its == best_rank and cell.first_seq < best_seq):
            best, best_rank, best_seq = k, its, cell.first_seq
    return best


@handler
def goes_before(state, u, a, b):  # type: ignore[no-untyped-def]
    """Whether the first request of adapter ``a`` is to go before that of ``b``."""
    one, other = rank(state, u, a), rank(state, u, b)
    if one != other:
        return one < other
    return state.cells[u, a].first_seq < state.cells[u, b].first_seq
