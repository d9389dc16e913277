"""What a server is called in options of vLLM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.core.launch import Asked
from planner.core.launching.server import (
    ANYWHERE,
    HTTP_PORT,
    RENDEZVOUS_PORT,
    SIDE_CHANNEL_PORT,
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
    yield same(server.ranks, "tensor_parallel", server.ranks.value)
    if server.stages.value > 1:
        yield same(server.stages, "pipeline_parallel", server.stages.value)
    if server.copies.value > 1:
        yield same(server.copies, "data_parallel", server.copies.value)
    yield from translated(server, ways=WAYS)


def _experts(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value > 1:
        yield same(
            given, "expert_parallel", True, why="whole experts on each GPU; vLLM shares them over all of the unit"
        )


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
        yield same(given, "balance_experts", True)
        yield same(given, "balance_settings", {"num_redundant_experts": given.value})


def _all_to_all(server: Server, given: Asked) -> Iterator[Asked]:
    if given.value == "deepep":
        mode = "high_throughput" if server.role == "prefill" else "low_latency"
        words = "prompts come in large batches" if server.role == "prefill" else "decode steps are short"
        yield same(given, "all_to_all", f"deepep_{mode}", why=f"{given.why}; {words}")


def _draft(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value > 0:
        yield same(given, "draft", {"method": "mtp", "num_speculative_tokens": given.value})


def _graphs(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value is False:
        yield same(given, "eager", True)


def _handover(_server: Server, given: Asked) -> Iterator[Asked]:
    yield same(given, "kv_transfer", {"kv_connector": "NixlConnector", "kv_role": "kv_both"})
    yield same(given, "side_channel_port", SIDE_CHANNEL_PORT, why="where the other pool asks for KV blocks")


def _overlap(server: Server, given: Asked) -> Iterator[Asked]:
    if given.value and server.copies.value > 1:
        yield same(given, "overlap", True)


def _adapters(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value > 0:
        yield same(given, "lora", True)
        yield same(given, "lora_slots", given.value)


def _sharded(_server: Server, given: Asked) -> Iterator[Asked]:
    if given.value:
        yield same(given, "lora_sharded", True)


WAYS: Mapping[str, Way] = {
    "experts": _experts,
    "weights": _weights,
    "redundant_experts": _redundant,
    "all_to_all": _all_to_all,
    "draft": _draft,
    "graphs": _graphs,
    "handover": _handover,
    "overlap": _overlap,
    "adapters": _adapters,
    "adapters_sharded": _sharded,
}


def node_asked(server: Server, place: Place, *, leads: bool) -> Iterator[Asked]:
    """What a node of several is told beside that."""
    copies = server.copies
    if copies.value > 1:
        local = copies.value // server.nodes
        yield same(
            copies, "data_parallel_local", local, why=f"of {copies.value} copies, on each of {server.nodes} nodes"
        )
        yield Asked("data_parallel_address", place.leader_word, "the first node")
        yield Asked("data_parallel_port", RENDEZVOUS_PORT, "where the nodes meet")
        if not leads:
            yield Asked("headless", True, "only the first node answers requests")
            yield Asked("data_parallel_start", place.rank_times(local), "the copies of the nodes before")
        return
    yield Asked("nodes", server.nodes, f"{server.gpus} GPUs, {server.gpus_per_node} a node")
    yield Asked("node_rank", 0 if leads else place.rank_word, "its place among the nodes")
    yield Asked("leader", place.leader_word, "the first node")
    if not leads:
        yield Asked("headless", True, "only the first node answers requests")
