"""How many units a load asks for: the rule of target tracking, with a dead band and a slow way down.

As the horizontal autoscaler of Kubernetes does it: wanted = ⌈load / target⌉, no change within a tolerance of what
there is, and down only to the most that was wanted in a while.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

TOLERANCE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``target`` load a unit, in the unit of the load; ``calm_s``: how long less must have been wanted [s]."""

    target: float
    least: int
    most: int
    calm_s: float
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if not (math.isfinite(self.target) and self.target > 0):
            raise ValueError(f"target must be above 0, is {self.target}")
        if not 0 <= self.least <= self.most:
            raise ValueError(f"least must be from 0 to {self.most}, is {self.least}")
        if self.calm_s < 0 or self.tolerance < 0:
            raise ValueError("calm_s and tolerance must not be negative")


@dataclass(slots=True)
class Scaler:
    """A policy with what it wanted lately."""

    policy: Policy
    _lately: deque[tuple[float, int]] = field(default_factory=deque)

    def wanted(self, load: float, *, units: int, now_s: float) -> int:
        """Units to have from now on, of ``units`` that are up or coming."""
        policy = self.policy
        asked = math.ceil(load / policy.target - 1e-9)
        if units and abs(load / (policy.target * units) - 1) <= policy.tolerance:
            asked = units
        while self._lately and self._lately[0][0] < now_s - policy.calm_s:
            self._lately.popleft()
        self._lately.append((now_s, asked))
        if asked < units:
            asked = min(units, max(one for _, one in self._lately))
        return max(policy.least, min(policy.most, asked))
