"""Lengths of prompts and answers, how popular what they share is, and how much of a prompt is found in a cache."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def lognormal_tokens(
    generator: np.random.Generator, *, count: int, mean_tokens: float, sigma: float, most_tokens: int
) -> NDArray[np.int64]:
    """Log-normal lengths with the given mean [tokens], rounded, from 1 (0 when the mean is) to ``most_tokens``.

    Notes
    -----
    exp(μ + σ·z) with μ = ln(mean) − σ²/2, so that the mean is ``mean_tokens`` whatever σ; σ = 0 is a fixed length.
    The cap lowers the mean a little where it bites.
    """
    if mean_tokens <= 0:
        return np.zeros(count, np.int64)
    z = generator.standard_normal(count)
    lengths = np.exp(math.log(mean_tokens) - sigma * sigma / 2 + sigma * z)
    return np.clip(np.rint(lengths), 1, most_tokens).astype(np.int64)


def zipf_shares(count: int, *, exponent: float) -> NDArray[np.float64]:
    """Popularity of ``count`` items: the k-th is as popular as 1/k^``exponent``; shares that add up to 1."""
    weights = 1.0 / np.arange(1, count + 1) ** exponent
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def cached_share(generator: np.random.Generator, *, count: int, mean: float, spread: bool) -> NDArray[np.float64]:
    """The share of a prompt that is found in the cache: ``mean`` for all, or Beta(2·mean, 2·(1 − mean)) if ``spread``.

    Notes
    -----
    The beta distribution has this mean for any ``mean`` and is uniform on 0 … 1 at one half.
    """
    if not spread or mean <= 0.0 or mean >= 1.0:
        return np.full(count, min(1.0, max(0.0, mean)))
    return generator.beta(2 * mean, 2 * (1 - mean), count)
