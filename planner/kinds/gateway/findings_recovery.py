"""How an ejected instance comes back, how many may be out, and what a lost cache costs until the others are warm."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.words import those_left

LOOSE_CAP = 0.5


def recovery_findings(plan: Plan) -> Iterator[Finding]:
    """Breakers first, then the cold cache."""
    yield from _breaker(plan)
    yield from _cold(plan)


def _breaker(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.failure
    if spec.half_open == "off":
        false = found.false_apart_s
        soon = f" At one false verdict every {show(false, 's')} the fleet shrinks until the cap." if false else ""
        yield Finding(
            code="quarantine_for_ever",
            severity="error",
            message="Without half-open trials nobody asks an ejected instance again: it stays out for ever, whether "
            "it "
            f"has recovered or was never dead.{soon}",
            metric="recovered_idle_s",
            suggestion="Try it again with a few requests after the ejection time.",
            change={"half_open": "on"},
        )
    elif found.idle_s is not None and found.idle_s > spec.outage_s / 2 > 0:
        yield Finding(
            code="slow_return",
            severity="info",
            message=f"An instance that is back after {show(spec.outage_s, 's')} still waits {show(found.idle_s, 's')} "
            "for "
            "its trial, half of the ejection that runs by then.",
            metric="recovered_idle_s",
            suggestion="Shorten the ejection: a trial costs one request.",
            change={"ejection_s": float(f"{spec.ejection_s / 4:.2g}")},
        )
    if spec.ejection_cap > LOOSE_CAP and spec.instances > 2:
        yield Finding(
            code="loose_ejection_cap",
            severity="warning",
            message=f"Up to {show(found.most_out, 'instances')} of {spec.instances:,} may be ejected at once: a fault "
            "of "
            "the gateways or of their network looks like dead instances and empties the fleet.",
            metric="most_ejected",
            suggestion="Cap it at 10 %: beyond that a verdict is more likely wrong than right.",
            change={"ejection_cap": 0.1},
        )


def _busy(at_first: float, warm: float) -> str:
    if percent(at_first) == percent(warm):
        return f"{percent(warm)} busy, as without it"
    return f"{percent(at_first)} busy at first, {percent(warm)} when warm"


def _cold(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.failure
    left = spec.instances - spec.instances_lost
    lost = counted(spec.instances_lost, "instance")
    if left < 1:
        yield Finding(
            code="all_lost",
            severity="error",
            message=f"The loss of {lost} leaves none: nothing is served until they are back.",
            metric="utilisation_after_loss",
        )
        return
    over = found.rho_after >= 1
    if plan.policies.chosen.service.rho >= 1 or (found.surge_tokens < 1 and not over):
        return
    worse = "; the queue grows until caches are warm" if over and found.rho_after_warm < 1 else ""
    yield Finding(
        code="cold_after_loss",
        severity="error" if over else "info",
        message=f"The loss of {lost} takes the cache along: "
        f"{show(found.surge_tokens, 'tokens')} are computed again within {show(found.warm_s, 's')}, and "
        f"{those_left(left, 'are')} {_busy(found.rho_after, found.rho_after_warm)}{worse}.",
        metric="utilisation_after_loss",
        suggestion="Add instances, or shed what is not urgent until they are warm." if over else None,
        change={"instances": min(spec.instances + 2 * spec.instances_lost, 100_000)} if over else None,
    )
