"""Fair scheduling by counters of weighted tokens, one for each tenant on each replica.

Of the tenants that wait, the one with the lowest counter is next. A tenant that comes back from idling starts at the
lowest counter of those that wait, or where the last one left off, so that nobody saves up (virtual token counters,
Sheng et al. 2024, arXiv 2401.00588). Output tokens are counted as they come: what a tenant's sequences have produced
follows from the steps.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.decode import steps_done


@handler
def emitted(state, u, t):  # type: ignore[no-untyped-def]
    """Output tokens of a tenant on a replica by the last step that counters are shown."""
    lane = state.lanes[u, t]
    return lane.out_tokens + lane.running * (state.units[u].shown_step - lane.since_step)


@handler
def settle_lane(state, u, t):  # type: ignore[no-untyped-def]
    """Count what the tenant's sequences have produced, before one joins or leaves."""
    lane = state.lanes[u, t]
    lane.out_tokens = emitted(state, u, t)
    lane.since_step = state.units[u].step


@handler
def counter(state, u, t):  # type: ignore[no-untyped-def]
    """What a tenant has had of a replica in weighted tokens, for its weight."""
    lane, params = state.lanes[u, t], state.params[0]
    service = params.input_weight * lane.in_tokens + params.output_weight * emitted(state, u, t)
    return lane.lift + service / state.tenants[t].weight


@handler
def least_counter(state, u):  # type: ignore[no-untyped-def]
    """The lowest counter of the tenants that wait; there must be one."""
    least = counter(state, u, state.waiters[u, 0])
    for at in range(1, state.units[u].waiting_tenants):
        least = min(least, counter(state, u, state.waiters[u, at]))
    return least


@handler
def begin_waiting(state, u, t, now_s):  # type: ignore[no-untyped-def]
    """One more request of the tenant waits; the first lifts its counter."""
    unit, lane = state.units[u], state.lanes[u, t]
    unit.waiting += 1
    lane.waiting += 1
    if lane.waiting > 1:
        return
    if state.params[0].fair == 1:
        floor = 0.0
        # A macro-step may be under way: what it has produced by now counts.
        unit.shown_step = unit.step + (steps_done(unit, now_s) if unit.emits == 1 else 0)
        if unit.waiting_tenants > 0:
            floor = least_counter(state, u)
        elif unit.left_tenant != END:
            floor = counter(state, u, unit.left_tenant)
        lane.lift += max(0.0, floor - counter(state, u, t))
    lane.at = unit.waiting_tenants
    state.waiters[u, lane.at] = t
    unit.waiting_tenants += 1


@handler
def end_waiting(state, u, t):  # type: ignore[no-untyped-def]
    """One request of the tenant is admitted."""
    unit, lane = state.units[u], state.lanes[u, t]
    unit.waiting -= 1
    lane.waiting -= 1
    if lane.waiting > 0:
        return
    unit.waiting_tenants -= 1
    last = state.waiters[u, unit.waiting_tenants]
    state.waiters[u, lane.at] = last
    state.lanes[u, last].at = lane.at
    unit.left_tenant = t
