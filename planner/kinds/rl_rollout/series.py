"""Tables behind the charts: modes side by side, lengths, weight sync, scoring, the bill."""

from __future__ import annotations

import numpy as np

from planner.core.catalog import Catalog
from planner.core.result import Series
from planner.core.table import table
from planner.formulas import weight_sync
from planner.formulas.batch_decay import decay
from planner.kinds.rl_rollout.inputs_fleet import Mode
from planner.kinds.rl_rollout.inputs_services import SYNC_LABELS
from planner.kinds.rl_rollout.plan import Plan
from planner.kinds.rl_rollout.series_sizes import (
    cost_by_gpus,
    gain_by_exponent,
    split,
    step_by_gpus,
    utilisation_by_cap,
)
from planner.kinds.rl_rollout.series_staleness import ages, by_length, knee
from planner.kinds.rl_rollout.series_timeline import timeline
from planner.kinds.rl_rollout.sync import METHODS, PUBLISHED, sync_of, tensors
from planner.kinds.rl_rollout.turn import MODES, PARTS

BILL_LABELS = {
    "rollout_used": "rollout, used",
    "rollout_idle": "rollout, idle",
    "training_used": "training, used",
    "training_idle": "training, idle",
    "scoring": "scoring",
}
_POINTS = 24


def all_series(plan: Plan, *, catalog: Catalog) -> dict[str, Series]:
    """Every series of a design by name; without anything to generate, those that need nothing generated."""
    made = [_lengths(plan), _weight_sync(plan, catalog=catalog), _bill(plan)]
    if plan.runs:
        made += [
            _modes(plan),
            timeline(plan),
            _batch_decay(plan),
            step_by_gpus(plan),
            utilisation_by_cap(plan),
            knee(plan),
            by_length(plan),
            ages(plan),
            split(plan),
            _scoring_pool(plan),
            cost_by_gpus(plan),
            gain_by_exponent(plan),
        ]
    return {series.name: series for series in made}


def _modes(plan: Plan) -> Series:
    turns, bills = plan.comparison.turns, plan.comparison.bills
    rows = [turns[mode] for mode in MODES]
    needed = [_needed_gpus(plan, mode) for mode in MODES]
    return table(
        "modes",
        "One step of each mode on the same GPUs",
        ("mode", "mode", "", [turn.label for turn in rows]),
        ("step_s", "step", "s", [turn.step_s for turn in rows]),
        *((f"{part}_s", part.replace("_", " "), "s", [turn.parts[part] for turn in rows]) for part in PARTS),
        ("utilisation", "utilisation of rollout", "ratio", [turn.utilisation for turn in rows]),
        ("trainer_idle", "training idle", "ratio", [turn.trainer_idle for turn in rows]),
        ("staleness_mean", "staleness, mean", "versions", [turn.mean_age for turn in rows]),
        ("cost_usd_per_useful_sample", "useful sample", "USD/sample", [bills[mode].per_sample for mode in MODES]),
        ("rollout_gpus_needed", "GPUs that keep up", "GPUs", needed),
    )


def _needed_gpus(plan: Plan, mode: Mode) -> float | None:
    """Synchronous and one step off, the same."""
    if mode == "colocated":
        return None
    if (mode == "asynchronous") == (plan.spec.mode == "asynchronous") and plan.spec.mode != "colocated":
        return plan.needed_gpus
    count = plan.needs(mode)
    return None if count is None else count * plan.spec.instance_gpus


def _lengths(plan: Plan) -> Series:
    """Share of the answers, and of their tokens, in answers not longer than each length."""
    law = plan.base.law
    most = float(law.quantile(1 - 1e-4))
    points = np.linspace(0.0, most, 65)[1:]
    within = law.within(points)
    tokens = (law.limited_mean(points) - points * (1 - within)) / law.mean_tokens
    return table(
        "lengths",
        "Answers and tokens by length",
        ("tokens", "length", "tokens", points.tolist()),
        ("answers", "answers", "ratio", within.tolist()),
        ("written", "tokens", "ratio", np.clip(tokens, 0.0, 1.0).tolist()),
    )


def _batch_decay(plan: Plan) -> Series:
    """One instance of the mean, synchronous: what runs and what is written, over the generation of a step."""
    base, turn = plan.base, plan.comparison.turn("synchronous")
    physics = base.physics
    line = decay(
        physics.step,
        law=base.law,
        answers=base.demand.completed / turn.instances,
        slots=physics.running,
        prompt_tokens=plan.spec.prompt_tokens,
        points=96,
    )
    used = line.utilisation(
        physics.step,
        tokens_per_s=physics.full_rate * physics.gpus,
        context_tokens=physics.context_tokens,
    )
    first = max(float(line.running[0]), 1e-12)
    return table(
        "batch_decay",
        "A synchronous step: running answers and utilisation over time",
        ("elapsed_s", "since the start", "s", line.elapsed_s.tolist()),
        ("running", "still running", "ratio", np.clip(line.running / first, 0.0, 1.0).tolist()),
        ("utilisation", "utilisation", "ratio", np.clip(used, 0.0, None).tolist()),
    )


def _weight_sync(plan: Plan, *, catalog: Catalog) -> Series:
    """Our methods with the inputs of the design, and published ones at this size."""
    base, instances = plan.base, plan.turn.instances
    found = weight_sync.published(catalog.calibration("weight_sync"))
    size, count = base.physics.weight_bytes, tensors(base)
    ours = [sync_of(base, instances=instances, method=method) for method in METHODS]
    rows: list[tuple[str, float, float, float | None, float | None]] = [
        ("Ideal: bytes over links", plan.sync_ideal_s, size, None, None)
    ]
    rows += [(SYNC_LABELS[one.method], one.seconds, one.size_bytes, None, None) for one in ours]
    for name, words in PUBLISHED.items():
        if name in found:
            seconds = found[name].seconds(size, tensors=count)
            rows.append((words, seconds, size, seconds * found[name].low, seconds * found[name].high))
    return table(
        "weight_sync",
        "A weight sync by method",
        ("method", "method", "", [row[0] for row in rows]),
        ("seconds", "time", "s", [row[1] for row in rows]),
        ("size_bytes", "moved", "bytes", [row[2] for row in rows]),
        ("low_s", "at least", "s", [row[3] for row in rows]),
        ("high_s", "at most", "s", [row[4] for row in rows]),
    )


def _scoring_pool(plan: Plan) -> Series:
    """Mean wait against the number of scorers, from just enough on."""
    pool, service = plan.turn.pool, plan.base.service
    offered = pool.rate_per_s * service.mean_s
    least = int(offered) + 1
    most = max(least + 8, round(1.3 * offered), pool.scorers)
    counts = sorted({*np.unique(np.linspace(least, most, _POINTS).round()).astype(int).tolist(), pool.scorers})
    waits = [service.wait_s(pool.rate_per_s, scorers=count) for count in counts]
    return table(
        "scoring_pool",
        "Wait for a scorer by their number",
        ("scorers", "scorers", "scorers", [float(count) for count in counts]),
        ("wait_s", "mean wait", "s", waits),
    )


def _bill(plan: Plan) -> Series:
    parts = [(BILL_LABELS[name], usd) for name, usd in plan.bill.parts.items()]
    return table(
        "bill",
        "What an hour costs",
        ("part", "part", "", [name for name, _ in parts]),
        ("usd_per_h", "cost", "USD/h", [usd for _, usd in parts]),
    )
