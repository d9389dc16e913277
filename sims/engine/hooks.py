"""How a run speaks to whoever waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Cancelled(Exception):
    """The hooks asked the run to stop."""


class Hooks(Protocol):
    """Called between slices of simulated time: progress at most twice a second, cancellation every quarter."""

    def progress(
        self, fraction: float, *, simulated_s: float, events: int, partial: Mapping[str, Any] | None = None
    ) -> None:
        """Tell how far the run is (0 … 1)."""

    def cancelled(self) -> bool:
        """Whether the run should stop now."""


class NoHooks:
    """Nobody waits."""

    def progress(
        self, fraction: float, *, simulated_s: float, events: int, partial: Mapping[str, Any] | None = None
    ) -> None:
        pass

    def cancelled(self) -> bool:
        return False
