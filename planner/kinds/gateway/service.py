"""What one request asks of an instance: prefill of what is not cached, decode, and how unequal prefills are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.formulas import lengths
from planner.kinds.gateway.reuse import Hits, Reuse
from planner.kinds.gateway.spec import GatewaySpec

POINTS = 100
_LENGTHS = 12
"""Equally likely lengths that stand for the laws of histories and of new tokens."""
_EXPONENTIAL = -np.log1p(-(np.arange(_LENGTHS) + 0.5) / _LENGTHS)
_EXPONENTIAL /= _EXPONENTIAL.mean()


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


def computed_tokens(reuse: Reuse, hits: Hits) -> float:
    """Mean of what a request computes: that of the `Service` of the hits, without the rest of it."""
    tokens, weights = _weighted(reuse, prefix=hits.prefix, history=hits.history)
    return min(float(weights @ tokens), reuse.prompt_tokens)


@lru_cache(maxsize=128)
def _computed(reuse: Reuse, *, prefix: float, history: float) -> NDArray[np.float64]:
    """Equally likely numbers of computed tokens with the mean that the hits leave."""
    return _points(*_weighted(reuse, prefix=prefix, history=history))


def _weighted(reuse: Reuse, *, prefix: float, history: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of computed tokens and how likely they are.

    A turn computes its new tokens, its prefix if that is missed and its history if that is; prefix and history are
    missed independently, histories are exponential, new tokens log-normal. A first turn has only new tokens.
    """
    fresh = lengths.equally_likely(_LENGTHS, sigma=reuse.input_sigma)
    follow, missed = reuse.follow_share, 1 - history
    new = reuse.growth_tokens - reuse.returned_tokens
    torn = reuse.context_tokens - reuse.found_tokens
    tokens, weights = [], []
    for miss, chance in ((0.0, prefix), (reuse.prefix_tokens, 1 - prefix)):
        tokens += [miss + reuse.growth_tokens * fresh, miss + torn + new * fresh]
        weights += [np.full(_LENGTHS, chance * (1 - follow)), np.full(_LENGTHS, chance * follow * history)]
        later = miss + torn + np.add.outer(new * fresh, reuse.found_tokens * _EXPONENTIAL).ravel()
        tokens.append(later)
        weights.append(np.full(len(later), chance * follow * missed / _LENGTHS))
    return np.concatenate(tokens), np.concatenate(weights) / _LENGTHS


def _points(tokens: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equally likely values of the same mean."""
    order = np.argsort(tokens)
    edges = np.cumsum(weights[order])
    places = np.searchsorted(edges, (np.arange(POINTS) + 0.5) / POINTS * edges[-1])
    drawn: NDArray[np.float64] = tokens[order][np.minimum(places, len(order) - 1)]
    if drawn.mean() > 0:
        drawn *= float(weights @ tokens) / drawn.mean()
    drawn.setflags(write=False)
    return drawn
