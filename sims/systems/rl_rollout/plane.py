"""This system as the driver sees it: its loop, the orders it takes, and what it tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sims.engine.plane import Chunk, StatePlane
from sims.parts.rollouts import CONSUMED
from sims.systems.rl_rollout.loop import advance
from sims.systems.rl_rollout.orders import FAIL, REJOIN, obey
from sims.systems.rl_rollout.state import State


class RolloutPlane(StatePlane[State]):
    """The loop over a number of training steps; no pool of it ever grows, as the gate bounds what is open."""

    def __init__(self, state: State, *, chunks: Iterator[Chunk]) -> None:
        super().__init__(state, chunks=chunks, horizon_s=0.0)

    def _loop(self, until_s: float, most_events: int) -> int:
        return int(advance(self.state, until_s, most_events))

    def _grow(self, code: int) -> None:
        raise RuntimeError(f"the loop asked for more room ({code}), and no pool of a rollout grows")

    def fail(self, instance: int, *, now_s: float) -> None:
        """An instance fails."""
        obey(self.state, int(FAIL), int(instance), float(now_s))

    def rejoin(self, instance: int, *, now_s: float) -> None:
        """It is up again."""
        obey(self.state, int(REJOIN), int(instance), float(now_s))

    def is_done(self) -> bool:
        """Whether all training steps are done."""
        return bool(self.state.totals[0].done == 1)

    def fraction(self, now_s: float) -> float:  # noqa: ARG002 - steps tell, not time
        """By training steps."""
        return float(self.state.totals[0].version / self.state.params[0].steps)

    def partial(self) -> Mapping[str, Any]:
        """Figures so far."""
        totals = self.state.totals[0]
        version = int(totals.version)
        return {
            "steps_done": version,
            "step_s": float(self.state.rows[version].at_s / version) if version else None,
            "answers_running": int(totals.running),
            "answers_trained_on": int(self.state.fates[0, CONSUMED]),
            "tokens_generated": int(totals.generated_tokens),
        }
