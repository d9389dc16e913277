"""Replicas of one base LLM that serve many adapters: slots, host memory, store, routing, fairness, limits, bills."""

from __future__ import annotations

from sims.parts.adapter_requests import AdapterRequests, Burst
from sims.parts.popularity import Popularity
from sims.systems.multi_lora.config import POLICIES, Config, Tenants
from sims.systems.multi_lora.control import Failure
from sims.systems.multi_lora.outcome import FOUND, PARTS, Outcome
from sims.systems.multi_lora.run import compare, simulate
from sims.systems.multi_lora.timeline import Timeline

__all__ = [
    "FOUND",
    "PARTS",
    "POLICIES",
    "AdapterRequests",
    "Burst",
    "Config",
    "Failure",
    "Outcome",
    "Popularity",
    "Tenants",
    "Timeline",
    "compare",
    "simulate",
]
