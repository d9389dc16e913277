"""A new version on part of the traffic, and more traffic than the fleet can serve."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import percent
from planner.kinds.gateway.plan import Plan

LONG_S = 3600.0
WORSE = 0.9
"""Goodput of a queue limit over the best one's, below which another is worth a word."""


def change_findings(plan: Plan) -> Iterator[Finding]:
    """Canary first, then overload."""
    yield from _canary(plan)
    yield from _by_request(plan)
    yield from _step(plan)
    yield from _overload(plan)
    yield from _priority(plan)


def _canary(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.canary
    if found.test_s is None or found.latency_s is None or found.hold_s is None:
        return
    exact = " (by the exact binomial test: the expected errors are few)" if found.is_exact else ""
    long = found.hold_s > LONG_S
    yield Finding(
        code="canary_long" if long else "canary",
        severity="warning" if long else "info",
        message=f"At {percent(spec.canary_weight)} a rise of errors from {show(spec.base_error_rate, 'ratio')} to "
        f"{show(spec.canary_error_rate, 'ratio')} is seen in {found.samples:,.0f} requests{exact}, "
        f"{show(found.test_s, 's')}; a slow-down of {percent(spec.latency_regression)} at P"
        f"{100 * spec.latency_quantile:.3g} in {found.latency_samples:,.0f}, {show(found.latency_s, 's')}. Before "
        "that its "
        f"cache takes {show(found.warm_s, 's')} to warm, and a cold cache looks like a regression: hold "
        f"{show(found.hold_s, 's')}, and look once.",
        metric="canary_hold_s",
        suggestion="Give it more traffic, or look for a larger regression first." if long else None,
        change={"canary_weight": min(0.5, 4 * spec.canary_weight)} if long and spec.canary_weight < 0.5 else None,
    )


def _by_request(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.canary
    if spec.canary_by != "request" or spec.turns <= 1:
        return
    yield Finding(
        code="canary_by_request",
        severity="warning",
        message="KV depends on the weights, so a version hits only its own. With versions drawn for each request "
        f"{percent(found.kept_hits)} of the histories found with one version are still found; drawn for each session "
        "all "
        "of them, once caches are warm.",
        metric="canary_kept_hits",
        suggestion="Give versions by session.",
        change={"canary_by": "session"},
    )


def _step(plan: Plan) -> Iterator[Finding]:
    spec, found, chosen = plan.spec, plan.canary, plan.policies.chosen
    if chosen.service.rho >= 1 or spec.canary_weight <= found.safe_step:
        return
    yield Finding(
        code="canary_step_too_large",
        severity="error",
        message=f"Moving {percent(spec.canary_weight)} of the traffic to cold caches at once saturates prefill: it "
        "hits "
        f"{percent(chosen.delivered)} of the prompts now and is {percent(chosen.service.queue_rho)} busy. At most "
        f"{percent(found.safe_step)} may move, with {show(found.warm_s, 's')} between two steps.",
        metric="canary_safe_step",
        suggestion="Move it in smaller steps.",
        change={"canary_weight": max(float(f"{found.safe_step / 2:.2g}"), 0.001)},
    )


def _overload(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.overload
    if spec.overload_factor <= 0:
        return
    (best,) = found.goodputs_at([spec.overload_factor], limit=found.best_limit)
    asked = show(spec.overload_factor * found.saturation_rps, "req/s")
    times = f"{spec.overload_factor:g} times what the instances can do, {asked},"
    if found.goodput_rps < WORSE * best:
        yield Finding(
            code="queue_limit",
            severity="warning",
            message=f"At {times} a queue limit of {show(found.limit, 'requests')} an instance brings "
            f"{show(found.goodput_rps, 'req/s')} in time; {found.best_limit:,} would bring {show(best, 'req/s')}.",
            metric="goodput_rps_overload",
            suggestion="A queue that takes longer than the objective only makes requests late.",
            change={"queue_limit": None},
        )
        return
    unlimited = found.goodput_unlimited_rps
    without = "nothing" if unlimited <= 0 else show(unlimited, "req/s")
    yield Finding(
        code="overload",
        severity="info",
        message=f"At {times} a queue limit of {show(found.limit, 'requests')} an instance keeps "
        f"{show(found.goodput_rps, 'req/s')} in time and turns {percent(found.turned_away)} away at once; without a "
        "limit "
        f"{without} is in time.{_by_priority(plan)}",
        metric="goodput_rps_overload",
    )


def _by_priority(plan: Plan) -> str:
    """Whom the overload hits, where serving the urgent ones first spares them all."""
    spec, found = plan.spec, plan.overload
    if spec.overload_factor <= 1 or not 0 < spec.urgent_share < 1 or found.urgent_shed > 0:
        return ""
    chance = percent(1 - 1 / spec.overload_factor)
    others = percent(found.other_shed)
    return (
        f" With urgent ones first all of them are served and {others} of the others shed, by chance {chance} of both."
    )


def _priority(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.overload
    if spec.overload_factor <= 1 or not 0 < spec.urgent_share < 1 or found.urgent_shed <= 0:
        return
    yield Finding(
        code="shed_by_priority",
        severity="warning",
        message=f"With urgent requests first the overload sheds {percent(found.urgent_shed)} of them and "
        f"{percent(found.other_shed)} of the others; by chance it would shed {percent(1 - 1 / spec.overload_factor)} "
        "of "
        "both.",
        metric="urgent_shed",
        suggestion=f"{_share(spec.urgent_share)} is more than can be served: call fewer urgent.",
        change={"urgent_share": float(f"{1 / spec.overload_factor:.2g}")},
    )


def _share(urgent: float) -> str:
    return f"An urgent share of {percent(urgent)}"
