"""Prompts of a trace as paths of segments: the tree of their blocks, cut where prompts branch or end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.parts.chains import segments_of
from sims.parts.records import records
from sims.parts.segments import STEM

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Paths:
    """``stem`` of each prompt is its last shared segment (−1: none); blocks beyond its end are the prompt's alone."""

    stems: np.recarray
    stem: Integers
    blocks: Integers


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What the prompts of a source share: stems as records, and the tokens of a block."""

    stems: np.recarray
    block_tokens: int


def stem_table(*, parent: Integers, depth: Integers, end: Integers, keys: NDArray[np.float64]) -> np.recarray:
    """Shared prefixes; a parent stands before its children."""
    table = records(STEM, count=len(parent))
    table.parent, table.depth, table.end, table.key = parent, depth, end, keys
    return table


def no_prefixes() -> Prefixes:
    """Of prompts that share nothing."""
    none = np.zeros(0, np.int64)
    return Prefixes(stem_table(parent=none, depth=none, end=none, keys=np.zeros(0)), 1)


def repeated(stems: np.recarray, *, times: int) -> np.recarray:
    """The shared prefixes of so many rounds, each round's for itself."""
    tiled = np.tile(stems, times).view(np.recarray)
    shift = np.repeat(np.arange(times) * len(stems), len(stems))
    tiled.parent = np.where(tiled.parent >= 0, tiled.parent + shift, -1)
    return tiled


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
    cut = segments_of(chained(np.asarray(ids, np.int64), offsets=offsets), offsets=offsets)
    count, per_prompt = len(cut.blocks), np.diff(cut.offsets)
    first = np.zeros(len(cut.segments), bool)
    first[cut.offsets[:-1][per_prompt > 0]] = True
    above, start = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    above[cut.segments] = np.where(first, -1, np.roll(cut.segments, 1))
    ends = np.cumsum(cut.blocks[cut.segments])
    start[cut.segments] = ends - cut.blocks[cut.segments] - np.repeat(offsets[:-1], per_prompt)
    shared = np.flatnonzero(np.bincount(cut.segments, minlength=count) > 1)
    # Sorted by depth, so that a parent comes before its children.
    stems = shared[np.argsort(start[shared], kind="stable")]
    number = np.full(count + 1, -1, np.int64)
    number[stems] = np.arange(len(stems))
    table = stem_table(
        parent=number[above[stems]],
        depth=start[stems],
        end=start[stems] + cut.blocks[stems],
        keys=np.mod(np.arange(1, len(stems) + 1) * 0.6180339887498949, 1.0).astype(np.float64),
    )
    stem = np.full(len(per_prompt), -1, np.int64)
    last = cut.segments[cut.offsets[1:][per_prompt > 0] - 1]
    # A last segment of its own hangs on a shared one, or on nothing: two of its own in a row would be one.
    stem[per_prompt > 0] = np.where(number[last] >= 0, number[last], number[above[last]])
    return Paths(stems=table, stem=stem, blocks=np.diff(offsets))
