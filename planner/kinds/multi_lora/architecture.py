"""The diagram: tenants, limits, the router by adapter, replicas with slots over host memory, and the store."""

from __future__ import annotations

from planner.core.diagram import Box, Diagram, Flow
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted, percent
from planner.kinds.multi_lora.series_fleet import ROUTING_LABELS
from planner.kinds.multi_lora.spec import MultiLoraSpec
from planner.kinds.multi_lora.words import some, times


def architecture(spec: MultiLoraSpec, result: Result) -> Diagram:
    """The design drawn with its own counts and rates."""
    boxes, flows = _front(spec, result)
    more_boxes, more_flows = _levels(spec, result)
    replicas = _replicas(spec, result)
    return Diagram(
        title="One base, many adapters",
        boxes=(*boxes, replicas, *more_boxes),
        flows=(*flows, *more_flows),
        summary=f"{replicas.title} of one base serve {counted(spec.adapters, 'adapter')}: slots on the GPU, host "
        "memory below, a store behind.",
    )


def _front(spec: MultiLoraSpec, result: Result) -> tuple[list[Box], list[Flow]]:
    limit = "no rate limit" if spec.tenant_limit_rps is None else f"{show(spec.tenant_limit_rps, 'req/s')} a tenant"
    order = "weighted counters" if spec.fairness == "weighted" else "first come, first served"
    boxes = [
        Box(
            "tenants",
            counted(spec.tenants, "tenant"),
            (
                f"{spec.input_tokens:,.4g} tokens in",
                f"{spec.output_tokens:,.4g} out",
                f"largest {percent(result.value('largest_tenant_share'))}",
            ),
            form="source",
        ),
        Box(
            "router",
            "Router by adapter",
            (ROUTING_LABELS[spec.routing], limit, order, "meters each tenant"),
            rank=1,
        ),
    ]
    return boxes, [
        Flow("tenants", "router", show(spec.requests_per_s, "req/s")),
        Flow("router", "replicas", f"{percent(result.value('gpu_hit_share'))} find their adapter"),
    ]


def _replicas(spec: MultiLoraSpec, result: Result) -> Box:
    count = result.value("replicas") or 1.0
    return Box(
        "replicas",
        counted(count, "replica"),
        (
            f"{counted(spec.gpus_per_replica, 'GPU')} each, base shared",
            f"{counted(result.value('gpu_slots') or 0.0, 'slot')} of {show(result.value('slot_bytes'), 'bytes')}",
            f"KV {show(result.value('kv_tokens'), 'tokens')}",
            f"{some(result.value('distinct_in_batch') or 0.0)} adapters a batch",
            f"step {times(result.value('step_factor') or 1.0)} the base's",
        ),
        rank=2,
    )


def _levels(spec: MultiLoraSpec, result: Result) -> tuple[list[Box], list[Flow]]:
    store = "Object storage" if spec.source == "object_store" else "Local disk"
    boxes = [
        Box(
            "host",
            "Host memory of a replica",
            (
                f"{counted(result.value('host_adapters') or 0.0, 'adapter')}, LRU",
                f"{percent(result.value('host_hit_share'))} of the requests",
            ),
            rank=2,
            lane=1,
            form="store",
        ),
        Box(
            "store",
            store,
            (f"all {counted(spec.adapters, 'adapter')}", show(result.value("all_adapters_bytes"), "bytes")),
            rank=3,
            lane=1,
            form="store",
        ),
    ]
    swaps, cold = result.value("swaps_per_s"), result.value("cold_loads_per_h")
    flows = [
        Flow("host", "replicas", f"{show(swaps, '1/s')} swaps, {show(result.value('swap_s'), 's')} each"),
        Flow("store", "host", f"{show(cold, '1/h')} loads, {show(result.value('cold_load_s'), 's')} each"),
    ]
    if spec.cold_replicas:
        boxes.append(
            Box("cold", counted(spec.cold_replicas, "cold-start replica"), ("all adapters in host memory",), rank=3)
        )
        flows.append(Flow("router", "cold", "first requests of adapters"))
    return boxes, flows
