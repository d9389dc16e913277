"""A DynamoGraphDeployment: a front end that routes, and pools of an engine's workers over nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Launch, Manifest, Program, Refusal, Target
from planner.core.launching import kubernetes, shell
from planner.core.launching.engines import Told
from planner.core.launching.options import Settled, settle
from planner.core.launching.server import HTTP_PORT, Server, same

DYNAMO = Target("dynamo", "Dynamo")
_WORKERS = {"vllm": "dynamo.vllm", "sglang": "dynamo.sglang"}
_RUNTIMES = {"vllm": "vllm-runtime", "sglang": "sglang-runtime"}
_OPERATOR_SETS = frozenset(("host", "port", "disaggregation", "bootstrap_port"))
"""Left to Dynamo: how a worker is reached, and its role, which has a flag of its own."""


def launch(
    target: Target, told: Sequence[Told], catalog: Catalog, *, also: Settled, front_ends: Asked, mode: Asked
) -> Launch:
    """The graph; nothing but the reasons where something is refused."""
    program = catalog.program(DYNAMO.slug)
    engine = told[0].server.engine
    told = [replace(each, engine=each.engine.without(_OPERATOR_SETS)) for each in told]
    front = front_settled(program, front_ends, mode=mode)
    whole = also + front + settle(program, [Asked("framework", engine, "the engine of the design")])
    pools: list[Settled] = []
    for each in told:
        pools.append(settle(program, _pool(each.server), role=each.server.role))
        whole += each.engine + pools[-1] + Settled((), tuple(_refusals(each.server)))
    components = [front_component(front, image=_image(program, engine))]
    components += [_component(each, pool, program) for each, pool in zip(told, pools, strict=True)]
    graph = graph_of(told[0].server.family, components, framework=whole.value("framework"))
    offered = not whole.refusals
    file = Manifest("dynamo.yaml", kubernetes.YAML, "DynamoGraphDeployment", kubernetes.dumped(graph))
    return Launch(
        target=target,
        settings=whole.settings,
        refusals=whole.refusals,
        commands=(),
        manifests=(file,) if offered else (),
        notes=whole.notes,
    )


def front_settled(program: Program, front_ends: Asked, *, mode: Asked, more: Sequence[Asked] = ()) -> Settled:
    """The front end: how many there are, and how they route."""
    asked = (
        Asked("kind", "frontend", "takes requests and routes them"),
        same(front_ends, "replicas", int(front_ends.value)),
        mode,
        Asked("http_port", HTTP_PORT, "the port of the service"),
        *more,
    )
    return settle(program, asked, role="front end")


def front_component(front: Settled, *, image: str) -> dict[str, Any]:
    args = [word for row in shell.arguments(front.settings) for word in row]
    main = {"name": "main", "image": image, "command": ["python3", "-m", "dynamo.frontend"], "args": args}
    return {
        "name": "frontend",
        "type": front.value("kind"),
        "replicas": front.value("replicas"),
        "podTemplate": {"spec": {"containers": [main]}},
    }


def graph_of(name: str, components: Sequence[dict[str, Any]], *, framework: str) -> dict[str, Any]:
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name},
        "spec": {"backendFramework": framework, "components": list(components)},
    }


def _image(program: Program, engine: str) -> str:
    return f"{program.image}/{_RUNTIMES.get(engine, engine)}:{program.version}.0"


def _pool(server: Server) -> Iterator[Asked]:
    yield Asked("kind", server.role or "worker", "what the pool does")
    yield same(server.units, "replicas", int(server.units.value))
    yield Asked("gpus", server.gpus_of_a_node, "GPUs of a pod: those of a unit on a node", server.ranks.field)
    if server.nodes > 1:
        yield Asked("nodes", server.nodes, f"{server.gpus} GPUs of a unit, {server.gpus_per_node} a node")
    if server.role:
        yield Asked("disaggregation", server.role, "prefill and decode have pools of their own")


def _refusals(server: Server) -> Iterator[Refusal]:
    if server.engine not in _WORKERS:
        reason = (
            f"Workers of {server.engine.replace('_', '-')} take another form of settings, which is not offered here."
        )
        yield Refusal("spec.backendFramework", server.engine, reason, "Choose vLLM or SGLang as the engine.", "engine")
    if server.gpus % server.gpus_of_a_node:
        reason = f"{server.gpus} GPUs of a unit are no whole nodes of {server.gpus_per_node}."
        yield Refusal(
            "multinode.nodeCount",
            str(server.nodes),
            reason,
            "Choose units of whole nodes.",
            server.ranks.field,
            server.role,
        )


def _component(told: Told, pool: Settled, program: Program) -> dict[str, Any]:
    server = told.server
    args = [word for row in shell.arguments(told.engine.settings) for word in row]
    if server.engine == "vllm" and args and not args[0].startswith("-"):
        args = ["--model", *args]
    args += [word for row in shell.arguments(pool.settings) for word in row]
    pod = kubernetes.Pod(
        image=_image(program, server.engine),
        command=("python3", "-m", _WORKERS.get(server.engine, server.engine)),
        args=args,
        variables=shell.environment(told.engine.settings),
    )
    main = kubernetes.container(server, pod=pod, serves=False, name="main")
    made: dict[str, Any] = {
        "name": server.role or "worker",
        "type": pool.value("kind"),
        "replicas": pool.value("replicas"),
    }
    if server.nodes > 1:
        made["multinode"] = {"nodeCount": pool.value("nodes")}
    main.pop("volumeMounts")
    return {**made, "podTemplate": {"spec": {"containers": [main]}}}
