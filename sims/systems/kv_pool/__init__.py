"""A KV cache in tiers behind a prefill fleet: exact replay of traces, and the whole system with queues and faults.

- `replay`, `replay_tiers`, `miss_ratio_curve`, `clairvoyant`: block ids through caches, hits only.
- `simulate`, `side_by_side`: requests of `Sessions` or a `TraceSource` through a `Config`; gives an `Outcome`.
"""

from __future__ import annotations

from sims.parts.gaps import Exponential, GapLaw, Hyperexponential, LogNormal, Observed
from sims.parts.interning import dense_ids
from sims.parts.sessions import Prefixes, SessionClass, Sessions
from sims.systems.kv_pool.config import (
    AFFINITY,
    ALWAYS,
    CHEAPER,
    COPIES,
    DROPPED,
    KEPT,
    LEAST_LOADED,
    NEVER,
    RANDOM,
    ROUND_ROBIN,
    TIERS,
    Config,
    Links,
    Tier,
)
from sims.systems.kv_pool.outcome import ClassOutcome, LinkOutcome, Outcome, TierOutcome
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
from sims.systems.kv_pool.run import Loss, Switch, side_by_side, simulate, warm_up_s
from sims.systems.kv_pool.source import TraceSource
from sims.systems.kv_pool.timeline import Sample

__all__ = [
    "AFFINITY",
    "ALWAYS",
    "CHEAPER",
    "COPIES",
    "DROPPED",
    "EXCLUSIVE",
    "INCLUSIVE",
    "INCLUSIVE_MISSES",
    "KEPT",
    "LEAST_LOADED",
    "NEVER",
    "RANDOM",
    "ROUND_ROBIN",
    "TIERS",
    "ClassOutcome",
    "Config",
    "Exponential",
    "GapLaw",
    "Hyperexponential",
    "LinkOutcome",
    "Links",
    "LogNormal",
    "Loss",
    "MissRatioCurve",
    "Observed",
    "Outcome",
    "Prefixes",
    "Replay",
    "Sample",
    "SessionClass",
    "Sessions",
    "Switch",
    "Tier",
    "TierOutcome",
    "TierReplay",
    "TraceSource",
    "clairvoyant",
    "dense_ids",
    "miss_ratio_curve",
    "replay",
    "replay_tiers",
    "side_by_side",
    "simulate",
    "warm_up_s",
]
