"""Tables of a simulation: distributions, and the replica over time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from planner.core.result import Column, Series
from planner.kinds.engine_instance.steps import Served

if TYPE_CHECKING:
    from sims.systems.llm_serving import Outcome

_LABELS = {"ttft": "TTFT", "tpot": "TPOT", "itl": "Gap between tokens", "e2e": "End to end"}
_TINY_S = 1e-12


def all_series(served: Served, *, outcome: Outcome) -> Iterator[Series]:
    """Distributions and the time line."""
    for name, label in _LABELS.items():
        yield _cdf(outcome, name=name, label=label)
    yield _timeline(served, outcome=outcome)


def _cdf(outcome: Outcome, *, name: str, label: str) -> Series:
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


def _timeline(served: Served, *, outcome: Outcome) -> Series:
    """The replica to its last answer; rates and the mean TTFT are those of the interval that ends there."""
    samples = outcome.whole_line
    steps, now = list(pairwise(samples)), samples[1:]

    def per_s(field: str) -> list[float | str | None]:
        return [(getattr(b, field) - getattr(a, field)) / max(b.at_s - a.at_s, _TINY_S) for a, b in steps]

    ttft: list[float | str | None] = [
        (b.ttft_sum_s - a.ttft_sum_s) / (b.first_tokens - a.first_tokens) if b.first_tokens > a.first_tokens else None
        for a, b in steps
    ]
    return Series(
        "timeline",
        "The replica over simulated time",
        (
            Column("time_s", "simulated time", "s", [each.at_s for each in now]),
            Column("arrivals_per_s", "arrivals", "req/s", per_s("arrived")),
            Column("running", "running", "requests", [float(each.running + each.queued) for each in now]),
            Column("waiting", "waiting", "requests", [float(each.waiting) for each in now]),
            Column("kv_share", "KV pool in use", "ratio", [1.0 - each.free_blocks / served.all_blocks for each in now]),
            Column("preemptions_per_s", "preemptions", "1/s", per_s("preempted")),
            Column("prompt_tokens_per_s", "prompts", "tok/s", per_s("prefill_tokens")),
            Column("output_tokens_per_s", "output", "tok/s", per_s("output_tokens")),
            Column("ttft_mean_s", "TTFT, mean", "s", ttft),
        ),
    )
