"""Tables over the size of the fleet, the cap on answers and the split of the GPUs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.core.result import Series
from planner.core.table import table
from planner.formulas.answer_lengths import answer_lengths
from planner.formulas.generation import expected_generation_s
from planner.kinds.rl_rollout.base import Base, base_at
from planner.kinds.rl_rollout.bill import bill_of
from planner.kinds.rl_rollout.comparison import gain_at
from planner.kinds.rl_rollout.inputs_fleet import Mode
from planner.kinds.rl_rollout.lengths import variation
from planner.kinds.rl_rollout.modes import turn_of
from planner.kinds.rl_rollout.plan import Plan

_TIMES_OURS = (0.25, 0.5, 0.75, 1.0, 1.4, 2.0, 4.0, 8.0)
"""Fleets that a curve shows, beside that of the design."""
_CAPS = 10
_SPLITS = 24
EXPONENTS = (0.5, 0.75, 1.0)
_APART: tuple[Mode, ...] = ("synchronous", "one_step_off", "asynchronous")


def step_by_gpus(plan: Plan) -> Series:
    """Step of each mode against the rollout GPUs, the training GPUs as they are."""
    counts = _instance_counts(plan)
    unit = plan.spec.instance_gpus
    steps = {mode: [turn_of(plan.base, mode, rollout_gpus=count * unit).step_s for count in counts] for mode in _APART}
    floor_s = plan.base.tail_floor_s + plan.spec.training_s
    return table(
        "step_by_gpus",
        "Step by rollout GPUs",
        ("rollout_gpus", "rollout GPUs", "GPUs", [float(count * unit) for count in counts]),
        *((mode, mode.replace("_", " "), "s", steps[mode]) for mode in _APART),
        ("floor", "longest answer, then training", "s", [floor_s] * len(counts)),
    )


def _instance_counts(plan: Plan) -> list[int]:
    """Closer together where steps bend: about the design."""
    here = plan.comparison.turn("synchronous").instances
    return sorted({max(round(times * here), 1) for times in _TIMES_OURS})


def utilisation_by_cap(plan: Plan) -> Series:
    """Synchronous utilisation and the longest answer against the cap, the mean held; for a law of lengths."""
    spec, base = plan.spec, plan.base
    caps = _caps(plan)
    turn = plan.comparison.turn("synchronous")
    longest: list[float | None] = []
    used: list[float | None] = []
    shares: list[float | None] = []
    for cap in caps:
        law = base.law
        if spec.lengths == "lognormal":
            law = answer_lengths(mean_tokens=spec.output_tokens, variation=variation(spec), cap_tokens=cap)
        made = base_at(base, law=law)
        makes_s = expected_generation_s(
            base.physics.step,
            law=law,
            answers=base.demand.completed / turn.instances,
            slots=base.physics.running,
            prompt_tokens=spec.prompt_tokens,
        )
        makes_s = max(makes_s, made.tail_floor_s)
        tokens = base.demand.completed * law.mean_tokens
        used.append(tokens / (base.physics.full_rate * turn.instances * spec.instance_gpus * makes_s))
        longest.append(made.tail_floor_s)
        shares.append(law.share_at_cap)
    return table(
        "utilisation_by_cap",
        "Synchronous generation by the cap on answers",
        ("cap_tokens", "cap", "tokens", list(caps)),
        ("utilisation", "utilisation while generating", "ratio", used),
        ("floor_s", "longest answer alone", "s", longest),
        ("share_at_cap", "answers cut off", "ratio", shares),
    )


def _caps(plan: Plan) -> Sequence[float]:
    spec = plan.spec
    if spec.lengths == "trace":
        return (spec.max_output_tokens,)
    low = min(1.25 * spec.output_tokens, spec.max_output_tokens)
    high = min(max(4 * spec.max_output_tokens, low), 1e7)
    return sorted({*np.geomspace(low, high, _CAPS).tolist(), spec.max_output_tokens})


def split(plan: Plan) -> Series:
    """Training and generation against the training GPUs, all GPUs kept."""
    unit, whole = plan.spec.instance_gpus, plan.all_gpus
    most = max((whole - 1) // unit, 1)
    counts = sorted({*np.unique(np.linspace(1, most, _SPLITS).round()).astype(int).tolist()})
    counts = [count for count in counts if whole - count * unit >= 1] or [1]
    trains = [max(whole - count * unit, 1) for count in counts]
    training = plan.spec.training
    synchronous = [_synchronous_s(plan.base, count) for count in counts]
    fluid = [plan.work_s / count for count in counts]
    return table(
        "split",
        "Time of each role by the GPUs it has",
        ("training_gpus", "training GPUs", "GPUs", [float(gpus) for gpus in reversed(trains)]),
        ("training_s", "training", "s", [training.at(gpus) for gpus in reversed(trains)]),
        ("generation_s", "generation, asynchronous", "s", list(reversed(fluid))),
        ("synchronous_s", "generation, synchronous", "s", list(reversed(synchronous))),
    )


def _synchronous_s(base: Base, instances: int) -> float:
    found = expected_generation_s(
        base.physics.step,
        law=base.law,
        answers=base.demand.completed / instances,
        slots=base.physics.running,
        prompt_tokens=base.spec.prompt_tokens,
    )
    return max(found, base.tail_floor_s)


def gain_by_exponent(plan: Plan) -> Series:
    """Asynchronous over co-located by how well training speeds up: one measurement of it leaves a range."""
    exponents = sorted({*EXPONENTS, plan.spec.train_exponent})
    gains = [gain_at(plan.base, all_gpus=plan.all_gpus, exponent=exponent) for exponent in exponents]
    return table(
        "gain_by_exponent",
        "Gain of asynchrony over co-location by how training scales",
        ("train_exponent", "training speeds up with GPUs to the power", "1", exponents),
        ("gain", "asynchronous over co-located", "×", gains),
    )


def cost_by_gpus(plan: Plan) -> Series:
    """Price of tokens and samples against the rollout GPUs, in the mode of the design."""
    spec, unit = plan.spec, plan.spec.instance_gpus
    counts = _instance_counts(plan)
    if spec.mode == "colocated":
        counts = sorted({max(plan.rollout_gpus // unit, 0) + extra for extra in range(0, 40, 4)})
    rows = []
    for count in counts:
        turn = turn_of(plan.base, spec.mode, rollout_gpus=count * unit)
        rows.append(bill_of(plan.base, turn=turn, training_gpus=spec.training_gpus))
    return table(
        "cost_by_gpus",
        "Cost by rollout GPUs",
        ("rollout_gpus", "rollout GPUs", "GPUs", [float(count * unit) for count in counts]),
        ("cost_usd_per_m_output_tokens", "cost", "USD/M output tokens", [row.per_m_tokens for row in rows]),
        ("cost_usd_per_useful_sample", "useful sample", "USD/sample", [row.per_sample for row in rows]),
    )
