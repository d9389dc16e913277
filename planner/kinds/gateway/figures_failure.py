"""Metrics of failure, canary and overload."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.result import Metric
from planner.kinds.gateway.metrics import figure
from planner.kinds.gateway.plan import Plan

HOURS_PER_DAY = 24.0
DAY_S = 86_400.0


def failure(plan: Plan) -> Iterator[Metric]:
    """From the first request sent to a dead instance to a warm cache."""
    spec, found = plan.spec, plan.failure
    errors = found.errors
    yield figure(
        "requests_lost_before_ejection",
        found.probes.worst_lost,
        working=f"{spec.peak_rps:,g} / {spec.instances:,} × {found.probes.worst_s:g} s",
    )
    yield figure("requests_lost_before_ejection_mean", found.probes.mean_lost)
    yield figure("requests_lost_passive", None if errors is None else errors.worst_lost)
    yield figure("detection_active_mean_s", found.probes.mean_s)
    yield figure("detection_active_max_s", found.probes.worst_s)
    yield figure("detection_passive_mean_s", None if errors is None else errors.mean_s)
    yield figure("detection_passive_last_s", None if errors is None else errors.worst_s)
    sent = found.noticed.worst_lost
    yield figure("requests_lost", None if sent is None else spec.instances_lost * sent)
    yield figure("requests_failed", found.lost)
    yield figure("streams_cut", found.cut)
    yield figure("cut_age_tokens", found.cut_age_tokens)
    yield figure("resume_delay_s", found.resume.delay_s)
    yield figure("restart_delay_s", found.restart.delay_s)
    taken = found.resume if spec.broken_streams == "resume" else found.restart
    yield figure("cut_delay_s", taken.delay_s)
    yield figure("cut_tokens_again", found.cut * taken.repeated_tokens)
    yield figure("retry_amplification", found.retry_factor)
    apart = found.false_apart_s
    yield figure("false_ejections_per_day", DAY_S / apart if apart is not None and apart > 0 else 0.0)
    yield figure("most_ejected", found.most_out)
    yield figure("half_open_closes", found.recloses)
    yield figure("recovered_idle_s", found.idle_s)
    yield figure("cold_surge_tokens", found.surge_tokens)
    yield figure("utilisation_after_loss", found.rho_after)
    per_day = HOURS_PER_DAY * spec.instances * spec.instance_failures_per_h
    yield figure("streams_cut_per_day", per_day * found.cut / spec.instances_lost)


def canary(plan: Plan) -> Iterator[Metric]:
    """Samples and time of the canary."""
    found = plan.canary
    yield figure("canary_samples", found.samples)
    yield figure("canary_s", found.test_s)
    yield figure("canary_latency_samples", found.latency_samples)
    yield figure("canary_latency_s", found.latency_s)
    yield figure("canary_warm_s", found.warm_s)
    yield figure("canary_hold_s", found.hold_s)
    holds = [stage.hold_s for stage in found.ladder if stage.hold_s is not None]
    yield figure("rollout_s", sum(holds) if holds else None)
    yield figure("canary_kept_hits", found.kept_hits)
    yield figure("canary_safe_step", found.safe_step)


def overload(plan: Plan) -> Iterator[Metric]:
    """Goodput past saturation."""
    found = plan.overload
    yield figure("queue_limit", found.limit)
    yield figure("queue_limit_best", found.best_limit)
    yield figure("goodput_rps_overload", found.goodput_rps)
    yield figure("goodput_rps_overload_unlimited", found.goodput_unlimited_rps)
    yield figure("turned_away", found.turned_away)
    yield figure("urgent_shed", found.urgent_shed)
    yield figure("other_shed", found.other_shed)
