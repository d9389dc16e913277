"""An instance dies: how soon it is noticed, what is lost, cut and retried, and what its cold cache costs afterwards."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.formulas import detection, ejection, flush, lengths, midstream, retries
from planner.kinds.gateway.load import Load
from planner.kinds.gateway.policies import Outcome, Policies
from planner.kinds.gateway.spec import GatewaySpec
from planner.kinds.gateway.waits import SPREADING

MOST_ORDERS = 30.0
"""Powers of ten of probes: beyond the age of the universe, probed each millisecond."""


@dataclass(frozen=True, slots=True)
class Noticed:
    """Time until the last gateway stops sending, and what was sent meanwhile; None: never noticed."""

    mean_s: float | None
    worst_s: float | None
    mean_lost: float | None
    worst_lost: float | None


@dataclass(frozen=True, slots=True)
class Failure:
    """What the loss of instances means, from the first request sent to a dead one to a warm cache."""

    probes: detection.Detection
    errors: detection.Detection | None
    """By errors of requests; None without requests."""
    noticed: Noticed
    """By what the design uses."""
    lost: float | None
    """Requests that fail for good, of those sent to the dead instances until the last gateway knows."""
    cut: float
    """Streams that end in their middle."""
    cut_age_tokens: float
    resume: midstream.Recovery
    restart: midstream.Recovery
    retry_factor: float
    """Attempts for one request when everything fails: all layers, with the budget if there is one."""
    retry_factor_free: float
    """The same without a budget."""
    miss: float
    """Share of the probes of a live instance that fail."""
    false_apart_s: float | None
    """Between two live instances taken for dead; None: never."""
    most_out: int
    idle_s: float | None
    """How long a recovered instance still stays out; None: for ever."""
    recloses: float | None
    """Probability that the trials of a healthy instance close its breaker; None without trials."""
    surge_tokens: float
    """Prompt tokens computed again because the caches of the lost are gone."""
    rho_after: float
    """Load of those that are left, at first."""
    rho_after_warm: float
    """The same when their caches have what they hold for good."""
    warm_s: float


def failure_of(spec: GatewaySpec, *, load: Load, policies: Policies, routers: int) -> Failure:
    """The failure of ``instances_lost`` instances at the peak."""
    hangs = spec.failure_mode == "hangs"
    probes = detection.active(
        load.instance_rps,
        interval_s=spec.probe_interval_s,
        failures=spec.probe_failures,
        timeout_s=spec.probe_timeout_s if hangs else 0.0,
    )
    errors = _by_errors(spec, load=load, routers=routers, timeout_s=spec.request_timeout_s if hangs else 0.0)
    noticed = _noticed(spec, probes=probes, errors=errors, attraction=attraction(spec))
    chosen = policies.chosen
    scv = lengths.squared_variation(spec.output_sigma)
    age = midstream.age_when_cut(spec.output_tokens, scv=scv)
    miss = _miss(spec, chosen=chosen)
    recovery = {
        "prompt_tokens": spec.input_tokens,
        "cached_tokens": chosen.hits.prefix * policies.reuse.prefix_tokens,
        "prefill_tokens_per_s": spec.prefill_tokens_per_s * max(1 - chosen.service.decode_share, 1e-9),
    }
    return Failure(
        probes=probes,
        errors=errors,
        noticed=noticed,
        lost=_lost(spec, noticed=noticed),
        cut=spec.instances_lost * detection.streams_cut(load.instance_rps, duration_s=spec.output_tokens * spec.tpot_s),
        cut_age_tokens=age,
        resume=midstream.resume(age, **recovery),
        restart=midstream.start_again(age, tpot_s=spec.tpot_s, **recovery),
        retry_factor=_retry_factor(spec, budget=spec.retry_budget),
        retry_factor_free=_retry_factor(spec, budget=None),
        miss=miss,
        false_apart_s=_false_apart_s(spec, miss=miss),
        most_out=ejection.most_ejected(spec.instances, cap_share=spec.ejection_cap),
        idle_s=ejection.idle_after_recovery_s(spec.outage_s, base_s=spec.ejection_s)
        if spec.half_open == "on"
        else None,
        recloses=ejection.reclosed(spec.base_error_rate, trials=spec.half_open_trials if spec.half_open == "on" else 0),
        **_surge(spec, policies=policies),
    )


def _by_errors(spec: GatewaySpec, *, load: Load, routers: int, timeout_s: float) -> detection.Detection | None:
    failures = spec.passive_failures
    if spec.verdicts == "shared":
        return detection.passive_shared(load.instance_rps, failures=failures, timeout_s=timeout_s)
    return detection.passive_private(load.instance_rps, failures=failures, routers=routers, timeout_s=timeout_s)


def attraction(spec: GatewaySpec) -> float:
    """Requests that a dead instance gets over its share: one that refuses at once looks idle to who counts.

    With the fewest of all it gets every request, among two drawn it gets each draw it is in.
    """
    if spec.failure_mode == "hangs":
        return 1.0
    sought = {"least_requests": float(spec.instances), "power_of_two": 2.0}
    return min(sought.get(spec.policy, 1.0), float(spec.instances))


def _noticed(
    spec: GatewaySpec, *, probes: detection.Detection, errors: detection.Detection | None, attraction: float
) -> Noticed:
    """By the quicker of the two where both are used."""
    probes = probes._replace(mean_lost=attraction * probes.mean_lost, worst_lost=attraction * probes.worst_lost)
    if spec.detection == "active":
        return Noticed(*probes)
    if spec.detection == "passive":
        return Noticed(None, None, None, None) if errors is None else Noticed(*errors)
    if errors is None:
        return Noticed(*probes)
    return Noticed(*(min(one, other) for one, other in zip(probes, errors, strict=True)))


def _lost(spec: GatewaySpec, *, noticed: Noticed) -> float | None:
    """A retry goes to another instance, which is dead as well with the share of those lost."""
    if noticed.worst_lost is None:
        return None
    dead = spec.instances_lost / spec.instances
    if spec.retries == 0:
        return spec.instances_lost * noticed.worst_lost
    budget = math.inf if spec.retry_budget is None else spec.retry_budget
    failed = retries.failed_after_retries(dead, retries=spec.retries, budget=budget)
    return spec.instances_lost * noticed.worst_lost * min(1.0, max(failed, 0.0) / dead)


def _retry_factor(spec: GatewaySpec, *, budget: float | None) -> float:
    if budget is None:
        return float(retries.attempts_of_layers(spec.retries, layers=spec.retry_layers))
    own = retries.attempts_within_budget(1.0, retries=spec.retries, budget=budget)
    return own * retries.attempts_of_layers(spec.retries, layers=spec.retry_layers - 1)


def _miss(spec: GatewaySpec, *, chosen: Outcome) -> float:
    """Probes lost on the way, and those that wait longer than their timeout behind prefills."""
    if spec.probe_path == "aside":
        return spec.probe_error
    late = chosen.share_waiting_longer(spec.probe_timeout_s)
    return 1 - (1 - spec.probe_error) * (1 - late)


def _false_apart_s(spec: GatewaySpec, *, miss: float) -> float | None:
    """Between two live instances taken for dead; None when it is never, or so rare that no number holds it."""
    if spec.detection == "passive" or miss <= 0 or -math.log10(miss) * spec.probe_failures > MOST_ORDERS:
        return None
    return detection.seconds_between_false_ejections(
        miss, failures=spec.probe_failures, interval_s=spec.probe_interval_s, instances=spec.instances
    )


def _surge(spec: GatewaySpec, *, policies: Policies) -> dict[str, float]:
    """The sessions and prefixes of the lost instances are computed again on those that are left."""
    chosen, reuse = policies.chosen, policies.reuse
    share = spec.instances_lost / spec.instances
    left = 1 - share
    if left <= 0 or reuse.rps <= 0:
        return {"surge_tokens": 0.0, "rho_after": 0.0, "rho_after_warm": 0.0, "warm_s": 0.0}
    kept_s = chosen.hits.retention_s
    history = share * reuse.rps * reuse.follow_share * reuse.found_tokens
    if chosen.name in SPREADING:
        history *= chosen.hits.history
    again = float(flush.extra_prefill_tokens(history, gaps=reuse.gaps, kept_s=kept_s))
    service = chosen.service
    cold = (service.computed_tokens + share * chosen.delivered * reuse.prompt_tokens) / max(
        service.computed_tokens, 1e-12
    )
    return {
        "surge_tokens": again,
        "rho_after": (service.prefill_share * cold + service.decode_share) / left,
        "rho_after_warm": service.rho / left,
        "warm_s": float(flush.warm_after_s(reuse.gaps, kept_s=kept_s)),
    }
