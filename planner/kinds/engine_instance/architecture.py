"""The replica as a picture: clients, scheduler, ranks, cache, with the figures of the design."""

from __future__ import annotations

from planner.core.diagram import Box, Diagram, Flow
from planner.core.quantities import show
from planner.core.result import Result
from planner.kinds.engine_instance.spec import EngineInstanceSpec
from planner.kinds.engine_instance.spec_engine import ENGINES


def architecture(spec: EngineInstanceSpec, result: Result) -> Diagram:
    """Requests flow to the engine, the engine to attention groups, the groups read their pools."""
    gpus, ranks, copies, stages = spec.cut()
    drawn = min(copies, 3)
    boxes = [
        Box("clients", "Clients", _client_lines(spec, result), rank=0, lane=(drawn - 1) // 2, form="source"),
        Box("engine", ENGINES[spec.engine], _engine_lines(result), rank=1, lane=(drawn - 1) // 2),
    ]
    flows = [Flow("clients", "engine", _rate_label(result), both_ways=False)]
    for copy in range(drawn):
        boxes += [
            Box(f"group{copy}", _group_title(copy, copies=copies), _group_lines(ranks, stages), rank=2, lane=copy),
            Box(f"pool{copy}", "KV pool", _pool_lines(result), rank=3, lane=copy, form="store"),
        ]
        flows += [
            Flow("engine", f"group{copy}", _group_rate(result, copies=copies)),
            Flow(f"group{copy}", f"pool{copy}", _cache_label(result), both_ways=True),
        ]
    left = copies - drawn
    more = f"; {left} more {'group' if left == 1 else 'groups'} like these" if left else ""
    return Diagram(
        title=f"One replica on {show(gpus, 'GPUs')}{more}",
        boxes=tuple(boxes),
        flows=tuple(flows),
        summary=f"Clients send requests to {ENGINES[spec.engine]}, which runs "
        f"{'one group' if copies == 1 else f'{copies} groups'} of {show(ranks * stages, 'GPUs')}, "
        f"{'with a KV pool' if copies == 1 else 'each with its own KV pool'}.",
    )


def _client_lines(spec: EngineInstanceSpec, result: Result) -> tuple[str, ...]:
    lengths = f"{spec.input_tokens:,.0f} in, {spec.output_tokens:,.0f} out"
    at_once = result.value("concurrency")
    return (lengths,) if at_once is None else (lengths, f"{show(at_once)} at once")


def _engine_lines(result: Result) -> tuple[str, ...]:
    running, ttft = result.value("running_requests"), result.value("ttft_mean_s")
    if running is None:
        if not result.value("fits"):
            return ("does not start",)
        refused = any(each.severity == "error" and each.code.startswith("measured_kernels") for each in result.findings)
        return ("speed not known" if refused else "no steady state",)
    return (f"{show(running)} running", f"TTFT {show(ttft, 's')}")


def _group_title(copy: int, *, copies: int) -> str:
    return "GPUs" if copies == 1 else f"Group {copy + 1} of {copies}"


def _group_lines(ranks: int, stages: int) -> tuple[str, ...]:
    cut = f"tensor × {ranks}" if ranks > 1 else "whole layers"
    return (show(ranks * stages, "GPUs"), cut if stages == 1 else f"{cut}, pipeline × {stages}")


def _pool_lines(result: Result) -> tuple[str, ...]:
    tokens = result.value("kv_pool_tokens")
    if tokens is None:
        return ("no room",)
    return (show(tokens, "tokens"), f"{show(result.value('kv_pool_bytes'), 'bytes')} a GPU")


def _rate_label(result: Result) -> str:
    rate = result.value("request_rate_rps")
    return "" if rate is None else show(rate, "req/s")


def _group_rate(result: Result, *, copies: int) -> str:
    tokens = result.value("output_tokens_per_s")
    return "" if tokens is None else show(tokens / copies, "tok/s")


def _cache_label(result: Result) -> str:
    per_token = result.value("kv_bytes_per_token")
    return "" if per_token is None else show(per_token, "bytes/token")
