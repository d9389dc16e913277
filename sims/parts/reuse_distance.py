"""Every LRU size at once: reuse distances in one pass (Mattson's stack algorithm).

A block's distance is the number of other blocks touched since its own last touch; LRU of C blocks hits exactly the
touches with a distance below C. Latest touches are marked in a bit map over time, and a Fenwick tree counts the marks
of rows of words, so it is small enough to stay in the processor's cache. When time runs out, moments are renumbered
without gaps: memory follows the number of blocks, not of look-ups.

References: R. L. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9 (2), 1970,
pp. 78-117; P. M. Fenwick, "A new data structure for cumulative frequency tables", Software 24 (3), 1994, pp. 327-336.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler, loop

BITS, SHIFT = 32, 5
ROW_BITS, ROW_SHIFT = 256, 8
"""Marks of a word, and of a row of words that the tree counts together: as many as a line of cache holds."""
FEWEST_ROWS = 8


def moments(blocks: int) -> int:
    """How many moments fit before they are renumbered: at least twice the blocks, in whole rows."""
    return ROW_BITS * max(FEWEST_ROWS, 1 << (2 * blocks // ROW_BITS).bit_length())


def arrays(blocks: int) -> tuple[NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32]]:
    """Latest touches (−1: none), the words of marks, and the tree of counts (entry 0 unused)."""
    room = moments(blocks)
    words, rows = room // BITS, room // ROW_BITS
    return np.full(max(1, blocks), -1, np.int32), np.zeros(words, np.uint32), np.zeros(rows + 1, np.int32)


@handler
def ones(word):  # type: ignore[no-untyped-def]
    """Bits set among 32."""
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    word = word + (word >> 8)
    return (word + (word >> 16)) & 0x3F


@handler
def add(tree, row, count):  # type: ignore[no-untyped-def]
    """Count more (or fewer) marks in a row."""
    at = row + 1
    while at < len(tree):
        tree[at] += count
        at += at & -at


@handler
def in_rows_before(tree, row):  # type: ignore[no-untyped-def]
    """Marks in all rows before this one."""
    total = 0
    at = row
    while at > 0:
        total += tree[at]
        at &= at - 1
    return total


@handler
def in_row_before(marks, moment):  # type: ignore[no-untyped-def]
    """Marks before a moment in its own row."""
    word = moment >> SHIFT
    total = ones(int(marks[word]) & ((1 << (moment & (BITS - 1))) - 1))
    for other in range((moment >> ROW_SHIFT) << (ROW_SHIFT - SHIFT), word):
        total += ones(int(marks[other]))
    return total


@handler
def renumber(last, marks, tree):  # type: ignore[no-untyped-def]
    """Give the latest touches the moments 0, 1, 2 … in their order, without gaps; how many there are."""
    live = 0
    for block in range(len(last)):
        if last[block] >= 0:
            touched = int(last[block])
            last[block] = in_rows_before(tree, touched >> ROW_SHIFT) + in_row_before(marks, touched)
            live += 1
    for word in range(len(marks)):
        marks[word] = (1 << min(BITS, max(0, live - word * BITS))) - 1
    for at in range(len(tree)):
        tree[at] = 0
    # The row that is being filled is counted when it is full.
    for row in range(live >> ROW_SHIFT):
        add(tree, row, ROW_BITS)
    return live


@loop
def reuse_distances(ids, last, marks, tree, histogram):  # type: ignore[no-untyped-def]
    """Add one to ``histogram`` at each touch's distance; returns how many touches were the first of their block."""
    now = cold = 0
    room = BITS * len(marks)
    for index in range(len(ids)):
        block = ids[index]
        touched = int(last[block])
        if touched < 0:
            cold += 1
        else:
            # All marks are of different blocks: those not before this one and not its own lie between.
            row = touched >> ROW_SHIFT
            histogram[cold - 1 - in_rows_before(tree, row) - in_row_before(marks, touched)] += 1
            marks[touched >> SHIFT] = int(marks[touched >> SHIFT]) & ~(1 << (touched & (BITS - 1)))
            if row != now >> ROW_SHIFT:
                add(tree, row, -1)
        last[block] = now
        marks[now >> SHIFT] = int(marks[now >> SHIFT]) | (1 << (now & (BITS - 1)))
        now += 1
        if now & (ROW_BITS - 1) == 0:
            row = (now >> ROW_SHIFT) - 1
            # Up to the last moment of the row, and that one is marked.
            add(tree, row, in_row_before(marks, now - 1) + 1)
            if now == room:
                now = renumber(last, marks, tree)
    return cold
