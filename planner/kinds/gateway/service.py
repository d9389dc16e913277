"""What one request asks of an instance: prefill of what is not cached, decode, and how unequal prefills are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.kinds.gateway.reuse import Hits, Reuse
from planner.kinds.gateway.spec import GatewaySpec

POINTS = 60
_LENGTHS = 8
"""Equally likely lengths that stand for the exponential law of histories."""


@dataclass(frozen=True, slots=True)
class Service:
    """Load of the mean instance and its prefill as a queue.

    Prefill and decode share an instance: what decode takes of its time stretches every prefill.
    """

    computed_tokens: float
    prefill_share: float
    """Of the instance's time, at the peak."""
    decode_share: float
    seconds: NDArray[np.float64]
    """Equally likely prefill times, stretched; empty when decode alone takes all the time."""

    @property
    def rho(self) -> float:
        return self.prefill_share + self.decode_share

    @property
    def mean_s(self) -> float | None:
        return float(self.seconds.mean()) if len(self.seconds) else None

    @property
    def scv(self) -> float:
        """Squared coefficient of variation of the prefill time."""
        mean = self.mean_s
        return float(self.seconds.var()) / mean**2 if mean else 0.0

    @property
    def queue_rho(self) -> float:
        """Share of the time that decode leaves which prefill takes."""
        left = 1 - self.decode_share
        return self.prefill_share / left if left > 0 else float("inf")


def request_s(spec: GatewaySpec, *, computed_tokens: float) -> float:
    """Time of an instance that one request takes."""
    return computed_tokens / spec.prefill_tokens_per_s + spec.output_tokens / spec.decode_tokens_per_s


def service_of(spec: GatewaySpec, *, reuse: Reuse, hits: Hits, extra_tokens: float = 0.0) -> Service:
    """The service of a placement; ``extra_tokens`` are computed on average because of spilling."""
    tokens = _computed(reuse, prefix=hits.prefix, history=hits.history)
    expected = float(tokens.mean())
    mean = min(expected + extra_tokens, reuse.prompt_tokens)
    rate = spec.peak_rps / spec.instances
    decode = rate * spec.output_tokens / spec.decode_tokens_per_s
    left = 1 - decode
    stretched = mean / expected if expected > 0 else 1.0
    seconds = tokens * (stretched / (spec.prefill_tokens_per_s * left)) if left > 0 else np.empty(0)
    return Service(mean, rate * mean / spec.prefill_tokens_per_s, decode, seconds)


@lru_cache(maxsize=128)
def _computed(reuse: Reuse, *, prefix: float, history: float) -> NDArray[np.float64]:
    """Equally likely numbers of computed tokens with the mean that the hits leave.

    A turn computes its new tokens, its prefix if that is missed and its history if that is; prefix and history are
    missed independently, histories are exponential. A first turn has only new tokens.
    """
    lengths = -np.log1p(-(np.arange(_LENGTHS) + 0.5) / _LENGTHS)
    lengths *= reuse.found_tokens / lengths.mean()
    follow = reuse.follow_share
    cases: list[tuple[float, float]] = []
    for miss, chance in ((0.0, prefix), (reuse.prefix_tokens, 1 - prefix)):
        later = miss + reuse.growth_tokens - reuse.returned_tokens + reuse.context_tokens - reuse.found_tokens
        cases += [(chance * (1 - follow), miss + reuse.growth_tokens), (chance * follow * history, later)]
        each = chance * follow * (1 - history) / _LENGTHS
        cases += [(each, later + float(length)) for length in lengths]
    ordered = sorted(cases, key=lambda case: case[1])
    edges = np.cumsum([weight for weight, _ in ordered])
    places = np.searchsorted(edges, (np.arange(POINTS) + 0.5) / POINTS * edges[-1])
    drawn = np.sort([ordered[min(place, len(ordered) - 1)][1] for place in places])
    wanted = sum(weight * tokens for weight, tokens in ordered)
    if drawn.mean() > 0:
        drawn *= wanted / drawn.mean()
    drawn.setflags(write=False)
    return drawn
