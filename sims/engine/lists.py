"""Intrusive lists through the ``next`` field of a pool of records: FIFO queues and the free list.

A queue is a (head, tail) pair in its owner's record under the names given at the call; −1 ends a list.
"""

from __future__ import annotations

from sims.engine.kernel import handler

END = -1


@handler
def push(queue, pool, slot):  # type: ignore[no-untyped-def]
    """Append ``slot`` to the queue of a record with ``head``, ``tail`` and ``queued``."""
    pool[slot].next = END
    if queue.head == END:
        queue.head = slot
    else:
        pool[queue.tail].next = slot
    queue.tail = slot
    queue.queued += 1


@handler
def push_first(queue, pool, slot):  # type: ignore[no-untyped-def]
    """Put ``slot`` before all others of a queue."""
    pool[slot].next = queue.head
    if queue.head == END:
        queue.tail = slot
    queue.head = slot
    queue.queued += 1


@handler
def pop(queue, pool):  # type: ignore[no-untyped-def]
    """Take the first slot of a queue that is not empty."""
    slot = queue.head
    queue.head = pool[slot].next
    if queue.head == END:
        queue.tail = END
    queue.queued -= 1
    return slot


@handler
def insert_by_ready(queue, pool, slot):  # type: ignore[no-untyped-def]
    """Insert ``slot`` behind all that are ready no later: nearly always the tail, else not far before it.

    Links back through ``before``, which holds for queues that are filled by this function alone.
    """
    ready_s = pool[slot].ready_s
    if queue.head == END or pool[queue.tail].ready_s <= ready_s:
        pool[slot].before = queue.tail
        push(queue, pool, slot)
        return
    queue.queued += 1
    if pool[queue.head].ready_s > ready_s:
        pool[queue.head].before = slot
        pool[slot].next = queue.head
        queue.head = slot
        return
    after = queue.tail
    before = pool[after].before
    for _ in range(len(pool)):
        if pool[before].ready_s <= ready_s:
            break
        after = before
        before = pool[after].before
    pool[slot].before = before
    pool[slot].next = after
    pool[before].next = slot
    pool[after].before = slot


@handler
def take_slot(totals, pool):  # type: ignore[no-untyped-def]
    """A free slot; the caller has checked that there is one (`has_slot`)."""
    slot = totals.free
    totals.free = pool[slot].next
    totals.in_flight += 1
    return slot


@handler
def give_slot(totals, pool, slot):  # type: ignore[no-untyped-def]
    """Return a slot to the free list."""
    pool[slot].stage = 0
    pool[slot].next = totals.free
    totals.free = slot
    totals.in_flight -= 1


@handler
def has_slot(totals):  # type: ignore[no-untyped-def]
    """Whether `take_slot` may be called; an index of −1 would silently wrap round."""
    return totals.free != END
