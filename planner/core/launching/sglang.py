"""What a server is called in options of SGLang, which counts copies of attention inside its tensor-parallel ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.core.launch import Asked
from planner.core.launching.server import (
    ANYWHERE,
    BOOTSTRAP_PORT,
    HTTP_PORT,
    RENDEZVOUS_PORT,
    Place,
    Server,
    Way,
    same,
    stored_format,
    translated,
)


def asked(server: Server) -> Iterator[Asked]:
    """All of a server but its place among nodes."""
    yield server.model
    yield Asked("host", ANYWHERE, "reached from outside its container")
    yield Asked("port", HTTP_PORT, "the port of the service")
    yield from _parallel(server)
    yield from translated(server, ways=WAYS)


def _parallel(server: Server) -> Iterator[Asked]:
    ranks, copies = server.ranks, server.copies
    inside = copies.value > 1 and server.llm.moe is not None
    if inside:
        why = f"{copies.value} copies of attention, each over {ranks.value}: SGLang counts them together"
        yield same(copies, "tensor_parallel", ranks.value * copies.value, why=why)
    else:
        yield same(ranks, "tensor_parallel", ranks.value)
    if server.stages.value > 1:
        yield same(server.stages, "pipeline_parallel", server.stages.value)
    if copies.value > 1:
        yield same(copies, "data_parallel", copies.value)
        if inside:
            yield same(copies, "attention_copies", True)


def _experts(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value > 1:
        yield same(given, "expert_parallel", given.value)


def _weights(server: Server, given: Asked) -> Iterator[Asked]:
    stored = stored_format(server)
    if given.value in ("bf16", "fp16"):
        yield same(given, "dtype", given.value)
    elif given.value != stored:
        yield same(
            given, "quantise", given.value, why=f"the checkpoint is in {stored.upper()}; quantised while it loads"
        )


def _redundant(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value > 0:
        yield given
        yield same(given, "balance_experts", True, why="moves the copies to where the load is")


def _all_to_all(server: Server, given: Asked) -> Iterator[Asked]:
    if given.value == "deepep":
        yield given
        modes = {"prefill": "normal", "decode": "low_latency"}
        yield same(given, "all_to_all_mode", modes.get(server.role, "auto"), why="by what the unit does")


def _draft(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value > 0:
        yield same(given, "draft_by", "EAGLE", why="the LLM's own draft layer")
        yield same(given, "draft_steps", given.value)
        yield same(given, "draft_width", 1, why="one draft a step: the design counts no tree")
        yield same(given, "draft_tokens", given.value + 1, why="the drafts and the token they follow")


def _graphs(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value is False:
        yield same(given, "eager", True)


def _handover(server: Server, given: Asked) -> Iterator[Asked]:
    yield same(given, "disaggregation", server.role)
    yield same(given, "kv_transfer", "nixl")
    if server.role == "prefill":
        yield same(given, "bootstrap_port", BOOTSTRAP_PORT, why="where decode units ask for KV blocks")


def _overlap(server: Server, given: Asked) -> Iterator[Asked]:
    if given.value and server.copies.value > 1:
        yield same(given, "overlap", True)


def _of_copies(server: Server, given: Asked) -> Iterator[Asked]:
    """SGLang shares these out among the copies of attention."""
    copies = server.copies.value
    why = given.why if copies == 1 else f"{given.why}; {given.value} on each of {copies} copies"
    yield same(given, given.name, given.value * copies, why=why)


def _adapters(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value > 0:
        yield same(given, "lora", True)
        yield same(given, "lora_slots", given.value)


def _sharded(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value:
        yield given


WAYS: Mapping[str, Way] = {
    "experts": _experts,
    "weights": _weights,
    "redundant_experts": _redundant,
    "all_to_all": _all_to_all,
    "draft": _draft,
    "graphs": _graphs,
    "handover": _handover,
    "overlap": _overlap,
    "max_num_seqs": _of_copies,
    "max_num_batched_tokens": _of_copies,
    "adapters": _adapters,
    "adapters_sharded": _sharded,
}


def node_asked(server: Server, place: Place, *, leads: bool) -> Iterator[Asked]:
    """What a node of several is told beside that."""
    yield Asked("leader", place.leader_at(RENDEZVOUS_PORT), "the first node, and where the nodes meet")
    yield Asked("nodes", server.nodes, f"{server.gpus} GPUs, {server.gpus_per_node} a node")
    yield Asked("node_rank", 0 if leads else place.rank_word, "its place among the nodes")
