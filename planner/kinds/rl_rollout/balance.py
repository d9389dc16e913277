"""A fleet that keeps up just so: between which ages samples may be, and how many steps it takes to know."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.formulas import rollout_ages
from planner.formulas.answer_lengths import squared_variation
from planner.formulas.rollout_balance import missing_at_rest, step_deviation, steps_to_rest
from planner.formulas.rollout_cycle import Cycle, Rollout, cycle, slot_bound
from planner.kinds.rl_rollout.base import Base
from planner.kinds.rl_rollout.turn import Turn

LEFT_OUT = 0.02
"""Of a step: what the estimate leaves out, by which runs are slower or quicker (see METHOD.md)."""
PATIENCE = 50.0
"""Steps: what takes longer to come to rest is not seen by who looks at the first of a run."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Ages with nothing waiting, and with as much as the bound allows; both may be met."""

    surplus: float
    """What rollout writes beyond the need of a step."""
    youngest: float
    oldest: float
    least_beyond: float
    most_beyond: float
    longest_step_s: float
    steps: float
    """Until the buffer is full, if the estimate is right."""


def balance_of(base: Base, *, turn: Turn) -> Balance | None:
    """None where rollout is clearly faster or slower than training, or something else limits it."""
    rollout, found = turn.rollout, turn.cycle
    if rollout is None or found is None or base.demand.completed <= 0 or base.spec.enforcement == "discard":
        return None
    if base.spec.new_weights == "drain" or found.shares:
        return None
    held = slot_bound(rollout, slots=base.physics.running)
    free = cycle(rollout) if found.spread else found
    if free.waits:  # the bound on staleness makes training wait, whatever the slots do
        return None
    surplus = free.step_s / held.step_s - 1
    return _between(base, turn=turn, rollout=rollout, held=held, free=free, surplus=surplus)


def _between(base: Base, *, turn: Turn, rollout: Rollout, held: Cycle, free: Cycle, surplus: float) -> Balance | None:
    young, old = (rollout_ages.ages(rollout, cycle=one) for one in (held, free))
    youngest, oldest = rollout_ages.mean_age(young), rollout_ages.mean_age(old)
    room = max(oldest - youngest, 0.0)
    spread = step_deviation(variation=math.sqrt(squared_variation(base.law)), answers=base.demand.completed)
    slowest = steps_to_rest(room, drift=surplus - LEFT_OUT, deviation=spread)
    if surplus < -LEFT_OUT or slowest <= PATIENCE:
        return None
    bound = base.spec.staleness_bound
    beyond = sorted((rollout_ages.share_older(young, bound=bound), rollout_ages.share_older(old, bound=bound)))
    return Balance(
        surplus=surplus,
        youngest=min(youngest, turn.mean_age),
        oldest=max(oldest - missing_at_rest(room, drift=surplus + LEFT_OUT, deviation=spread), turn.mean_age),
        least_beyond=beyond[0],
        most_beyond=beyond[1],
        longest_step_s=max(turn.step_s, held.step_s * (1 + LEFT_OUT)),
        steps=steps_to_rest(room, drift=max(surplus, 0.0), deviation=spread),
    )
