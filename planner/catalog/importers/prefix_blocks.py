"""From block hashes to the prefix each request finds in a cache without limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.catalog.importers import ImportProblem

BLOCK_SIZES = (512, 256, 128, 64, 32, 16, 1024, 2048)
"""Tokens of a block: Mooncake 512, engines 16 to 128. The first that explains every request is taken."""


def cached_by_prefix(
    blocks: Sequence[Sequence[Any]], *, input_tokens: NDArray[np.int64], lines: Sequence[int]
) -> tuple[NDArray[np.int64], int]:
    """Cached prefix of each request [tokens], and the tokens of a block.

    A request finds the leading blocks that earlier requests had, up to the first unknown one; its own blocks are
    known from its arrival on, and nothing is forgotten. One token at least is computed: it yields the first output.

    Parameters
    ----------
    blocks : hashes of each request's blocks, in order of arrival; a hash stands for the block and all before it
    input_tokens : length of each request
    lines : line of each request in its file, for messages
    """
    size = block_size(blocks, input_tokens=input_tokens, lines=lines)
    known: set[Any] = set()
    cached = np.zeros(len(blocks), dtype=np.int64)
    for index, hashes in enumerate(blocks):
        hits = 0
        for each in hashes:
            if each not in known:
                break
            hits += 1
        known.update(hashes)
        cached[index] = hits * size
    return np.minimum(cached, input_tokens - 1), size


def block_size(blocks: Sequence[Sequence[Any]], *, input_tokens: NDArray[np.int64], lines: Sequence[int]) -> int:
    """Tokens of a block, from the number of hashes of each request: all its blocks, or all the full ones."""
    counts = np.asarray([len(hashes) for hashes in blocks], dtype=np.int64)
    fits = {size: (counts == -(-input_tokens // size)) | (counts == input_tokens // size) for size in BLOCK_SIZES}
    for size, each in fits.items():
        if each.all():
            return size
    best = max(fits, key=lambda size: int(fits[size].sum()))
    first = int(np.argmin(fits[best]))
    message = f"{counts[first]} hashes do not cover {input_tokens[first]} tokens in blocks of {best}"
    raise ImportProblem(lines[first], "hash_ids", message)
