"""Fields that were given and change nothing, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core import ignored
from planner.core.result import Finding
from planner.kinds.rl_rollout.plan import Plan

_OF_SCORING = ("scorer", "score_cv", "score_timeout_s", "timed_out", "score_wait_s", "scored")
_OF_STEPS = (
    *("train_exponent", "loss", "new_weights", "enforcement", "relay_chunks", "score_wait_s"),
    *("scorer", "timed_out", "scored", "step_overhead_s", "oversampling"),
)
"""Fields of which nothing is seen where nothing is generated."""
_OF_TOKENS = (
    *("active_parameters", "rate_tokens_per_s", "rate_batch", "utilisation_sync", "utilisation_async", "mfu"),
    "kept_steps",
)
_OF_ROOM = ("allowed_slowdown", "running_cap", "memory_share", "reserve_bytes")


def findings(plan: Plan) -> Iterator[Finding]:
    """One finding for each field that is not at its default."""
    return ignored.told(plan.spec, _ignored(plan))


def _ignored(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if not plan.runs:
        named = _OF_STEPS if plan.fits or plan.base.demand.trained > 0 else (*_OF_STEPS, *_OF_ROOM)
        yield from ((name, "nothing is generated") for name in named)
        if plan.base.demand.trained <= 0:
            yield from ((name, "there are no answers") for name in _OF_TOKENS)
        else:
            yield from ((name, "an instance holds no answer") for name in _OF_ROOM)
    if spec.kv_bytes_per_token is not None and spec.rate_source == "stated":
        yield "kv_dtype", "the KV cache is stated"
    if spec.lengths == "trace":
        yield "length_cv", "the spread is that of the trace"
    else:
        yield "workload", "lengths follow a law"
    if spec.filtering == "off":
        for name in ("success_alpha", "success_beta"):
            yield name, "no group is filtered"
    if spec.rate_source == "roofline":
        for name in ("rate_batch", "step_overhead_s"):
            yield name, "the time of a step comes from the roofline"
    elif spec.instance_gpus == 1:
        yield "step_overhead_s", "an instance has one GPU"
    yield from _of_mode(plan)
    yield from _of_services(plan)


def _of_mode(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.mode != "asynchronous":
        yield "loss", "nothing runs ahead of the weights in this mode"
    elif spec.staleness_bound <= 1:
        yield "loss", "samples are hardly older than the weights"
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
