"""Batching of prefill by tokens, on the ranks of a unit in lockstep.

A prompt is computed by one rank. In a step each rank takes its prompts first come first served up to its budget
(the last may be split), and the step lasts as long as the rank with the most tokens needs.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END


@handler
def least_rank(queues, base, ranks):  # type: ignore[no-untyped-def]
    """The rank's queue with the fewest prompt tokens to compute, among ``ranks`` from ``base`` on."""
    best = base
    for index in range(base + 1, base + ranks):
        if queues[index].load < queues[best].load:
            best = index
    return best


@handler
def fill_rank(queue, pool, budget):  # type: ignore[no-untyped-def]
    """Choose a rank's tokens of the next step: how many; sets how many of its first prompts are ``finishing``."""
    tokens = 0
    queue.finishing = 0
    slot = queue.head
    for _ in range(queue.queued):
        if tokens >= budget:
            break
        take = min(pool[slot].todo, budget - tokens)
        pool[slot].todo -= take
        tokens += take
        if pool[slot].todo == 0:
            queue.finishing += 1
        slot = pool[slot].next
    queue.load -= tokens
    return tokens


@handler
def fill_step(unit, queues, base, ranks, pool, budget):  # type: ignore[no-untyped-def]
    """Fill all ranks of a unit; sets its ``tokens`` and returns those of the fullest rank."""
    unit.tokens = 0
    longest = 0
    for index in range(base, base + ranks):
        if queues[index].queued > 0:
            tokens = fill_rank(queues[index], pool, budget)
            unit.tokens += tokens
            longest = max(longest, tokens)
    return longest


@handler
def clear_queue(queue):  # type: ignore[no-untyped-def]
    """Forget what is queued; the caller has taken care of the requests."""
    queue.head = END
    queue.tail = END
    queue.queued = 0
    queue.load = 0
    queue.finishing = 0
