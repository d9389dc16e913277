"""From block hashes to chains of numbers, and to the prefix each request finds in a cache without limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.bad_rows import BadRows
from planner.core.simulation import Blocks

Integers = NDArray[np.int64]

BLOCK_SIZES = (512, 256, 128, 64, 32, 16, 1024, 2048)
"""Tokens of a block: Mooncake 512, engines 16 to 128. The first that explains every request is taken."""


@dataclass(frozen=True, slots=True)
class Chains:
    """The blocks of all requests in a row, numbered in any way, and how many each request has."""

    ids: NDArray[Any]
    counts: Integers


def numbered(chains: Chains, *, order: Integers, tokens: int, input_tokens: Integers) -> tuple[Blocks, Integers]:
    """The blocks of each request by number, and its cached prefix [tokens].

    A request finds the leading blocks that earlier requests had, up to the first unknown one; its own blocks are
    known from its arrival on, and nothing is forgotten. One token at least is computed: it yields the first output.

    Parameters
    ----------
    chains : as they stand in the file
    order : of arrival, the requests that are taken by their place in the file
    tokens : of a block
    input_tokens : length of each request, in order of arrival
    """
    counts = chains.counts[order]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    begins = (np.cumsum(chains.counts) - chains.counts)[order]
    requests = np.repeat(np.arange(len(order)), counts)
    places = np.arange(offsets[-1]) - offsets[requests]
    ids = chains.ids[begins[requests] + places]
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    unknown = first[inverse.reshape(-1)] >= offsets[requests]
    hits = counts.copy()
    np.minimum.at(hits, requests[unknown], places[unknown])
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    blocks = Blocks(ids=rank[inverse.reshape(-1)], offsets=offsets, tokens=tokens)
    return blocks, np.minimum(hits * tokens, input_tokens - 1)


def block_size(
    counts: Integers, *, input_tokens: NDArray[Any], lines: Integers, bad: BadRows
) -> tuple[int, NDArray[np.bool_]]:
    """Tokens of a block, from the number of hashes of each request: all its blocks, or all the full ones.

    The requests that the best size does not explain are bad rows, and False in the answer.
    """
    fits = {size: (counts == -(-input_tokens // size)) | (counts == input_tokens // size) for size in BLOCK_SIZES}
    for size, each in fits.items():
        if each.all():
            return size, each
    best = max(fits, key=lambda size: int(fits[size].sum()))
    wrong = np.flatnonzero(~fits[best]).tolist()
    bad.add(
        ImportProblem(
            int(lines[place]),
            "hash_ids",
            f"{counts[place]} hashes do not cover {input_tokens[place]} tokens in blocks of {best}",
        )
        for place in wrong
    )
    return best, fits[best]
