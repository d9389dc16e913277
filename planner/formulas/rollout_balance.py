"""Rollout that keeps up just so: how far samples age, and how many steps that takes.

Finished groups that wait for the trainer are a walk between two walls: nothing waits, or the bound on staleness stops
new answers. A version adds on average what rollout writes beyond the need of a step; chance adds its part.
"""

from __future__ import annotations

import math

_SMALL = 1e-4
_FAR = 500.0


def step_deviation(*, variation: float, answers: float) -> float:
    """Standard deviation of the work of a training step, in training steps.

    Parameters
    ----------
    variation : coefficient of variation of the lengths [1]
    answers : of a step [1]

    Returns
    -------
    sigma [1]

    Notes
    -----
    cv / sqrt(N): answers are drawn apart from each other, and slots are always taken.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications, Volume II", 2nd ed., 1971, section XI.1.

    >>> step_deviation(variation=0.8, answers=1600)
    0.02
    """
    return variation / math.sqrt(answers) if answers > 0 else 0.0


def missing_at_rest(room: float, *, drift: float, deviation: float) -> float:
    """How much less than all its room the buffer holds in the long run, on average.

    Parameters
    ----------
    room : B, groups that may wait under the bound [training steps]
    drift : s, groups written beyond those taken, per step; negative where rollout is too slow [training steps]
    deviation : sigma, of that, per step [training steps]

    Returns
    -------
    between nought (the bound is always reached) and the room (nothing ever waits) [training steps]

    Notes
    -----
    A Brownian motion between two reflecting walls has a density proportional to e^(2 s x / sigma^2). With
    t = 2 s B / sigma^2 the mean distance from the upper wall is B (1 / t - 1 / (e^t - 1)): sigma^2 / (2 s) where that
    is small beside the room, half the room without a drift.

    References
    ----------
    J. M. Harrison, "Brownian Motion and Stochastic Flow Systems", 1985, section 5.5.

    >>> missing_at_rest(1.0, drift=0.0, deviation=0.02)
    0.5
    >>> round(missing_at_rest(1.0, drift=0.01, deviation=0.02), 3)
    0.02
    """
    if room <= 0:
        return 0.0
    if deviation <= 0:
        return 0.0 if drift > 0 else room
    steep = 2 * drift * room / deviation**2
    if abs(steep) < _SMALL:
        return room / 2
    if steep > _FAR:
        return room / steep
    if steep < -_FAR:
        return room + room / steep
    return room * (1 / steep - 1 / math.expm1(steep))


def steps_to_rest(room: float, *, drift: float, deviation: float) -> float:
    """Training steps until groups have first gathered up to the bound, from a buffer in which nothing waits.

    Parameters
    ----------
    room : B [training steps]
    drift : s [training steps a step]
    deviation : sigma [training steps]

    Returns
    -------
    mean; infinity where neither drift nor chance leads there [1]

    Notes
    -----
    First passage of a Brownian motion from a reflecting wall at nought to B:
    B / s - sigma^2 / (2 s^2) (1 - e^(-2 s B / sigma^2)); B^2 / sigma^2 without a drift.

    References
    ----------
    S. Karlin, H. M. Taylor, "A Second Course in Stochastic Processes", 1981, section 15.3.

    >>> round(steps_to_rest(1.0, drift=0.01, deviation=0.02))
    98
    >>> round(steps_to_rest(1.0, drift=0.0, deviation=0.02))
    2500
    """
    if room <= 0:
        return 0.0
    if deviation <= 0:
        return room / drift if drift > 0 else math.inf
    spread = deviation**2
    steep = 2 * drift * room / spread
    if abs(steep) < _SMALL:
        return room**2 / spread
    if steep < -_FAR:
        return math.inf
    return room / drift + spread / (2 * drift**2) * math.expm1(-steep)
