"""A binary heap in each row of two tables, keys and items: the least key of a row lies at its place 0.

The caller keeps the sizes. Among equal keys the order follows from what was pushed and removed, nothing else.
"""

from __future__ import annotations

from sims.engine.kernel import handler


@handler
def sift_up(keys, items, row, at):  # type: ignore[no-untyped-def]
    """Move the entry at ``at`` towards the root until its parent is no larger."""
    key, item = keys[row, at], items[row, at]
    while at > 0 and keys[row, (at - 1) >> 1] > key:
        above = (at - 1) >> 1
        keys[row, at] = keys[row, above]
        items[row, at] = items[row, above]
        at = above
    keys[row, at] = key
    items[row, at] = item


@handler
def sift_down(keys, items, row, size, at):  # type: ignore[no-untyped-def]
    """Move the entry at ``at`` away from the root until no child is smaller."""
    key, item = keys[row, at], items[row, at]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and keys[row, below + 1] < keys[row, below]:
            below += 1
        if keys[row, below] >= key:
            break
        keys[row, at] = keys[row, below]
        items[row, at] = items[row, below]
        at = below
    keys[row, at] = key
    items[row, at] = item


@handler
def heap_push(keys, items, row, size, key, item):  # type: ignore[no-untyped-def]
    """Add an entry to a row that had ``size``; the caller has checked that there is room."""
    keys[row, size] = key
    items[row, size] = item
    sift_up(keys, items, row, size)


@handler
def heap_remove(keys, items, row, size, at):  # type: ignore[no-untyped-def]
    """Take the entry at ``at`` (0: the least) out of a row that had ``size``; its item."""
    item = items[row, at]
    keys[row, at] = keys[row, size - 1]
    items[row, at] = items[row, size - 1]
    if at < size - 1:
        sift_down(keys, items, row, size - 1, at)
        sift_up(keys, items, row, at)
    return item
