"""Small pools for the tests, a fingerprint of a run, and a replay block by block that knows nothing of segments."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from sims.systems.kv_pool import Config, Exponential, Links, Outcome, Prefixes, SessionClass, Sessions, Tier, simulate
from sims.systems.kv_pool.audit import audit

BLOCK = 16


def config(**changes: Any) -> Config:
    """Two nodes with a kilobyte-sized HBM, a pool of DRAM that holds what was dropped, and SSD with copies."""
    values: dict[str, Any] = {
        "nodes": 2,
        "kv_bytes_per_token": 1.0,
        "block_tokens": BLOCK,
        "prefill_s": 1e-3,
        "prefill_s_per_token": 2e-4,
        "prefill_s_per_token2": 1e-8,
        "hbm_bytes_per_node": 4000.0,
        "dram": Tier(bytes_per_node=8000.0, holds="dropped", latency_s=1e-4),
        "ssd": Tier(bytes_per_node=40_000.0, latency_s=1e-3),
        "links": Links(pcie=3e4, network=2e4, ssd_read=1e4, ssd_write=1e4),
        "layers": 8,
    }
    return Config(**{**values, **changes})


def sessions(*, rate: float = 1.0, duration_s: float = 300.0, shared: bool = True, **changes: Any) -> Sessions:
    """Talkative people, hasty agents and single questions; most begin with one of a few prefixes."""
    classes = (
        SessionClass(
            "people", gaps=Exponential(30.0), share=0.5, user_tokens=90, answer_tokens=30, sigma=0.6, shared=shared
        ),
        SessionClass("agents", gaps=Exponential(3.0), share=0.3, follow=0.9, user_tokens=40, answer_tokens=20),
        SessionClass("once", share=0.2, follow=0.0, user_tokens=300, answer_tokens=0, sigma=0.5, kept=False),
    )
    values: dict[str, Any] = {
        "sessions_per_s": rate,
        "duration_s": duration_s,
        "classes": classes,
        "prefixes": Prefixes(groups=5, tokens=100, exponent=1.0),
        "most_tokens": 2000,
    }
    return Sessions(**{**values, **changes})


def cache_only(blocks: int, *, block_tokens: int = 1, **changes: Any) -> Config:
    """One node whose HBM holds so many blocks; computing takes no time worth speaking of."""
    values: dict[str, Any] = {
        "nodes": 1,
        "kv_bytes_per_token": 1.0,
        "block_tokens": block_tokens,
        "prefill_s_per_token": 1e-12,
        "hbm_bytes_per_node": float(blocks * block_tokens),
    }
    return Config(**{**values, **changes})


def audited(setup: Config, **options: Any) -> Outcome:
    """A run whose invariants are checked at every sample."""
    return simulate(setup, check=lambda plane: audit(plane.state), **options)


def fingerprint(outcome: Outcome) -> str:
    """All histograms, sums, counts, tiers and links."""
    state = hashlib.sha256()
    for name in sorted(outcome.histograms):
        state.update(outcome.histograms[name].tobytes())
    for name in sorted(outcome.waits):
        state.update(outcome.waits[name].tobytes())
    state.update(outcome.batches.tobytes() + outcome.by_turn.tobytes())
    state.update(repr(outcome.whole.tolist()).encode())
    counts = (outcome.events, outcome.arrived, outcome.finished, outcome.rejected, outcome.in_flight)
    state.update(repr((counts, outcome.restarted, outcome.simulated_s, outcome.tiers, outcome.links)).encode())
    return state.hexdigest()


Path = list[tuple[Any, int]]


def paths_of(source: Sessions, *, seed: int, block_tokens: int) -> list[tuple[Path, int]]:
    """For each request its chain of blocks as it is kept, and how many of them the prompt has."""
    names: dict[int, int] = {}
    found = []
    for chunk in source.chunks(seed):
        for turn in chunk:
            if turn["turn"] == 0:
                names[int(turn["ticket"])] = len(found)
            prompt, kept = int(turn["tokens"]) // block_tokens, int(turn["kept_tokens"]) // block_tokens
            shared = 0
            if turn["group"] >= 0 and source.prefixes is not None:
                shared = min(source.prefixes.tokens // block_tokens, prompt)
            mine = names[int(turn["ticket"])]
            path: Path = [(("group", int(turn["group"])), index) for index in range(shared)]
            path += [(("session", mine), index) for index in range(kept - shared)]
            found.append((path, prompt))
    return found


def block_by_block(
    requests: Sequence[tuple[Path, int]], *, sizes: Sequence[int], exclusive: bool
) -> tuple[list[int], list[int]]:
    """Hits and writes of each tier with ordered dictionaries: leading blocks found; all touched, the deepest first."""
    tiers: list[OrderedDict[Any, None]] = [OrderedDict() for _ in sizes]
    hits, writes = [0] * len(sizes), [0] * len(sizes)
    for path, prompt in requests:
        for block in path[:prompt]:
            where = next((tier for tier, held in enumerate(tiers) if block in held), None)
            if where is None:
                break
            hits[where] += 1
        for tier in range(1 if exclusive else len(sizes)):
            for block in reversed(path):
                if exclusive:
                    for lower in tiers[1:]:
                        lower.pop(block, None)
                writes[tier] += block not in tiers[tier]
                tiers[tier][block] = None
                tiers[tier].move_to_end(block)
        for tier, held in enumerate(tiers):
            while len(held) > sizes[tier]:
                block, _ = held.popitem(last=False)
                if exclusive and tier + 1 < len(tiers):
                    tiers[tier + 1][block] = None
                    writes[tier + 1] += 1
    return hits, writes


def totals(outcome: Outcome) -> list[int]:
    """Blocks hit in each tier over the whole run."""
    return [int(outcome.whole.hbm), int(outcome.whole.dram), int(outcome.whole.ssd)]


def written(outcome: Outcome, *, block_bytes: float) -> list[int]:
    """Blocks written into the tiers below HBM."""
    return [int(np.rint(tier.written_bytes / block_bytes)) for tier in outcome.tiers[1:]]
