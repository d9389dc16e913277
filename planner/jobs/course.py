"""What a run tells on its way, kept as a short table over simulated time, so that a page can draw it growing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.simulation import Hooks

MOST_MOMENTS = 60


class Remembered:
    """Hooks that add to what they pass on all that was told before: ``course``, {time_s: [...], name: [...]}.

    It stays short: when it is full every second moment goes, and new ones come half as often.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._rows: list[dict[str, float]] = []
        self._apart_s = 0.0

    def progress(
        self, fraction: float, *, simulated_s: float, events: int, partial: Mapping[str, Any] | None = None
    ) -> None:
        """Pass on how far the run is, with its course."""
        if partial is not None:
            self._note(simulated_s, partial)
            partial = {**partial, "course": self._course()}
        self._hooks.progress(fraction, simulated_s=simulated_s, events=events, partial=partial)

    def cancelled(self) -> bool:
        """Whether to stop."""
        return self._hooks.cancelled()

    def _note(self, simulated_s: float, told: Mapping[str, Any]) -> None:
        figures = {name: value for name, value in told.items() if isinstance(value, int | float)}
        if self._rows and simulated_s < self._rows[-1]["time_s"]:
            self._rows.clear()  # the next of several runs begins
        if len(self._rows) > 1 and simulated_s - self._rows[-2]["time_s"] < self._apart_s:
            self._rows.pop()  # the last moment is always there; it gives way to one that is as good
        self._rows.append({"time_s": simulated_s, **figures})
        if len(self._rows) > MOST_MOMENTS:
            self._rows = self._rows[::2]
            self._apart_s = 2 * (self._rows[-1]["time_s"] - self._rows[0]["time_s"]) / MOST_MOMENTS

    def _course(self) -> dict[str, list[float | None]]:
        names = dict.fromkeys(name for row in self._rows for name in row)
        return {name: [row.get(name) for row in self._rows] for name in names}
