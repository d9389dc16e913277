"""Tables of a failure: what is lost while nobody knows, and how busy the others are until their caches are warm."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from planner.core.result import Series
from planner.core.table import table
from planner.formulas import flush
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.waits import SPREADING

POINTS = 61
FINE = 1201
"""Steps of the integral over time."""


def lost_over_time(plan: Plan) -> Series:
    """Requests sent to one dead instance since its failure, by probes, by errors and by both: expected numbers."""
    spec, found, rate = plan.spec, plan.failure, plan.load.instance_rps
    errors_s = 0.0 if found.errors is None else found.errors.worst_s
    until_s = 1.15 * max(found.probes.worst_s, min(errors_s, 10 * found.probes.worst_s))
    fine = np.linspace(0.0, until_s, FINE)
    probes, errors = _unnoticed_by_probes(plan, fine), _unnoticed_by_errors(plan, fine)
    every = (FINE - 1) // (POINTS - 1)
    columns = {
        "probes": rate * _integral(probes, fine),
        "errors": rate * _integral(errors, fine),
        "both": rate * _integral(probes * errors, fine),
    }
    return table(
        "lost_over_time",
        f"Requests sent to a dead instance that {spec.failure_mode}",
        ("time_s", "time since the failure", "s", fine[::every].tolist()),
        ("active", "probes alone", "requests", columns["probes"][::every].tolist()),
        ("passive", "errors alone", "requests", columns["errors"][::every].tolist()),
        ("both", "both", "requests", columns["both"][::every].tolist()),
    )


def _unnoticed_by_probes(plan: Plan, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """The last of the failed probes falls evenly into one interval."""
    last_s, interval_s = plan.failure.probes.worst_s, plan.spec.probe_interval_s
    left: NDArray[np.float64] = np.clip((last_s - at_s) / interval_s, 0.0, 1.0)
    return left


def _unnoticed_by_errors(plan: Plan, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the gateways that have not seen enough errors: the Erlang law, after the timeout if the instance "
    "hangs."""
    spec = plan.spec
    if plan.load.instance_rps <= 0:
        return np.ones_like(at_s)
    routers = 1 if spec.verdicts == "shared" else max(plan.sizing.replicas, 1)
    timeout_s = spec.request_timeout_s if spec.failure_mode == "hangs" else 0.0
    seen = np.maximum(at_s - timeout_s, 0.0) * plan.load.instance_rps / routers
    unnoticed: NDArray[np.float64] = gammaincc(spec.passive_failures, seen)
    return unnoticed


def _integral(values: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    steps = np.diff(at) * (values[1:] + values[:-1]) / 2
    return np.concatenate(([0.0], np.cumsum(steps)))


def after_loss(plan: Plan) -> Series:
    """How busy the instances are from a loss to warm caches: what the lost held comes back as sessions return."""
    spec, policies, found = plan.spec, plan.policies, plan.failure
    reuse, chosen = policies.reuse, policies.chosen
    kept_s = chosen.hits.retention_s
    until_s = found.warm_s if math.isfinite(found.warm_s) and found.warm_s > 0 else 60.0
    times = np.linspace(0.0, 1.5 * until_s, POINTS)
    share = spec.instances_lost / spec.instances
    if share >= 1 or reuse.rps <= 0:
        return table("after_loss", "Load after a loss", ("time_s", "time", "s", [0.0]), ("rho", "busy", "ratio", [0.0]))
    warm = float(reuse.gaps.cdf(kept_s)) if math.isfinite(kept_s) else 1.0
    back = np.minimum(flush.hit_after_flush(times, gaps=reuse.gaps, kept_s=kept_s) / max(warm, 1e-12), 1.0)
    cold = 0.0 if chosen.name in SPREADING else found.rho_after - found.rho_after_warm
    return table(
        "after_loss",
        "Load of the instances that are left",
        ("time_s", "time since the loss", "s", times.tolist()),
        ("rho", "instances busy", "ratio", (found.rho_after_warm + cold * (1 - back)).tolist()),
    )
