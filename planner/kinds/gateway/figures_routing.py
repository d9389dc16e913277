"""Metrics of the index and of routing."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.core.result import Metric
from planner.kinds.gateway.metrics import figure
from planner.kinds.gateway.plan import Plan


def index(plan: Plan) -> Iterator[Metric]:
    """Size, look-ups and events of the index."""
    spec, index = plan.spec, plan.index
    blocks = index.blocks_per_request
    yield figure("blocks_per_request", blocks, working=f"{spec.input_tokens:,g} / {spec.block_tokens:,}")
    yield figure(
        "lookups_per_s_per_instance_probing",
        index.lookups_probing_per_s,
        working=f"{spec.peak_rps:,g} × {blocks:,} × {spec.instances:,}",
    )
    yield figure("lookups_per_s_prefix_tree", index.lookups_tree_per_s, working=f"{spec.peak_rps:,g} × {blocks:,}")
    yield figure(
        "index_nodes",
        index.nodes,
        working=f"{spec.instances:,} × {spec.kv_tokens_per_instance:,} / {spec.block_tokens:,}",
    )
    yield figure(
        "index_bytes",
        index.bytes,
        working=f"{index.nodes:,.10g} × {spec.index_bytes_per_node:g} B = {index.bytes / 2**20:,.1f} MiB",
    )
    yield figure("index_events_per_s", index.events_per_s)
    yield figure("index_events_per_s_per_instance", index.events_per_s_per_instance)
    yield figure("index_intake", index.intake_share, basis="assumed")
    yield figure("index_stale_share", plan.stale_share)
    yield figure("duplicate_prefills", plan.duplicate_prefills)


def routing(plan: Plan) -> Iterator[Metric]:
    """Hits, waits and capacity with the policy of the design."""
    policies, chosen = plan.policies, plan.policies.chosen
    random = policies.outcomes["random"]
    yield figure("hit_share", chosen.delivered)
    yield figure("hit_share_held", policies.held.share)
    yield figure("hit_share_captured", chosen.captured)
    yield figure("hit_share_random", random.delivered)
    yield figure("prefix_hit_share", chosen.hits.prefix)
    yield figure("history_hit_share", chosen.hits.history)
    yield figure("reusable_share", policies.reuse.reusable_share)
    kept_s = chosen.hits.retention_s
    yield figure("retention_s", kept_s if math.isfinite(kept_s) else None)
    yield figure("instance_utilisation", chosen.service.rho)
    yield figure("prefill_utilisation", chosen.service.prefill_share)
    yield figure("prefill_wait_s", chosen.wait_s, basis="extrapolated")
    yield figure("ttft_mean_s", chosen.ttft_s, basis="extrapolated")
    yield figure("ttft_p99_s", chosen.ttft_p99_s, basis="extrapolated", objective=plan.spec.ttft_p99_slo_s)
    yield figure("load_skew", chosen.skew)
    yield figure("max_rps", chosen.capacity_rps)
    yield figure("relative_capacity", policies.relative(chosen))
    yield figure("affinity_gain", policies.gain)
    yield figure("instances_needed", plan.spec.instances * plan.load.rps / chosen.capacity_rps)
    yield figure("instances_needed_random", plan.spec.instances * plan.load.rps / random.capacity_rps)
