"""A KV cache in tiers: exact replay of traces."""

from __future__ import annotations

from sims.parts.interning import dense_ids
from sims.systems.kv_pool.replay import (
    EXCLUSIVE,
    INCLUSIVE,
    INCLUSIVE_MISSES,
    MissRatioCurve,
    Replay,
    TierReplay,
    clairvoyant,
    miss_ratio_curve,
    replay,
    replay_tiers,
)

__all__ = [
    "EXCLUSIVE",
    "INCLUSIVE",
    "INCLUSIVE_MISSES",
    "MissRatioCurve",
    "Replay",
    "TierReplay",
    "clairvoyant",
    "dense_ids",
    "miss_ratio_curve",
    "replay",
    "replay_tiers",
]
