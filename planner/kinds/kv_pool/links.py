"""The links that tiers are read over, with the traffic that the design's own hits put on them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from planner.kinds.kv_pool.physics import Physics
from planner.kinds.kv_pool.reuse import Reuse
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import DRAM, SSD, Link, link, prompt_bytes_per_s

Array = NDArray[np.float64]


def links(spec: KvPoolSpec, *, physics: Physics, reuse: Reuse, hits: Array) -> Mapping[str, Link]:
    """The links with the traffic that these hits put on them."""
    read = reuse.reusable_tokens_per_s * physics.stored_bytes_per_token * physics.read_copies
    dram_idle, ssd_idle = prompt_bytes_per_s(spec)
    usable = spec.nodes * spec.link_efficiency
    remote = 1 - 1 / spec.nodes if spec.placement == "pool" else 0.0
    over_network = remote * read * float(hits[DRAM] + hits[SSD])
    network = link(
        spec,
        bytes_per_s=spec.network_bytes_per_s * spec.prefill_gpus / spec.gpus_per_node,
        latency_s=0.0,
        wanted_bytes_per_s=over_network,
        total_bytes_per_s=usable * spec.network_bytes_per_s,
    )
    dram = link(
        spec,
        bytes_per_s=dram_idle,
        latency_s=spec.dram_latency_s,
        wanted_bytes_per_s=read * float(hits[DRAM]),
        total_bytes_per_s=usable * spec.dram_read_bytes_per_s,
    )
    ssd = link(
        spec,
        bytes_per_s=ssd_idle,
        latency_s=spec.ssd_latency_s,
        wanted_bytes_per_s=read * float(hits[SSD]),
        total_bytes_per_s=usable * spec.ssd_read_bytes_per_s,
    )
    if remote > 0:
        dram, ssd = _behind(dram, network), _behind(ssd, network)
    return {"dram": dram, "ssd": ssd, "network": network}


def _behind(tier: Link, network: Link) -> Link:
    """A tier read over the network has the narrower of both links, and the share that both serve."""
    return Link(
        min(tier.bytes_per_s, network.bytes_per_s),
        tier.latency_s,
        tier.utilisation,
        min(tier.served_share, network.served_share),
        min(tier.effective_bytes_per_s, network.effective_bytes_per_s),
    )
