"""The reasoning around the figures: what to ask first and what else to try; what a reviewer asks is `follow_ups`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.core.kind import Question, Variant
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted, percent
from planner.kinds.gateway.follow_ups import follow_ups
from planner.kinds.gateway.policies import IN_WORDS
from planner.kinds.gateway.spec import GatewaySpec

__all__ = ["follow_ups", "questions", "variants"]

_DEFAULTS = GatewaySpec()
OF_ROUTING = ("hit_share", "ttft_p99_s", "max_rps")
OF_FAILURE = ("requests_lost", "requests_failed")
OF_STREAMS = ("cut_delay_s", "cut_tokens_again")
OF_GATEWAY = ("cost_usd_per_h", "survivor_utilisation", "cores_used", "ttft_p99_s")
"""What a change of each sort moves."""


def _state(spec: GatewaySpec, *fields: str) -> str:
    """A default that nobody touched is assumed; a changed field is an answer."""
    touched = any(getattr(spec, field) != getattr(_DEFAULTS, field) for field in fields)
    return "answered" if touched else "assumed"


def questions(spec: GatewaySpec, result: Result) -> Sequence[Question]:
    """Clarify: the answers that would change the design."""
    return (*_of_load(spec, result), *_of_design(spec, result))


def _of_load(spec: GatewaySpec, result: Result) -> Sequence[Question]:
    reuse = ("prefix_groups", "prefix_exponent", "prefix_tokens", "turns")
    gain = result.value("affinity_gain") or 1.0
    return (
        Question(
            "What do prompts share?",
            _state(spec, *reuse) if _state(spec, *reuse) == "answered" else "open",
            f"{counted(spec.prefix_groups, 'prefix')} of {spec.prefix_tokens:,g} tokens, "
            f"{counted(spec.turns, 'turn')} a session".replace("prefixs", "prefixes"),
            f"Whether cache-aware routing pays: here it can gain {gain:.3g} times the capacity of random routing.",
            "prefix_tokens",
        ),
        Question(
            "How long until a session comes back?",
            _state(spec, "gap_s", "gap_sigma"),
            f"{show(spec.gap_s, 's')} on average; caches keep an entry for {_kept(result)}",
            "The share of histories that is found, and how long a cold cache takes to warm.",
            "gap_s",
        ),
        Question(
            "How long does a stream stay open?",
            _state(spec, "output_tokens", "tpot_s", "ttft_s"),
            show(spec.ttft_s + spec.output_tokens * spec.tpot_s, "s"),
            f"Open streams, {show(result.value('streams'), 'streams')}, and with them files, memory and what one "
            "failure "
            "cuts.",
            "output_tokens",
        ),
        Question(
            "How fast is an instance, measured?",
            _state(spec, "prefill_tokens_per_s", "decode_tokens_per_s", "kv_tokens_per_instance"),
            f"{spec.prefill_tokens_per_s:,g} tok/s of prefill, {spec.decode_tokens_per_s:,g} of decode, "
            f"{show(spec.kv_tokens_per_instance, 'tokens')} of KV",
            f"All waits and capacities; instances are {percent(result.value('instance_utilisation') or 0.0)} busy "
            "here.",
            "prefill_tokens_per_s",
        ),
    )


def _kept(result: Result) -> str:
    kept_s = result.value("retention_s")
    return "ever" if kept_s is None else show(kept_s, "s")


def _of_design(spec: GatewaySpec, result: Result) -> Sequence[Question]:
    return (
        Question(
            "Do bodies and chunks pass an external processor?",
            _state(spec, "processing"),
            "yes" if spec.processing == "external" else "no, the proxy relays them",
            f"Cores of the gateway, {show(result.value('cores_used'), 'cores')} here; a processor of every chunk takes "
            "ten times as many.",
            "processing",
        ),
        Question(
            "Do clients keep their connections?",
            _state(spec, "requests_per_connection", "resumed_share"),
            f"{counted(spec.requests_per_connection, 'request')} a connection, {percent(spec.resumed_share)} of the "
            "handshakes resumed",
            "TLS handshakes, at the peak and in the storm after a lost replica.",
            "requests_per_connection",
        ),
        Question(
            "How does an instance die: does it refuse, or hang?",
            _state(spec, "failure_mode"),
            spec.failure_mode,
            "A refusal is an error at once; one that hangs is noticed by timeouts only.",
            "failure_mode",
        ),
        Question(
            "May a broken stream be resumed?",
            _state(spec, "broken_streams"),
            "resumed by the gateway" if spec.broken_streams == "resume" else "the client gets an error",
            f"{show(result.value('streams_cut'), 'streams')} a dead instance, each "
            f"{show(result.value('resume_delay_s'), 's')} or {show(result.value('restart_delay_s'), 's')} late.",
            "broken_streams",
        ),
        Question(
            "What regression must a canary see?",
            _state(spec, "base_error_rate", "canary_error_rate", "latency_regression"),
            f"errors from {show(spec.base_error_rate, 'ratio')} to {show(spec.canary_error_rate, 'ratio')}, "
            f"{percent(spec.latency_regression)} of latency",
            f"How long each weight is held: {show(result.value('canary_hold_s'), 's')} at "
            f"{percent(spec.canary_weight)}.",
            "canary_error_rate",
        ),
    )


def variants(spec: GatewaySpec, result: Result) -> Sequence[Variant]:
    """Trade-offs: one change each, and beside the replicas the figures it is about."""
    found = [
        Variant(f"{IN_WORDS[name][:1].upper()}{IN_WORDS[name][1:]}", {"policy": name}, OF_ROUTING)
        for name in ("random", "round_robin", "bounded_hash", "prefix_aware", "cost_based")
        if name != spec.policy
    ]
    if spec.policy == "bounded_hash":
        other = "session" if spec.hash_key == "prefix" else "prefix"
        found.append(Variant(f"Hash of the {other}", {"hash_key": other}, OF_ROUTING))
    if spec.policy in ("prefix_aware", "cost_based"):
        cap = None if spec.hot_prefix_cap is not None else 1.25
        label = "No hot-prefix cap" if cap is None else "Hot-prefix cap 1.25"
        found.append(Variant(label, {"hot_prefix_cap": cap}, OF_ROUTING))
    found += _of_gateway(spec, result)
    if spec.detection != "active":
        found.append(Variant("Probes alone", {"detection": "active"}, OF_FAILURE))
    if spec.detection != "both":
        found.append(Variant("Probes and errors", {"detection": "both"}, OF_FAILURE))
    found.append(
        Variant("Broken streams end", {"broken_streams": "error"}, OF_STREAMS)
        if spec.broken_streams == "resume"
        else Variant("Broken streams resumed", {"broken_streams": "resume"}, OF_STREAMS)
    )
    return tuple(found)


def _of_gateway(spec: GatewaySpec, result: Result) -> list[Variant]:
    changes: list[tuple[str, dict[str, Any]]] = []
    if spec.index_place == "service":
        changes.append(("Index in each gateway", {"index_place": "in_process"}))
    else:
        changes.append(("Index as a service", {"index_place": "service"}))
    if spec.processing == "proxy":
        changes.append(("External processor of all chunks", {"processing": "external"}))
    else:
        changes.append(("The proxy relays alone", {"processing": "proxy"}))
    changes.append(("One more spare replica", {"spare_replicas": spec.spare_replicas + 1}))
    files = result.value("files_utilisation")
    if files is not None and files == result.value("busiest_utilisation") and spec.file_descriptors < 1_000_000:
        changes.append(("A million open files", {"file_descriptors": 1_048_576}))
    if spec.requests_per_connection == 1 and spec.tls != "none":
        changes.append(("Connections kept for 10 requests", {"requests_per_connection": 10.0}))
    return [Variant(label, change, OF_GATEWAY) for label, change in changes]
