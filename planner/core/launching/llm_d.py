"""Values of the llm-d model service chart: pools of vLLM by replicas, ranks and pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Command, Launch, Manifest, Refusal, Target
from planner.core.launching import kubernetes, shell
from planner.core.launching.engines import Told, pod_words
from planner.core.launching.options import Settled, settle
from planner.core.launching.server import Server, same

LLM_D = Target("llm_d", "llm-d")
VALUES_FILE = "values.yaml"
SIDECAR_PORT = 8200
_CHART_SETS = frozenset(("model", "host", "port", "tensor_parallel", "data_parallel", "data_parallel_local"))
"""What the chart tells vLLM by itself, from its own values."""


def launch(target: Target, told: Sequence[Told], catalog: Catalog, *, also: Settled) -> Launch:
    """Values for the chart; nothing but the reasons where something is refused."""
    program = catalog.program(LLM_D.slug)
    told = [_in_chart(each) for each in told]
    settled = settle(program, _whole(told))
    for each in told:
        settled += settle(program, _pool(each.server), role=each.server.role)
        settled += Settled((), tuple(_refusals(each.server)))
    whole = settled + also
    for each in told:
        whole += each.engine + each.first + each.other
    values = _values(told, settled, image=f"{program.image}:latest")
    file = Manifest(VALUES_FILE, kubernetes.YAML, "values of the chart llm-d-modelservice", kubernetes.dumped(values))
    helm = catalog.program("helm")
    filed = settle(helm, [Asked("values", VALUES_FILE, "the values below")])
    whole += filed
    words = (*helm.command, told[0].server.family, "llm-d-modelservice/llm-d-modelservice")
    install = Command("Install", "where helm reaches the cluster", shell.line(words, shell.arguments(filed.settings)))
    offered = not whole.refusals
    return Launch(
        target=target,
        settings=whole.settings,
        refusals=whole.refusals,
        commands=(install,) if offered else (),
        manifests=(file,) if offered else (),
        notes=whole.notes,
    )


def _in_chart(told: Told) -> Told:
    """Without what the chart says by itself; a decode unit listens where the sidecar before it looks."""
    if told.server.nodes == 1:
        return replace(told, engine=told.engine.without(_CHART_SETS))
    if told.server.role != "decode":
        return told
    moved = tuple(
        replace(each, value=SIDECAR_PORT, asked=replace(each.asked, why="where the sidecar before it looks"))
        if each.option.name == "port"
        else each
        for each in told.engine.settings
    )
    return replace(told, engine=replace(told.engine, settings=moved))


def _whole(told: Sequence[Told]) -> Iterator[Asked]:
    server = told[0].server
    yield server.model
    yield same(server.model, "uri", f"hf://{server.model.value}")
    nodes = max(each.server.nodes for each in told)
    yield Asked("multinode", nodes > 1, f"units of up to {nodes} node{'s' if nodes > 1 else ''}")
    apart = len(told) > 1
    yield Asked("proxy", apart, "a sidecar hands requests from one pool to the other" if apart else "one pool")
    if apart:
        yield Asked("sidecar_port", SIDECAR_PORT, "where decode units listen behind the sidecar")
        yield Asked("connector", "nixlv2", "how KV caches go from one pool to the other")


def _pool(server: Server) -> Iterator[Asked]:
    role = server.role or "decode"
    yield same(server.units, f"{role}_replicas", int(server.units.value))
    yield same(server.ranks, f"{role}_tensor", server.ranks.value)
    yield same(server.copies, f"{role}_data", server.copies.value)
    local = max(1, server.copies.value // server.nodes)
    yield same(server.copies, f"{role}_data_local", local, why=f"copies of attention on each of {server.nodes} nodes")
    yield Asked(f"{role}_workers", server.nodes, f"nodes of a unit: {server.gpus} GPUs, {server.gpus_per_node} a node")


def _refusals(server: Server) -> Iterator[Refusal]:
    if server.nodes > 1 and server.copies.value < server.nodes:
        reason = (
            f"The chart keeps the ranks of a copy on one pod; {server.ranks.value} GPUs lie on {server.nodes} nodes."
        )
        change = "Use copies of attention that fit a node, or another target."
        yield Refusal("parallelism.tensor", str(server.ranks.value), reason, change, server.ranks.field, server.role)
    if server.stages.value > 1:
        reason = "The chart counts no pipeline stages into the GPUs of a pod."
        yield Refusal(
            "parallelism", str(server.stages.value), reason, "Use one stage.", server.stages.field, server.role
        )


def _values(told: Sequence[Told], settled: Settled, *, image: str) -> dict[str, Any]:
    """The values as the chart nests them, from what is settled."""
    values: dict[str, Any] = {}
    for setting in settled.settings:
        *folders, last = setting.flag.split(".")
        inside = values
        for folder in folders:
            inside = inside.setdefault(folder, {})
        inside[last] = setting.value
    roles = {each.server.role or "decode": each for each in told}
    for role in ("prefill", "decode"):
        if role not in roles:
            values[role] = {"create": False, "replicas": 0}
            continue
        values[role]["create"] = True
        values[role]["containers"] = [_container(roles[role], image=image)]
    return values


def _container(told: Told, *, image: str) -> Mapping[str, Any]:
    server = told.server
    variables = kubernetes.environment(shell.environment(told.engine.settings))
    made: dict[str, Any] = {"name": "vllm", "image": image, "mountModelVolume": True, "env": variables}
    if server.nodes == 1:
        args = [word for row in shell.arguments(told.engine.settings) for word in row]
        return {**made, "modelCommand": "vllmServe", "args": args}
    first, other = (pod_words(told, leads=leads) for leads in (True, False))
    script = f'if [ "$LWS_WORKER_INDEX" = 0 ]; then\nexec {first}\nelse\nexec {other}\nfi\n'
    return {**made, "modelCommand": "custom", "command": ["sh", "-c", script]}
