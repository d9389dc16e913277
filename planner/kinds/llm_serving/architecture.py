"""The diagram: gateway, prefill units, hand-over, decode units and the pool of cached prefixes."""

from __future__ import annotations

from planner.core.diagram import Box, Diagram, Flow
from planner.core.quantities import show
from planner.core.result import Result
from planner.kinds.llm_serving.spec import LlmServingSpec


def architecture(spec: LlmServingSpec, result: Result) -> Diagram:
    """The design drawn with its own counts and rates."""
    return _aggregated(spec, result) if spec.is_aggregated else _disaggregated(spec, result)


def _count(result: Result, name: str) -> str:
    return f"{result.value(name) or 0:,.0f}"


def _rate(tokens_per_s: float) -> str:
    return f"{show(tokens_per_s, 'tok/s')}"


def _users(spec: LlmServingSpec) -> Box:
    return Box(
        "users",
        "Requests",
        (f"{spec.input_tokens:,g} tokens in", f"{spec.output_tokens:,g} out"),
        rank=0,
        form="source",
    )


def _pool(spec: LlmServingSpec) -> Box:
    cached = spec.peak_rps * spec.input_tokens * spec.prefix_hit_rate
    return Box(
        "pool",
        "KV pool",
        ("memory and SSD", f"{100 * spec.prefix_hit_rate:.3g} % of input", _rate(cached)),
        rank=2,
        lane=1,
        form="store",
    )


def _disaggregated(spec: LlmServingSpec, result: Result) -> Diagram:
    computed = spec.peak_rps * spec.computed_input_tokens
    transfer, share = result.value("kv_transfer_bytes_per_s") or 0.0, result.value("kv_transfer_nic_share")
    nic = f", {100 * share:.2g} % of NIC" if share is not None else ""
    boxes = (
        _users(spec),
        Box("gateway", "Gateway", ("by cached prefix", "pairs both roles"), rank=1),
        Box(
            "prefill",
            f"{_count(result, 'prefill_units')} prefill units",
            (
                f"{spec.prefill_unit_gpus} GPUs each",
                f"{_rate(computed)} computed",
                _used(result, "prefill_utilisation"),
            ),
            rank=2,
        ),
        Box(
            "decode",
            f"{_count(result, 'decode_units')} decode units",
            (
                f"{spec.decode_unit_gpus} GPUs each",
                f"{_rate(spec.peak_rps * spec.output_tokens)} written",
                _used(result, "decode_utilisation"),
            ),
            rank=3,
        ),
        _pool(spec),
    )
    flows = (
        Flow("users", "gateway", f"{spec.peak_rps:,g} req/s"),
        Flow("gateway", "prefill", _rate(spec.peak_rps * spec.input_tokens)),
        Flow("prefill", "decode", f"KV {show(transfer, 'bytes/s')}{nic}"),
        Flow("pool", "prefill", _prefix_bytes(spec, result), both_ways=True),
    )
    return Diagram(
        title="Disaggregated serving",
        boxes=boxes,
        flows=flows,
        summary=f"{_count(result, 'prefill_units')} prefill units hand {show(transfer, 'bytes/s')} of KV cache to "
        f"{_count(result, 'decode_units')} decode units.",
    )


def _aggregated(spec: LlmServingSpec, result: Result) -> Diagram:
    boxes = (
        _users(spec),
        Box("gateway", "Gateway", ("by cached prefix", "and by load"), rank=1),
        Box(
            "replicas",
            f"{_count(result, 'decode_units')} replicas",
            (
                f"{spec.decode_unit_gpus} GPUs each",
                f"{_rate(spec.peak_rps * spec.computed_input_tokens)} computed",
                f"{_rate(spec.peak_rps * spec.output_tokens)} written",
            ),
            rank=2,
        ),
        _pool(spec),
    )
    flows = (
        Flow("users", "gateway", f"{spec.peak_rps:,g} req/s"),
        Flow("gateway", "replicas", _rate(spec.peak_rps * spec.input_tokens)),
        Flow("pool", "replicas", _prefix_bytes(spec, result), both_ways=True),
    )
    return Diagram(
        title="Aggregated serving",
        boxes=boxes,
        flows=flows,
        summary=f"{_count(result, 'decode_units')} replicas compute prompts and write answers.",
    )


def _used(result: Result, name: str) -> str:
    value = result.value(name)
    return "" if value is None else f"{100 * value:.3g} % used"


def _prefix_bytes(spec: LlmServingSpec, result: Result) -> str:
    """KV that prefix hits read: the same bytes a token as the hand-over moves."""
    handed = result.value("kv_transfer_bytes_per_s") or 0.0
    if spec.is_aggregated or handed <= 0:
        return "cached prefixes"
    return f"hits {show(handed * spec.prefix_hit_rate, 'bytes/s')}"
