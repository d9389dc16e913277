"""Generation for RL training: instances with decaying batches, a trainer, weight versions, a scoring pool."""

from __future__ import annotations

from sims.parts.answers import Lengths, Measured, Problems
from sims.systems.rl_rollout.config import ENFORCEMENTS, MODES, PLACINGS, SWAPS, TIMEOUTS, WHENS, Config, Scoring
from sims.systems.rl_rollout.control import Failure
from sims.systems.rl_rollout.outcome import Outcome
from sims.systems.rl_rollout.run import compare, simulate
from sims.systems.rl_rollout.timeline import TRAINER, Levels, Span

__all__ = [
    "ENFORCEMENTS",
    "MODES",
    "PLACINGS",
    "SWAPS",
    "TIMEOUTS",
    "TRAINER",
    "WHENS",
    "Config",
    "Failure",
    "Lengths",
    "Levels",
    "Measured",
    "Outcome",
    "Problems",
    "Scoring",
    "Span",
    "compare",
    "simulate",
]
