"""From block hashes to chains of numbers, and to the prefix each request finds in a cache without limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.catalog.importers import ImportProblem
from planner.core.simulation import Blocks

BLOCK_SIZES = (512, 256, 128, 64, 32, 16, 1024, 2048)
"""Tokens of a block: Mooncake 512, engines 16 to 128. The first that explains every request is taken."""


def numbered(
    hashes: Sequence[Sequence[Any]], *, input_tokens: NDArray[np.int64], lines: Sequence[int]
) -> tuple[Blocks, NDArray[np.int64]]:
    """The blocks of each request by number, and its cached prefix [tokens].

    A request finds the leading blocks that earlier requests had, up to the first unknown one; its own blocks are
    known from its arrival on, and nothing is forgotten. One token at least is computed: it yields the first output.

    Parameters
    ----------
    hashes : of each request's blocks, in order of arrival; a hash stands for the block and all before it
    input_tokens : length of each request
    lines : line of each request in its file, for messages
    """
    size = block_size(hashes, input_tokens=input_tokens, lines=lines)
    numbers: dict[Any, int] = {}
    cached = np.zeros(len(hashes), dtype=np.int64)
    offsets = np.zeros(len(hashes) + 1, dtype=np.int64)
    ids: list[int] = []
    for index, chain in enumerate(hashes):
        known = len(numbers)
        mine = [numbers.setdefault(each, len(numbers)) for each in chain]
        hits = next((place for place, number in enumerate(mine) if number >= known), len(mine))
        cached[index] = hits * size
        ids += mine
        offsets[index + 1] = len(ids)
    blocks = Blocks(ids=np.asarray(ids, dtype=np.int64), offsets=offsets, tokens=size)
    return blocks, np.minimum(cached, input_tokens - 1)


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
