"""The metrics of a plan: of adapters, memory, hits and steps; those of the fleet are in `figures_fleet`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from planner.core.quantities import show
from planner.core.result import Metric
from planner.formulas.slot_cliff import safe_slots
from planner.kinds.multi_lora.figures_fleet import fleet, latencies, money, tenants
from planner.kinds.multi_lora.metrics import figure
from planner.kinds.multi_lora.plan import Plan

Figures = Iterator[Metric]


def metrics(plan: Plan) -> Mapping[str, Metric]:
    """Every metric of a design by name."""
    found = (
        *_adapter(plan),
        *_memory(plan),
        *_hits(plan),
        *_steps(plan),
        *fleet(plan),
        *latencies(plan),
        *tenants(plan),
        *money(plan),
    )
    return {metric.definition.name: metric for metric in found}


def _adapter(plan: Plan) -> Figures:
    spec, base, adapter = plan.spec, plan.parts.base, plan.parts.adapter
    yield figure("adapter_parameters", adapter.parameters, working=_sum_of_matrices(plan))
    yield figure("adapter_bytes", adapter.file_bytes)
    yield figure(
        "all_adapters_bytes",
        spec.adapters * adapter.file_bytes,
        working=f"{spec.adapters:,} × {show(adapter.file_bytes, 'bytes')}",
    )
    yield figure(
        "swap_in_s",
        adapter.gpu_file_bytes / spec.pcie_bytes_per_s,
        working=f"{adapter.gpu_file_bytes:,.0f} B / {show(spec.pcie_bytes_per_s, 'bytes/s')}",
    )
    lora = 2 * adapter.active_parameters
    yield figure("base_flops_per_token", base.flops_per_token, working=f"2 × {base.active_parameters:,.7g}")
    yield figure("lora_flops_per_token", lora)
    yield figure("lora_flops_ratio", lora / base.flops_per_token)


def _sum_of_matrices(plan: Plan) -> str:
    rows = plan.parts.adapter.matrices
    if not rows or len(rows) > 8:
        return ""
    terms = " + ".join(f"{each.count} × ({each.d_in:,} + {each.d_out:,})" for each in rows)
    return f"{plan.spec.rank} × ({terms})"


def _memory(plan: Plan) -> Figures:
    memory, adapter = plan.parts.memory, plan.parts.adapter
    given = plan.spec.adapter_memory_bytes
    working = f"{show(given, 'bytes', shown='GiB')} / {show(memory.gpu_slot_bytes, 'bytes', shown='MiB')}"
    if plan.spec.paged:
        working = f"{show(max(memory.pool_bytes, 0.0), 'bytes')} / {show(memory.gpu_slot_bytes, 'bytes')}"
    stated = (plan.spec.slots is not None and not plan.spec.paged) or memory.gpu_slot_bytes <= 0
    yield figure("resident_adapters", memory.resident_adapters, working="" if stated else working)
    yield figure("slot_bytes", memory.gpu_slot_bytes)
    yield figure("slot_wasted_share", max(adapter.wasted_share, 0.0))
    yield figure("gpu_slots", memory.slots if memory.in_pages is None else round(memory.in_pages))
    yield figure("host_adapters", memory.host_adapters)
    yield figure("kv_tokens", memory.kv_tokens)
    yield figure(
        "kv_tokens_lost",
        memory.kv_tokens_lost,
        working=f"{memory.held:,.4g} × {memory.gpu_slot_bytes:,.0f} B / {memory.kv_bytes_per_token:,.0f} B",
    )
    yield figure("kv_share_lost", memory.kv_share_lost)
    parts = memory.parts()
    yield figure("memory_bytes", math.fsum(parts.values()))
    for name, part in parts.items():
        yield figure(f"memory_{name}_bytes", part)


def _hits(plan: Plan) -> Figures:
    replica, running = plan.replica, plan.running
    tiers = plan.tiers
    yield figure("gpu_hit_share", tiers.gpu)
    yield figure("host_hit_share", max(tiers.host, 0.0))
    yield figure("store_share", max(tiers.store, 0.0))
    yield figure("adapters_per_replica", replica.seen.items)
    different, slots = replica.distinct(running), replica.memory.slots
    safe = safe_slots(replica.seen.popularity, running=running * replica.adapted)
    yield figure("distinct_in_batch", replica.step(running).distinct)
    yield figure("distinct_anywhere", plan.anywhere.distinct(running).mean)
    yield figure("distinct_deviation", different.deviation)
    yield figure("safe_slots", None if plan.spec.paged else safe)
    yield figure("slot_pressure", different.mean / slots if slots and not plan.spec.paged else None)
    found = plan.latency
    yield figure("prefix_hit_share", replica.prefix_hits(running) if found is None else found.prefix_hits)
    trace = plan.parts.asked.trace
    fitted = trace.fit.exponent if trace is not None and trace.fit is not None else None
    yield figure("zipf_exponent", plan.spec.zipf_exponent if trace is None else fitted)


def _steps(plan: Plan) -> Figures:
    replica, running = plan.replica, plan.running
    step = replica.step(running)
    yield figure("step_s", step.total_s)
    yield figure("step_base_s", step.base_s * step.engine_factor)
    yield figure("step_launch_s", step.launch_s * step.engine_factor)
    yield figure("step_read_s", step.read_s * step.engine_factor)
    yield figure("step_factor", step.factor)
    yield figure("step_factor_one", replica.step(1.0).factor)
    yield figure("step_factor_full", replica.step(max(replica.places, 1.0)).factor)
    yield figure("kernels_per_step", plan.parts.adapter.kernels)
