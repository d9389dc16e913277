"""What a step asks of generation: answers kept, answers started, tokens, and the rule of thumb of the reference."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import filtering, rollout_demand, sizing
from planner.kinds.rl_rollout.spec import RlRolloutSpec


@dataclass(frozen=True, slots=True)
class Demand:
    """Of one step. ``filtered`` is the share of groups that are generated for nothing and replaced."""

    trained: float
    """Answers that training takes."""
    tokens: float
    """Of them, by the mean length asked for."""
    filtered: float
    completed: float
    """Answers that must end: those trained on, and those of filtered groups."""
    sync_gpus: float
    async_gpus: float

    @property
    def sync_gpus_whole(self) -> int:
        return sizing.whole(self.sync_gpus)

    @property
    def async_gpus_whole(self) -> int:
        return sizing.whole(self.async_gpus)


def demand_of(spec: RlRolloutSpec) -> Demand:
    """Answers and tokens of a step, and the GPUs of the rule of thumb."""
    answers = float(spec.problems * spec.answers_per_problem)
    tokens = rollout_demand.step_tokens(
        spec.problems, answers_per_problem=spec.answers_per_problem, mean_tokens=spec.output_tokens
    )
    filtered = 0.0
    if spec.filtering == "on":
        filtered = filtering.share_alike(
            group=spec.answers_per_problem, right=spec.success_alpha, wrong=spec.success_beta
        )
    # A group of one always teaches nothing: an error finding says so, and the figures are those of no filter.
    completed = answers * (filtering.work_of_filtering(filtered) or 1.0)
    return Demand(
        trained=answers,
        tokens=tokens,
        filtered=filtered,
        completed=completed,
        sync_gpus=_rule(spec, tokens=tokens, utilisation=spec.utilisation_sync),
        async_gpus=_rule(spec, tokens=tokens, utilisation=spec.utilisation_async),
    )


def _rule(spec: RlRolloutSpec, *, tokens: float, utilisation: float) -> float:
    return rollout_demand.gpus_to_keep_up(
        tokens, tokens_per_s_per_gpu=spec.rate_tokens_per_s, utilisation=utilisation, window_s=spec.train_step_s
    )
