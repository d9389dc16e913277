"""Fields that were given and change nothing, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.result import Finding
from planner.kinds.rl_rollout.plan import Plan

_OF_STATED = ("rate_batch", "step_overhead_s")
_OF_ASYNC = ("staleness_bound", "enforcement", "loss", "new_weights")
_OF_SYNC = ("sync_links", "sync_efficiency", "sync_fixed_s", "sync_per_tensor_s", "sync_tensors", "relay_chunks")
_OF_SCORING = ("score_cv", "score_timeout_s", "timed_out", "score_wait_s")


def findings(plan: Plan) -> Iterator[Finding]:
    """One finding for each field that is not at its default."""
    fields = type(plan.spec).model_fields
    told: set[str] = set()
    for name, reason in _ignored(plan):
        default = fields[name].default
        if name in told or getattr(plan.spec, name) == default:
            continue
        told.add(name)
        label = fields[name].title or name
        yield Finding(
            code="field_ignored",
            severity="info",
            message=f"{label} ({name}) changes no figure of the estimate: {reason}.",
            suggestion=f"Leave {label} at its default.",
            change={name: default},
        )


def _ignored(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.kv_bytes_per_token is not None and spec.rate_source == "stated":
        yield "kv_dtype", "the KV cache is stated"
    if spec.lengths == "trace":
        yield "length_cv", "the spread is that of the trace"
    else:
        yield "workload", "lengths follow a law"
    if spec.filtering == "off":
        for name in ("success_alpha", "success_beta"):
            yield name, "no group is filtered"
    yield from _of_mode(plan)
    yield from _of_services(plan)


def _of_mode(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.mode == "asynchronous":
        yield "oversampling", "nothing waits for the last answers"
    else:
        for name in _OF_ASYNC:
            yield name, "nothing runs ahead of the weights in this mode"
    if spec.kv_memory_bytes_per_gpu is not None:
        for name in ("memory_share", "reserve_bytes"):
            yield name, "the memory for KV is stated"


def _of_services(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.scorers is not None:
        yield "score_wait_s", "the scorers are given"
    if plan.base.service.law is None:
        for name in _OF_SCORING:
            yield name, "scoring takes no time"
    if plan.base.physics.llm.moe is None:
        for name in ("routing_returned", "routing_index_bytes"):
            yield name, "the LLM has no experts"
    elif spec.routing_returned == "off":
        yield "routing_index_bytes", "no routing is returned"
