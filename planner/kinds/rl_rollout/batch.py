"""A batch that is waited for: when its last answer ends, and when its last score is there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.formulas import generation
from planner.formulas.oversampling import EarlyStop, early_stop
from planner.formulas.replaced_groups import expected_chain_steps
from planner.formulas.score_tail import backlog_s, fluid_wait_s, score_tail_s, scorers_for_backlog
from planner.formulas.sizing import whole
from planner.kinds.rl_rollout.base import Base
from planner.kinds.rl_rollout.partial import Partial, partial_of
from planner.kinds.rl_rollout.scoring import Pool, pool_of

_TENTHS = np.linspace(0.1, 1.0, 10)


@dataclass(frozen=True, slots=True)
class Batch:
    """The answers of a step on so many instances, all waited for."""

    generation_s: float
    """To the end of the last answer."""
    pool: Pool
    tail_s: float
    """From there to the last score."""
    partial: Partial | None


def batch_of(base: Base, *, instances: int) -> Batch:
    """Made once for each number of instances."""
    found = base.batches.get(instances)
    if found is None:
        makes_s = batch_generation_s(base, instances=instances)
        pool, tail_s = scored_tail(base, generation_s=makes_s, instances=instances)
        found = base.batches[instances] = Batch(makes_s, pool, tail_s, partial_of(base, instances=instances))
    return found


def batch_generation_s(base: Base, *, instances: int) -> float:
    """From the start of a batch to the end of the last answer it needs."""
    law, demand = base.law, base.demand
    if demand.trained <= 0:
        return 0.0
    partial = partial_of(base, instances=instances)
    if partial is not None:
        return partial.generation_s
    early = early_stop_of(base)
    started = max(demand.completed, demand.trained * early.started if early else 0.0)
    # Instances beyond the answers stand idle.
    working = min(instances, max(math.ceil(started), 1))
    answers = started / working
    step = base.physics.step.with_context(base.physics.context_tokens)
    if early is not None and answers <= base.physics.running:
        return step.fixed_s * early.steps + step.sequence_s * answers * early.written_tokens
    whole_s = generation.slowest_generation_s(
        base.physics.step,
        law=law,
        answers=answers,
        instances=working,
        slots=base.physics.running,
        prompt_tokens=base.spec.prompt_tokens,
    )
    replaced_s = step.fixed_s * last_steps(base) + step.sequence_s * answers * law.mean_tokens
    return max(whole_s, replaced_s) if base.demand.filtered > 0 else whole_s


def last_steps(base: Base) -> float:
    """Decode steps until the last answer of a step has ended, with room for all: replacements begin late."""
    spec, demand = base.spec, base.demand
    short = 1 - (1 + base.excess) * (1 - demand.filtered)
    if demand.filtered <= 0 or short <= 0 or demand.filtered >= 1:
        return base.law.expected_maximum(max(demand.completed, 1.0))
    return expected_chain_steps(base.law, group=spec.answers_per_problem, groups=float(spec.problems), dropped=short)


def early_stop_of(base: Base) -> EarlyStop | None:
    """What over-sampling does to a step: groups beyond those that filtering needs; None without such."""
    excess = (1 + base.excess) * (1 - base.demand.filtered) - 1
    if base.excess <= 0 or excess <= 0 or base.spec.enforcement == "carry":
        return None
    found = early_stop(base.law, excess=excess, group=base.spec.answers_per_problem)
    return replace(found, started=1 + base.excess)


def ended_answers(base: Base) -> float:
    """Answers that end in a step and are scored, those of groups that are given up afterwards among them."""
    early = early_stop_of(base)
    if early is None:
        return base.demand.completed
    return max(base.demand.trained * early.started * float(base.law.within(early.steps)), base.demand.trained)


def _endings_s(base: Base, *, instances: int) -> NDArray[np.float64]:
    """Moments by which a tenth, two tenths … of the answers of a synchronous step have ended; the last is left out."""
    tokens = base.law.quantile(_TENTHS[:-1])
    step, each = base.physics.step.with_context(base.physics.context_tokens), ended_answers(base) / instances
    waves = max(each / base.physics.running, 1.0)
    found: NDArray[np.float64] = waves * step.fixed_s * tokens + step.sequence_s * each * base.law.limited_mean(tokens)
    return found


def scored_tail(base: Base, *, generation_s: float, instances: int) -> tuple[Pool, float]:
    """Scorers, and the time from the last answer to the last score."""
    spec, service = base.spec, base.service
    answers = ended_answers(base)
    if service.law is None or answers <= 0:
        return pool_of(spec, service=service, rate_per_s=0.0), 0.0
    endings_s = np.minimum(_endings_s(base, instances=instances), generation_s)
    ends_s, shares = np.concatenate(([0.0], endings_s, [generation_s])), np.concatenate(([0.0], _TENTHS))
    scorers = spec.scorers or _scorers(base, ends_s=ends_s, shares=shares)
    work_s = answers * service.mean_s / scorers
    rate = answers / generation_s if generation_s > 0 else 0.0
    waits_s = fluid_wait_s(ends_s, shares=shares, work_s=work_s)
    pool = Pool(rate, scorers, min(rate * service.mean_s, float(scorers)), waits_s)
    drained_s = drain_s(base, scorers=scorers)
    if spec.scored == "batch":
        return pool, drained_s
    late_s = backlog_s(ends_s, shares=shares, work_s=work_s)
    late_s += score_tail_s(
        base.law,
        service=service.law,
        answers=answers,
        token_s=base.physics.step.fixed_s,
        group=1 if spec.scored == "each" else spec.answers_per_problem,
    )
    return pool, min(late_s, max(drained_s, service.longest_s(answers)))


def _scorers(base: Base, *, ends_s: NDArray[np.float64], shares: NDArray[np.float64]) -> int:
    """As few as are not behind when the last answer ends; where groups are replaced, as keep up before that."""
    spec, work_s = base.spec, ended_answers(base) * base.service.mean_s
    found = whole(scorers_for_backlog(ends_s, shares=shares, work_s=work_s, late_s=spec.score_wait_s))
    if base.demand.filtered > 0:
        rate = shares[-2] * ended_answers(base) / max(float(ends_s[-2]), 1e-9)
        found = max(found, pool_of(spec, service=base.service, rate_per_s=rate).scorers)
    return max(found, 1)


def drain_s(base: Base, *, scorers: int) -> float:
    """Scoring of a whole step that is sent at once."""
    return base.service.burst_s(ended_answers(base), scorers=scorers)
