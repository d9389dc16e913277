"""What starts the gateway: replicas of a router with the design's policy, probes, retries and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Launch, Launcher, Manifest, Target
from planner.core.launching import dynamo, kubernetes, routers, shell
from planner.core.launching.options import Settled, settle
from planner.core.launching.server import HTTP_PORT
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.kinds.gateway.spec import GatewaySpec

NAME = "gateway"
INSTANCES = ("app=instance",)
GIB = 1024**3


def targets(spec: GatewaySpec) -> tuple[Target, ...]:
    """A router that has the design's policy comes first."""
    known = (routers.SGLANG_ROUTER, dynamo.DYNAMO)
    return known if spec.policy != "cost_based" else known[::-1]


def start(spec: GatewaySpec, result: Result, catalog: Catalog, target: Target) -> Launch:
    """All replicas of the gateway."""
    replicas = Asked(
        "replicas", int(result.value("gateway_replicas") or 0), _("replicas for the peak"), metric="gateway_replicas"
    )
    if target == dynamo.DYNAMO:
        return _dynamo(spec, catalog, target, replicas)
    command, settled = routers.routed(_("A replica of the gateway"), _asked(spec, result), catalog)
    whole = settled + settle(catalog.program("kubernetes"), [replicas, *_size(spec)], role="router")
    image = f"{catalog.program(target.slug).image}:latest"
    args = [word for row in shell.arguments(settled.settings) for word in row]
    file = Manifest(
        "gateway.yaml", kubernetes.YAML, _("Deployment, Service"), _deployment(whole, image=image, args=args)
    )
    offered = not whole.refusals
    return Launch(
        target,
        whole.settings,
        whole.refusals,
        (command,) if offered else (),
        (file,) if offered else (),
        (*whole.notes, *_notes(spec)),
    )


def _asked(spec: GatewaySpec, result: Result) -> Iterator[Asked]:
    yield Asked("discovery", True, _("instances are found by their labels"), "instances")
    yield Asked("selector", INSTANCES, _("labels of the instances"), "instances")
    yield Asked("discovery_port", HTTP_PORT, _("where instances answer"))
    yield Asked("policy", spec.policy, _("how an instance is chosen"), "policy")
    yield Asked("request_timeout_s", spec.request_timeout_s, _("a request that hangs is given up"), "request_timeout_s")
    yield from _retries(spec)
    yield from _probes(spec)
    yield from _breaker(spec)
    if spec.requests_in_flight_cap is not None:
        yield Asked(
            "in_flight", spec.requests_in_flight_cap, _("requests of a replica at once"), "requests_in_flight_cap"
        )
    limit = result.value("queue_limit")
    if spec.queue_limit is not None and limit is not None and spec.requests_in_flight_cap is not None:
        yield Asked("queue", int(limit), _("requests that wait; more are turned away"), metric="queue_limit")


def _retries(spec: GatewaySpec) -> Iterator[Asked]:
    if spec.retries:
        yield Asked("retries", spec.retries, _("tries after the first"), "retries")
    else:
        yield Asked("no_retries", True, _("a request is tried once"), "retries")


def _probes(spec: GatewaySpec) -> Iterator[Asked]:
    if spec.detection == "passive":
        yield Asked("no_probes", True, _("only failed requests tell"), "detection")
        return
    yield Asked("probe_interval_s", spec.probe_interval_s, _("how often an instance is asked"), "probe_interval_s")
    yield Asked("probe_failures", spec.probe_failures, _("failures until it is ejected"), "probe_failures")
    yield Asked("probe_timeout_s", spec.probe_timeout_s, _("when a probe counts as failed"), "probe_timeout_s")


def _breaker(spec: GatewaySpec) -> Iterator[Asked]:
    if spec.detection == "active":
        yield Asked("no_breaker", True, _("only probes tell"), "detection")
        return
    yield Asked("breaker_failures", spec.passive_failures, _("failed requests until it is ejected"), "passive_failures")
    yield Asked("breaker_s", spec.ejection_s, _("how long it stays out"), "ejection_s")
    if spec.half_open == "on":
        yield Asked("breaker_trials", spec.half_open_trials, _("trials that close it again"), "half_open_trials")


def _size(spec: GatewaySpec) -> tuple[Asked, Asked]:
    memory = f"{max(1, int(spec.memory_per_replica_bytes // GIB))}Gi"
    return (
        Asked("cpu", spec.cores_per_replica, _("cores of a replica"), "cores_per_replica"),
        Asked("memory", memory, _("memory of a replica"), "memory_per_replica_bytes"),
    )


def _deployment(whole: Settled, *, image: str, args: list[str]) -> str:
    labels = {"app": NAME}
    size = {"cpu": str(whole.value("cpu")), "memory": whole.value("memory")}
    container: dict[str, Any] = {
        "name": NAME,
        "image": image,
        "args": args,
        "ports": [{"containerPort": HTTP_PORT, "name": "http"}],
        "resources": {"requests": size},
    }
    spec: Mapping[str, Any] = {
        "replicas": whole.value("replicas"),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"serviceAccountName": NAME, "containers": [container]}},
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "labels": labels},
        "spec": spec,
    }
    ports = [{"name": "http", "port": HTTP_PORT, "targetPort": HTTP_PORT}]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME},
        "spec": {"selector": labels, "ports": ports},
    }
    return kubernetes.dumped(deployment, service)


def _notes(spec: GatewaySpec) -> Iterator[str]:
    yield _(
        "The gateway finds instances through the Kubernetes API: its service account has to be allowed to list pods."
    )
    if spec.detection != "active" and spec.half_open == "off":
        yield _("This router always tries an ejected instance again; the design does not.")


def _dynamo(spec: GatewaySpec, catalog: Catalog, target: Target, replicas: Asked) -> Launch:
    """The front end of Dynamo, whose KV router weighs queue and prefill."""
    program = catalog.program(dynamo.DYNAMO.slug)
    mode = Asked("router_mode", spec.policy, _("how an instance is chosen"), "policy")
    block = Asked("router_block", spec.block_tokens, _("tokens of an entry of the index"), "block_tokens")
    front = dynamo.front_settled(program, replicas, mode=mode, more=(block,) if spec.policy == "cost_based" else ())
    whole = front + settle(program, [Asked("framework", "vllm", _("an engine; the design names none"))])
    component = dynamo.front_component(front, image=f"{program.image}/vllm-runtime:{program.version}.0")
    graph = dynamo.graph_of(NAME, [component], framework="vllm")
    file = Manifest("gateway.yaml", kubernetes.YAML, "DynamoGraphDeployment", kubernetes.dumped(graph))
    notes = (
        _("Workers of the design's instances belong to the same graph; this is its front end."),
        _("Probes, retries and limits of the design are Dynamo's own: it documents no options for them here."),
    )
    offered = not whole.refusals
    return Launch(target, whole.settings, whole.refusals, (), (file,) if offered else (), (*whole.notes, *notes))


LAUNCHER = Launcher(targets, start)
