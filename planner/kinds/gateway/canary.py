"""A new version on part of the traffic: samples, time, and what separate caches cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from planner.formulas import canary, flush
from planner.kinds.gateway.policies import Policies
from planner.kinds.gateway.spec import GatewaySpec

LADDER = (0.01, 0.05, 0.25, 0.5)
FEW_ERRORS = 20.0
"""Expected errors of the old version below which the normal law is a poor one."""
MOST_EXACT = 10_000_000


@dataclass(frozen=True, slots=True)
class Canary:
    """What a step of the weight of the spec needs, and the whole ladder."""

    samples: float
    is_exact: bool
    """Whether the samples are those of the exact binomial test."""
    test_s: float | None
    latency_samples: float
    latency_s: float | None
    exceedance: float
    warm_s: float
    hold_s: float | None
    kept_hits: float
    """Share of the hits on histories that is left with versions given as they are."""
    safe_step: float
    """Largest share of the traffic that may move to cold caches at once."""
    ladder: tuple[canary.Stage, ...]


def canary_of(spec: GatewaySpec, *, policies: Policies) -> Canary:
    """Samples and time of a canary at the peak."""
    normal = _samples(spec, weight=spec.canary_weight) or 0.0
    few = normal * spec.base_error_rate < FEW_ERRORS
    exact = _exact(spec.base_error_rate, spec.canary_error_rate, spec.false_alarm, spec.power) if few else None
    samples = float(max(exact, normal)) if exact is not None else normal
    quantile = spec.latency_quantile
    over = canary.exceedance(quantile, slower=spec.latency_regression, sigma=spec.latency_sigma)
    latency = (
        canary.samples(1 - quantile, worse=over, weight=spec.canary_weight, alpha=spec.false_alarm, power=spec.power)
        or 0.0
    )
    chosen = policies.chosen
    warm_s = 0.0
    if chosen.delivered > 0:
        warm_s = float(flush.warm_after_s(policies.reuse.gaps, kept_s=chosen.hits.retention_s))
    test_s = canary.samples_s(samples, weight=spec.canary_weight, request_rps=spec.peak_rps)
    latency_s = canary.samples_s(latency, weight=spec.canary_weight, request_rps=spec.peak_rps)
    return Canary(
        samples=samples,
        is_exact=exact is not None and exact >= normal,
        test_s=test_s,
        latency_samples=latency,
        latency_s=latency_s,
        exceedance=over,
        warm_s=warm_s,
        hold_s=None if test_s is None or latency_s is None else warm_s + max(test_s, latency_s),
        kept_hits=1.0 if spec.canary_by == "session" else flush.kept_by_request_weights(spec.canary_weight),
        safe_step=flush.largest_safe_step(chosen.service.queue_rho, hit_share=max(chosen.delivered, 0.0)),
        ladder=canary.stages(
            LADDER,
            base=spec.base_error_rate,
            worse=spec.canary_error_rate,
            request_rps=spec.peak_rps,
            warm_s=warm_s,
            alpha=spec.false_alarm,
            power=spec.power,
        ),
    )


@lru_cache(maxsize=64)
def _exact(base: float, worse: float, alpha: float, power: float) -> int | None:
    return canary.exact_samples(base, worse=worse, alpha=alpha, power=power, at_most=MOST_EXACT)


def _samples(spec: GatewaySpec, *, weight: float) -> float | None:
    return canary.samples(
        spec.base_error_rate, worse=spec.canary_error_rate, weight=weight, alpha=spec.false_alarm, power=spec.power
    )
