"""The diagram: gateway, prefill units, hand-over, decode units and the pool of cached prefixes."""

from __future__ import annotations

from planner.core.diagram import Box, Diagram, Flow
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted
from planner.kinds.llm_serving.spec import LlmServingSpec


def architecture(spec: LlmServingSpec, result: Result) -> Diagram:
    """The design drawn with its own counts and rates."""
    return _aggregated(spec, result) if spec.is_aggregated else _disaggregated(spec, result)


def _units(result: Result, name: str, noun: str) -> str:
    return counted(result.value(name) or 0.0, noun)


def _rate(tokens_per_s: float) -> str:
    return show(tokens_per_s, "tok/s")


def _users(spec: LlmServingSpec) -> Box:
    return Box(
        "users",
        "Requests",
        (f"{spec.input_tokens:,g} tokens in", f"{spec.output_tokens:,g} out"),
        rank=0,
        form="source",
    )


def _pool(spec: LlmServingSpec) -> tuple[Box, ...]:
    """The pool of cached prefixes; none where the design counts on no hit."""
    if spec.prefix_hit_rate <= 0:
        return ()
    cached = spec.peak_rps * spec.input_tokens * spec.prefix_hit_rate
    pool = Box(
        "pool",
        "KV pool",
        ("memory and SSD", f"{show(spec.prefix_hit_rate, 'ratio')} of input", _rate(cached)),
        rank=2,
        lane=1,
        form="store",
    )
    return (pool,)


def _hits(spec: LlmServingSpec, role: str, label: str) -> tuple[Flow, ...]:
    return (Flow("pool", role, label, both_ways=True),) if spec.prefix_hit_rate > 0 else ()


def _disaggregated(spec: LlmServingSpec, result: Result) -> Diagram:
    computed = spec.peak_rps * spec.computed_input_tokens
    transfer, share = result.value("kv_transfer_bytes_per_s") or 0.0, result.value("kv_transfer_nic_share")
    nic = f", {show(share, 'ratio')} of the NICs" if share is not None else ""
    boxes = (
        _users(spec),
        Box("gateway", "Gateway", ("by cached prefix", "pairs both roles"), rank=1),
        Box(
            "prefill",
            _units(result, "prefill_units", "prefill unit"),
            (
                f"{show(spec.prefill_unit_gpus, 'GPUs')} each",
                f"{_rate(computed)} computed",
                _used(result, "prefill_utilisation"),
            ),
            rank=2,
        ),
        Box(
            "decode",
            _units(result, "decode_units", "decode unit"),
            (
                f"{show(spec.decode_unit_gpus, 'GPUs')} each",
                f"{_rate(spec.peak_rps * spec.output_tokens)} written",
                _used(result, "decode_utilisation"),
            ),
            rank=3,
        ),
        *_pool(spec),
    )
    flows = (
        Flow("users", "gateway", show(spec.peak_rps, "req/s")),
        Flow("gateway", "prefill", _rate(spec.peak_rps * spec.input_tokens)),
        Flow("prefill", "decode", f"KV {show(transfer, 'bytes/s')}{nic}"),
        *_hits(spec, "prefill", _prefix_bytes(spec, result)),
    )
    return Diagram(
        title="Disaggregated serving",
        boxes=boxes,
        flows=flows,
        summary=f"Prefill ({_units(result, 'prefill_units', 'unit')}) hands {show(transfer, 'bytes/s')} of KV cache to "
        f"decode ({_units(result, 'decode_units', 'unit')}).",
    )


def _aggregated(spec: LlmServingSpec, result: Result) -> Diagram:
    boxes = (
        _users(spec),
        Box("gateway", "Gateway", ("by cached prefix", "and by load"), rank=1),
        Box(
            "replicas",
            _units(result, "decode_units", "replica"),
            (
                f"{show(spec.decode_unit_gpus, 'GPUs')} each",
                f"{_rate(spec.peak_rps * spec.computed_input_tokens)} computed",
                f"{_rate(spec.peak_rps * spec.output_tokens)} written",
            ),
            rank=2,
        ),
        *_pool(spec),
    )
    flows = (
        Flow("users", "gateway", show(spec.peak_rps, "req/s")),
        Flow("gateway", "replicas", _rate(spec.peak_rps * spec.input_tokens)),
        *_hits(spec, "replicas", _prefix_bytes(spec, result)),
    )
    return Diagram(
        title="Aggregated serving",
        boxes=boxes,
        flows=flows,
        summary=f"Behind the gateway: {_units(result, 'decode_units', 'replica')} for both prompts and answers.",
    )


def _used(result: Result, name: str) -> str:
    value = result.value(name)
    return "" if value is None else f"{show(value, 'ratio')} used"


def _prefix_bytes(spec: LlmServingSpec, result: Result) -> str:
    """KV that prefix hits read: the same bytes a token as the hand-over moves."""
    handed = result.value("kv_transfer_bytes_per_s") or 0.0
    if spec.is_aggregated or handed <= 0:
        return "cached prefixes"
    return f"hits {show(handed * spec.prefix_hit_rate, 'bytes/s')}"
