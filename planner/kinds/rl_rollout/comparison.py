"""Modes side by side on the same GPUs, the split between the roles that is best, and whether asynchrony pays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from planner.formulas import generation
from planner.formulas.rollout_split import whole_units
from planner.kinds.rl_rollout.base import Base, base_at
from planner.kinds.rl_rollout.bill import Bill, bill_of
from planner.kinds.rl_rollout.inputs_fleet import Mode
from planner.kinds.rl_rollout.modes import turn_of
from planner.kinds.rl_rollout.overlapped import rollout_work_s
from planner.kinds.rl_rollout.sync import sync_of
from planner.kinds.rl_rollout.turn import MODES, Turn

SIMPLEST: tuple[Mode, ...] = ("colocated", "synchronous", "one_step_off", "asynchronous")
TIE = 0.03
"""Modes that cost so little more than the cheapest are as good, and the simplest of them is taken."""
_ROUNDS = 30
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class Split:
    """GPUs of each role out of all, and the step they make."""

    training_gpus: int
    rollout_gpus: int
    step_s: float


@dataclass(frozen=True)
class Comparison:
    """Made from the GPUs of a design; what few ask for is computed when asked."""

    base: Base
    rollout_gpus: int
    training_gpus: int

    @property
    def all_gpus(self) -> int:
        return self.rollout_gpus + self.training_gpus

    def turn(self, mode: Mode) -> Turn:
        """A step of a mode on these GPUs."""
        return turn_of(self.base, mode, rollout_gpus=self.rollout_gpus, training_gpus=self.training_gpus)

    @property
    def turns(self) -> Mapping[Mode, Turn]:
        return {mode: self.turn(mode) for mode in MODES}

    @cached_property
    def bills(self) -> Mapping[Mode, Bill]:
        return {
            mode: bill_of(self.base, turn=turn, training_gpus=self.training_gpus) for mode, turn in self.turns.items()
        }

    @cached_property
    def cheapest(self) -> Mode:
        """The mode of the lowest cost of a sample on these GPUs; of those that tie, the simplest."""
        costs = {mode: bill.per_step for mode, bill in self.bills.items()}
        least = min(costs.values())
        return next(mode for mode in SIMPLEST if costs[mode] <= least * (1 + TIE))


def best_split(base: Base, mode: Mode, *, all_gpus: int) -> Split | None:
    """GPUs of both roles together, shared out so that a step is shortest; None where there are too few or one role."""
    unit = base.spec.instance_gpus
    if mode == "colocated" or all_gpus < unit + 1:
        return None
    if mode == "asynchronous":
        found = whole_units(
            all_gpus, training=base.spec.training, generation_gpu_s=rollout_work_s(base) * unit, rollout_unit=unit
        )
        return None if found is None else Split(int(found.train_gpus), int(found.rollout_gpus), found.step_s)
    most = (all_gpus - 1) // unit

    def step_s(count: float) -> float:
        return _rough_step_s(base, mode, instances=count, training_gpus=all_gpus - count * unit)

    middle = _lowest(step_s, low=1.0, high=float(most))
    near = {min(max(count, 1), most) for count in (math.floor(middle), math.ceil(middle))}
    count = min(near, key=step_s)
    return Split(all_gpus - count * unit, count * unit, step_s(count))


def _rough_step_s(base: Base, mode: Mode, *, instances: float, training_gpus: float) -> float:
    """A step with instances alike, fractions of one allowed."""
    if training_gpus <= 0:
        return math.inf
    trains_s = base.spec.training.at(training_gpus)
    sync_s = sync_of(base, instances=max(round(instances), 1)).seconds
    answers = base.demand.completed / instances
    makes_s = generation.expected_generation_s(
        base.physics.step,
        law=base.law,
        answers=answers,
        slots=base.physics.running,
        prompt_tokens=base.spec.prompt_tokens,
    )
    makes_s = max(makes_s, base.tail_floor_s + answers * _token_work_s(base))
    return (max(makes_s, trains_s) if mode == "one_step_off" else makes_s + trains_s) + sync_s


def _token_work_s(base: Base) -> float:
    return generation.answer_work_s(base.physics.step, law=base.law, prompt_tokens=base.spec.prompt_tokens)


def _lowest(function: Callable[[float], float], *, low: float, high: float) -> float:
    """By golden section."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_ROUNDS):
        if high - low < 0.5:
            break
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """Asynchrony against the better of the synchronous modes, each with all GPUs shared out as is best for it."""

    asynchronous_s: float
    other_s: float
    other: Mode
    split: Split | None
    rival: Turn

    @property
    def gain(self) -> float:
        return self.other_s / self.asynchronous_s if self.asynchronous_s > 0 else 1.0

    @property
    def pays(self) -> bool:
        return self.gain > 1 + TIE


def verdict_of(base: Base, *, all_gpus: int) -> Verdict | None:
    """None where there are too few GPUs to share out."""
    split = best_split(base, "asynchronous", all_gpus=all_gpus)
    apart = best_split(base, "synchronous", all_gpus=all_gpus)
    if split is None or apart is None:
        return None
    ahead = turn_of(base, "asynchronous", rollout_gpus=split.rollout_gpus, training_gpus=split.training_gpus)
    others = (
        turn_of(base, "colocated", rollout_gpus=0, training_gpus=all_gpus),
        turn_of(base, "synchronous", rollout_gpus=apart.rollout_gpus, training_gpus=apart.training_gpus),
    )
    rival = min(others, key=lambda turn: turn.step_s)
    return Verdict(ahead.step_s, rival.step_s, rival.mode, split, rival)


def gain_at(base: Base, *, all_gpus: int, exponent: float) -> float | None:
    """Co-located step over asynchronous step on as many GPUs, if training sped up with this exponent."""
    at = base_at(base, changes={"train_exponent": exponent})
    split = best_split(at, "asynchronous", all_gpus=all_gpus)
    if split is None:
        return None
    together = turn_of(at, "colocated", rollout_gpus=0, training_gpus=all_gpus)
    ahead = turn_of(at, "asynchronous", rollout_gpus=split.rollout_gpus, training_gpus=split.training_gpus)
    return together.step_s / ahead.step_s
