"""Time passes from one thing to the next: of those due at the same moment the one named first goes first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from sims.parts.clients import ClosedLoop
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

    def answered(self, now_s: float) -> None:
        """Nobody waits for it to send the next one."""


class Clients:
    """Hands on the requests in their order, each when one of so many clients has its turn: at first, or after a pause.

    What is ``passed`` before a request reaches the system is part of its stay, and of the pause between two of them.
    """

    def __init__(
        self, asks: Sequence[Ask], *, count: int, think_s: float, passed_s: float, to: Callable[[Ask, float], None]
    ) -> None:
        self._left = list(asks)
        self._turns = [passed_s] * count
        self._pause_s = think_s + passed_s
        self._to = to

    @property
    def next_s(self) -> float:
        return min(self._turns, default=NEVER) if self._left else NEVER

    def act(self, now_s: float) -> None:
        self._turns.remove(now_s)
        ask = self._left.pop(0)
        ask.sent_s = now_s
        self._to(ask, now_s)
        if ask.refused:
            self.answered(now_s)

    def answered(self, now_s: float) -> None:
        """A client has its answer, or none."""
        self._turns.append(now_s + self._pause_s)


def source_of(
    asks: Sequence[Ask], *, to: Callable[[Ask, float], None], loop: ClosedLoop | None, gateway_s: float
) -> Source | Clients:
    """Requests as they come, or clients in a closed loop."""
    if loop is None:
        return Source(asks, to=to)
    return Clients(asks, count=loop.clients, think_s=loop.think_s, passed_s=gateway_s, to=to)


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
