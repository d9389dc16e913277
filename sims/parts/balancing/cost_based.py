"""The instance where the first token comes soonest: queue time plus prefill of what is not cached there.

It spills by itself: once the queue of the holder costs more than computing the prefix elsewhere, the request goes
elsewhere and the prefix is held twice. The bound on load and the cap on hot prefixes hold as for `prefix_aware`.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.asking import find_matches, lowest_score, pass_over, root_of, take_turn


@handler
def slot_s(params, totals):  # type: ignore[no-untyped-def]
    """How long it takes, about, until the next decode slot is free when all are held."""
    return totals.decode_sum_s / totals.decodes / params.slots if totals.decodes > 0 else 0.0


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen instance; −1 when none is open."""
    find_matches(state, ask)
    params, root = state.params[0], root_of(state.stems, ask)
    block_s, each_s = params.block_tokens * params.prefill_s_per_token, slot_s(params, state.totals[0])
    row, now_s, slots = ask.known, ask.now_s, params.slots
    for i in range(len(state.instances)):
        queue_s = state.queue_s[row, i] + max(0.0, state.until_s[row, i] - now_s)
        slots_s = max(0, state.loads[row, i] + 1 - slots) * each_s
        state.scores[i] = queue_s + slots_s - state.match[i] * block_s
    pass_over(state, ask, root)
    best = lowest_score(state, ask)
    if best != END:
        ask.matched = state.match[best]
        take_turn(state, ask, root, best)
    return best
