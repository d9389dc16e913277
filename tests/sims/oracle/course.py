"""Time passes from one thing to the next: of those due at the same moment the one named first goes first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from tests.sims.oracle.asks import Ask

NEVER = math.inf


class Station(Protocol):
    """Something that is due at a moment."""

    next_s: float

    def act(self, now_s: float) -> None:
        """Do what is due."""


class Source:
    """Hands on the requests in order of arrival."""

    def __init__(self, asks: Sequence[Ask], *, to: Callable[[Ask, float], None]) -> None:
        self._left = list(asks)
        self._to = to

    @property
    def next_s(self) -> float:
        return self._left[0].sent_s if self._left else NEVER

    def act(self, now_s: float) -> None:
        self._to(self._left.pop(0), now_s)


def follow(stations: Sequence[Station]) -> float:
    """Until nothing is due any more; the last moment."""
    now_s = 0.0
    while True:
        first = min(stations, key=lambda one: one.next_s)
        if first.next_s == NEVER:
            return now_s
        assert first.next_s >= now_s, "time runs backwards"
        now_s = first.next_s
        first.act(now_s)


class Router:
    """Chooses among stations: the least loaded (the first of equals), or in turn."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._turn = 0

    def choose(self, loads: Sequence[float]) -> int:
        if self._policy == "round_robin":
            self._turn += 1
            return (self._turn - 1) % len(loads)
        return min(range(len(loads)), key=lambda index: loads[index])
