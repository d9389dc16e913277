"""Tables of a simulation: distributions and the time line."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from planner.core.result import Column, Series
from planner.kinds.llm_serving.physics import Physics

if TYPE_CHECKING:
    from sims.systems.llm_serving import Outcome


def cdf(outcome: Outcome, *, name: str, label: str) -> Series:
    """Share of requests at or below a latency."""
    from sims.engine import sketch

    points = sketch.cdf(outcome.pooled(name))
    return Series(
        f"{name}_cdf",
        f"{label}, simulated",
        (
            Column("value_s", label, "s", [value for value, _ in points]),
            Column("share", "share of requests", "ratio", [share for _, share in points]),
        ),
    )


def timeline(outcome: Outcome, *, gpus: int, facts: Physics) -> Series:
    """The system over simulated time; rates and the mean TTFT are those of the interval that ends there."""
    samples = outcome.samples
    steps = list(pairwise(samples))
    kv_tokens = outcome.config.kv_tokens
    spans = [max(b.at_s - a.at_s, 1e-12) for a, b in steps]
    rate = facts.prefill_tokens_per_s_per_gpu * gpus

    def per_s(field: str) -> list[float | str | None]:
        return [(getattr(b, field) - getattr(a, field)) / span for (a, b), span in zip(steps, spans, strict=True)]

    ttft: list[float | str | None] = [
        (b.ttft_sum_s - a.ttft_sum_s) / (b.first_tokens - a.first_tokens) if b.first_tokens > a.first_tokens else None
        for a, b in steps
    ]
    prefill: list[float | str | None] = [
        (b.prefill_tokens - a.prefill_tokens) / span / rate for (a, b), span in zip(steps, spans, strict=True)
    ]
    now = samples[1:]
    return Series(
        "timeline",
        "The system over simulated time",
        (
            Column("time_s", "simulated time", "s", [sample.at_s for sample in now]),
            Column("arrivals_per_s", "arrivals", "req/s", per_s("arrived")),
            Column("output_tokens_per_s", "output", "tok/s", per_s("output_tokens")),
            Column("queued", "prompts queued or in prefill", "requests", [float(sample.queued) for sample in now]),
            Column("waiting", "waiting for decode", "requests", [float(sample.waiting) for sample in now]),
            Column("running", "decoding", "requests", [float(sample.running) for sample in now]),
            Column("kv_share", "KV pool in use", "ratio", [sample.kv_tokens / kv_tokens for sample in now]),
            Column("prefill_utilisation", "prefill utilisation", "ratio", prefill),
            Column("ttft_mean_s", "TTFT, mean", "s", ttft),
            *_units_up(outcome),
        ),
    )


def _units_up(outcome: Outcome) -> list[Column]:
    now, replicas = outcome.samples[1:], outcome.config.aggregated
    decode = Column(
        "units_up", "replicas up" if replicas else "decode units up", "units", [float(s.units_up) for s in now]
    )
    if replicas:
        return [decode]
    return [decode, Column("prefill_units_up", "prefill units up", "units", [float(s.prefill_units_up) for s in now])]
