"""The diagram: clients, balancer, gateway replicas, the index they ask, the instances that feed it."""

from __future__ import annotations

from planner.core.diagram import Box, Diagram, Flow
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted, percent
from planner.kinds.gateway.inputs import POLICY_LABELS
from planner.kinds.gateway.spec import GatewaySpec


def architecture(spec: GatewaySpec, result: Result) -> Diagram:
    """The design drawn with its own counts and rates."""
    replicas = counted(result.value("gateway_replicas") or 0.0, "gateway replica")
    rate, streams = show(spec.peak_rps, "req/s"), show(result.value("streams"), "streams")
    full = result.value("busiest_utilisation")
    inside = spec.index_place != "service"
    index_size = show(result.value("index_bytes"), "bytes")
    boxes = [
        Box(
            "clients",
            "Clients",
            (f"{spec.input_tokens:,g} tokens in", f"{spec.output_tokens:,g} out", streams),
            form="source",
        ),
        Box("balancer", "Layer-4 balancer", ("any replica will do", "no state"), rank=1),
        Box(
            "gateway",
            replicas,
            (
                POLICY_LABELS[spec.policy],
                f"{percent(full or 0.0)} full",
                *((f"index {index_size} in each",) if inside else ()),
            ),
            rank=2,
        ),
        Box(
            "instances",
            counted(spec.instances, "instance"),
            (
                f"{show(spec.peak_rps / spec.instances, 'req/s')} each",
                f"KV {show(spec.kv_tokens_per_instance, 'tokens')} each",
            ),
            rank=3,
        ),
    ]
    flows = [
        Flow("clients", "balancer", rate),
        Flow("balancer", "gateway", "TLS"),
        Flow("gateway", "instances", f"{show(result.value('events_per_s'), '1/s')} events", both_ways=True),
    ]
    boxes, flows = _with_index(spec, result, boxes=boxes, flows=flows, size=index_size)
    return Diagram(
        title="Cache-aware gateway",
        boxes=tuple(boxes),
        flows=tuple(flows),
        summary=f"{replicas} route {rate} to {counted(spec.instances, 'instance')}.",
    )


def _with_index(
    spec: GatewaySpec, result: Result, *, boxes: list[Box], flows: list[Flow], size: str
) -> tuple[list[Box], list[Flow]]:
    events = show(result.value("index_events_per_s"), "1/s")
    if spec.index_place == "service":
        box = Box(
            "index",
            "Prefix index",
            (f"{show(result.value('index_nodes'), 'nodes')}", size, "by LLM version"),
            2,
            1,
            "store",
        )
        asked = show(result.value("lookups_per_s_prefix_tree"), "1/s")
        return [*boxes, box], [
            *flows,
            Flow("gateway", "index", f"{asked} look-ups", both_ways=True),
            Flow("instances", "index", f"{events} KV events"),
        ]
    if spec.index_place == "in_process":
        return boxes, [*flows[:-1], flows[-1], Flow("instances", "gateway", f"{events} KV events to each")]
    return boxes, flows
