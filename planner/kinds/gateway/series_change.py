"""Tables of a canary by its weight, and of the goodput past saturation by the queue limit."""

from __future__ import annotations

import numpy as np

from planner.core.result import Series
from planner.core.table import Values, table
from planner.formulas import canary
from planner.kinds.gateway.plan import Plan

WEIGHTS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.4, 0.5)
LOAD_POINTS = 41
TOP = 2.5


def canary_by_weight(plan: Plan) -> Series:
    """Time to see the regression by weight: errors, latency, and with the warming of caches."""
    spec, found = plan.spec, plan.canary
    weights = sorted({*WEIGHTS, min(max(spec.canary_weight, 0.001), 0.999)})
    errors = [_samples(plan, spec.base_error_rate, worse=spec.canary_error_rate, weight=each) for each in weights]
    slower = [_samples(plan, 1 - spec.latency_quantile, worse=found.exceedance, weight=each) for each in weights]

    def times(samples: list[float]) -> list[float | None]:
        pairs = zip(samples, weights, strict=True)
        return [canary.samples_s(count, weight=each, request_rps=spec.peak_rps) for count, each in pairs]

    errors_s, slower_s = times(errors), times(slower)
    hold = [
        None if one is None or other is None else found.warm_s + max(one, other)
        for one, other in zip(errors_s, slower_s, strict=True)
    ]
    return table(
        "canary_by_weight",
        "Time to see a regression by the weight of the canary",
        ("weight", "weight", "ratio", weights),
        ("hold_s", "hold, cache warmed first", "s", hold),
        ("errors_s", "errors seen", "s", errors_s),
        ("latency_s", "slow-down seen", "s", slower_s),
        ("samples", "requests to see the errors", "requests", errors),
    )


def _samples(plan: Plan, base: float, *, worse: float, weight: float) -> float:
    spec = plan.spec
    return canary.samples(base, worse=worse, weight=weight, alpha=spec.false_alarm, power=spec.power) or 0.0


def goodput_by_load(plan: Plan) -> Series:
    """Requests in time at each load, with the limit in use, a longer and a shorter one, and without."""
    found = plan.overload
    loads = [float(load) for load in np.linspace(0.0, max(TOP, 1.2 * min(plan.spec.overload_factor, 10)), LOAD_POINTS)]
    limits: dict[str, int | None] = {f"limit {found.limit:,}": found.limit}
    for other in (max(1, round(found.limit / 4)), round(found.deadline), round(1.3 * found.deadline)):
        if other > 0:
            limits.setdefault(f"limit {other:,}", other)
    limits["no limit"] = None
    columns: list[tuple[str, str, str, Values]] = [("load", "load over saturation", "×", loads)]
    for place, (label, limit) in enumerate(limits.items()):
        columns.append((f"goodput_{place}", label, "req/s", found.goodputs_at(loads, limit=limit)))
    return table("goodput_by_load", "Requests inside the objective past saturation", *columns)
