"""Serving one LLM: prefill and decode units with KV hand-over, or replicas that chunk prefill into decode steps."""

from __future__ import annotations

from sims.systems.llm_serving.config import Config
from sims.systems.llm_serving.run import Outcome, simulate

__all__ = ["Config", "Outcome", "simulate"]
