"""How many GPUs train and how many generate when both run at once: neither should wait for the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import brentq


@dataclass(frozen=True, slots=True)
class RoleSplit:
    """GPUs of each role, what a step takes each, and the step."""

    train_gpus: float
    rollout_gpus: float
    train_s: float
    generation_s: float

    @property
    def step_s(self) -> float:
        return max(self.train_s, self.generation_s)


@dataclass(frozen=True, slots=True)
class Training:
    """A training step measured on some GPUs and how it scales: T(g) = T_0 (g / g_0)^-alpha.

    Parameters
    ----------
    seconds : T_0 [s]
    gpus : g_0 [1]
    exponent : alpha; 1 when GPUs are never lost to communication [1]
    """

    seconds: float
    gpus: float
    exponent: float = 1.0

    def at(self, gpus: float) -> float:
        """Time on other GPUs [s]."""
        return self.seconds * math.pow(gpus / self.gpus, -self.exponent)


def generation_gpu_s(
    tokens: float, *, tokens_per_s: float, utilisation: float, discarded: float = 0.0, filtered: float = 0.0
) -> float | None:
    """GPU-seconds of generation for a training step; None when nothing comes out.

    Parameters
    ----------
    tokens : of the answers trained on [tokens]
    tokens_per_s : quoted rate of a GPU, R* [tokens/s]
    utilisation : U, of that rate [1]
    discarded : share of the groups dropped as too old [1]
    filtered : share of the groups dropped as all right or all wrong [1]

    Returns
    -------
    W_g [GPU s]

    Notes
    -----
    W_g = sum L / (R* U) / (1 - discarded) / (1 - filtered).

    References
    ----------
    Q. Yu et al., "DAPO", 2025, arXiv:2503.14476, section 3.2 (filtering); W. Fu et al., "AReaL", 2025,
    arXiv:2505.24298, section 5.1 (staleness).

    >>> round(generation_gpu_s(16.384e6, tokens_per_s=2500.0, utilisation=0.9), 1)
    7281.8
    """
    left = tokens_per_s * utilisation * (1 - discarded) * (1 - filtered)
    return tokens / left if left > 0 else None


def balanced(gpus: float, *, training: Training, generation_gpu_s: float) -> RoleSplit:
    """The split in which both roles take equally long.

    Parameters
    ----------
    gpus : G, of both roles [1]
    training : how long it takes on how many
    generation_gpu_s : W_g, of a step [GPU s]

    Returns
    -------
    RoleSplit, GPUs as fractions

    Notes
    -----
    T_0 (g / g_0)^-alpha = W_g / (G - g). With alpha of one: g = G W_t / (W_t + W_g), T = (W_t + W_g) / G. Generation
    divides as long as its longest answer fits into the step.

    References
    ----------
    Z. Han et al., "AsyncFlow: An Asynchronous Streaming RL Framework for Efficient LLM Post-Training", 2025,
    arXiv:2507.01663 (balance of the roles of a streaming pipeline).

    >>> split = balanced(64, training=Training(300.0, 64), generation_gpu_s=7281.8)
    >>> round(split.train_gpus, 2), round(split.step_s, 2)
    (46.4, 413.78)
    """
    if generation_gpu_s <= 0:
        return RoleSplit(gpus, 0.0, training.at(gpus), 0.0)
    if training.seconds <= 0:
        return RoleSplit(0.0, gpus, 0.0, generation_gpu_s / gpus)

    def late_s(share: float) -> float:
        return training.at(share * gpus) - generation_gpu_s / ((1 - share) * gpus)

    least, most = 1e-9, 1 - 1e-9
    if late_s(least) <= 0:  # one role is so short that nearly all belongs to the other
        share = least
    elif late_s(most) >= 0:
        share = most
    else:
        share = float(brentq(late_s, least, most, xtol=1e-12))
    return RoleSplit(
        share * gpus, (1 - share) * gpus, training.at(share * gpus), generation_gpu_s / (gpus - share * gpus)
    )


def whole_units(
    gpus: int, *, training: Training, generation_gpu_s: float, train_unit: int = 1, rollout_unit: int = 1
) -> RoleSplit | None:
    """The best split into whole units; None when the GPUs do not hold one of each.

    Parameters
    ----------
    gpus : G, at most used; what no unit takes is left over [1]
    training : how long it takes on how many
    generation_gpu_s : W_g, of a step [GPU s]
    train_unit, rollout_unit : GPUs that come together in each role [1]

    Returns
    -------
    RoleSplit with the shortest step; of equal ones that with fewest training GPUs

    Notes
    -----
    The step falls with training GPUs until the roles balance and rises after, but for GPUs that fit no unit of the
    other role, so that only units near the balance need a look.

    References
    ----------
    Z. Han et al., "AsyncFlow", 2025, arXiv:2507.01663.

    >>> whole_units(128, training=Training(300.0, 64), generation_gpu_s=7281.8, train_unit=8, rollout_unit=8).train_gpus
    88
    """
    most = (gpus - rollout_unit) // train_unit
    if most < 1:
        return None
    ideal = int(balanced(gpus, training=training, generation_gpu_s=generation_gpu_s).train_gpus // train_unit)
    near = range(max(ideal - rollout_unit, 1), min(ideal + rollout_unit + 1, most) + 1)
    found = [_whole(gpus, units * train_unit, training, generation_gpu_s, rollout_unit) for units in near]
    return min(
        found or [_whole(gpus, train_unit, training, generation_gpu_s, rollout_unit)], key=lambda one: one.step_s
    )


def _whole(gpus: int, train: int, training: Training, generation_gpu_s: float, unit: int) -> RoleSplit:
    rollout = (gpus - train) // unit * unit
    return RoleSplit(train, rollout, training.at(train), generation_gpu_s / rollout)
