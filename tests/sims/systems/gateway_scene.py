"""Small gateways for the tests, a fingerprint of a run, and a cache kept block by block."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

import numpy as np

from sims.parts.paths import stem_table
from sims.systems.gateway import Config, Conversations, Outcome, Replay, simulate
from sims.systems.gateway.audit import audit


def config(**changes: Any) -> Config:
    """Four instances that hold three or four conversations each."""
    values: dict[str, Any] = {
        "instances": 4,
        "prefill_s_per_token": 1e-4,
        "prefill_fixed_s": 0.002,
        "token_s": 0.01,
        "slots": 8,
        "cache_blocks": 120,
        "block_tokens": 16,
    }
    return Config(**{**values, **changes})


def talks(**changes: Any) -> Conversations:
    """Short conversations behind five prefixes."""
    values: dict[str, Any] = {
        "rate_per_s": 20.0,
        "groups": 5,
        "group_tokens": 128,
        "one_shot_share": 0.2,
        "live_sessions": 30,
        "turns": 4.0,
        "first_tokens": 90.0,
        "message_tokens": 30.0,
        "output_tokens": 20.0,
        "most_tokens": 1500,
    }
    limits = {} if {"duration_s", "requests"} & set(changes) else {"duration_s": 60.0}
    return Conversations(**{**values, **limits, **changes})


def audited(setup: Config, **options: Any) -> Outcome:
    """A run whose invariants are checked at every sample."""
    return simulate(setup, check=lambda plane: audit(plane.state), **options)


def fingerprint(outcome: Outcome) -> str:
    """All histograms, tallies, counts and verdicts."""
    state = hashlib.sha256()
    for name in sorted(outcome.histograms):
        state.update(outcome.histograms[name].tobytes())
    state.update(outcome.batches.tobytes())
    state.update(repr((sorted(outcome.counts.items()), outcome.simulated_s, outcome.verdicts)).encode())
    return state.hexdigest()


def plain(at_s: np.ndarray, tokens: np.ndarray, output: np.ndarray | None = None) -> Replay:
    """Requests that share nothing."""
    answers = np.ones(len(at_s), np.int64) if output is None else output
    return Replay(at_s=at_s, tokens=tokens.astype(np.int64), output=answers.astype(np.int64))


def poisson_times(rate_per_s: float, count: int, *, seed: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate_per_s, count))


def one_prefix(rate_per_s: float, count: int, *, prefix: int, own: int, output: int, block: int, seed: int) -> Replay:
    """Requests that all begin with the same prefix and share nothing else [tokens]."""
    tokens = np.full(count, prefix + own)
    stems = stem_table(
        parent=np.array([-1]), depth=np.array([0]), end=np.array([prefix // block]), keys=np.array([0.37])
    )
    return Replay(
        at_s=poisson_times(rate_per_s, count, seed=seed),
        tokens=tokens,
        output=np.full(count, output),
        stem=np.zeros(count, np.int64),
        blocks=tokens // block,
        stem_records=stems,
    )


class BlockCache:
    """One instance's cache, a block at a time: hits first, then room by evicting the oldest, the root touched last."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.blocks: OrderedDict[object, None] = OrderedDict()

    def serve(self, path: list[object], *, kept: list[object]) -> int:
        """Hits among the blocks of ``path``; then ``kept`` (which begins with them) is cached."""
        hits = 0
        for block in path:
            if block not in self.blocks:
                break
            hits += 1
        wanted = kept[: self.capacity]
        for block in wanted:
            self.blocks.pop(block, None)
        while len(self.blocks) + len(wanted) > self.capacity:
            self.blocks.popitem(last=False)
        for block in reversed(wanted):
            self.blocks[block] = None
        return hits


def replay_by_blocks(outcome: Outcome, stems: np.recarray) -> list[int]:
    """Hits of the logged look-ups, found again block by block."""
    caches = [BlockCache(outcome.config.cache_blocks) for _ in range(outcome.config.instances)]
    found = []
    for turn, row in enumerate(outcome.log):
        kept = named_blocks(stems, row, alone=turn)
        found.append(caches[int(row.instance)].serve(kept[: int(row.blocks)], kept=kept))
    return found


def named_blocks(stems: np.recarray, row: np.record, *, alone: int) -> list[object]:
    """A name for each block of a path: equal names are equal blocks behind equal prefixes."""
    chain, node = [], int(row.stem)
    while node >= 0:
        chain.append(node)
        node = int(stems[node].parent)
    names: list[object] = []
    for node in reversed(chain):
        names += [(node, at) for at in range(int(stems[node].end - stems[node].depth))]
    owner = ("session", int(row.session), int(row.generation)) if row.session >= 0 else ("alone", alone)
    names += [(owner, at) for at in range(int(row.kept) - len(names))]
    return names[: int(row.kept)]
