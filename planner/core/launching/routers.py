"""Routers before engines: options of the router of SGLang."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Command, Target
from planner.core.launching import shell
from planner.core.launching.options import Settled, settle
from planner.core.launching.server import ANYWHERE, HTTP_PORT, Server

SGLANG_ROUTER = Target("sglang_router", "SGLang router")


def between_pools(servers: Sequence[Server], catalog: Catalog) -> tuple[Command, Settled]:
    """The router that pairs prefill units with decode units, which it finds in the cluster."""
    asked = [
        Asked("disaggregated", True, "prefill and decode have pools of their own"),
        Asked("discovery", True, "units are found by their labels"),
        Asked("discovery_port", HTTP_PORT, "where units answer"),
        *(Asked(server.role, labels_of(server), "labels of the units that answer") for server in servers),
    ]
    return routed("Router", asked, catalog)


def routed(title: str, asked: Iterable[Asked], catalog: Catalog) -> tuple[Command, Settled]:
    """A router's command and its settings."""
    program = catalog.program(SGLANG_ROUTER.slug)
    base = (
        Asked("host", ANYWHERE, "reached from outside its container"),
        Asked("port", HTTP_PORT, "the port of the service"),
    )
    settled = settle(program, (*base, *asked), role="router")
    text = shell.line(program.command, shell.arguments(settled.settings))
    return Command(title, "in the cluster, before the engines", text), settled


def labels_of(server: Server) -> tuple[str, ...]:
    """Labels of the pods that answer requests: of a unit over several nodes the first."""
    return (f"app={server.name}", *(("role=leader",) if server.nodes > 1 else ()))
