"""What routing does with the load: whether policies tie, what the chosen one leaves, where it makes a hot spot."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.core.quantities import NBSP, show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.formulas import affinity, hashing, stale_views
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.policies import Outcome
from planner.kinds.gateway.waits import SPREADING, UNCAPPED

LITTLE = affinity.TIE
TIED = {
    "load": "instances are only {rho} busy, so hardly a queue forms",
    "prefill": "prefill is {phi} of an instance's time, the rest is decode, which no cache shortens",
    "reuse": "only {u} of the prompt tokens were sent before",
    "cache": "every cache holds the working set: random routing hits {random} of the prompt tokens, affinity {held}",
    "gain": "reuse, hits and the share of prefill are each small",
}

RULE_WORDS = {
    "two": "the shorter of two queues drawn at random",
    "three": "the shortest of three drawn at random",
    "least": "the shortest of all",
    "least_own": "the shortest of all with own dispatches counted",
}


def routing_findings(plan: Plan) -> Iterator[Finding]:
    """Saturation first, then what another policy would do."""
    yield from _saturated(plan)
    yield from _objective(plan)
    yield from _hot_prefix(plan)
    yield from _tie_or_gain(plan)
    yield from _torn_sessions(plan)
    yield from _counts(plan)
    yield from _old_views(plan)


def _saturated(plan: Plan) -> Iterator[Finding]:
    spec, chosen, best = plan.spec, plan.policies.chosen, plan.policies.best
    if chosen.wait_s is not None:
        return
    if chosen.service.rho < 1 and chosen.skew > 1:
        yield _hot_spot(plan, chosen)
        return
    needed = math.ceil(spec.instances * plan.load.rps / chosen.capacity_rps / 0.8)
    other = best.capacity_rps > max(plan.load.rps, chosen.capacity_rps)
    change = {"policy": best.name} if other else None
    helps = f"{counted(needed, 'instance')} would be 80 % busy"
    if other:
        helps = f"{best.said} carries {show(best.capacity_rps, 'req/s')} on the same instances"
    yield Finding(
        code="instances_saturated",
        severity="error",
        message=f"{chosen.said} asks for {percent(chosen.service.rho)} of the time of {_all(spec.instances)}: they "
        f"carry {show(chosen.capacity_rps, 'req/s')} of {show(plan.load.rps, 'req/s')}, so the queue grows without end "
        "and times have no value.",
        metric="ttft_p99_s",
        suggestion=f"{helps}.",
        change=change or {"instances": min(max(needed, spec.instances_lost), 100_000)},
    )


def _all(instances: int) -> str:
    return "the one instance" if instances == 1 else f"all {instances:,} instances"


def _hot_spot(plan: Plan, chosen: Outcome) -> Finding:
    spec, popularity = plan.spec, plan.policies.reuse.popularity
    hottest = popularity.most * spec.instances
    return Finding(
        code="hot_spot",
        severity="error",
        message=f"{chosen.said} makes a hot spot: the first prefix takes {percent(popularity.most)} of the sessions, "
        f"{hottest:.3g} times what a mean instance gets, and the fullest of {spec.instances:,} instances is asked for "
        f"{chosen.skew:.3g} × the mean load. It saturates at {show(chosen.capacity_rps, 'req/s')} of "
        f"{show(plan.load.rps, 'req/s')} while the fleet is {percent(chosen.service.rho)} busy.",
        metric="load_skew",
        suggestion="Cap what one prefix may put on an instance, and let requests spill by load: route by cost.",
        change={"policy": "cost_based", "hot_prefix_cap": hashing.CAP},
    )


def _objective(plan: Plan) -> Iterator[Finding]:
    chosen, limit = plan.policies.chosen, plan.spec.ttft_p99_slo_s
    if chosen.ttft_p99_s is None or chosen.ttft_p99_s <= limit:
        return
    yield Finding(
        code="ttft_slo_missed",
        severity="error",
        message=f"TTFT P99 is {show(chosen.ttft_p99_s, 's')}, the objective {show(limit, 's')}: prefill takes "
        f"{show(chosen.service.mean_s, 's')} on average, the wait for it {show(chosen.wait_s, 's')}.",
        metric="ttft_p99_s",
        suggestion="Add instances, or route so that more of the prompts is hit.",
        change={"instances": min(math.ceil(1.25 * plan.spec.instances), 100_000)},
    )


def _hot_prefix(plan: Plan) -> Iterator[Finding]:
    """What a cap does, where there are prefixes that need it."""
    spec, reuse = plan.spec, plan.policies.reuse
    if not reuse.groups or not reuse.prefix_tokens or spec.policy in SPREADING:
        return
    cap = hashing.CAP if spec.hot_prefix_cap is None else spec.hot_prefix_cap
    popularity = reuse.popularity
    hot = hashing.hot_prefixes(popularity.shares, instances=spec.instances, cap=cap, items=popularity.items)
    naive = plan.policies.outcomes.get(UNCAPPED, plan.policies.outcomes["prefix_aware"])
    if hot.groups < 1 or spec.instances < 2:
        return
    yield Finding(
        code="hot_prefixes",
        severity="info",
        message=f"{_hot(hot.groups)} more than {cap:g} × the mean load each, {percent(hot.share)} of the sessions "
        f"together: under a cap they lie on {hot.copies:,.0f} places. Without one the fullest instance gets "
        f"{naive.skew:.3g} × the mean.",
        metric="load_skew",
        suggestion="A cap alone does not even out chance: copies fall on the same instances. Spill by load as well.",
    )


def _hot(groups: float) -> str:
    return "One prefix brings" if round(groups) == 1 else f"{groups:,.0f} prefixes bring"


def _tie_or_gain(plan: Plan) -> Iterator[Finding]:
    policies, chosen, best = plan.policies, plan.policies.chosen, plan.policies.best
    if policies.tie:
        yield _tie(plan)
        return
    gain = best.capacity_rps / chosen.capacity_rps
    random = policies.outcomes["random"]
    saved = plan.spec.instances * plan.load.rps * (1 / random.capacity_rps - 1 / best.capacity_rps)
    price = plan.spec.instance_usd_per_h
    worth = f", worth {show(saved * price, 'USD/h')}" if price else ""
    if gain < 1 + LITTLE or best.name == chosen.name:
        yield Finding(
            code="affinity_pays",
            severity="info",
            message=f"{chosen.said} hits {percent(chosen.delivered)} of the prompt tokens, random routing "
            f"{percent(random.delivered)}: the fleet carries {show(chosen.capacity_rps, 'req/s')} instead of "
            f"{show(random.capacity_rps, 'req/s')}. At this peak that is {counted(saved, 'instance')} saved{worth}.",
            metric="relative_capacity",
        )
        return
    yield Finding(
        code="policy_leaves_capacity",
        severity="warning",
        message=f"{chosen.said} hits {percent(chosen.delivered)} of the prompt tokens and carries "
        f"{show(chosen.capacity_rps, 'req/s')}; {best.words} hits {percent(best.delivered)} and carries "
        f"{show(best.capacity_rps, 'req/s')}, {gain:.3g} times as much.",
        metric="relative_capacity",
        suggestion=f"Take {best.words}.",
        change={"policy": best.name},
    )


def _tie(plan: Plan) -> Finding:
    policies, random = plan.policies, plan.policies.outcomes["random"]
    why = TIED[policies.tie].format(
        rho=percent(random.service.rho),
        phi=percent(policies.prefill_share_of_random),
        u=percent(policies.reuse.reusable_share),
        random=percent(random.delivered),
        held=percent(policies.held.share),
    )
    return Finding(
        code="policies_tie",
        severity="info",
        message=f"{_who_ties(plan)} tie: {why}. Affinity would gain {_gained(policies.gain - 1)}.",
        metric="affinity_gain",
        suggestion="Take the simplest: round robin, or the fewest requests; an index is not worth its events here.",
        change=None if plan.spec.policy == "round_robin" else {"policy": "round_robin"},
    )


def _gained(share: float) -> str:
    return "no capacity" if share < 5e-4 else f"{100 * share:.2g}{NBSP}% of capacity at most"


def _who_ties(plan: Plan) -> str:
    hot = plan.policies.outcomes.get(UNCAPPED, plan.policies.outcomes["prefix_aware"])
    return "All policies that make no hot spot" if hot.wait_s is None else "All policies"


def _torn_sessions(plan: Plan) -> Iterator[Finding]:
    """A hash keeps prefixes or sessions together, not both."""
    spec, chosen, policies = plan.spec, plan.policies.chosen, plan.policies
    if spec.policy != "bounded_hash" or policies.held.share - chosen.delivered < LITTLE:
        return
    cost = policies.outcomes["cost_based"]
    if spec.hash_key == "prefix":
        lost = f"finds {percent(chosen.hits.history)} of the histories: sessions of hot prefixes wander between copies"
    else:
        lost = f"finds {percent(chosen.hits.prefix)} of the shared prefixes: each instance needs its own copy of them"
    yield Finding(
        code="hash_tears_apart",
        severity="warning",
        message=f"A hash of the {'shared prefix' if spec.hash_key == 'prefix' else 'session'} {lost}, and caches keep "
        f"an entry for {show(chosen.hits.retention_s, 's')}. Routing by what is cached hits {percent(cost.delivered)} "
        f"instead of {percent(chosen.delivered)}.",
        metric="hit_share",
        suggestion="Route by cost, or hash the other key.",
        change={"policy": "cost_based"},
    )


def _counts(plan: Plan) -> Iterator[Finding]:
    spec, chosen = plan.spec, plan.policies.chosen
    running = plan.load.instance_rps * spec.output_tokens * spec.tpot_s
    if spec.policy not in ("least_requests", "power_of_two") or chosen.wait_s is None or running < 5:
        return
    waiting = chosen.wait_s * plan.load.instance_rps
    in_turn = plan.policies.outcomes["round_robin"]
    yield Finding(
        code="counts_are_streams",
        severity="warning",
        message=f"Of the requests counted at an instance {running:,.0f} decode and {waiting:.2g} wait for prefill: the "
        f"count says little of the queue, and the mean wait is {show(chosen.wait_s, 's')}. Round robin, which looks at "
        f"nothing, has {show(in_turn.wait_s, 's')}.",
        metric="prefill_wait_s",
        suggestion="Count what waits for prefill, in tokens or seconds, not what is open.",
        change={"policy": "cost_based"},
    )


def _old_views(plan: Plan) -> Iterator[Finding]:
    """Routers that all run to the instance that was the least busy."""
    spec, chosen = plan.spec, plan.policies.chosen
    mean_s = chosen.service.mean_s
    if spec.policy in SPREADING[:2] or spec.policy in ("bounded_hash", "prefix_aware") or not mean_s:
        return
    interval = spec.view_interval_s / mean_s
    if interval < stale_views.LEAST_BELOW or chosen.service.rho < affinity.LOW_LOAD:
        return
    counted_own = spec.own_dispatches == "counted"
    best = stale_views.best_rule(interval, routers=plan.sizing.replicas, own_counted=counted_own)
    rule: stale_views.Rule = "least_own" if counted_own else "least"
    warned = rule != best and spec.policy != "power_of_two"
    shorter = spec.view_interval_s * stale_views.LEAST_BELOW / interval
    yield Finding(
        code="old_views",
        severity="warning" if warned else "info",
        message=f"Queues are reported every {show(spec.view_interval_s, 's')}, {interval:.3g} prefill times of "
        f"{show(mean_s, 's')}, and {counted(plan.sizing.replicas, 'gateway')} run to the same short queue until then. "
        f"At a load of 90 % the shortest of all, {'with' if counted_own else 'without'} own dispatches counted, takes "
        f"{stale_views.stale_sojourn(interval, rule=rule):.3g} service times by such a view, "
        f"{stale_views.stale_sojourn(0.0, rule=rule):.3g} by a fresh one; best at this age is {RULE_WORDS[best]}.",
        metric="prefill_wait_s",
        suggestion=f"Report every {show(shorter, 's')}, and count own dispatches." if warned else None,
        change={"view_interval_s": float(f"{shorter:.2g}"), "own_dispatches": "counted"} if warned else None,
    )
