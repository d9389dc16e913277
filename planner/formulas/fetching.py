"""Fetch a prefix from a store or compute it again: times, the bandwidth that decides, and when there is no gain.

The GPU needs a n + b n^2 for n tokens, the store lat + kv n / B. All rates are of one replica: its GPUs compute
together, its links carry its fetches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.formulas.gaps import Numbers, plain


@dataclass(frozen=True, slots=True)
class Recompute:
    """Time to compute n tokens from nothing: linear_s n + square_s n^2.

    Parameters
    ----------
    linear_s : a, matrix products of one token [s]
    square_s : b, attention of one pair of tokens [s]

    Notes
    -----
    a = 2 N / P, b = 2 L H d / P with P the FLOP/s that are reached: causal attention does 4 L H d FLOP on half of
    the n^2 pairs.

    References
    ----------
    J. Hoffmann et al., "Training Compute-Optimal Large Language Models", 2022, appendix F (forward FLOP); J. Kaplan
    et al., "Scaling Laws for Neural Language Models", 2020, table 1.

    >>> reference = Recompute.of(active_parameters=70.6e9, attention_width=0.0, flops_per_s=8 * 989e12 * 0.5)
    >>> print(round(reference.time_s(8192.0), 6))
    0.292394
    """

    linear_s: float
    square_s: float

    @classmethod
    def of(cls, *, active_parameters: float, attention_width: float, flops_per_s: float) -> Recompute:
        """From parameters a token uses, layers · heads · head size, and the FLOP/s reached (peak · GPUs · MFU)."""
        return cls(2 * active_parameters / flops_per_s, 2 * attention_width / flops_per_s)

    def time_s(self, tokens: Numbers) -> Numbers:
        """a n + b n^2 [s]."""
        return self.linear_s * tokens + self.square_s * tokens * tokens

    def suffix_s(self, tokens: Numbers, *, cached_tokens: float) -> Numbers:
        """Time for ``tokens`` new ones behind ``cached_tokens`` that are there: the difference of two prefixes [s]."""
        return (self.linear_s + self.square_s * (2 * cached_tokens + tokens)) * tokens


def fetch_s(tokens: Numbers, *, kv_bytes_per_token: float, bytes_per_s: float, latency_s: float = 0.0) -> Numbers:
    """Time to read the KV cache of a prefix at a bandwidth.

    Parameters
    ----------
    tokens : n [tokens]
    kv_bytes_per_token : read over the link that binds [B]
    bytes_per_s : that the fetch gets; with contention the effective one, > 0 [B/s]
    latency_s : before the first byte [s]

    Notes
    -----
    lat + kv n / B.

    References
    ----------
    R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20(3), 1994,
    eq. (1).

    >>> print(round(fetch_s(8192.0, kv_bytes_per_token=160e3, bytes_per_s=8 * 50e9), 7))
    0.0032768
    """
    return latency_s + tokens * (kv_bytes_per_token / bytes_per_s)


def least_bytes_per_s(tokens: Numbers, *, kv_bytes_per_token: float, recompute: Recompute) -> Numbers:
    """Bandwidth above which reading n tokens is quicker than computing them, latency aside.

    Notes
    -----
    B_min(n) = kv / (a + b n): KV bytes over compute time of a token. It falls with the length.

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025
    (the bandwidth over FLOP/s from which reuse shortens TTFT).

    >>> llama = Recompute.of(active_parameters=7.5e9, attention_width=32 * 4096, flops_per_s=989e12 * 0.5)
    >>> print(round(least_bytes_per_s(8192.0, kv_bytes_per_token=131_072.0, recompute=llama) / 1e9, 2))
    3.78
    """
    return kv_bytes_per_token / (recompute.linear_s + recompute.square_s * tokens)


def break_even_tokens(
    recompute: Recompute, *, kv_bytes_per_token: float, bytes_per_s: float, latency_s: float
) -> float:
    """Length above which fetching is quicker than computing; infinite if it never is.

    Parameters
    ----------
    recompute : of the replica
    kv_bytes_per_token : [B]
    bytes_per_s : effective bandwidth [B/s]
    latency_s : before the first byte [s]

    Returns
    -------
    [tokens]

    Notes
    -----
    n* = (-c + sqrt(c^2 + 4 b lat)) / (2 b), c = a - kv / B; written as 2 lat / (c + sqrt(...)) where c > 0, which
    loses no digits, and lat / c where b = 0.

    References
    ----------
    The root of b n^2 + c n = lat: M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 1964, eq. (3.8.1).

    >>> llama = Recompute.of(active_parameters=7.5e9, attention_width=32 * 4096, flops_per_s=989e12 * 0.5)
    >>> print(round(break_even_tokens(llama, kv_bytes_per_token=131_072.0, bytes_per_s=11e9, latency_s=1e-4), 1))
    5.4
    """
    if bytes_per_s <= 0:
        return math.inf
    gained_s = recompute.linear_s - kv_bytes_per_token / bytes_per_s
    root = math.sqrt(gained_s * gained_s + 4 * recompute.square_s * latency_s)
    if gained_s > 0:
        return 2 * latency_s / (gained_s + root)
    return (root - gained_s) / (2 * recompute.square_s) if recompute.square_s > 0 else math.inf


def shared_bytes_per_s(bytes_per_s: float, *, utilisation: Numbers) -> Numbers:
    """Bandwidth that one transfer gets of a link that all transfers share evenly; 0 at or past saturation.

    Parameters
    ----------
    bytes_per_s : of the idle link [B/s]
    utilisation : rho [1]

    Notes
    -----
    B (1 - rho): the mean time of a transfer of s is s / (1 - rho) whatever the law of sizes (M/G/1-PS).

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 2: Computer Applications", 1976, eq. (4.17).

    >>> print(round(shared_bytes_per_s(10e9, utilisation=0.7) / 1e9, 9))
    3.0
    """
    answer: Numbers = plain(bytes_per_s * np.maximum(1.0 - utilisation, 0.0))
    return answer


def queued_factor(utilisation: float, *, size_scv: float = 0.0, arrival_scv: float = 1.0) -> float:
    """Mean time of a transfer over its time on an idle link, when transfers go one after the other.

    Parameters
    ----------
    utilisation : rho [1]
    size_scv : squared coefficient of variation of the sizes; 0 for equal ones [1]
    arrival_scv : of the times between arrivals; 1 for Poisson, more for bursts [1]

    Returns
    -------
    [1]; infinite at or past saturation

    Notes
    -----
    1 + (ca^2 + cs^2) / 2 * rho / (1 - rho): Pollaczek-Khinchine for ca^2 = 1, an approximation otherwise.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (5.68); W. Whitt, "The queueing network analyzer",
    Bell System Technical Journal 62(9), 1983, eq. (44).

    >>> print(round(queued_factor(0.7), 2))
    2.17
    """
    if utilisation >= 1:
        return math.inf
    return 1.0 + (arrival_scv + size_scv) / 2 * utilisation / (1.0 - utilisation)


def overlapped_s(*, fetch_s: Numbers, compute_s: Numbers, layers: int, latency_s: float = 0.0) -> Numbers:
    """Time until the suffix is computed when each layer starts as soon as its part of the prefix is there.

    Parameters
    ----------
    fetch_s : of the whole prefix, without latency [s]
    compute_s : of the whole suffix [s]
    layers : L, all alike [1]
    latency_s : before the first byte [s]

    Notes
    -----
    lat + f / L + (L - 1) / L * max(f, c) + c / L: two machines, the link and the GPU, pass L equal jobs in order.

    References
    ----------
    S. M. Johnson, "Optimal two- and three-stage production schedules with setup times included", Naval Research
    Logistics Quarterly 1(1), 1954 (makespan of the two-machine flow shop).

    >>> print(round(1e3 * overlapped_s(fetch_s=6.7109e-3, compute_s=2.5975e-3, layers=80), 4))
    6.7434
    """
    longer = np.maximum(fetch_s, compute_s)
    answer: Numbers = plain(latency_s + (fetch_s + compute_s + (layers - 1) * longer) / layers)
    return answer


def latent_copies(*, tensor_parallel: int, is_latent: bool, is_broadcast: bool = False) -> int:
    """Times that the KV bytes of a token cross the host link of a replica.

    Notes
    -----
    Heads are split over the ranks, so that the ranks together read each byte once; a latent (MLA) is whole on every
    rank and read by each, unless one reads it and hands it on.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, section 2.1.2 (the latent is shared by all heads).

    >>> latent_copies(tensor_parallel=8, is_latent=True), latent_copies(tensor_parallel=8, is_latent=False)
    (8, 1)
    """
    return tensor_parallel if is_latent and not is_broadcast else 1


SLOW, RARE, NEAR, IDLE = "link_too_slow", "little_is_reused", "gpu_memory_suffices", "prefill_does_not_bind"
"""Why a pool gains nothing."""


def reasons_for_no_gain(
    *,
    bytes_per_s: float,
    least_bytes_per_s: float,
    reusable_share: float,
    kept_in_gpu_s: float,
    gap_p99_s: float,
    prefill_binds: bool,
    ttft_met_without: bool,
) -> tuple[str, ...]:
    """Why a pool beyond GPU memory gains nothing, if it does not; empty when it does.

    Parameters
    ----------
    bytes_per_s : effective bandwidth of a fetch [B/s]
    least_bytes_per_s : B_min at the mean prefix [B/s]
    reusable_share : u, share of the prompt tokens that some earlier request has computed [1]
    kept_in_gpu_s : characteristic time of GPU memory alone [s]
    gap_p99_s : gap that 99 % of turns stay below [s]
    prefill_binds : whether prefill decides the number of GPUs
    ttft_met_without : whether the TTFT objective is met with GPU memory alone

    Notes
    -----
    B < B_min; u < 5 %; T_HBM > P99 of the gaps; or prefill is not the bottleneck and TTFT is met.

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025
    (the bandwidth over FLOP/s from which reuse shortens TTFT).

    >>> reasons_for_no_gain(
    ...     bytes_per_s=400e9, least_bytes_per_s=4.5e9, reusable_share=0.02, kept_in_gpu_s=60.0, gap_p99_s=3600.0,
    ...     prefill_binds=True, ttft_met_without=False,
    ... )
    ('little_is_reused',)
    """
    found = {
        SLOW: bytes_per_s < least_bytes_per_s,
        RARE: reusable_share < 0.05,
        NEAR: kept_in_gpu_s > gap_p99_s,
        IDLE: not prefill_binds and ttft_met_without,
    }
    return tuple(reason for reason, holds in found.items() if holds)
