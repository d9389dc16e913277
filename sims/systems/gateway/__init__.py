"""A gateway in front of many instances of one LLM: routing, prefix caches, failures, canary, overload."""

from __future__ import annotations

from sims.parts.conversations import Conversations, Source
from sims.parts.replay import Replay, replay_blocks
from sims.systems.gateway.config import POLICIES, Config, Health
from sims.systems.gateway.control import CanaryStep, Failure
from sims.systems.gateway.outcome import Outcome, Verdict
from sims.systems.gateway.run import compare, simulate
from sims.systems.gateway.timeline import Timeline

__all__ = [
    "POLICIES",
    "CanaryStep",
    "Config",
    "Conversations",
    "Failure",
    "Health",
    "Outcome",
    "Replay",
    "Source",
    "Timeline",
    "Verdict",
    "compare",
    "replay_blocks",
    "simulate",
]
