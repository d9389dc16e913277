"""What a server is called in options of TensorRT-LLM: some on the command line, the rest in a file of settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Command, Manifest
from planner.core.launching import kubernetes, shell
from planner.core.launching.options import Settled, settle
from planner.core.launching.server import ANYWHERE, HTTP_PORT, Server, Way, same, translated

POOLS_FILE = "pools.yaml"


def asked(server: Server) -> Iterator[Asked]:
    """All of a server; MPI starts its nodes together."""
    ranks, copies = server.ranks, server.copies
    yield server.model
    yield Asked("host", ANYWHERE, "reached from outside its container")
    yield Asked("port", HTTP_PORT, "the port of the service")
    yield Asked("backend", "pytorch", "the backend that the figures are of")
    yield same(copies if copies.value > 1 else ranks, "tensor_parallel", ranks.value * copies.value)
    if server.stages.value > 1:
        yield same(server.stages, "pipeline_parallel", server.stages.value)
    if copies.value > 1:
        yield same(copies, "attention_copies", True)
    if server.nodes > 1:
        yield Asked("gpus_per_node", server.gpus_per_node, "GPUs of a node")
    yield from translated(server, ways=WAYS)


def _experts(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value > 1:
        yield same(given, "expert_parallel", given.value)


def _nothing(_server: Server, _given: Asked) -> Iterator[Asked]:
    """Left to the checkpoint: its settings say it."""
    yield from ()


def _draft(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value > 0:
        yield same(given, "draft_by", "MTP")
        yield same(given, "draft_steps", given.value)


def _handover(server: Server, given: Asked) -> Iterator[Asked]:
    yield same(given, "kv_transfer", "DEFAULT")
    if server.role == "prefill":
        yield same(given, "no_overlap_scheduler", True, why="context servers run without it")


def _if_set(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value not in (0, False, "none"):
        yield given


def _step(_server: Server, given: Asked) -> Iterator[Asked]:
    yield given
    yield same(given, "chunked_prefill", True, why="a prompt longer than a step takes several")


WAYS: Mapping[str, Way] = {
    "experts": _experts,
    "weights": _nothing,
    "draft": _draft,
    "max_num_batched_tokens": _step,
    "handover": _handover,
    "redundant_experts": _if_set,
    "all_to_all": _if_set,
    "graphs": _if_set,
    "overlap": _if_set,
    "adapters": _if_set,
}


def between_pools(servers: Sequence[Server], catalog: Catalog) -> tuple[Command, Manifest, Settled]:
    """The server that hands requests from context to generation servers, and its list of them."""
    program = catalog.program("tensorrt_llm")
    asked = [Asked("pools_file", POOLS_FILE, "the list of servers")]
    for each in servers:
        count = int(each.units.value)
        urls = [f"{each.name}-{place}:{HTTP_PORT}" for place in range(count)]
        asked += [same(each.units, f"{each.role}_units", count), same(each.units, f"{each.role}_urls", urls)]
    settled = settle(program, asked, role="router")
    found: dict[str, Any] = {"hostname": ANYWHERE, "port": HTTP_PORT, "backend": "pytorch"}
    for setting in settled.settings:
        if setting.option.place == "manifest":
            group, _dot, key = setting.flag.partition(".")
            found.setdefault(group, {})[key] = setting.value
    text = shell.line((*program.command, "disaggregated"), shell.arguments(settled.settings))
    file = Manifest(
        POOLS_FILE, kubernetes.YAML, "servers of both pools; put their own addresses in", kubernetes.dumped(found)
    )
    return Command("Router", "before the engines", text), file, settled
