"""Tenants: who is unlike, what a noisy one does, what counters promise, and when an adapter earns its own replicas."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import percent
from planner.formulas.merged_replica import break_even_traffic
from planner.kinds.multi_lora.figures_fleet import bound_tokens, merged_of
from planner.kinds.multi_lora.plan import Plan
from planner.kinds.multi_lora.words import some

HURT = 0.99
FULL = 1.0


def tenant_findings(plan: Plan) -> Iterator[Finding]:
    """Noise, fairness, limits, a dedicated replica."""
    if plan.spec.requests_per_s <= 0 or plan.fleet.max_rps <= 0:
        return
    yield from _noisy(plan)
    yield from _slots(plan)
    yield from _limits(plan)
    if plan.spec.fairness == "weighted":
        yield Finding(
            code="fairness_bound",
            severity="info",
            message="Counters of weighted tokens let two tenants that both wait differ by at most "
            f"{show(bound_tokens(plan), 'tokens')}, at any time. They say nothing about slots.",
            metric="fairness_bound_tokens",
        )
    else:
        yield Finding(
            code="no_fairness",
            severity="info",
            message="Requests are served in the order they come: whoever sends most gets most, and no tenant is "
            "guaranteed anything.",
            metric="guaranteed_rps",
        )
    yield from _dedicated(plan)


def _noisy(plan: Plan) -> Iterator[Finding]:
    spec, noise = plan.spec, plan.noise
    if plan.spec.tenants < 2 or spec.noisy_factor <= 1:
        return
    served, used = noise.others(spec.fairness), noise.utilisation or 0.0
    fair = "each gets its part first" if spec.fairness == "weighted" else "who comes first is served first"
    hurt = served < HURT
    yield Finding(
        code="noisy_tenant",
        severity="warning" if hurt else "info",
        message=f"If the largest tenant sends {spec.noisy_factor:g} times its share, {percent(used)} of what is done "
        f"in time is asked for; {fair}, and {percent(served)} of the requests of the others get through.",
        metric="noisy_others_served",
        suggestion=None if not hurt else "Admit by weighted counters, and limit the rate of a tenant.",
        change=None if not hurt or spec.fairness == "weighted" else {"fairness": "weighted"},
    )


def _slots(plan: Plan) -> Iterator[Finding]:
    noise, spec = plan.noise, plan.spec
    if noise.slot_pressure is None or noise.slot_pressure <= FULL or spec.tenant_slots is not None:
        return
    quota = max(int(plan.replica.memory.slots * 0.1), 1)
    yield Finding(
        code="noisy_slots",
        severity="warning",
        message=f"A noisy tenant would hold {some(noise.slots)} of {plan.replica.memory.slots} slots of a replica, "
        "and with the others' there are too few. Fair counters do not help: a slot is held while any request runs.",
        metric="noisy_slots",
        suggestion="Give tenants a quota of slots.",
        change={"tenant_slots": quota},
    )


def _limits(plan: Plan) -> Iterator[Finding]:
    refused = plan.tenants.refused_share
    if refused > 1e-9:
        yield Finding(
            code="refused",
            severity="warning" if refused > 0.01 else "info",
            message=f"The limit of {show(plan.spec.tenant_limit_rps, 'req/s')} a tenant refuses {percent(refused)} of "
            f"the requests; the fleet is sized for the {show(plan.fleet.rate_rps, 'req/s')} that pass.",
            metric="refused_share",
        )


def _dedicated(plan: Plan) -> Iterator[Finding]:
    found = merged_of(plan)
    if found is None or not plan.parts.adapter.exists:
        return
    share = plan.parts.asked.hottest * plan.replica.adapted
    factor = plan.replica.step(plan.replica.best.batch).factor
    traffic = found.saved_shared / factor if factor > 0 else 0.0
    verdict = (
        "it pays"
        if found.pays
        else f"it costs {some(-found.saved)} replicas more, unless freed slots or isolation matter"
    )
    yield Finding(
        code="dedicated",
        severity="info",
        message=f"The most popular adapter has {percent(share)} of the requests, {some(traffic)} of a replica without "
        f"adapter kernels. Merged into the base of its own replicas {verdict}: one replica pays from "
        f"{percent(break_even_traffic(factor))} of its capacity on.",
        metric="dedicated_saves_replicas",
    )
