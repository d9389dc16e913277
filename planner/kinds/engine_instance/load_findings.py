"""Sentences about the load of a replica: saturation, places, objectives, and the load that would do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from planner.core.quantities import show
from planner.core.result import Finding
from planner.formulas import serving
from planner.kinds.engine_instance import lean, search
from planner.kinds.engine_instance.load import Operation
from planner.kinds.engine_instance.plan import Plan

NEAR_SATURATION = 0.8
"""Share of the largest rate from which figures are read by their ranges."""


def findings(plan: Plan, ready: Operation, point: serving.Point | None, trust: lean.Trust) -> Iterator[Finding]:
    """What the load does to a replica that serves requests; ``point`` None: it cannot keep up."""
    if point is None:
        yield _unstable(plan, ready)
        return
    yield from _objectives(plan, ready, point)
    rate = plan.spec.rate_rps
    if rate is not None and rate > min(NEAR_SATURATION, 1 / trust.tpot) * ready.max_rate_rps:
        yield _near_saturation(ready, rate, slowest=ready.max_rate_rps / trust.tpot)
    if rate is None and plan.concurrency > ready.capacity:
        yield _capacity_binds(plan, ready)


def _near_saturation(ready: Operation, rate: float, *, slowest: float) -> Finding:
    cannot = (
        f" At the slow end of its range it serves {show(slowest, 'req/s')} only: then queues grow, and the upper ends "
        "of the ranges are what is left after an hour of this load."
    )
    return Finding(
        code="near_saturation",
        severity="warning",
        message=(
            f"{show(rate, 'req/s')} are {show(rate / ready.max_rate_rps, 'ratio')} of the "
            f"{show(ready.max_rate_rps, 'req/s')} it can serve: waits grow steeply. Read the ranges, not the figures."
            f"{cannot if slowest <= rate else ''}"
        ),
        metric="ttft_p99_s",
        suggestion=f"Give one replica {show(NEAR_SATURATION * slowest, 'req/s')}, 80 % of what is sure to be served.",
        change={"rate_rps": search.typed(NEAR_SATURATION * slowest), "concurrency": None},
    )


def unstable(rate_rps: float, *, most: float) -> str:
    """The sentence of arrivals that come faster than a replica serves ``most`` [1/s]."""
    copies = math.ceil(rate_rps / (NEAR_SATURATION * most))
    return (
        f"{show(rate_rps, 'req/s')} are at or above the {show(most, 'req/s')} that one replica can serve: queues grow "
        f"without end, so no latency exists. {copies} replicas would carry it."
    )


def _unstable(plan: Plan, ready: Operation) -> Finding:
    limit = NEAR_SATURATION * ready.max_rate_rps
    return Finding(
        code="unstable",
        severity="error",
        message=unstable(plan.spec.rate_rps or 0.0, most=ready.max_rate_rps),
        metric="max_request_rate_rps",
        suggestion=f"Give one replica {show(limit, 'req/s')}, 80 % of what it can serve.",
        change={"rate_rps": search.typed(limit), "concurrency": None},
    )


def _capacity_binds(plan: Plan, ready: Operation) -> Finding:
    by_engine = plan.layout.data_parallel * plan.max_num_seqs <= ready.capacity
    what = f"the engine's limit of {plan.max_num_seqs:,}" if by_engine else "the KV pool"
    wider = not by_engine and plan.kv_dtype_bytes > 1
    return Finding(
        code="requests_wait_for_a_place",
        severity="warning",
        message=(
            f"{show(plan.concurrency)} requests are in the system, but {what} lets {show(ready.capacity)} run: "
            "the rest wait before their first token."
        ),
        metric="running_requests",
        suggestion="An FP8 cache holds twice the tokens." if wider else None,
        change={"kv_dtype": "fp8"} if wider else None,
    )


def meets(plan: Plan, point: serving.Point) -> bool:
    """Whether a load keeps both objectives."""
    ttft, tpot = plan.spec.ttft_p99_slo_s, plan.spec.tpot_slo_s
    tpot_p99 = point.tpot_quantile_s(0.99)
    fast = tpot is None or tpot_p99 is None or tpot_p99 <= tpot
    return fast and (ttft is None or point.ttft_quantile_s(0.99) <= ttft)


def _objectives(plan: Plan, ready: Operation, point: serving.Point) -> Iterator[Finding]:
    if meets(plan, point):
        return
    spec, tpot = plan.spec, point.tpot_quantile_s(0.99)
    missed = []
    if spec.ttft_p99_slo_s is not None and point.ttft_quantile_s(0.99) > spec.ttft_p99_slo_s:
        missed.append(("ttft_p99_s", "TTFT P99", point.ttft_quantile_s(0.99), spec.ttft_p99_slo_s))
    if spec.tpot_slo_s is not None and tpot is not None and tpot > spec.tpot_slo_s:
        missed.append(("tpot_p99_s", "TPOT P99", tpot, spec.tpot_slo_s))
    reach, change = _inside_objectives(plan, ready)
    reason = "" if change else f" {reach}"
    for metric, label, value, objective in missed:
        yield Finding(
            code=f"{metric.removesuffix('_s')}_missed",
            severity="warning",
            message=f"{label} is {show(value, 's')}, above the {show(objective, 's')} asked for.{reason}",
            metric=metric,
            suggestion=reach if change else None,
            change=change,
        )


def _inside_objectives(plan: Plan, ready: Operation) -> tuple[str, dict[str, Any] | None]:
    if plan.spec.rate_rps is not None:
        rate = search.largest_rate_rps(ready, below=plan.spec.rate_rps, meets=lambda point: meets(plan, point))
        if not rate:
            return "No rate meets the objectives on this replica.", None
        return f"The objectives hold up to {show(rate, 'req/s')}.", {"rate_rps": rate, "concurrency": None}
    most = search.largest_concurrency(ready, below=plan.concurrency, meets=lambda point: meets(plan, point))
    if most is None:
        return "Not even one request alone meets the objectives on this replica.", None
    return f"The objectives hold up to {show(most, 'requests')} at once.", {
        "concurrency": float(most),
        "rate_rps": None,
    }
