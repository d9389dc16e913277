"""What a step of a mode is: its parts, what each role does meanwhile, how stale samples are, what is lost.

Parts are seen from training and sum to the step: training itself, weight sync, switching roles, and what of generation
and scoring is not hidden behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.formulas import rollout_ages
from planner.formulas.rollout_cycle import Cycle, Rollout
from planner.kinds.rl_rollout.base import Base
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS, Mode
from planner.kinds.rl_rollout.scoring import Pool

MODES: tuple[Mode, ...] = ("synchronous", "one_step_off", "asynchronous", "colocated")
PARTS = ("training", "generation", "scoring", "weight_sync", "switch")
SOON_S = 1e-9
ROUNDING = 1e-9
"""Of a whole: what is less is left over from arithmetic."""


@dataclass(frozen=True)
class Turn:
    """A step of a mode on its GPUs."""

    mode: Mode
    instances: int
    rollout_gpus: int
    all_gpus: int
    step_s: float
    parts: Mapping[str, float]
    generation_s: float
    """From the first answer of a step to the last, or the time its tokens take at the rate of the fleet."""
    running: float
    """Answers an instance runs while it generates, on average."""
    tokens: float
    """Generated in a step, useful or not."""
    capacity_tokens: float
    """What all rollout GPUs would write in the step at the full rate."""
    utilisation_generating: float
    ages_of: Callable[[], NDArray[np.float64]]
    """Asked for the ages of the groups only where someone wants to know them."""
    discarded: float
    at_cap_versions: float
    recompute_s: float
    pool: Pool
    answers: float
    """That end in a step and are scored."""
    score_s: float
    trained: float
    left_out: float
    """Share of the tokens in answers that nothing is trained on."""
    admitted_bound: float | None = None
    """Bound that starts of answers keep to, where nothing else enforces it."""
    masked_of: Callable[[NDArray[np.float64]], float] | None = None
    """By the ages of the groups, the share of the other tokens that the loss leaves out."""
    cycle: Cycle | None = None
    rollout: Rollout | None = None

    @property
    def label(self) -> str:
        return MODE_LABELS[self.mode]

    @property
    def utilisation(self) -> float:
        return min(self.tokens / self.capacity_tokens, 1.0) if self.capacity_tokens > 0 else 0.0

    @cached_property
    def ages(self) -> NDArray[np.float64]:
        """Share of the groups by age, 0 versions first."""
        return self.ages_of()

    @property
    def beyond(self) -> float:
        """Share of the groups older than a bound that only starts keep to."""
        if self.admitted_bound is None:
            return 0.0
        return rollout_ages.share_older(self.ages, bound=self.admitted_bound)

    @property
    def wasted(self) -> float:
        """Share of the tokens that nothing is trained on."""
        masked = self.masked_of(self.ages) if self.masked_of else 0.0
        return self.left_out + (1 - self.left_out) * masked

    @property
    def mean_age(self) -> float:
        return rollout_ages.mean_age(self.ages)

    @property
    def trainer_idle(self) -> float:
        return 1 - self.parts["training"] / self.step_s

    @property
    def policies(self) -> float:
        """Versions of the weights that write an answer, on average."""
        if self.cycle is None or self.rollout is None:
            return 1.0
        return rollout_ages.policies_of_an_answer(self.rollout.law, cycle=self.cycle)

    @property
    def scored_per_s(self) -> float:
        """Over the whole step."""
        return self.answers / self.step_s

    @property
    def scorer_idle(self) -> float:
        """Over the whole step."""
        return max(1 - self.scored_per_s * self.score_s / self.pool.scorers, 0.0)


def instances_of(base: Base, *, gpus: int) -> int:
    return max(gpus // base.spec.instance_gpus, 1)


def mean_running(base: Base, *, tokens: float, instances: int, over_s: float) -> float:
    """Mean batch B of which (a + b B) steps write the tokens in this time: by time, not by step."""
    step = base.physics.step.with_context(base.physics.context_tokens)
    steps = (over_s - step.sequence_s * tokens / instances) / step.fixed_s
    return tokens / instances / steps if steps > 0 else 0.0


def wasted_share(base: Base, *, tokens: float, kept_mean: float | None = None) -> float:
    """Of groups that teach nothing, of answers given up or dropped for their timeout, of groups too old."""
    if tokens <= 0:
        return 0.0
    kept = useful_samples(base) * (kept_mean or base.law.mean_tokens)
    share = 1 - kept / tokens
    return share if share > ROUNDING else 0.0


def useful_samples(base: Base) -> float:
    """Answers of a step that are trained on: those dropped for their timeout are not."""
    lost = base.service.timeout_share if base.spec.timed_out == "drop" else 0.0
    return base.demand.trained * (1 - lost)


def exposed_s(waits_s: float, *, step_s: float) -> float:
    """What training waits, without what is left of a subtraction."""
    return waits_s if waits_s > ROUNDING * step_s else 0.0
