"""The metrics of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.core.result import Metric
from planner.formulas.cost import HOURS_PER_MONTH
from planner.kinds.gateway.metrics import figure
from planner.kinds.gateway.plan import Plan


def metrics(plan: Plan) -> Mapping[str, Metric]:
    """Every metric of a design by name."""
    found = (*_index(plan), *_replicas(plan), *_failure(plan), *_money(plan))
    return {metric.definition.name: metric for metric in found}


def _index(plan: Plan) -> Iterator[Metric]:
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


def _replicas(plan: Plan) -> Iterator[Metric]:
    spec, load, sized = plan.spec, plan.load, plan.sizing
    yield figure("gateway_replicas", sized.replicas)
    yield figure("replicas_needed", sized.needed)
    yield figure(
        "streams",
        load.streams,
        working=f"{spec.peak_rps:,g} × ({spec.ttft_s:g} + {spec.output_tokens:,g} × {spec.tpot_s:g}) s",
    )
    yield figure("events_per_s", load.events_per_s)
    yield figure("cores_used", sized.cores)
    yield figure("busiest_utilisation", sized.busiest_share)
    after = sized.survivor_busiest
    yield figure("survivor_utilisation", None if after is None else after[1], objective=1.0)


def _failure(plan: Plan) -> Iterator[Metric]:
    spec = plan.spec
    yield figure(
        "requests_lost_before_ejection",
        plan.probes.worst_lost,
        working=f"{spec.peak_rps:,g} / {spec.instances:,} × {spec.probe_interval_s:g} s × {spec.probe_failures}",
    )


def _money(plan: Plan) -> Iterator[Metric]:
    bill = plan.bill
    yield figure("cost_usd_per_h", bill.usd_per_h)
    yield figure("cost_usd_per_month", bill.usd_per_h * HOURS_PER_MONTH)
    yield figure("cost_usd_per_m_requests", bill.per_m_requests(plan.load.rps))
    yield figure("cost_usd_per_m_output_tokens", bill.per_m_tokens(plan.load.output_tokens_per_s))
    for name, usd_per_h in bill.parts.items():
        yield figure(f"{name}_usd_per_h", usd_per_h)
