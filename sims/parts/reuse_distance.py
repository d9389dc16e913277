"""Every LRU size at once: reuse distances in one pass (Mattson's stack algorithm).

A block's distance is the number of other blocks touched since its own last touch; LRU of C blocks hits exactly the
touches with a distance below C. Latest touches are marked in a bit map over time, and a Fenwick tree counts the marks
of whole words, so it is small enough to stay in the processor's cache. When time runs out, moments are renumbered
without gaps: memory follows the number of blocks, not of look-ups.

References: R. L. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9 (2), 1970,
pp. 78-117; P. M. Fenwick, "A new data structure for cumulative frequency tables", Software 24 (3), 1994, pp. 327-336.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler, loop

BITS = 32
SHIFT = 5
FEWEST_WORDS = 64


def moments(blocks: int) -> int:
    """How many moments fit before they are renumbered: at least twice the blocks, in whole words."""
    return BITS * max(FEWEST_WORDS, 1 << (2 * blocks // BITS).bit_length())


def arrays(blocks: int) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Latest touches (−1: none), the words of marks, and the tree of counts (entry 0 unused)."""
    words = moments(blocks) // BITS
    return np.full(max(1, blocks), -1, np.int32), np.zeros(words, np.int64), np.zeros(words + 1, np.int32)


@handler
def ones(word):  # type: ignore[no-untyped-def]
    """Bits set among 32."""
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    word = word + (word >> 8)
    return (word + (word >> 16)) & 0x3F


@handler
def add(tree, word, count):  # type: ignore[no-untyped-def]
    """Count more (or fewer) marks in a word."""
    at = word + 1
    while at < len(tree):
        tree[at] += count
        at += at & -at


@handler
def before(tree, word):  # type: ignore[no-untyped-def]
    """Marks in all words before this one."""
    total = 0
    at = word
    while at > 0:
        total += tree[at]
        at &= at - 1
    return total


@handler
def renumber(last, marks, tree):  # type: ignore[no-untyped-def]
    """Give the latest touches the moments 0, 1, 2 … in their order; how many there are."""
    for block in range(len(last)):
        if last[block] >= 0:
            touched = int(last[block])
            word = touched >> SHIFT
            inside = marks[word] & ((1 << (touched & (BITS - 1))) - 1)
            last[block] = before(tree, word) + ones(inside)
    live = before(tree, len(marks))
    for word in range(len(marks)):
        left = min(BITS, max(0, live - word * BITS))
        marks[word] = (1 << left) - 1
        tree[word + 1] = 0
    return live


@handler
def count_full_words(tree, live):  # type: ignore[no-untyped-def]
    """Count all full words afresh; the one being filled is counted when it is full."""
    for word in range(live >> SHIFT):
        add(tree, word, BITS)


@loop
def reuse_distances(ids, last, marks, tree, histogram):  # type: ignore[no-untyped-def]
    """Add one to ``histogram`` at each touch's distance; returns how many touches were the first of their block."""
    now = cold = 0
    full = BITS * len(marks)
    for index in range(len(ids)):
        block = ids[index]
        current = now >> SHIFT
        touched = int(last[block])
        if touched < 0:
            cold += 1
        else:
            word = touched >> SHIFT
            bit = touched & (BITS - 1)
            if word == current:
                distance = ones(marks[word] >> (bit + 1))
            else:
                # All marks are of different blocks: count those before, the rest lies between.
                earlier = before(tree, word) + ones(marks[word] & ((1 << bit) - 1))
                distance = cold - 1 - earlier
                add(tree, word, -1)
            marks[word] &= ~(1 << bit)
            histogram[distance] += 1
        last[block] = now
        marks[current] |= 1 << (now & (BITS - 1))
        now += 1
        if now & (BITS - 1) == 0:
            add(tree, current, ones(marks[current]))
            if now == full:
                now = renumber(last, marks, tree)
                count_full_words(tree, now)
    return cold
