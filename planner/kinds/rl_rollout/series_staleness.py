"""Tables of staleness: what the bound does to the step, how old samples are, and which of them."""

from __future__ import annotations

import numpy as np

from planner.core.result import Series
from planner.core.table import table
from planner.formulas import rollout_ages
from planner.kinds.rl_rollout.base import base_at
from planner.kinds.rl_rollout.metrics import SMALLEST
from planner.kinds.rl_rollout.modes import turn_of
from planner.kinds.rl_rollout.plan import Plan

_LENGTHS = 33
_OLDEST = 13


def knee(plan: Plan) -> Series:
    """Step and ages against the staleness bound, on the GPUs of the design."""
    compared = plan.comparison
    bounds = sorted({0, 1, 2, 4, 8, plan.spec.staleness_bound})
    turns = []
    for bound in bounds:
        at = base_at(plan.base, changes={"staleness_bound": bound})
        turns.append(
            turn_of(at, "asynchronous", rollout_gpus=compared.rollout_gpus, training_gpus=compared.training_gpus)
        )
    return table(
        "staleness_knee",
        "Asynchronous step by the staleness bound",
        ("bound", "staleness bound η", "versions", [float(bound) for bound in bounds]),
        ("step_s", "step", "s", [turn.step_s for turn in turns]),
        ("utilisation", "utilisation", "ratio", [turn.utilisation for turn in turns]),
        ("staleness_mean", "staleness, mean", "versions", [turn.mean_age for turn in turns]),
        ("staleness_beyond", "older than the bound", "ratio", [turn.beyond for turn in turns]),
        ("discarded", "discarded", "ratio", [turn.discarded for turn in turns]),
    )


def by_length(plan: Plan) -> Series:
    """Versions that pass while an answer is written, and its age when it is trained on, by its length."""
    turn = plan.comparison.turn("asynchronous")
    most = float(plan.base.law.quantile(1 - 1e-4))
    lengths = np.linspace(0.0, most, _LENGTHS)[1:]
    if turn.cycle is None or turn.rollout is None:
        written, found = np.zeros(len(lengths)), np.zeros(len(lengths))
    else:
        written = lengths / turn.cycle.tokens
        found = rollout_ages.age_of_length(turn.rollout, cycle=turn.cycle, lengths=lengths)
    return table(
        "staleness_by_length",
        "Age of an answer by its length, asynchronous",
        ("tokens", "length", "tokens", lengths.tolist()),
        ("written", "versions while it is written", "versions", written.tolist()),
        ("age", "age when trained on", "versions", found.tolist()),
    )


def ages(plan: Plan) -> Series:
    """Groups by their age when they are trained on, asynchronous."""
    shares = plan.comparison.turn("asynchronous").ages
    shown = shares[:_OLDEST].tolist()
    shown += [0.0] * (_OLDEST - len(shown))
    shown[-1] += float(shares[_OLDEST:].sum())
    shown = [share if share > SMALLEST["ratio"] else 0.0 for share in shown]
    return table(
        "staleness_ages",
        "Groups by age, asynchronous",
        ("age", "versions", "versions", [float(age) for age in range(_OLDEST)]),
        ("share", "groups", "ratio", shown),
    )
