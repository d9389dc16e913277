"""What the system is told: nodes, tiers, links, coefficients of prefill and policies, all as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sims.parts.eviction.dispatch import CODES

COPIES, DROPPED, KEPT = "copies", "dropped", "kept"
"""What a tier below HBM holds.

``copies``: what the tiers above got, written at once (write-through, inclusive).
``dropped``: what the tier above evicted; read back, it leaves (exclusive).
``kept``: what the tier above evicted; read back, it stays (write-back).
"""
HOLDS = (COPIES, DROPPED, KEPT)
AFFINITY, RANDOM, ROUND_ROBIN, LEAST_LOADED = "affinity", "random", "round_robin", "least_loaded"
PLACES = (AFFINITY, RANDOM, ROUND_ROBIN, LEAST_LOADED)
ALWAYS, CHEAPER, NEVER = "always", "cheaper", "never"
FETCHES = (ALWAYS, CHEAPER, NEVER)
TIERS = ("hbm", "dram", "ssd")


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier below HBM: ``bytes_per_node`` on each node, one pool of all nodes or each node's own.

    Attributes
    ----------
    holds : one of `COPIES`, `DROPPED`, `KEPT`.
    pooled : all nodes read all of it, from others over the network; else a node finds only its own.
    every_touch : copies are refreshed by every touch; else only when the tiers above did not hold everything.
    latency_s : before the first byte of a read.
    """

    bytes_per_node: float = 0.0
    holds: str = COPIES
    pooled: bool = True
    every_touch: bool = True
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        if self.holds not in HOLDS:
            raise ValueError(f"holds must be one of {', '.join(HOLDS)}, is {self.holds}")
        if not (math.isfinite(self.bytes_per_node) and self.bytes_per_node >= 0):
            raise ValueError(f"bytes_per_node must be a finite size of at least 0, is {self.bytes_per_node}")


@dataclass(frozen=True, slots=True)
class Links:
    """Bandwidths of a node, one way [bytes/s]; infinite ones never make anybody wait."""

    pcie: float = math.inf
    network: float = math.inf
    ssd_read: float = math.inf
    ssd_write: float = math.inf

    def __post_init__(self) -> None:
        for name in ("pcie", "network", "ssd_read", "ssd_write"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be a bandwidth above 0, is {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Config:
    """A fleet of nodes that prefill and keep KV.

    Attributes
    ----------
    nodes : each is a prefill server with HBM, DRAM, SSD and links.
    kv_bytes_per_token : KV in all tiers and on all links.
    block_tokens : only whole blocks are kept and found.
    hbm_bytes_per_node : what weights leave for KV.
    dram, ssd : the tiers below; without bytes a tier is not there.
    links : bandwidths of a node.
    prefill_s, prefill_s_per_token, prefill_s_per_token2 : a prompt's tokens from x to y take
        prefill_s + linear·(y − x) + square·(y² − x²) on a node.
    layers : KV is fetched layer by layer while others are computed; 1 fetches all first.
    ttft_fixed_s : what passes besides: gateway, look-up, first decode step.
    fetch : read what a lower tier holds ``always``, when that is done sooner than computing it (``cheaper``: with the
        waiting of the moment), or ``never``.
    eviction : one of the policies in `sims.parts.eviction`; ``ttl`` uses the classes' ``ttl_s``.
    place : which node computes a turn: its session's own (``affinity``), any (``random``), in turn, or the one with
        the fewest tokens to compute.
    state_blocks : a prefix can be resumed only at every so many blocks (sliding-window and recurrent layers).
    serves_from_s : until then requests only touch the caches: nothing is computed, read or written and nobody waits, so
        that caches which take hours to fill do not leave a queue that takes as long to work off [s of simulated time].
    """

    nodes: int
    kv_bytes_per_token: float
    prefill_s_per_token: float
    block_tokens: int = 256
    hbm_bytes_per_node: float = 0.0
    dram: Tier = field(default_factory=Tier)
    ssd: Tier = field(default_factory=Tier)
    links: Links = field(default_factory=Links)
    prefill_s: float = 0.0
    prefill_s_per_token2: float = 0.0
    layers: int = 1
    ttft_fixed_s: float = 0.0
    fetch: str = ALWAYS
    eviction: str = "lru"
    place: str = AFFINITY
    state_blocks: int = 1
    serves_from_s: float = 0.0

    def __post_init__(self) -> None:
        for name in ("nodes", "block_tokens", "layers", "state_blocks"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, is {getattr(self, name)}")
        times = ("prefill_s", "prefill_s_per_token", "prefill_s_per_token2", "ttft_fixed_s", "serves_from_s")
        for name in (*times, "hbm_bytes_per_node"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number of at least 0, is {value}")
        if not (math.isfinite(self.kv_bytes_per_token) and self.kv_bytes_per_token > 0):
            raise ValueError(f"kv_bytes_per_token must be above 0, is {self.kv_bytes_per_token}")
        for name, known in (("fetch", FETCHES), ("place", PLACES), ("eviction", tuple(CODES))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, is {getattr(self, name)}")

    @property
    def block_bytes(self) -> float:
        """Bytes of a block."""
        return self.kv_bytes_per_token * self.block_tokens

    def tier_bytes(self) -> tuple[float, float, float]:
        """Bytes of HBM, DRAM and SSD on a node."""
        return self.hbm_bytes_per_node, self.dram.bytes_per_node, self.ssd.bytes_per_node

    def caches(self) -> tuple[int, int, int]:
        """How many caches each tier consists of: one a node, or one for all."""
        return self.nodes, 1 if self.dram.pooled else self.nodes, 1 if self.ssd.pooled else self.nodes
