"""Fields that were given and change nothing, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core import ignored
from planner.core.result import Finding
from planner.kinds.gateway.plan import Plan

_OF_HANDSHAKES = (
    "requests_per_connection",
    "resumed_share",
    "full_handshakes_per_core",
    "resumed_handshakes_per_core",
    "reconnect_s",
)
_OF_STREAMS = (
    "ttft_s",
    "tls",
    *_OF_HANDSHAKES,
    "encrypted_bytes_per_core_s",
    "connection_bytes",
    "event_cpu_s",
    "tokens_per_event",
    "bytes_per_event",
    "memory_per_replica_bytes",
    "nic_bytes_per_s",
    "file_descriptors",
    "usable_share",
)
_OF_QUEUES = ("own_dispatches",)
_OF_PREFIXES = ("prefix_exponent", "prefix_tokens", "hash_key", "load_bound", "hot_prefix_cap")
_OF_MANY = ("load_bound", "own_dispatches", "ejection_cap", "hot_prefix_cap")
_OF_ERRORS = ("passive_failures", "verdicts")
_OF_LOSSES = ("instance_failures_per_h", "instances_lost", "idempotency_keys")
_OF_EVENTS = ("event_lag_s", "index_own", "index_updates_per_s")


def findings(plan: Plan) -> Iterator[Finding]:
    """One finding for each field that is not at its default."""
    return ignored.told(plan.spec, _ignored(plan))


def _ignored(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.peak_rps <= 0:
        named = (*_OF_STREAMS, *_OF_QUEUES, *_OF_ERRORS, *_OF_LOSSES, "index_own", "index_updates_per_s")
        yield from ((name, "there are no requests") for name in named)
    yield from _of_health(plan)
    yield from _of_index(plan)
    if spec.tls == "none":
        yield from ((name, "nothing is encrypted") for name in (*_OF_HANDSHAKES, "encrypted_bytes_per_core_s"))
    if not plan.policies.reuse.groups:
        yield from ((name, "no prefix is shared") for name in _OF_PREFIXES)
    elif spec.hash_key == "session":
        yield "load_bound", "sessions fall evenly by themselves"
    if spec.instances == 1:
        yield from ((name, "there is one instance to choose") for name in _OF_MANY)
    if spec.overload_factor <= 1:
        yield "urgent_share", "there is enough for all"


def _of_health(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.failure_mode != "hangs":
        yield "request_timeout_s", "an instance that refuses is known at once"
        if spec.probe_path == "aside":
            yield "probe_timeout_s", "an instance that refuses is known at once"
    if spec.detection == "passive":
        for name in ("probe_timeout_s", "probe_path", "probe_error"):
            yield name, "the design does not go by probes"
    if spec.half_open == "off":
        for name in ("half_open_trials", "ejection_s", "outage_s"):
            yield name, "an ejected instance is not tried again"
    if spec.retries == 0:
        for name in ("retry_budget", "retry_layers", "idempotency_keys"):
            yield name, "nothing is tried again"


def _of_index(plan: Plan) -> Iterator[tuple[str, str]]:
    if plan.spec.index_place != "service":
        yield "index_hop_s", "the index is in the gateway"
    if plan.spec.index_place == "approximate":
        yield from ((name, "the index hears no events") for name in _OF_EVENTS)
    elif not plan.policies.reuse.groups or plan.spec.instances == 1:
        yield "index_own", "there is no prefix that several could compute at once"
