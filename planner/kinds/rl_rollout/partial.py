"""Partial rollouts of modes that wait: what over-sampling leaves unfinished goes on in the next step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.formulas import rollout_ages
from planner.formulas.rollout_cycle import Cycle, Rollout, asynchronous
from planner.formulas.rollout_swaps import masked_share
from planner.kinds.rl_rollout.base import Base

_NO_TRAINING_S = 1e-9


@dataclass(frozen=True, slots=True)
class Partial:
    """A step of generation that stops when enough groups have ended, and keeps the others."""

    generation_s: float
    ages: NDArray[np.float64]
    """Of the groups, before a step that a mode adds."""
    cycle: Cycle

    def masked(self, base: Base, *, ages: NDArray[np.float64]) -> float:
        """Share of the tokens that the loss leaves out as older than the bound; ``ages`` of the groups in the mode."""
        return masked_share(base.law, cycle=self.cycle, shares=ages, bound=base.spec.staleness_bound)


def partial_of(base: Base, *, instances: int) -> Partial | None:
    """None unless the design carries on what it started beyond its need.

    A trainer that takes no time makes the steady cycle of asynchrony one of generation alone, with the groups started
    beyond the need as its bound.
    """
    spec, demand = base.spec, base.demand
    excess = (1 + base.excess) * (1 - demand.filtered) - 1
    if spec.enforcement != "carry" or base.excess <= 0 or excess <= 0 or demand.completed <= 0:
        return None
    rollout = Rollout(
        step=base.physics.step.with_context(base.physics.context_tokens),
        law=base.law,
        answers=demand.completed / instances,
        groups=demand.completed / spec.answers_per_problem,
        train_s=_NO_TRAINING_S,
        bound=excess,
        group=spec.answers_per_problem,
    )
    found = asynchronous(rollout, slots=base.physics.running)
    return Partial(found.step_s, rollout_ages.ages(rollout, cycle=found), found)
