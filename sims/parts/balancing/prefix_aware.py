"""The instance that the index says holds most of the prompt; ties by load.

Without a bound on load or a cap on hot prefixes this herds: whoever holds a popular prefix gets all of it.
An instance beyond the bound, or that has had its share of the prefix, is passed over unless all are.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.asking import find_matches, lowest_score, pass_over, root_of, take_turn

PER_BLOCK = 1e9
"""More than any load: the match decides, the load between equals. Both fit a float's 53 bits."""


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen instance; −1 when none is open."""
    find_matches(state, ask)
    root = root_of(state.stems, ask)
    for i in range(len(state.instances)):
        state.scores[i] = state.loads[ask.known, i] - PER_BLOCK * state.match[i]
    pass_over(state, ask, root)
    best = lowest_score(state, ask)
    if best != END:
        ask.matched = state.match[best]
        take_turn(state, ask, root, best)
    return best
