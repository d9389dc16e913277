"""Serving one LLM: prefill and decode units with KV hand-over, or replicas that chunk prefill into decode steps."""

from __future__ import annotations

from sims.systems.llm_serving.config import Config, UnitClass
from sims.systems.llm_serving.control import Control, Failure, FailureRate, Night, Nodes, Scaling
from sims.systems.llm_serving.outcome import Outcome
from sims.systems.llm_serving.recovery import Recovery
from sims.systems.llm_serving.run import simulate, warm_up_s

__all__ = [
    "Config",
    "Control",
    "Failure",
    "FailureRate",
    "Night",
    "Nodes",
    "Outcome",
    "Recovery",
    "Scaling",
    "UnitClass",
    "simulate",
    "warm_up_s",
]
