"""Tables of routing: policies side by side, how uneven they load instances, what old views cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.core.result import Series
from planner.core.table import Values, table
from planner.formulas import stale_views as herd
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.skew import loads
from planner.kinds.gateway.waits import UNCAPPED

COLUMNS = 40
SKEW_ROWS = ("random", "bounded_hash", UNCAPPED, "prefix_aware", "cost_based")
RULES: dict[herd.Rule, str] = {
    "least": "shortest of all",
    "least_own": "the same, own dispatches counted",
    "three": "shortest of three",
    "two": "shorter of two",
}
VIEW_POINTS = 30
LEAST_INTERVAL = 0.05


def policies(plan: Plan) -> Series:
    """All policies on the same load, the design's own first."""
    rows = sorted(plan.policies.outcomes.values(), key=lambda each: each is not plan.policies.chosen)
    return table(
        "policies",
        "Policies on the same load",
        ("policy", "policy", "", [each.label for each in rows]),
        ("hit_share", "prompt tokens hit", "ratio", [each.delivered for each in rows]),
        ("prefix_hit_share", "shared prefixes found", "ratio", [each.hits.prefix for each in rows]),
        ("history_hit_share", "histories found", "ratio", [each.hits.history for each in rows]),
        ("instance_utilisation", "instances busy", "ratio", [each.service.rho for each in rows]),
        ("prefill_wait_s", "wait for prefill", "s", [each.wait_s for each in rows]),
        ("ttft_mean_s", "TTFT, mean", "s", [each.ttft_s for each in rows]),
        ("ttft_p99_s", "TTFT P99", "s", [each.ttft_p99_s for each in rows]),
        ("load_skew", "fullest instance", "× mean", [each.skew for each in rows]),
        ("capacity_rps", "saturates at", "req/s", [each.capacity_rps for each in rows]),
        ("relative_capacity", "capacity over random's", "×", [plan.policies.relative(each) for each in rows]),
    )


def places(instances: int) -> NDArray[np.int64]:
    """Ranks of the instances that a map shows: all, or evenly spread ones."""
    return np.linspace(0, instances, min(COLUMNS, instances), endpoint=False).astype(np.int64)


def skew(plan: Plan) -> Series:
    """Load over the mean by rank of the instance, a column each policy."""
    outcomes = plan.policies.outcomes
    at = places(plan.spec.instances)
    columns: list[tuple[str, str, str, Values]] = [("rank", "instance, fullest first", "", (at + 1).tolist())]
    for name in SKEW_ROWS:
        if name in outcomes:
            ordered = loads(plan.spec, plan.policies.reuse, name=name)
            # Of very large fleets a smaller one is drawn; ranks are then shares of it.
            drawn = at * len(ordered) // plan.spec.instances
            columns.append((name, outcomes[name].label, "× mean", ordered[drawn].tolist()))
    return table("load_skew", "Load of the instances over the mean", *columns)


def _view_interval(plan: Plan) -> float:
    """Time between two reports in prefill times, within the table."""
    service_s = max(plan.policies.chosen.service.mean_s or 1.0, 1e-9)
    return float(min(max(plan.spec.view_interval_s / service_s, LEAST_INTERVAL), herd.HERD_INTERVALS[-1]))


def view_age(plan: Plan) -> Series:
    """Where this design stands in `stale_views`."""
    return table(
        "view_age",
        "Time between two reports of this design",
        ("interval", "time between two reports", "prefill times", [_view_interval(plan)]),
    )


def stale_views(plan: Plan) -> Series:
    """Time in the system at a load of 90 % by the age of the views, from the simulated table."""
    points = np.geomspace(LEAST_INTERVAL, herd.HERD_INTERVALS[-1], VIEW_POINTS)
    intervals = sorted({*(float(point) for point in points), _view_interval(plan)})
    return table(
        "stale_views",
        "Time in the system at a load of 90 % by the age of the views",
        ("interval", "time between two reports", "prefill times", list(intervals)),
        *(
            (rule, label, "service times", [herd.stale_sojourn(each, rule=rule) for each in intervals])
            for rule, label in RULES.items()
        ),
    )
