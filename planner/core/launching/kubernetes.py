"""Manifests for Kubernetes: a Deployment of units within a node, a LeaderWorkerSet of units over several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from planner.core.launch import Asked, Manifest, Program, Shell
from planner.core.launching.options import Settled, settle
from planner.core.launching.server import HTTP_PORT, Server, same

YAML = "application/yaml"
SETTINGS_FOLDER = "/etc/launch"
_GPU_RESOURCES = {"NVIDIA": ("gpus", "nvidia.com/gpu"), "AMD": ("amd_gpus", "amd.com/gpu")}


@dataclass(frozen=True, slots=True)
class Pod:
    """The container of a pod: the program with its words and variables, or a script."""

    image: str
    command: Sequence[str]
    args: Sequence[str] = ()
    variables: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None
    has_files: bool = False
    """Whether it reads files of settings from its working folder."""


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as such, so that a script can be read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(Shell, _text)


def dumped(*documents: Mapping[str, Any]) -> str:
    """Documents as YAML, in the order they are written."""
    texts = [
        yaml.dump(dict(each), Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True) for each in documents
    ]
    return "---\n".join(texts)


def settled(server: Server, program: Program) -> Settled:
    """Replicas, nodes of a unit and GPUs of a node as Kubernetes takes them."""
    name, _resource = _GPU_RESOURCES.get(server.gpu.vendor, _GPU_RESOURCES["NVIDIA"])
    gpus = Asked(name, server.gpus_of_a_node, "GPUs of a pod: those of a unit on a node", server.ranks.field)
    asked: tuple[Asked, ...] = (same(server.units, "replicas", int(server.units.value)), gpus)
    if server.nodes > 1:
        size = Asked("group_size", server.nodes, f"{server.gpus} GPUs of a unit, {server.gpus_per_node} a node")
        asked = (same(server.units, "groups", int(server.units.value)), size, gpus)
    return settle(program, asked, role=server.role)


def manifest(server: Server, *, told: Settled, first: Pod, other: Pod | None, files: Mapping[str, str]) -> Manifest:
    """What runs all units of a server, with its Service and its file of settings."""
    documents: list[dict[str, Any]] = [_config_map(server, files)] if files else []
    if server.nodes == 1:
        documents.append(_deployment(server, told=told, pod=first))
    else:
        documents.append(_group(server, told=told, first=first, other=other or first))
    documents.append(_service(server))
    kind = "Deployment" if server.nodes == 1 else "LeaderWorkerSet"
    return Manifest(f"{server.name}.yaml", YAML, f"{server.title}: {kind}, Service", dumped(*documents))


def _labels(server: Server) -> dict[str, str]:
    return {"app": server.name}


def _deployment(server: Server, *, told: Settled, pod: Pod) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": server.name, "labels": _labels(server)},
        "spec": {
            "replicas": told.value("replicas"),
            "selector": {"matchLabels": _labels(server)},
            "template": _template(server, pod=pod, labels=_labels(server), serves=True),
        },
    }


def _group(server: Server, *, told: Settled, first: Pod, other: Pod) -> dict[str, Any]:
    leader = {**_labels(server), "role": "leader"}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": server.name, "labels": _labels(server)},
        "spec": {
            "replicas": told.value("groups"),
            "leaderWorkerTemplate": {
                "size": told.value("group_size"),
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": _template(server, pod=first, labels=leader, serves=True),
                "workerTemplate": _template(server, pod=other, labels=_labels(server), serves=False),
            },
        },
    }


def _template(server: Server, *, pod: Pod, labels: Mapping[str, str], serves: bool) -> dict[str, Any]:
    volumes: list[dict[str, Any]] = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
    if pod.has_files:
        volumes.append({"name": "settings", "configMap": {"name": f"{server.name}-settings"}})
    spec = {"containers": [container(server, pod=pod, serves=serves)], "volumes": volumes}
    annotated = {"annotations": dict(pod.annotations)} if pod.annotations else {}
    return {"metadata": {"labels": dict(labels), **annotated}, "spec": spec}


def container(server: Server, *, pod: Pod, serves: bool, name: str = "engine") -> dict[str, Any]:
    """The container with its GPUs; one that ``serves`` answers requests."""
    _name, resource = _GPU_RESOURCES.get(server.gpu.vendor, _GPU_RESOURCES["NVIDIA"])
    made: dict[str, Any] = {"name": name, "image": pod.image, "command": list(pod.command)}
    if pod.args:
        made["args"] = list(pod.args)
    made["env"] = environment(pod.variables or {})
    if serves:
        made["ports"] = [{"containerPort": HTTP_PORT, "name": "http"}]
        made["readinessProbe"] = {"httpGet": {"path": "/health", "port": HTTP_PORT}, "periodSeconds": 10}
    made["resources"] = {"limits": {resource: str(server.gpus_of_a_node)}}
    made["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108 - shared memory of the ranks
    if pod.has_files:
        made["workingDir"] = SETTINGS_FOLDER
        made["volumeMounts"].append({"name": "settings", "mountPath": SETTINGS_FOLDER})
    return made


def environment(variables: Mapping[str, str]) -> list[dict[str, Any]]:
    """Variables of a container, with the token that fetches the checkpoint."""
    rows: list[dict[str, Any]] = [
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "token", "optional": True}}}
    ]
    for name, value in variables.items():
        if name == "VLLM_NIXL_SIDE_CHANNEL_PORT":
            rows.append(
                {"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
            )
        rows.append({"name": name, "value": str(value)})
    return rows


def _service(server: Server) -> dict[str, Any]:
    selector = _labels(server) if server.nodes == 1 else {**_labels(server), "role": "leader"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": server.name, "labels": _labels(server)},
        "spec": {"selector": selector, "ports": [{"name": "http", "port": HTTP_PORT, "targetPort": HTTP_PORT}]},
    }


def _config_map(server: Server, files: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{server.name}-settings"},
        "data": dict(files),
    }
