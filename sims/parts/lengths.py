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


def capped_mean_tokens(median_tokens: float, *, sigma: float, most_tokens: float) -> float:
    """Mean of min(X, ``most_tokens``) of a log-normal X with this median and ``sigma`` > 0 [tokens].

    Notes
    -----
    With d = ln(cap/median)/σ: mean·Φ(d − σ) + cap·(1 − Φ(d)), where mean = median·exp(σ²/2).
    """
    d = math.log(most_tokens / median_tokens) / sigma
    mean = median_tokens * math.exp(sigma * sigma / 2)
    return mean * math.erfc((sigma - d) / math.sqrt(2)) / 2 + most_tokens * math.erfc(d / math.sqrt(2)) / 2


def median_for_mean(mean_tokens: float, *, sigma: float, most_tokens: float) -> float:
    """The median of a log-normal that has ``mean_tokens`` once it is cut at ``most_tokens`` [tokens].

    Bisection; where the mean is nearly the cap it can only come near it, and the median is at most 10⁹ caps.
    """
    if sigma <= 0:
        return mean_tokens
    low, high = math.log(mean_tokens) - sigma * sigma, math.log(most_tokens) + math.log(1e9)
    for _ in range(200):
        middle = (low + high) / 2
        if capped_mean_tokens(math.exp(middle), sigma=sigma, most_tokens=most_tokens) < mean_tokens:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


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
