"""The bill of an hour: both roles by what they are used for, and scoring; the parts sum to it exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.formulas import cost, rollout_cost
from planner.kinds.rl_rollout.base import Base
from planner.kinds.rl_rollout.turn import Turn, useful_samples

PARTS = ("rollout_used", "rollout_idle", "training_used", "training_idle", "scoring")


@dataclass(frozen=True, slots=True)
class Bill:
    """What an hour costs, its parts, and what a step and a sample make of it."""

    usd_per_h: float
    parts: Mapping[str, float]
    step_s: float
    useful: float
    tokens: float

    @property
    def per_step(self) -> float:
        return rollout_cost.step_usd(self.usd_per_h, step_s=self.step_s)

    @property
    def per_sample(self) -> float | None:
        """Of an answer trained on; None without any."""
        return rollout_cost.usd_per_useful_sample(self.usd_per_h, step_s=self.step_s, samples=self.useful)

    @property
    def per_m_tokens(self) -> float | None:
        """Over a million output tokens trained on; None without any."""
        return cost.usd_per_million_tokens(self.usd_per_h, tokens_per_s=self.tokens / self.step_s)


def bill_of(base: Base, *, turn: Turn, training_gpus: int) -> Bill:
    """GPUs and scorers at their prices."""
    spec = base.spec
    price = spec.gpu_price_usd_per_h
    training_price = price if spec.training_gpu_price_usd_per_h is None else spec.training_gpu_price_usd_per_h
    trains = training_gpus * training_price
    rolls = (turn.all_gpus - training_gpus) * price
    scoring = turn.pool.scorers * spec.scorer_usd_per_h
    total = trains + rolls + scoring
    training_share = turn.parts["training"] / turn.step_s
    if turn.mode == "colocated":
        parts = {
            "training_used": (trains + rolls) * training_share,
            "training_idle": 0.0,
            "rollout_used": (trains + rolls) * min(turn.utilisation, 1 - training_share),
        }
    else:
        parts = {
            "training_used": trains * training_share,
            "training_idle": trains * (1 - training_share),
            "rollout_used": rolls * turn.utilisation,
        }
    exact = cost.exact_parts(total, parts={**parts, "scoring": scoring}, remainder="rollout_idle")
    useful = useful_samples(base)
    return Bill(total, exact, turn.step_s, useful, useful * base.law.mean_tokens)
