"""Batching of prefill by tokens, on the ranks of a unit in lockstep.

A prompt is computed by one rank. In a step each rank takes its prompts first come first served up to its budget
(the last may be split), and the step lasts as long as the slowest rank needs.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.ranks import BITS, MOST_RANKS
from sims.parts.step_times import prompt_time_s


@handler
def least_rank(queues, unit):  # type: ignore[no-untyped-def]
    """The queue of the unit's rank with the fewest prompt tokens to compute."""
    best = queues[unit.first_rank].load << BITS
    # Load and rank in one number: no comparison has to wait for where the last one led.
    for r in range(1, unit.ranks):
        best = min(best, (queues[unit.first_rank + r].load << BITS) | r)
    return unit.first_rank + (best & (MOST_RANKS - 1))


@handler
def fill_rank(queue, pool, budget):  # type: ignore[no-untyped-def]
    """Choose a rank's tokens of the next step: how many; sets how many of its first prompts are ``finishing``.

    ``pairs`` of the queue becomes Σ chunk · (context before it + chunk/2), what attention has to do.
    """
    tokens = 0
    queue.finishing = 0
    queue.pairs = 0.0
    slot = queue.head
    for _ in range(queue.queued):
        if tokens >= budget:
            break
        request = pool[slot]
        take = min(request.todo, budget - tokens)
        queue.pairs += take * (request.input + request.generated - request.todo + take / 2)
        request.todo -= take
        tokens += take
        if request.todo == 0:
            queue.finishing += 1
        slot = request.next
    queue.load -= tokens
    return tokens


@handler
def fill_step(unit, queues, pool, budget):  # type: ignore[no-untyped-def]
    """Fill all ranks of a unit; sets its ``tokens`` and returns the time that the slowest rank needs, 0 for nothing."""
    unit.tokens = 0
    longest_s = 0.0
    for index in range(unit.first_rank, unit.first_rank + unit.ranks):
        if queues[index].queued > 0:
            tokens = fill_rank(queues[index], pool, budget)
            unit.tokens += tokens
            longest_s = max(longest_s, prompt_time_s(unit, tokens, queues[index].pairs))
    return longest_s


@handler
def clear_queue(queue):  # type: ignore[no-untyped-def]
    """Forget what is queued; the caller has taken care of the requests."""
    queue.head = END
    queue.tail = END
    queue.queued = 0
    queue.load = 0
    queue.finishing = 0
