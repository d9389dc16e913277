"""The engines that a server can run on, and everything that starts it there."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Command, Launch, Manifest, Program, Setting, Target
from planner.core.launching import fits, kubernetes, shell
from planner.core.launching.options import NOTHING, Settled, numbers, settle
from planner.core.launching.server import HTTP_PORT, IN_GROUP, IN_SHELL, Server

VLLM = Target("vllm", "vLLM")
SGLANG = Target("sglang", "SGLang")
TENSORRT_LLM = Target("tensorrt_llm", "TensorRT-LLM")
ENGINES = (VLLM, SGLANG, TENSORRT_LLM)
SETTINGS_FILE = "settings.yaml"
_WORK_FOLDER = "/workspace"


@dataclass(frozen=True, slots=True)
class Told:
    """A server with the settings of its engine, of its nodes and of what runs it."""

    server: Server
    program: Program
    engine: Settled
    runner: Settled
    """Replicas and GPUs in Kubernetes."""
    first: Settled = NOTHING
    other: Settled = NOTHING

    @property
    def all(self) -> Settled:
        return self.engine + self.first + self.other + self.runner


def tell(server: Server, catalog: Catalog, *, beside: Settled = NOTHING) -> Told:
    """A server in the options of its engine, checked against them and against what it runs on.

    ``beside`` are settings of programs that run inside it, a cache say.
    """
    program = catalog.program(server.engine)
    module = _module(server.engine)
    engine = settle(program, module.asked(server), version=server.version, role=server.role) + beside
    if server.engine == TENSORRT_LLM.slug and any(each.option.place == "file" for each in engine.settings):
        named = Asked("settings_file", SETTINGS_FILE, "the settings that the command line does not take")
        engine += settle(program, [named], role=server.role)
    engine += Settled((), tuple(fits.refusals(server, program, engine)), _version_notes(server, program))
    runner = kubernetes.settled(server, catalog.program("kubernetes"))
    if server.nodes == 1:
        return Told(server, program, engine, runner)
    if server.engine == TENSORRT_LLM.slug:
        return Told(server, program, engine, runner, first=_under_slurm(server, catalog.program("slurm")))
    first, other = (
        settle(program, module.node_asked(server, IN_SHELL, leads=leads), version=server.version, role=server.role)
        for leads in (True, False)
    )
    return Told(server, program, engine, runner, first=first, other=other)


def _module(engine: str) -> Any:
    return importlib.import_module(f"planner.core.launching.{engine}")


def _under_slurm(server: Server, slurm: Program) -> Settled:
    asked = (
        Asked("nodes", server.nodes, "nodes of a unit"),
        Asked("tasks", server.gpus, "a rank a GPU"),
        Asked("tasks_per_node", server.gpus_per_node, "GPUs of a node"),
        Asked("mpi", "pmix", "how the ranks find each other"),
    )
    return settle(slurm, asked, role=server.role)


def _version_notes(server: Server, program: Program) -> tuple[str, ...]:
    given, read = numbers(server.version), numbers(program.version)
    if given and given[: len(read)] < read:
        read_of = f"The options are those of the documentation of {program.name} {program.version}"
        return (f"{read_of}; the design runs {server.version}.",)
    return ()


def launch(
    target: Target,
    told: Sequence[Told],
    catalog: Catalog,
    *,
    also: Settled = NOTHING,
    commands: Sequence[Command] = (),
    manifests: Sequence[Manifest] = (),
) -> Launch:
    """Everything that starts these servers, and ``commands`` and ``manifests`` of what stands before them.

    Nothing but the reasons where something is refused.
    """
    whole = NOTHING
    for each in told:
        whole += each.all
    whole += also
    made = [_made(each, catalog) for each in told]
    notes = [*whole.notes, *(note for each in made for note in each.notes)]
    offered = not whole.refusals
    return Launch(
        target=target,
        settings=(*whole.settings, *(setting for each in made for setting in each.settings)),
        refusals=whole.refusals,
        commands=(*(line for each in made for line in each.commands), *commands) if offered else (),
        manifests=(*(file for each in made for file in each.manifests), *manifests) if offered else (),
        notes=tuple(dict.fromkeys(notes)),
    )


@dataclass(frozen=True, slots=True)
class _Made:
    commands: tuple[Command, ...]
    manifests: tuple[Manifest, ...]
    settings: tuple[Setting, ...] = ()
    notes: tuple[str, ...] = ()


def _made(told: Told, catalog: Catalog) -> _Made:
    files = settings_files(told)
    own = tuple(
        Manifest(f"{told.server.name}-{name}", media_type_of(name), f"{told.server.title}: settings", text)
        for name, text in files.items()
    )
    if told.server.nodes > 1:
        return _over_nodes(told, own=own)
    shell_line = Command(told.server.title, "on one node", command_line(told))
    if told.server.gpu.vendor != "NVIDIA":
        note = f"The images of {told.program.name} named here are for NVIDIA GPUs: no container is offered."
        return _Made((shell_line,), own, notes=(note,))
    container, docker = _docker(told, catalog.program("docker"), files=files)
    pod = kubernetes.Pod(
        image=image_of(told),
        command=told.program.command,
        args=[word for row in shell.arguments(told.engine.settings) for word in row],
        variables=shell.environment(told.engine.settings),
        annotations=_annotations(told),
        has_files=bool(files),
    )
    run = kubernetes.manifest(told.server, told=told.runner, first=pod, other=None, files=files)
    return _Made((shell_line, container), (*own, run), docker.settings)


def command_line(told: Told, *, node: Settled = NOTHING, program: Sequence[str] = ()) -> str:
    """The engine's command for a shell."""
    settings = (*told.engine.settings, *node.settings)
    return shell.line(program or told.program.command, shell.arguments(settings), variables=shell.environment(settings))


def _over_nodes(told: Told, *, own: tuple[Manifest, ...]) -> _Made:
    server = told.server
    if server.engine == TENSORRT_LLM.slug:
        ranks = [word for row in shell.arguments(told.first.settings) for word in row]
        text = command_line(told, program=("srun", *ranks, "trtllm-llmapi-launch", *told.program.command))
        note = "Over several nodes TensorRT-LLM runs under MPI: the command is for Slurm; there is no manifest."
        return _Made((Command(server.title, f"once, on {server.nodes} nodes", text),), own, notes=(note,))
    commands = (
        Command(server.title, "on the first node; LEADER is its address", command_line(told, node=told.first)),
        Command(
            server.title,
            f"on each other node; NODE_RANK is 1 to {server.nodes - 1}",
            command_line(told, node=told.other),
        ),
    )
    if server.gpu.vendor != "NVIDIA":
        return _Made(commands, own)
    first, other = (_pod(told, leads=leads) for leads in (True, False))
    run = kubernetes.manifest(server, told=told.runner, first=first, other=other, files={})
    return _Made(commands, (*own, run))


def _pod(told: Told, *, leads: bool) -> kubernetes.Pod:
    return kubernetes.Pod(
        image=image_of(told),
        command=("sh", "-c", f"exec {pod_words(told, leads=leads)}\n"),
        variables=shell.environment(told.engine.settings),
        annotations=_annotations(told),
    )


def _annotations(told: Told) -> dict[str, str]:
    """What a router reads off a pod of prefill."""
    port = told.engine.value("bootstrap_port")
    return {} if port is None else {"sglang.ai/bootstrap-port": str(port)}


def pod_words(told: Told, *, leads: bool) -> str:
    """The command of a pod of a group, which asks the group for its place."""
    module = _module(told.server.engine)
    node = settle(told.program, module.node_asked(told.server, IN_GROUP, leads=leads), role=told.server.role)
    return shell.line(told.program.command, shell.arguments((*told.engine.settings, *node.settings)))


def _docker(told: Told, docker: Program, *, files: Mapping[str, str]) -> tuple[Command, Settled]:
    asked = [
        Asked("gpus", "all", "all GPUs of the node"),
        Asked("ipc", "host", "ranks share memory"),
        Asked("publish", f"{HTTP_PORT}:{HTTP_PORT}", "the port of the service"),
        Asked("token", "HF_TOKEN", "to fetch the checkpoint"),
    ]
    here = f"./{told.server.name}-"
    asked += [Asked("volume", f"{here}{name}:{_WORK_FOLDER}/{name}", "the settings") for name in files]
    if files:
        asked.append(Asked("folder", _WORK_FOLDER, "where the settings are"))
    settled = settle(docker, asked, role=told.server.role)
    rows = shell.arguments(settled.settings)
    rows += [["-e", f"{name}={value}"] for name, value in shell.environment(told.engine.settings).items()]
    inside = shell.line((image_of(told), *_entry(told)), shell.arguments(told.engine.settings))
    text = " \\\n  ".join([shell.line(docker.command, rows), inside])
    return Command(told.server.title, "on one node, in a container", text), settled


def _entry(told: Told) -> tuple[str, ...]:
    """The command in the image: that of vLLM starts the server by itself."""
    return ("--model",) if told.server.engine == VLLM.slug else told.program.command


def image_of(told: Told) -> str:
    """The image with the tag of a whole version, else the newest."""
    version = told.server.version if len(numbers(told.server.version)) >= 3 else ""
    tag = version if told.server.engine == TENSORRT_LLM.slug else f"v{version.lstrip('v')}"
    return f"{told.program.image}:{tag if version else 'latest'}"


def media_type_of(name: str) -> str:
    """Of a file of settings."""
    return "application/json" if name.endswith(".json") else kubernetes.YAML


def settings_files(told: Told) -> dict[str, str]:
    """Files of settings by name: that of an engine that has one, and those of what runs inside it."""
    found: dict[str, dict[str, Any]] = {}
    for each in told.engine.settings:
        if each.option.place != "file":
            continue
        *folders, last = each.flag.split(".")
        inside = found.setdefault(each.program, {})
        for folder in folders:
            inside = inside.setdefault(folder, {})
        inside[last] = each.value
    return {
        SETTINGS_FILE if slug == told.server.engine else f"{slug}.json": (
            kubernetes.dumped(content) if slug == told.server.engine else json.dumps(content, indent=2) + "\n"
        )
        for slug, content in found.items()
    }
