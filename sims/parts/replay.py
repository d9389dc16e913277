"""Requests for a gateway given one by one: a trace, with the blocks of its prompts if it tells them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import CHUNK, stream
from sims.parts.calls import CALL_ARRIVAL
from sims.parts.conversations import Chunk
from sims.parts.paths import compress, stem_table
from sims.parts.records import records
from sims.parts.trace_plan import INSTANT_S


@dataclass(frozen=True, slots=True)
class Replay:
    """Requests given one by one: sorted arrivals [s], tokens, and paths through shared prefixes.

    Without ``paths`` (see `replay_blocks`) every prompt stands alone.
    """

    at_s: NDArray[np.float64]
    tokens: NDArray[np.int64]
    output: NDArray[np.int64]
    stem: NDArray[np.int64] | None = None
    blocks: NDArray[np.int64] | None = None
    stem_records: np.recarray | None = None
    rate_scale: float = 1.0
    """How much faster than recorded."""
    important_share: float = 1.0

    @property
    def finite(self) -> bool:
        return True

    @property
    def sessions(self) -> int:
        return 0

    @property
    def horizon_s(self) -> float:
        if not len(self.at_s):
            return 0.0
        span_s = float(self.at_s[-1] - self.at_s[0]) / self.rate_scale
        return span_s if span_s > 0 else INSTANT_S

    def stems(self, seed: int, *, block_tokens: int) -> np.recarray:  # noqa: ARG002 - the trace has its blocks
        if self.stem_records is not None:
            return self.stem_records
        none = np.zeros(0, np.int64)
        return stem_table(parent=none, depth=none, end=none, keys=np.zeros(0))

    def chunks(self, seed: int, *, block_tokens: int) -> Iterator[Chunk]:
        luck, priorities = stream(seed, name="routing luck"), stream(seed, name="priorities")
        for begin in range(0, len(self.at_s), CHUNK):
            rows = slice(begin, begin + CHUNK)
            tokens = self.tokens[rows]
            chunk = records(CALL_ARRIVAL, count=len(tokens))
            chunk.at_s = (self.at_s[rows] - self.at_s[0]) / self.rate_scale
            chunk.luck = luck.random(len(tokens))
            chunk.priority = (priorities.random(len(tokens)) < self.important_share).astype(np.int64)
            chunk.tokens, chunk.output, chunk.session = tokens, self.output[rows], -1
            chunk.stem = -1 if self.stem is None else self.stem[rows]
            chunk.blocks = tokens // block_tokens if self.blocks is None else self.blocks[rows]
            chunk.kept = chunk.blocks
            yield chunk


def replay_blocks(
    *,
    at_s: NDArray[np.float64],
    tokens: NDArray[np.int64],
    output: NDArray[np.int64],
    block_ids: NDArray[np.int64],
    offsets: NDArray[np.int64],
    rate_scale: float = 1.0,
) -> Replay:
    """A trace whose prompts are given as blocks (all in a row; ``offsets`` says where each begins, and the total).

    Answers are not cached: a trace does not tell their blocks. The blocks' size [tokens] is the config's.
    """
    paths = compress(np.asarray(block_ids, np.int64), offsets=np.asarray(offsets, np.int64))
    return Replay(
        at_s=np.asarray(at_s, np.float64),
        tokens=np.asarray(tokens, np.int64),
        output=np.asarray(output, np.int64),
        stem=paths.stem,
        blocks=paths.blocks,
        stem_records=paths.stems,
        rate_scale=rate_scale,
    )
