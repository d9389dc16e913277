"""Whoever waits for a run, and wants it to stop once it has told what it is asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from time import process_time
from typing import Any

from sims.engine.hooks import NoHooks

TOLD_TIMES = 3


def ticks() -> Callable[[], float]:
    """A clock that is a hundredth of a second further each time somebody looks: a run sees the same on any machine."""
    return count(0.0, 0.01).__next__


class Impatient(NoHooks):
    """Wants to stop when progress was told a few times and it was enough; notes how long it was not listened to.

    Time is this process's own: neighbours on a busy machine do not count.
    """

    def __init__(self, enough: Callable[[Mapping[str, Any]], bool] = bool) -> None:
        self.enough = enough
        self.told: list[Mapping[str, Any]] = []
        self.longest_s = 0.0
        self.listened_s: float | None = None

    def progress(
        self, fraction: float, *, simulated_s: float, events: int, partial: Mapping[str, Any] | None = None
    ) -> None:
        self.told.append(partial or {})

    def cancelled(self) -> bool:
        now_s = process_time()
        if self.listened_s is not None:
            self.longest_s = max(self.longest_s, now_s - self.listened_s)
        self.listened_s = now_s
        return len(self.told) >= TOLD_TIMES and self.enough(self.told[-1])
