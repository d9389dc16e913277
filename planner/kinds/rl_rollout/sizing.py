"""Rollout GPUs that keep up with training, by mode: generation of a step takes no longer than training."""

from __future__ import annotations

import math
from collections.abc import Callable

from planner.formulas import generation
from planner.formulas.sizing import whole
from planner.kinds.rl_rollout.base import Base
from planner.kinds.rl_rollout.batch import batch_generation_s
from planner.kinds.rl_rollout.inputs_fleet import Mode
from planner.kinds.rl_rollout.overlapped import settled
from planner.kinds.rl_rollout.sync import sync_of
from planner.kinds.rl_rollout.turn import instances_of

_SLACK = 1e-3
"""Of a step: training that waits less than this is not slowed."""


def keeps_up(base: Base, mode: Mode) -> float | None:
    """Instances, a fraction of one counting where a formula gives it; None when no number is enough."""
    if base.demand.completed <= 0:
        return 0.0
    if mode == "asynchronous":
        return _asynchronous(base)
    return _in_turns(base)


def _in_turns(base: Base) -> float | None:
    spec, window_s = base.spec, base.spec.training_s
    found = generation.instances_for_deadline(
        base.physics.step,
        law=base.law,
        answers=base.demand.completed,
        deadline_s=window_s,
        slots=base.physics.running,
        prompt_tokens=spec.prompt_tokens,
    )
    if spec.oversampling > 0 or base.demand.filtered > 0:
        return _searched(
            lambda count: batch_generation_s(base, instances=count) <= window_s,
            start=1,
            near=max(math.ceil(found or 1.0), 1),
            most=_most(base),
        )
    return found


def _asynchronous(base: Base) -> float | None:
    spec, physics = base.spec, base.physics
    tokens = base.demand.completed * base.law.mean_tokens
    rate = physics.step.tokens_per_s(physics.running, context_tokens=physics.context_tokens)
    least = tokens / (rate * spec.training_s)

    def late(count: int) -> float:
        sync_s = sync_of(base, instances=count).seconds
        _, found, _, _ = settled(base, instances=count, trains_s=spec.training_s, sync_s=sync_s)
        return found.step_s / ((spec.training_s + sync_s) * (1 + _SLACK))

    start = max(whole(least), 1)
    if (times := late(start)) <= 1:
        return least
    # A step shortens at most as instances are added: no fewer than these are looked at first.
    near = min(max(math.ceil(start * times), start + 1), max(_most(base), start + 1))
    return _searched(lambda count: late(count) <= 1, start=start + 1, near=near, most=_most(base))


def _most(base: Base) -> int:
    """More instances than answers would stand idle."""
    return max(math.ceil(base.demand.completed), 1)


def _searched(enough: Callable[[int], bool], *, start: int, near: int, most: int) -> float | None:
    """The first count that is enough, by strides that grow from a guess and then halving; None when none is."""
    high, stride = max(near, start), 1
    if enough(high):
        low = high
        while low >= start and enough(low):
            high, low = low, low - stride
            stride *= 2
        low = max(low, start - 1)
    else:
        low = high
        while not enough(high):
            if high >= most:
                return None
            low, high = high, min(high + stride, max(most, high + 1))
            stride *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


def fleet_gpus(base: Base) -> tuple[int, float | None]:
    """Rollout GPUs of the design, whole instances, and the GPUs that keep up (None: no number does)."""
    spec = base.spec
    needed = keeps_up(base, spec.mode) if spec.mode != "colocated" else None
    needed_gpus = None if needed is None else needed * spec.instance_gpus
    if spec.mode == "colocated":
        return (spec.rollout_gpus or 0), None
    if spec.rollout_gpus is not None:
        return instances_of(base, gpus=spec.rollout_gpus) * spec.instance_gpus, needed_gpus
    count = _fallback(base) if needed is None else max(whole(needed), 1)
    return count * spec.instance_gpus, needed_gpus


def _fallback(base: Base) -> int:
    """Where no number keeps up: so many that waiting for the longest answer is half of generation."""
    found = generation.instances_for_deadline(
        base.physics.step,
        law=base.law,
        answers=max(base.demand.completed, 1.0),
        deadline_s=2 * base.tail_floor_s,
        slots=base.physics.running,
        prompt_tokens=base.spec.prompt_tokens,
    )
    return max(math.ceil(found or 1.0), 1)
