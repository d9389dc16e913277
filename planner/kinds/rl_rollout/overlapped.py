"""A fully asynchronous step: the steady cycle under the bound on staleness, and what it does to samples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.formulas import rollout_ages, rollout_modes
from planner.formulas.rollout_cycle import Cycle, Rollout, asynchronous
from planner.formulas.rollout_swaps import draining, masked_share
from planner.kinds.rl_rollout.base import Base
from planner.kinds.rl_rollout.scoring import pool_of
from planner.kinds.rl_rollout.sync import sync_of
from planner.kinds.rl_rollout.turn import SOON_S, Turn, exposed_s, instances_of, mean_running, wasted_share

_CATCHING_UP = 1.25
"""Rollout that has fallen behind, or whose groups have not gathered yet, writes as fast as it can, up to this."""


def overlapped_turn(base: Base, *, rollout_gpus: int, training_gpus: int) -> Turn:
    spec, demand, physics = base.spec, base.demand, base.physics
    instances = instances_of(base, gpus=rollout_gpus)
    trains_s = base.spec.training.at(training_gpus)
    sync_s = sync_of(base, instances=instances).seconds
    full = physics.full_rate * instances * spec.instance_gpus
    rollout, found, discarded, again_s = settled(base, instances=instances, trains_s=trains_s, sync_s=sync_s)
    step_s = max(found.step_s, trains_s + sync_s, SOON_S)
    tokens = demand.completed * base.law.mean_tokens / (1 - discarded)
    rate = demand.completed / (1 - discarded) / step_s
    fastest = demand.completed * instances / rollout_work_s(base) if demand.completed > 0 else 0.0
    pool = pool_of(spec, service=base.service, rate_per_s=max(min(fastest, _CATCHING_UP * rate), rate))
    backlog_s = max(demand.completed * base.service.mean_s / pool.scorers - step_s, 0.0)
    step_s += backlog_s

    def ages() -> NDArray[np.float64]:
        return rollout_ages.ages(rollout, cycle=found) if demand.completed > 0 else np.array([1.0])

    def masked(shares: NDArray[np.float64]) -> float:
        return masked_share(base.law, cycle=found, shares=shares, bound=spec.staleness_bound)

    generating_s = step_s - sync_s - again_s
    return Turn(
        mode="asynchronous",
        instances=instances,
        rollout_gpus=instances * spec.instance_gpus,
        all_gpus=instances * spec.instance_gpus + training_gpus,
        step_s=step_s,
        parts={
            "training": trains_s,
            "generation": exposed_s(step_s - backlog_s - trains_s - sync_s, step_s=step_s),
            "scoring": backlog_s,
            "weight_sync": sync_s,
            "switch": 0.0,
        },
        generation_s=_fluid_s(base, instances=instances, tokens=tokens) + sync_s + again_s,
        running=mean_running(base, tokens=tokens, instances=instances, over_s=generating_s),
        tokens=tokens,
        capacity_tokens=full * step_s,
        utilisation_generating=min(tokens / (full * max(generating_s, SOON_S)), 1.0),
        ages_of=ages,
        discarded=discarded,
        at_cap_versions=base.law.cap_tokens / found.tokens if math.isfinite(base.law.cap_tokens) else 0.0,
        recompute_s=again_s,
        pool=pool,
        answers=demand.completed / (1 - discarded),
        score_s=base.service.mean_s,
        trained=demand.trained,
        left_out=wasted_share(base, tokens=tokens),
        admitted_bound=spec.staleness_bound if spec.enforcement == "admission" else None,
        masked_of=masked if spec.enforcement == "carry" else None,
        cycle=found,
        rollout=rollout,
    )


def rollout_work_s(base: Base) -> float:
    """Time one instance with all its slots taken would need for a step."""
    physics = base.physics
    rate = physics.step.tokens_per_s(physics.running, context_tokens=physics.context_tokens)
    return base.demand.completed * base.law.mean_tokens / rate


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
        # The gate counts groups that will be filtered as well, until they have ended: half of their stay, about.
        bound=spec.staleness_bound * (1 - base.demand.filtered / 2),
        group=spec.answers_per_problem,
        pause_s=sync_s + again_s,
        age_limit=spec.staleness_bound,
    )
    # Training goes on while an instance computes KV again: a trainer that never waits has a shorter cycle to offer.
    first = replace(whole, train_s=max(trains_s - again_s, SOON_S)) if again_s else whole
    found, dropped = _found(base, first)
    if again_s and found.waits:
        first = whole
        found, dropped = _found(base, whole)
    return first, found, dropped, again_s


def _found(base: Base, rollout: Rollout) -> tuple[Cycle, float]:
    if base.demand.completed <= 0:
        return asynchronous(rollout, slots=base.physics.running), 0.0
    if base.spec.new_weights == "drain":
        return draining(rollout, slots=base.physics.running), 0.0
    if base.spec.enforcement == "discard" and base.spec.staleness_bound >= 1:
        return rollout_ages.dropping(rollout, slots=base.physics.running)
    return asynchronous(rollout, slots=base.physics.running), 0.0
