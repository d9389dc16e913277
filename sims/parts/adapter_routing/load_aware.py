"""The adapter's home with the fewest requests: popular adapters have more homes, placed so that traffic is even.

When all homes have more than ``load_bound`` × the mean requests of a replica, the request goes to the replica with
the fewest.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts import homes


@handler
def least_home(state, adapter, skip):  # type: ignore[no-untyped-def]
    """The home with the fewest requests, of equals the first from number ``skip`` on; −1 when none is up."""
    best, up = END, homes.homes_up(state, adapter)
    for ahead in range(up):
        u = homes.nth_home(state, adapter, (skip + ahead) % up)
        if best == END or state.units[u].load < state.units[best].load:
            best = u
    return best


@handler
def too_loaded(state, u):  # type: ignore[no-untyped-def]
    """Whether the replica has more than the bound allows."""
    load, up = 0, 0
    for other in range(state.homes.shape[1]):
        if state.units[other].alive == 1:
            load += state.units[other].load
            up += 1
    return (state.units[u].load + 1) * up > state.params[0].load_bound * (load + up)


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen replica; −1 when none is up."""
    luck = homes.draw(ask, max(1, state.copies[ask.adapter]))
    best = least_home(state, ask.adapter, luck)
    if best != END and too_loaded(state, best):
        return homes.least_loaded(state, 0, state.homes.shape[1], luck)
    return best
