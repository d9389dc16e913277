"""One step of each mode on given GPUs."""

from __future__ import annotations

import numpy as np

from planner.formulas import rollout_modes
from planner.kinds.rl_rollout.base import Base
from planner.kinds.rl_rollout.batch import batch_of, early_stop_of, ended_answers
from planner.kinds.rl_rollout.inputs_fleet import Mode
from planner.kinds.rl_rollout.overlapped import overlapped_turn
from planner.kinds.rl_rollout.sync import switch_s, sync_of
from planner.kinds.rl_rollout.turn import SOON_S, Turn, exposed_s, instances_of, mean_running, wasted_share


def turn_of(base: Base, mode: Mode, *, rollout_gpus: int, training_gpus: int | None = None) -> Turn:
    """A step of a mode, made once; co-located it has the GPUs of both roles in turns."""
    trains_on = base.spec.training_gpus if training_gpus is None else training_gpus
    key = (mode, rollout_gpus, trains_on)
    if key not in base.turns:
        base.turns[key] = _made(base, mode, rollout_gpus=rollout_gpus, training_gpus=trains_on)
    return base.turns[key]


def _made(base: Base, mode: Mode, *, rollout_gpus: int, training_gpus: int) -> Turn:
    if mode == "asynchronous":
        return overlapped_turn(base, rollout_gpus=rollout_gpus, training_gpus=training_gpus)
    return _in_turns(base, mode, rollout_gpus=rollout_gpus, training_gpus=training_gpus)


def _in_turns(base: Base, mode: Mode, *, rollout_gpus: int, training_gpus: int) -> Turn:
    spec, demand, physics = base.spec, base.demand, base.physics
    together = mode == "colocated"
    gpus = rollout_gpus + training_gpus if together else rollout_gpus
    instances = instances_of(base, gpus=gpus)
    trains_s = base.spec.training.at(gpus if together else training_gpus)
    batch = batch_of(base, instances=instances)
    makes_s, tail_s, partial = batch.generation_s, batch.tail_s, batch.partial
    sync_s = 0.0 if together else sync_of(base, instances=instances).seconds
    moves_s = switch_s(base) if together else 0.0
    early = early_stop_of(base)
    tokens = demand.completed * base.law.mean_tokens
    if early is not None:
        tokens = demand.trained * early.started * early.written_tokens
    if mode == "one_step_off":
        step_s = rollout_modes.one_step_off_step_s(makes_s + tail_s, train_s=trains_s, sync_s=sync_s)
        late_s = exposed_s(step_s - trains_s - sync_s, step_s=step_s)
        shown_tail_s = min(tail_s, late_s)
        waits_s = exposed_s(late_s - shown_tail_s, step_s=step_s)
    else:
        step_s = rollout_modes.synchronous_step_s(
            makes_s, score_tail_s=tail_s, train_s=trains_s, sync_s=sync_s, switch_s=moves_s
        )
        shown_tail_s, waits_s = tail_s, makes_s
    step_s = max(step_s, SOON_S)
    full = physics.full_rate * instances * spec.instance_gpus
    ages = np.array([1.0]) if partial is None else partial.ages
    if mode == "one_step_off":
        ages = np.concatenate(([0.0], ages))
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
        running=mean_running(base, tokens=tokens, instances=instances, over_s=makes_s),
        tokens=tokens,
        capacity_tokens=full * step_s,
        utilisation_generating=min(tokens / (full * makes_s), 1.0) if makes_s > 0 else 0.0,
        ages_of=lambda: ages,
        discarded=0.0,
        at_cap_versions=float(mode == "one_step_off"),
        recompute_s=0.0,
        pool=batch.pool,
        answers=ended_answers(base),
        score_s=base.service.mean_s,
        trained=demand.trained,
        left_out=wasted_share(base, tokens=tokens, kept_mean=early.kept_mean_tokens if early else None),
        masked_of=(lambda ages: partial.masked(base, ages=ages)) if partial else None,
    )
