"""Tables of a simulation: modes side by side, stretches of a Gantt chart, ages, steps, roles, fates, levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.core.result import Series
from planner.core.table import table
from planner.formulas import rollout_ages
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.simulated import bill_usd_per_h, useful_per_step, utilisation
from planner.kinds.rl_rollout.simulated_system import Case

if TYPE_CHECKING:
    from planner.kinds.rl_rollout.simulated import Run
    from sims.systems.rl_rollout import Outcome

    Outcomes = Mapping[str, Outcome]

SHOWN_INSTANCES, SIDE_INSTANCES = 8, 2
MOST_STRETCHES = 600
LONGEST_SIDE = 120
OLDEST = 13
CLASSES = 8
ACTIVITIES = ("sync", "generate", "recompute", "switch", "train", "score", "wait", "idle", "down")
"""Weight sync first, because trainer and instances have it: rows come in the order of the first activity."""
COLOURS = {"generate": 0, "recompute": 1, "score": 2, "train": 3, "sync": 4, "switch": 5}
ROLE_PARTS = ("decode", "prefill", "recompute", "sync", "switch", "train", "idle", "down")
SHORT = {
    MODE_LABELS["synchronous"]: "Sync",
    MODE_LABELS["one_step_off"]: "One off",
    MODE_LABELS["asynchronous"]: "Async",
}
"""Modes in the rows of a Gantt chart, whose names have little room."""
Stretch = tuple[str, str, float, float]


def all_series(run: Run, *, cases: Sequence[Case], outcomes: Outcomes) -> Iterator[Series]:
    """Everything worth a table."""
    first = next(iter(outcomes.values()))
    yield _side_by_side(run, cases=cases, outcomes=outcomes)
    yield _gantt("gantt", "The design over some steps", _own_rows(cases[0], first))
    yield _gantt("gantt_modes", "Modes over some steps", _side_rows(outcomes))
    yield _ages(cases[0], first)
    yield _by_length(cases[0], first)
    yield _steps(outcomes)
    yield _roles(outcomes)
    yield _fates(outcomes)
    yield _levels(first)


def _side_by_side(run: Run, *, cases: Sequence[Case], outcomes: Outcomes) -> Series:
    rows = [(case, outcomes[case.label]) for case in cases]
    steps = [each.step_s for _, each in rows]
    costs = [_cost(run, case=case, outcome=each) for case, each in rows]
    return table(
        "simulated_modes",
        "Modes simulated on the same answers, with the estimate of each",
        ("mode", "mode", "", [case.label for case in cases]),
        ("step_s", "step", "s", [None if step is None else step.value for step in steps]),
        ("low_s", "at least", "s", [None if step is None else max(step.low, 0.0) for step in steps]),
        ("high_s", "at most", "s", [None if step is None else step.high for step in steps]),
        ("estimated_step_s", "step, estimated", "s", [case.turn.step_s for case in cases]),
        ("utilisation", "utilisation", "ratio", [utilisation(case, each) for case, each in rows]),
        ("estimated_utilisation", "utilisation, estimated", "ratio", [case.turn.utilisation for case in cases]),
        ("trainer_idle", "training idle", "ratio", [1 - each.trainer_shares["train"] for _, each in rows]),
        ("staleness_mean", "staleness", "versions", [each.mean_staleness for _, each in rows]),
        ("estimated_staleness", "staleness, estimated", "versions", [case.turn.mean_age for case in cases]),
        ("staleness_beyond", "older than the bound", "ratio", [each.late_share for _, each in rows]),
        ("cost_usd_per_useful_sample", "useful sample", "USD/sample", costs),
    )


def _cost(run: Run, *, case: Case, outcome: Outcome) -> float | None:
    step, useful = outcome.step_s, useful_per_step(outcome)
    if step is None or useful <= 0:
        return None
    return bill_usd_per_h(run, case=case) * step.value / 3600 / useful


def _own_rows(case: Case, outcome: Outcome) -> list[Stretch]:
    """The trainer and some instances."""
    shown = min(SHOWN_INSTANCES, case.turn.instances)
    return _stretches(outcome, prefix="", instances=shown)[:MOST_STRETCHES]


def _side_rows(outcomes: Outcomes) -> list[Stretch]:
    """The trainer and two instances of each mode, in the time of the quickest three steps."""
    spans = [end - start for start, end in (each.drawn_s for each in outcomes.values()) if end > start]
    until_s = min(spans) * 2 if spans else 0.0
    rows: list[Stretch] = []
    for label, each in outcomes.items():
        mine = _stretches(each, prefix=f"{SHORT.get(label, label)}: ", instances=SIDE_INSTANCES)[:LONGEST_SIDE]
        rows += [(row, what, start, min(end, until_s)) for row, what, start, end in mine if start < until_s]
    return rows


def _stretches(outcome: Outcome, *, prefix: str, instances: int) -> list[Stretch]:
    from sims.systems.rl_rollout import TRAINER

    begins_s = outcome.drawn_s[0]
    found = []
    for span in outcome.spans:
        if span.index == TRAINER or span.index < instances:
            row = "trainer" if span.index == TRAINER else f"{'inst.' if prefix else 'instance'} {span.index + 1}"
            found.append((f"{prefix}{row}", span.what, span.from_s - begins_s, span.to_s - begins_s))
    return found


def _gantt(name: str, label: str, rows: Sequence[Stretch]) -> Series:
    return table(
        name,
        label,
        ("role", "role", "", [row[0] for row in rows]),
        ("activity", "activity", "", [row[1] for row in rows]),
        ("start_s", "from", "s", [row[2] for row in rows]),
        ("end_s", "to", "s", [row[3] for row in rows]),
    )


def _ages(case: Case, outcome: Outcome) -> Series:
    """Groups by the age of their oldest answer, and as estimated."""
    counts = _folded(outcome.group_ages.astype(float))
    whole = float(counts.sum())
    estimated = _folded(case.turn.ages)
    return table(
        "staleness_histogram",
        "Groups by age when they are trained on",
        ("age", "versions", "versions", [float(age) for age in range(OLDEST)]),
        ("share", "simulated", "ratio", [count / whole if whole else None for count in counts.tolist()]),
        ("estimated", "estimated", "ratio", estimated.tolist()),
    )


def _folded(shares: np.ndarray) -> np.ndarray:
    """The oldest together."""
    kept = np.zeros(OLDEST)
    flat = np.asarray(shares, dtype=float).ravel()
    kept[: min(OLDEST, len(flat))] = flat[:OLDEST]
    kept[-1] += float(flat[OLDEST:].sum())
    return kept


def _by_length(case: Case, outcome: Outcome) -> Series:
    """Mean age by eighths of the longest answer."""
    ages = outcome.staleness_by_length
    width = outcome.longest / max(len(ages), 1)
    middles: NDArray[np.float64] = (np.arange(len(ages), dtype=np.float64) + 0.5) * width
    turn = case.turn
    estimated: list[float | None] = [turn.mean_age] * len(ages)
    if turn.cycle is not None and turn.rollout is not None:
        estimated = rollout_ages.age_of_length(turn.rollout, cycle=turn.cycle, lengths=middles).tolist()
    return table(
        "simulated_by_length",
        "Age of answers by their length",
        ("tokens", "length", "tokens", middles.tolist()),
        ("age", "simulated", "versions", [float(age) if np.isfinite(age) else None for age in ages]),
        ("estimated", "estimated", "versions", estimated),
        ("answers", "answers", "answers", outcome.ages.sum(axis=1).astype(float).tolist()),
    )


def _steps(outcomes: Outcomes) -> Series:
    """Each training step of each mode."""
    times = {label: np.diff(each.rows["at_s"]) for label, each in outcomes.items()}
    most = max((len(each) for each in times.values()), default=0)
    columns = [
        (f"step_{place}_s", label, "s", [*each.tolist(), *[None] * (most - len(each))])
        for place, (label, each) in enumerate(times.items())
    ]
    return table(
        "step_times",
        "Training steps one after the other",
        ("step", "training step", "steps", [float(number + 1) for number in range(most)]),
        *columns,
    )


def _roles(outcomes: Outcomes) -> Series:
    """What instances did, as shares of their time."""
    shares = {label: each.instance_shares for label, each in outcomes.items()}
    return table(
        "instance_time",
        "What instances did with their time",
        ("mode", "mode", "", list(shares)),
        *((part, part, "ratio", [each.get(part, 0.0) for each in shares.values()]) for part in ROLE_PARTS),
    )


def _fates(outcomes: Outcomes) -> Series:
    """What became of the tokens."""
    names = list(next(iter(outcomes.values())).fates)
    rows = {label: {name: tokens for name, (_, tokens) in each.fates.items()} for label, each in outcomes.items()}
    return table(
        "token_fates",
        "What became of the tokens written",
        ("mode", "mode", "", list(rows)),
        *((name, name.replace("_", " "), "tokens", [float(each[name]) for each in rows.values()]) for name in names),
    )


def _levels(outcome: Outcome) -> Series:
    """Answers running and waiting, and groups that wait for training, in the steps that are drawn."""
    levels = outcome.drawn
    begins_s = outcome.drawn_s[0]
    return table(
        "levels",
        "Answers and groups over some steps",
        ("at_s", "time", "s", (levels.at_s - begins_s).tolist()),
        ("running", "answers running", "answers", levels.running.astype(float).tolist()),
        ("waiting", "answers that wait for room", "answers", levels.waiting.astype(float).tolist()),
        ("scoring", "answers being scored", "answers", (levels.scoring + levels.queued).astype(float).tolist()),
        ("buffered", "groups that wait for training", "groups", levels.buffered.astype(float).tolist()),
    )
