"""One step of each mode on given GPUs: its parts, what each role does meanwhile, how stale samples are, what is lost.

Parts are seen from training and sum to the step: training itself, weight sync, switching roles, and what of generation
and scoring is not hidden behind it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.formulas import generation, rollout_ages, rollout_modes
from planner.formulas.oversampling import EarlyStop, early_stop
from planner.formulas.replaced_groups import expected_chain_steps
from planner.formulas.rollout_cycle import Cycle, Rollout, asynchronous
from planner.formulas.rollout_swaps import cut_share, draining
from planner.formulas.score_tail import score_tail_s
from planner.kinds.rl_rollout.base import Base
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS, Mode
from planner.kinds.rl_rollout.scoring import Pool, pool_of
from planner.kinds.rl_rollout.sync import switch_s, sync_of

MODES: tuple[Mode, ...] = ("synchronous", "one_step_off", "asynchronous", "colocated")
PARTS = ("training", "generation", "scoring", "weight_sync", "switch")
_SOON_S = 1e-9
_EARLY = 0.9


@dataclass(frozen=True, slots=True)
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
    ages: NDArray[np.float64]
    """Share of the groups by age, 0 versions first."""
    beyond: float
    discarded: float
    at_cap_versions: float
    recompute_s: float
    pool: Pool
    trained: float
    wasted: float
    """Share of the tokens that nothing is trained on."""
    cycle: Cycle | None = None
    rollout: Rollout | None = None

    @property
    def label(self) -> str:
        return MODE_LABELS[self.mode]

    @property
    def utilisation(self) -> float:
        return min(self.tokens / self.capacity_tokens, 1.0) if self.capacity_tokens > 0 else 0.0

    @property
    def mean_age(self) -> float:
        return rollout_ages.mean_age(self.ages)

    @property
    def trainer_idle(self) -> float:
        return 1 - self.parts["training"] / self.step_s

    @property
    def scorer_idle(self) -> float:
        return 1 - self.pool.busy / self.pool.scorers


def turn_of(base: Base, mode: Mode, *, rollout_gpus: int, training_gpus: int | None = None) -> Turn:
    """A step of a mode; co-located it has the GPUs of both roles in turns."""
    trains_on = base.spec.training_gpus if training_gpus is None else training_gpus
    if mode == "asynchronous":
        return _asynchronous(base, rollout_gpus=rollout_gpus, training_gpus=trains_on)
    return _in_turns(base, mode, rollout_gpus=rollout_gpus, training_gpus=trains_on)


def train_s(base: Base, *, gpus: int) -> float:
    """Training of a step on other than the stated GPUs."""
    return base.spec.training.at(gpus)


def instances_of(base: Base, *, gpus: int) -> int:
    return max(gpus // base.spec.instance_gpus, 1)


def batch_generation_s(base: Base, *, instances: int) -> float:
    """From the start of a batch to the end of the last answer it needs."""
    law, demand = base.law, base.demand
    if demand.trained <= 0:
        return 0.0
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
    if base.excess <= 0 or excess <= 0:
        return None
    found = early_stop(base.law, excess=excess, group=base.spec.answers_per_problem)
    return replace(found, started=1 + base.excess)


def _in_turns(base: Base, mode: Mode, *, rollout_gpus: int, training_gpus: int) -> Turn:
    spec, demand, physics = base.spec, base.demand, base.physics
    together = mode == "colocated"
    gpus = rollout_gpus + training_gpus if together else rollout_gpus
    instances = instances_of(base, gpus=gpus)
    trains_s = train_s(base, gpus=gpus) if together else train_s(base, gpus=training_gpus)
    makes_s = batch_generation_s(base, instances=instances)
    sync_s = 0.0 if together else sync_of(base, instances=instances).seconds
    moves_s = switch_s(base) if together else 0.0
    early = early_stop_of(base)
    tokens = demand.completed * base.law.mean_tokens
    if early is not None:
        tokens = demand.trained * early.started * early.written_tokens
    pool, tail_s = _tail(base, generation_s=makes_s, instances=instances)
    if mode == "one_step_off":
        step_s = rollout_modes.one_step_off_step_s(makes_s + tail_s, train_s=trains_s, sync_s=sync_s)
        exposed_s = step_s - trains_s - sync_s
        shown_tail_s = min(tail_s, exposed_s)
        waits_s = exposed_s - shown_tail_s
    else:
        step_s = rollout_modes.synchronous_step_s(
            makes_s, score_tail_s=tail_s, train_s=trains_s, sync_s=sync_s, switch_s=moves_s
        )
        shown_tail_s, waits_s = tail_s, makes_s
    step_s = max(step_s, _SOON_S)
    full = physics.full_rate * instances * spec.instance_gpus
    ages = np.array([0.0, 1.0]) if mode == "one_step_off" else np.array([1.0])
    return Turn(
        mode=mode,
        instances=instances,
        rollout_gpus=instances * spec.instance_gpus,
        all_gpus=gpus if together else instances * spec.instance_gpus + training_gpus,
        step_s=step_s,
        parts={
            "training": trains_s,
            "generation": waits_s,
            "scoring": shown_tail_s,
            "weight_sync": sync_s,
            "switch": moves_s,
        },
        generation_s=makes_s,
        running=_mean_running(base, tokens=tokens, instances=instances, over_s=makes_s),
        tokens=tokens,
        capacity_tokens=full * step_s,
        utilisation_generating=min(tokens / (full * makes_s), 1.0) if makes_s > 0 else 0.0,
        ages=ages,
        beyond=0.0,
        discarded=0.0,
        at_cap_versions=float(mode == "one_step_off"),
        recompute_s=0.0,
        pool=pool,
        trained=demand.trained,
        wasted=_wasted(base, tokens=tokens, kept_mean=early.kept_mean_tokens if early else None),
    )


def _wasted(base: Base, *, tokens: float, kept_mean: float | None = None) -> float:
    """Of groups that teach nothing, of answers given up, of groups too old."""
    if tokens <= 0:
        return 0.0
    kept = base.demand.trained * (kept_mean or base.law.mean_tokens)
    return max(1 - kept / tokens, 0.0)


def _mean_running(base: Base, *, tokens: float, instances: int, over_s: float) -> float:
    """Mean batch B of which (a + b B) steps write the tokens in this time: by time, not by step."""
    step = base.physics.step.with_context(base.physics.context_tokens)
    steps = (over_s - step.sequence_s * tokens / instances) / step.fixed_s
    return tokens / instances / steps if steps > 0 else 0.0


def _early_rate(base: Base, *, instances: int) -> float:
    """Rate at which the first nine tenths of the answers of a step end: what scorers have to keep up with."""
    answers, law = base.demand.completed, base.law
    tokens = float(law.quantile(_EARLY))
    step = base.physics.step.with_context(base.physics.context_tokens)
    waves = max(answers / instances / base.physics.running, 1.0)
    early_s = waves * step.fixed_s * tokens + step.sequence_s * answers / instances * float(law.limited_mean(tokens))
    return _EARLY * answers / early_s if early_s > 0 else 0.0


def _tail(base: Base, *, generation_s: float, instances: int) -> tuple[Pool, float]:
    """Scorers, and the time from the last answer to the last score."""
    spec, service = base.spec, base.service
    answers = base.demand.completed
    pool = pool_of(spec, service=service, rate_per_s=_early_rate(base, instances=instances))
    drained_s = drain_s(base, scorers=pool.scorers)
    if spec.scored == "batch":
        return pool, drained_s
    # Fewer scorers than keep up leave a backlog: all of their work, less what they did meanwhile.
    backlog_s = max(answers * service.mean_s / pool.scorers - generation_s, 0.0)
    late_s = backlog_s
    if service.law is not None and answers > 0:
        late_s += score_tail_s(
            base.law,
            service=service.law,
            answers=answers,
            token_s=base.physics.step.fixed_s,
            wait_s=pool.wait_s or 0.0,
            group=1 if spec.scored == "each" else spec.answers_per_problem,
        )
    return pool, min(late_s, max(drained_s, service.longest_s(answers)))


def drain_s(base: Base, *, scorers: int) -> float:
    """Scoring of a whole step that is sent at once."""
    return base.service.burst_s(base.demand.completed, scorers=scorers)


def _asynchronous(base: Base, *, rollout_gpus: int, training_gpus: int) -> Turn:
    spec, demand, physics = base.spec, base.demand, base.physics
    instances = instances_of(base, gpus=rollout_gpus)
    trains_s = train_s(base, gpus=training_gpus)
    sync_s = sync_of(base, instances=instances).seconds
    full = physics.full_rate * instances * spec.instance_gpus
    rollout, found, discarded, again_s = settled(base, instances=instances, trains_s=trains_s, sync_s=sync_s)
    step_s = max(found.step_s, trains_s + sync_s, _SOON_S)
    tokens = demand.completed * base.law.mean_tokens / (1 - discarded)
    ages = rollout_ages.ages(rollout, cycle=found) if demand.completed > 0 else np.array([1.0])
    pool = pool_of(spec, service=base.service, rate_per_s=demand.completed / (1 - discarded) / step_s)
    backlog_s = max(demand.completed * base.service.mean_s / pool.scorers - step_s, 0.0)
    step_s += backlog_s
    generating_s = step_s - sync_s - again_s
    return Turn(
        mode="asynchronous",
        instances=instances,
        rollout_gpus=instances * spec.instance_gpus,
        all_gpus=instances * spec.instance_gpus + training_gpus,
        step_s=step_s,
        parts={
            "training": trains_s,
            "generation": max(step_s - backlog_s - trains_s - sync_s, 0.0),
            "scoring": backlog_s,
            "weight_sync": sync_s,
            "switch": 0.0,
        },
        generation_s=_fluid_s(base, instances=instances, tokens=tokens) + sync_s + again_s,
        running=_mean_running(base, tokens=tokens, instances=instances, over_s=generating_s),
        tokens=tokens,
        capacity_tokens=full * step_s,
        utilisation_generating=min(tokens / (full * max(generating_s, _SOON_S)), 1.0),
        ages=ages,
        beyond=_beyond(base, ages=ages, cycle=found),
        discarded=discarded,
        at_cap_versions=base.law.cap_tokens / found.tokens if math.isfinite(base.law.cap_tokens) else 0.0,
        recompute_s=again_s,
        pool=pool,
        trained=demand.trained,
        wasted=_wasted(base, tokens=tokens),
        cycle=found,
        rollout=rollout,
    )


def _beyond(base: Base, *, ages: NDArray[np.float64], cycle: Cycle) -> float:
    """Share of the answers older than the bound."""
    spec = base.spec
    if spec.enforcement == "discard":
        return 0.0
    older = rollout_ages.share_older(ages, bound=spec.staleness_bound)
    if spec.enforcement == "carry":
        older -= cut_share(base.law, cycle=cycle, bound=spec.staleness_bound)
    return max(older, 0.0)


def _fluid_s(base: Base, *, instances: int, tokens: float) -> float:
    """Tokens at the rate of full slots."""
    rate = base.physics.step.tokens_per_s(base.physics.running, context_tokens=base.physics.context_tokens)
    return tokens / (rate * instances)


def settled(base: Base, *, instances: int, trains_s: float, sync_s: float) -> tuple[Rollout, Cycle, float, float]:
    """The steady cycle, the share of groups dropped, and the time KV takes to be computed again at each version."""
    spec, physics = base.spec, base.physics
    answers = max(base.demand.completed, 1e-6) / instances
    again_s = 0.0
    if spec.new_weights == "recompute":
        again_s = rollout_modes.recompute_s(
            batch=min(physics.running, answers * (spec.staleness_bound + 1)),
            context_tokens=physics.context_tokens,
            prefill_tokens_per_s=physics.prefill_tokens_per_s,
        )
    whole = Rollout(
        step=physics.step.with_context(physics.context_tokens),
        law=base.law,
        answers=answers,
        groups=max(base.demand.completed / spec.answers_per_problem, 1e-6),
        train_s=trains_s,
        bound=float(spec.staleness_bound),
        group=spec.answers_per_problem,
        pause_s=sync_s + again_s,
    )
    # Training goes on while an instance computes KV again: a trainer that never waits has a shorter cycle to offer.
    first = replace(whole, train_s=max(trains_s - again_s, _SOON_S)) if again_s else whole
    found, dropped = _found(base, first)
    if again_s and found.waits:
        first = whole
        found, dropped = _found(base, whole)
    return first, found, dropped, again_s


def _found(base: Base, rollout: Rollout) -> tuple[Cycle, float]:
    if base.spec.new_weights == "drain":
        return draining(rollout, slots=base.physics.running), 0.0
    if base.spec.enforcement == "discard" and base.spec.staleness_bound >= 1:
        return rollout_ages.dropping(rollout, slots=base.physics.running)
    return asynchronous(rollout, slots=base.physics.running), 0.0
