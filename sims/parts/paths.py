"""Prompts of a trace as paths of segments: the tree of their blocks, cut where prompts branch or end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.parts.records import records
from sims.parts.segments import STEM

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Paths:
    """``stem`` of each prompt is its last shared segment (−1: none); blocks beyond its end are the prompt's alone."""

    stems: np.recarray
    stem: Integers
    blocks: Integers


def stem_table(*, parent: Integers, depth: Integers, end: Integers, keys: NDArray[np.float64]) -> np.recarray:
    """Shared prefixes; a parent stands before its children."""
    table = records(STEM, count=len(parent))
    table.parent, table.depth, table.end, table.key = parent, depth, end, keys
    return table


def chained(ids: Integers, *, offsets: Integers) -> Integers:
    """Numbers for the blocks such that equal means the same block after the same blocks.

    Parameters
    ----------
    ids, offsets : the blocks of all prompts in a row, and where each prompt begins (with the total at the end).
    """
    before = np.empty_like(ids)
    before[1:] = ids[:-1]
    before[offsets[:-1][offsets[:-1] < len(ids)]] = -1
    pairs = np.unique(np.stack([ids, before]), axis=1)
    if len(pairs[0]) == len(np.unique(ids)):
        return ids
    # The hashes tell of blocks alone: number the chains.
    known: dict[tuple[int, int], int] = {}
    numbers = np.empty_like(ids)
    starts = set(offsets[:-1].tolist())
    chain = -1
    for at, block in enumerate(ids.tolist()):
        if at in starts:
            chain = -1
        chain = known.setdefault((chain, block), len(known))
        numbers[at] = chain
    return numbers


def compress(ids: Integers, *, offsets: Integers) -> Paths:
    """Turn prompts given block by block into paths of segments.

    Notes
    -----
    Every prompt that reaches a segment covers it whole, because a segment ends where a prompt ends or two part. The
    last segment of a prompt that no other prompt shares is its tail, not a stem.
    """
    ids = chained(np.asarray(ids, np.int64), offsets=offsets)
    lengths = np.diff(offsets)
    total = len(ids)
    begins = np.zeros(total, bool)
    begins[offsets[:-1][lengths > 0]] = True
    lasts = ids[(offsets[1:] - 1)[lengths > 0]]
    count = int(ids.max(initial=-1)) + 1
    before = np.where(begins, -1, np.concatenate([[-1], ids[:-1]])) if total else ids
    parent_of = np.full(count, -1, np.int64)
    parent_of[ids] = before
    visits = np.bincount(ids, minlength=count)
    present = np.flatnonzero(visits)
    parents = parent_of[present]
    children = np.bincount(parents[parents >= 0], minlength=count)
    ends = np.zeros(count, bool)
    ends[lasts] = True
    heads = np.zeros(count, bool)
    heads[present] = (parents < 0) | (children[parents] > 1) | ends[parents]
    at_head = np.maximum.accumulate(np.where(heads[ids], np.arange(total), 0)) if total else ids
    head_of = np.full(count, -1, np.int64)
    head_of[ids] = ids[at_head] if total else ids
    position = np.arange(total) - np.repeat(offsets[:-1], lengths)
    depth_of = np.zeros(count, np.int64)
    depth_of[ids] = position
    sizes = np.bincount(head_of[present], minlength=count)
    shared = heads & (visits > 1)
    # Sorted by depth, so that a parent comes before its children.
    stems = np.flatnonzero(shared)[np.argsort(depth_of[shared], kind="stable")]
    number = np.full(count, -1, np.int64)
    number[stems] = np.arange(len(stems))
    above = parent_of[stems]
    table = stem_table(
        parent=np.where(above >= 0, number[head_of[above]], -1),
        depth=depth_of[stems],
        end=depth_of[stems] + sizes[stems],
        keys=np.mod(np.arange(1, len(stems) + 1) * 0.6180339887498949, 1.0).astype(np.float64),
    )
    return Paths(stems=table, stem=_last_stem(ids, offsets, head_of, number, parent_of), blocks=lengths)


def _last_stem(ids: Integers, offsets: Integers, head_of: Integers, number: Integers, parent_of: Integers) -> Integers:
    stem = np.full(len(offsets) - 1, -1, np.int64)
    some = np.diff(offsets) > 0
    heads = head_of[ids[offsets[1:][some] - 1]]
    above = parent_of[heads]
    alone = number[heads] < 0
    # A last segment of its own hangs on a shared one, or on nothing: two of its own in a row would be one.
    stem[some] = np.where(alone, np.where(above >= 0, number[head_of[above]], -1), number[heads])
    return stem
