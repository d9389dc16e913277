"""What an experienced reviewer asks of a gateway, answered with its own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.core.kind import FollowUp
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import counted, percent
from planner.kinds.gateway.policies import IN_WORDS, LABELS
from planner.kinds.gateway.simulation_options import DEFAULT_DURATION_S, MAX_REQUESTS
from planner.kinds.gateway.spec import GatewaySpec
from planner.kinds.gateway.waits import UNCAPPED
from planner.kinds.gateway.words import failing

LOST_AT_S, CANARY_AT_S = 100.0, 75.0
"""Of a run of two and a half minutes: when caches are warm, and early enough to see what follows."""


def follow_ups(spec: GatewaySpec, result: Result) -> Sequence[FollowUp]:
    """What an experienced reviewer asks."""
    if spec.peak_rps <= 0:
        return (FollowUp("What does it cost to keep nothing running?", "The replicas that are bought, and no more."),)
    return (
        _saturates(spec, result),
        _replica_dies(spec, result),
        _instance_dies(spec, result),
        _canary(spec, result),
        _hot_prefix(result),
        _retry_storm(spec, result),
        _overload(spec, result),
    )


def _saturates(spec: GatewaySpec, result: Result) -> FollowUp:
    series = result.series["saturation"]
    rows = list(zip(series.column("part").values, numbers(series, "rate_rps"), strict=True))
    gateway = [(str(part), rate) for part, rate in rows if str(part).startswith("gateway") and rate]
    first, last = gateway[0], gateway[-1]
    return FollowUp(
        "The gateway saturates. What then?",
        f"{counted(result.value('gateway_replicas') or 0.0, 'replica')} are full of "
        f"{first[0].removeprefix('gateway: ')} "
        f"at {show(first[1], 'req/s')}; the peak is {show(spec.peak_rps, 'req/s')}. Decisions alone would reach "
        f"{show(last[1], 'req/s')}. It keeps no state that matters: add replicas behind the balancer, one is due from "
        f"{show(result.value('max_rps_within_headroom'), 'req/s')} on. The instances, {IN_WORDS[spec.policy]}, "
        "saturate "
        f"at {show(result.value('max_rps'), 'req/s')}.",
    )


def _replica_dies(spec: GatewaySpec, result: Result) -> FollowUp:
    replicas, after = result.value("gateway_replicas") or 1.0, result.value("survivor_utilisation")
    cut = (result.value("streams") or 0.0) / max(replicas, 1.0)
    if after is None:
        answer = f"All {show(cut, 'streams')} end and nothing is routed until it is back: it is the only one."
    else:
        answer = (
            f"{show(cut, 'streams')} are cut and their clients come back within {show(spec.reconnect_s, 's')}, which "
            "takes "
            f"{show(result.value('reconnect_cores'), 'cores')} of handshakes. The fullest resource of those left is "
            "then "
            f"{percent(after)} used{'' if after <= 1 else ': more than there is'}."
        )
    return FollowUp("A gateway replica dies at the peak. What happens?", answer)


def _instance_dies(spec: GatewaySpec, result: Result) -> FollowUp:
    sent, failed = result.value("requests_lost"), result.value("requests_failed")
    how = {"active": "by probes", "passive": "by its errors", "both": "by errors, else by probes"}[spec.detection]
    again = (
        f"each goes on after {show(result.value('resume_delay_s'), 's')} elsewhere"
        if spec.broken_streams == "resume"
        else f"their clients start again and have caught up after {show(result.value('restart_delay_s'), 's')}"
    )
    return FollowUp(
        "An instance dies. What is lost?",
        f"It is left out {how}; {show(sent, 'requests')} are sent to it before; after retries "
        f"{failing(failed or 0.0)}. "
        f"{show(result.value('streams_cut'), 'streams')} break in their middle: {again}. Its part of the cache is "
        "gone: "
        f"{show(result.value('cold_surge_tokens'), 'tokens')} are computed again, and the others are "
        f"{percent(result.value('utilisation_after_loss') or 0.0)} busy at first.",
        {"fail_at_s": LOST_AT_S, "policies": "chosen"},
    )


def _canary(spec: GatewaySpec, result: Result) -> FollowUp:
    return FollowUp(
        "A new version goes out as a canary. How long, and what does it cost?",
        f"At {percent(spec.canary_weight)} hold it {show(result.value('canary_hold_s'), 's')}: "
        f"{show(result.value('canary_warm_s'), 's')} until its cache is warm, then "
        f"{result.value('canary_samples') or 0.0:,.0f} requests for the errors and "
        f"{result.value('canary_latency_samples') or 0.0:,.0f} for the latency. At most "
        f"{percent(result.value('canary_safe_step') or 0.0)} of the traffic may move to a cold version at once. Steps "
        "of "
        f"1, 5, 25 and 50 % take {show(result.value('rollout_s'), 's')} in all. The index keeps versions apart, "
        "because KV "
        "of one is worth nothing to the other.",
        {"canary_at_s": CANARY_AT_S, "policies": "chosen"},
    )


def _hot_prefix(result: Result) -> FollowUp:
    series = result.series["policies"]
    labels, skews = list(series.column("policy").values), numbers(series, "load_skew")
    naive = LABELS[UNCAPPED] if LABELS[UNCAPPED] in labels else LABELS["prefix_aware"]
    worst = skews[labels.index(naive)] or 1.0
    if worst <= 1.05:
        answer = "Nothing: no prefix is popular enough to matter, or there are none."
    else:
        spread = skews[labels.index(LABELS["cost_based"])] or 1.0
        mine = result.value("load_skew") or 1.0
        here = ", as this design does" if mine >= worst else f"; with the policy of this design it has {mine:.3g} ×"
        answer = (
            f"Naive affinity sends all of it to one instance while the others idle: {worst:.3g} × the mean load{here}. "
            f"Routed by cost, with a cap and spilling by load, it is copied and the fullest has {spread:.3g} ×."
        )
    return FollowUp("One prefix becomes very popular. What happens?", answer, {"policies": "all"})


def _retry_storm(spec: GatewaySpec, result: Result) -> FollowUp:
    factor = result.value("retry_amplification") or 1.0
    budget = "no budget" if spec.retry_budget is None else f"a budget of {percent(spec.retry_budget)}"
    return FollowUp(
        "Everything fails for a minute. Do retries make it worse?",
        f"With {counted(spec.retries, 'retry').replace('retrys', 'retries')} a request in "
        f"{counted(spec.retry_layers, 'layer')} and {budget} the load becomes {factor:.3g} times the demand, "
        f"{show(factor * spec.peak_rps, 'req/s')}; the instances saturate at {show(result.value('max_rps'), 'req/s')}. "
        "Retries belong into one layer, with a budget, jitter and idempotency keys.",
    )


def _overload(spec: GatewaySpec, result: Result) -> FollowUp:
    good, limit = result.value("goodput_rps_overload"), result.value("queue_limit") or 0.0
    answer = (
        f"With at most {show(limit, 'requests')} queued an instance, {show(good, 'req/s')} get their first token in "
        f"time and {percent(result.value('turned_away') or 0.0)} are turned away at once. Without a limit the queue "
        f"grows until all are late. With urgent ones first {percent(result.value('urgent_shed') or 0.0)} of them and "
        f"{percent(result.value('other_shed') or 0.0)} of the others are shed."
    )
    asked = f"Demand is {spec.overload_factor:g} times what the instances can do. What is still served?"
    return FollowUp(asked, answer, _overloaded(spec, result))


def _overloaded(spec: GatewaySpec, result: Result) -> Mapping[str, Any] | None:
    """The run that shows it, unless it is too long to be worth it."""
    rate = spec.overload_factor * (result.value("max_rps") or 0.0)
    if not 0 < rate * DEFAULT_DURATION_S <= MAX_REQUESTS:
        return None
    return {"rate_scale": min(max(float(f"{rate / spec.peak_rps:.3g}"), 1e-4), 1e4), "policies": "chosen"}
