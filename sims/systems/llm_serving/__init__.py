"""Serving one LLM: prefill and decode units with KV hand-over, or replicas that chunk prefill into decode steps."""

from __future__ import annotations

from sims.systems.llm_serving.config import Config, UnitClass
from sims.systems.llm_serving.outcome import Outcome
from sims.systems.llm_serving.run import Failure, simulate, warm_up_s

__all__ = ["Config", "Failure", "Outcome", "UnitClass", "simulate", "warm_up_s"]
