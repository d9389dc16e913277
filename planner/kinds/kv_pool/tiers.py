"""The tiers of a design: what each holds, for how long, what it hits, and how fast it reads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.formulas import fetching
from planner.formulas import tiers as arrangements
from planner.kinds.kv_pool.physics import Physics
from planner.kinds.kv_pool.spec import KvPoolSpec

HBM, DRAM, SSD = 0, 1, 2
NAMES = ("hbm", "dram", "ssd")
LABELS = ("HBM", "DRAM", "SSD")


@dataclass(frozen=True, slots=True)
class Capacities:
    """Bytes of each tier over all nodes, tokens they hold, and the reach of the tiers down to each."""

    stored_bytes: tuple[float, float, float]
    tokens: NDArray[np.float64]
    reach_tokens: NDArray[np.float64]


def tier_bytes(spec: KvPoolSpec) -> tuple[float, float, float]:
    """Bytes of HBM, DRAM and SSD over all nodes; less than a byte is none."""
    hbm = spec.nodes * spec.gpus_per_node * spec.hbm_bytes_per_gpu
    dram, ssd = spec.nodes * spec.dram_bytes_per_node, spec.nodes * spec.ssd_bytes_per_node
    return hbm if hbm >= 1 else 0.0, dram if dram >= 1 else 0.0, ssd if ssd >= 1 else 0.0


def capacities(spec: KvPoolSpec, *, physics: Physics) -> Capacities:
    """What the tiers hold; copies of a latent on each GPU take their place in HBM."""
    stored = tier_bytes(spec)
    tokens = np.array(stored) / physics.stored_bytes_per_token
    tokens[HBM] /= physics.hbm_copies
    return Capacities(stored, tokens, reach_tokens(tokens, relation=spec.relation))


def reach_tokens(tokens: NDArray[np.float64], *, relation: str) -> NDArray[np.float64]:
    """Capacity of the one LRU that hits as much as the tiers down to each; tiers along the last axis [tokens]."""
    hbm, dram, ssd = np.moveaxis(tokens, -1, 0)
    if relation == "inclusive":
        return np.maximum.accumulate(tokens, axis=-1)
    if relation == "exclusive":
        return np.cumsum(tokens, axis=-1)
    both = hbm + dram
    return np.stack((hbm, both, np.maximum(both, ssd)), axis=-1)


@dataclass(frozen=True, slots=True)
class Link:
    """How a tier is read by one prompt, with the design's own traffic on the link."""

    bytes_per_s: float
    """Of an idle link, for one prompt."""
    latency_s: float
    utilisation: float
    """By what is read, at most the limit."""
    served_share: float
    """Of the hits: beyond the limit prompts are computed again."""
    effective_bytes_per_s: float

    def transfer_s(self, read_bytes: float) -> float:
        """Time of a read without latency; infinite when the link gives nothing."""
        return read_bytes / self.effective_bytes_per_s if self.effective_bytes_per_s > 0 else math.inf

    def idle(self) -> Link:
        """The same link with nothing on it."""
        return Link(self.bytes_per_s, self.latency_s, 0.0, 1.0, self.bytes_per_s)


def prompt_bytes_per_s(spec: KvPoolSpec) -> tuple[float, float]:
    """What one prompt reads with on idle links: DRAM with those of its own GPUs, SSD with its node's drives."""
    share = spec.prefill_gpus / spec.gpus_per_node
    return spec.dram_read_bytes_per_s * share, spec.ssd_read_bytes_per_s


def link(
    spec: KvPoolSpec, *, bytes_per_s: float, latency_s: float, wanted_bytes_per_s: float, total_bytes_per_s: float
) -> Link:
    """A link of which ``wanted`` is asked out of ``total`` over all nodes."""
    asked = wanted_bytes_per_s / total_bytes_per_s
    used = min(asked, spec.link_limit)
    idle = bytes_per_s * spec.link_efficiency
    if spec.contention == "fifo":
        effective = idle / fetching.queued_factor(used)
    else:
        effective = fetching.shared_bytes_per_s(idle, utilisation=used)
    return Link(idle, latency_s, used, 1.0 if asked <= spec.link_limit else spec.link_limit / asked, effective)


def exclusive_pays(spec: KvPoolSpec) -> tuple[bool, bool]:
    """Whether DRAM should hold only what HBM dropped, and SSD only what DRAM dropped."""
    hbm, dram, ssd = tier_bytes(spec)
    return arrangements.exclusive_pays(hbm, farther=dram), arrangements.exclusive_pays(hbm + dram, farther=ssd)
