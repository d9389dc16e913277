"""What the system is told: counts, step-time coefficients and limits, all as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sims.parts.routing.dispatch import CODES


@dataclass(frozen=True, slots=True)
class Config:
    """A fleet that serves one LLM.

    Notes
    -----
    A decode step with B sequences and K tokens of KV lasts ``step_s`` + B·``step_s_per_sequence`` +
    K·``step_s_per_kv_token``. A prefill step of n tokens lasts ``prefill_step_s`` + n·``prefill_s_per_token``;
    on an aggregated replica it rides on a decode step and adds as much to it.
    ``decode_units`` are the replicas when ``aggregated``. A unit has ``prefill_ranks`` ranks in lockstep; a prompt
    is computed by one of them, and budget and times of prefill are those of a rank.
    """

    decode_units: int
    step_s: float
    step_s_per_sequence: float
    step_s_per_kv_token: float
    prefill_s_per_token: float
    prefill_budget_tokens: int
    kv_capacity_tokens: int
    aggregated: bool = False
    prefill_units: int = 0
    prefill_ranks: int = 1
    prefill_step_s: float = 0.0
    max_running: int = 1_000_000_000
    egress_s_per_token: float = 0.0
    ingress_s_per_token: float = 0.0
    hand_over_s: float = 0.0
    gateway_s: float = 0.0
    """What passes before a request reaches the router; part of its latencies."""
    router: str = "least_loaded"
    ttft_slo_s: float = math.inf
    tpot_slo_s: float = math.inf
    most_steps: int = 1_000_000_000
    """The longest macro-step; 1 walks step by step, for tests."""

    def __post_init__(self) -> None:
        for name in ("decode_units", "prefill_budget_tokens", "prefill_ranks", "kv_capacity_tokens", "max_running"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, is {getattr(self, name)}")
        if not self.aggregated and self.prefill_units < 1:
            raise ValueError(f"prefill_units must be at least 1, is {self.prefill_units}")
        times = ("step_s", "step_s_per_sequence", "step_s_per_kv_token", "prefill_step_s", "prefill_s_per_token")
        for name in (*times, "egress_s_per_token", "ingress_s_per_token", "hand_over_s", "gateway_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite time of at least 0, is {value}")
        if self.step_s + self.step_s_per_sequence <= 0 or self.prefill_step_s + self.prefill_s_per_token <= 0:
            raise ValueError("a step must take time: step_s and prefill_step_s with their slopes are all 0")
        if self.router not in CODES:
            raise ValueError(f"router must be one of {', '.join(CODES)}, is {self.router}")
