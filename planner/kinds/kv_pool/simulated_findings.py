"""What a simulation tells in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from planner.core.quantities import show
from planner.core.result import Finding, Metric
from planner.core.simulated import unreliable
from planner.core.wording import counted
from planner.kinds.kv_pool.change import safe_weight_step, step_apart_s
from planner.kinds.kv_pool.policies_compared import LABELS
from planner.kinds.kv_pool.run_plan import Run
from planner.kinds.kv_pool.simulated import DEFINITIONS
from planner.kinds.kv_pool.simulation_charts import ALIKE
from planner.kinds.kv_pool.words import lasting, percent, steps

if TYPE_CHECKING:
    from sims.engine.interval import Interval
    from sims.systems.kv_pool import Outcome


def findings(
    run: Run,
    *,
    outcomes: Mapping[str, Outcome],
    metrics: Mapping[str, Metric],
    intervals: Mapping[str, Interval | None],
) -> list[Finding]:
    """What holds of the run, then what it says of the design."""
    outcome = next(iter(outcomes.values()))
    return [
        *_not_steady(run, outcome=outcome),
        *_cut_short(outcome),
        *_missed(metrics, steady=outcome.is_steady),
        *_tiers(outcome),
        *_policies(outcomes),
        *_upgrade(run, outcome=outcome),
        *_lost(run, outcome=outcome),
        *unreliable(intervals, definitions=DEFINITIONS),
        *_left_out(run),
    ]


def _not_steady(run: Run, *, outcome: Outcome) -> Iterator[Finding]:
    if outcome.is_steady:
        return
    units = outcome.config.nodes
    yield Finding(
        code="not_steady",
        severity="error",
        message=f"Prefill does not keep up on {counted(units, 'unit')}: {outcome.in_flight:,} turns are in the system "
        f"at the end, of {outcome.arrived:,} that came. Latencies of this run grow with its length.",
        metric="ttft_p99_s",
        suggestion=_way_out(run),
        change=None if run.chosen.upgrade_at_s is not None else {"prefill_units": units + max(1, units // 4)},
    )


def _way_out(run: Run) -> str:
    step = safe_weight_step(run.made)
    if run.chosen.upgrade_at_s is None or step is None:
        return "More units."
    return f"Move the traffic in {steps(step, lasting(step_apart_s(run.made)))}, or add units while caches are cold."


def _cut_short(outcome: Outcome) -> Iterator[Finding]:
    reached = f"{show(outcome.simulated_s, 's')} of {show(outcome.horizon_s, 's')}"
    if outcome.ending == "budget":
        yield Finding("cut_short", "warning", f"The run was cut at {reached}: its computing time was up.")
    if outcome.ending == "full":
        many = f"{outcome.in_flight:,} turns in flight"
        yield Finding("cut_short", "warning", f"The run was cut at {reached}: {many} are more than it keeps.")


def _missed(metrics: Mapping[str, Metric], *, steady: bool) -> Iterator[Finding]:
    metric = metrics["ttft_p99_s"]
    if metric.met is False and metric.value is not None:
        over = "" if steady else " and still growing"
        yield Finding(
            "ttft_objective_missed",
            "warning",
            f"TTFT P99 is {show(metric.value, 's')}{over}; the objective is {show(metric.objective, 's')}.",
            "ttft_p99_s",
        )


def _tiers(outcome: Outcome) -> Iterator[Finding]:
    for tier in outcome.tiers:
        if tier.capacity_bytes > 0 and tier.full_s is None and tier.used_bytes > 0:
            share = percent(tier.used_bytes / tier.capacity_bytes)
            yield Finding(
                "tier_not_full",
                "info",
                f"{tier.name.upper()} is {share} full at the end and has dropped nothing for room: its hits are those "
                "of a tier without limit.",
                f"{tier.name}_hit_share",
            )
    for link in outcome.links:
        if link.busy >= 1:
            name = link.name.replace("_", " ")
            yield Finding("link_overrun", "warning", f"The links “{name}” were asked for more than they can move.")


def _policies(outcomes: Mapping[str, Outcome]) -> Iterator[Finding]:
    shares = {name: share.value for name, each in outcomes.items() if (share := each.hit_share()) is not None}
    if len(shares) < 2:
        return
    best = max(shares, key=lambda name: shares[name])
    told = ", ".join(f"{LABELS[name]} {percent(share)}" for name, share in shares.items())
    leaders = [LABELS[name] for name, share in shares.items() if share >= shares[best] - ALIKE]
    verdict = "All tie" if len(leaders) == len(shares) else f"Most is found {' and '.join(sorted(leaders))}"
    yield Finding("policies_compared", "info", f"Dropped on the same turns: {told}. {verdict}.", f"{best}_hit_share")


def _moved(share: float) -> str:
    return "all the traffic" if share >= 1 else f"{percent(share)} of the traffic"


def _restarted(turns: int) -> str:
    return f"{counted(turns, 'turn')} {'was' if turns == 1 else 'were'} computed again"


def _upgrade(run: Run, *, outcome: Outcome) -> Iterator[Finding]:
    at_s = run.chosen.upgrade_at_s
    if at_s is None:
        return
    queue = [(one.at_s, one.in_flight) for one in outcome.samples if one.at_s >= at_s]
    before = [one.in_flight for one in outcome.samples if one.at_s < at_s]
    if not queue or not before:
        return
    worst_s, worst = max(queue, key=lambda row: row[1])
    yield Finding(
        "upgraded",
        "info",
        f"The upgrade at {show(at_s, 's')} moved {_moved(run.chosen.upgrade_share)} at once: turns in "
        f"the system rose from {before[-1]:,} to {worst:,}, {show(worst_s - at_s, 's')} later. The estimate beside the "
        "run is of the time without it.",
        "ttft_p99_s",
    )


def _lost(run: Run, *, outcome: Outcome) -> Iterator[Finding]:
    at_s = run.chosen.lose_unit_at_s
    if at_s is None:
        return
    yield Finding(
        "unit_lost",
        "info",
        f"A unit and its part of the tiers were lost at {show(at_s, 's')} and came back empty after "
        f"{show(run.chosen.rejoin_s, 's')}: {_restarted(outcome.restarted)} at once, and what it held "
        "as its sessions came back.",
        "requests_restarted",
    )


def _left_out(run: Run) -> Iterator[Finding]:
    spec = run.spec
    if spec.admitted_share < 1 and spec.admitted_share > 1 - spec.one_shot_share:
        yield Finding(
            "admission_left_out",
            "info",
            "The simulation admits all or none of the one-shots and every session: the share given lies between.",
        )
