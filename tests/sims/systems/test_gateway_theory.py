"""Hit rates of simple streams, as the theory of caches has them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sims.engine import kernel
from sims.parts import conversations
from sims.systems.gateway import Config, Conversations, Outcome, orders, simulate
from sims.systems.gateway import loop as data_plane

# Prompts that are one of 20,000 prefixes of one block and nothing else, Zipf with exponent 1.
PREFIXES = Conversations(
    5000.0,
    duration_s=120.0,
    groups=20_000,
    group_tokens=16,
    one_shot_share=1.0,
    live_sessions=0,
    first_tokens=1.0,
    input_sigma=0.0,
    output_tokens=0.0,
)


def fleet(policy: str) -> Config:
    """200 caches of 30 blocks, and no work to speak of."""
    return Config(
        instances=200,
        prefill_s_per_token=1e-7,
        prefill_fixed_s=1e-6,
        token_s=0.0,
        slots=10**6,
        cache_blocks=30,
        block_tokens=16,
        policy=policy,
        load_bound=1e9 if policy == "consistent_hash" else None,
    )


def che(blocks: int, *, items: int = 20_000) -> float:
    """Che 2002: Σ(1 − e^{−pT}) = C, then h = Σ p(1 − e^{−pT}); bisection."""
    p = np.arange(1, items + 1) ** -1.0
    p /= p.sum()
    low, high = 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - np.exp(-p * middle)).sum() < blocks else (low, middle)
    return float((p * (1 - np.exp(-p * low))).sum())


@pytest.mark.parametrize(
    ("policy", "blocks", "within"),
    [("random", 30, 0.001), ("prefix_aware", 6000, 0.002), ("consistent_hash", 6000, 0.004)],
)
def test_affinity_turns_many_small_caches_into_one_large(policy: str, blocks: int, within: float) -> None:
    """Random routing has the hits of one cache of 30 blocks, affinity those of one of 6,000."""
    found = simulate(fleet(policy), source=PREFIXES, warmup_s=60.0)
    hits = found.batches.hit_tokens.sum() / 16 / found.batches.ttft_n.sum()
    assert hits == pytest.approx(che(blocks), abs=within)


GOES_ON, GAP_S, RATE_PER_S = 5 / 6, 10.0, 50.0
CONTEXTS = 150 + 100 * np.arange(400)
"""Tokens that turn k leaves in the cache."""
ALIVE = RATE_PER_S * (1 - GOES_ON) * GOES_ON ** np.arange(400)
"""Turns k a second."""


def time_in_cache_s(capacity: float) -> float:
    """T of C = Σ λ·qᵏ·S_k·(q·E[min(G, T)] + (1 − q)·T), gaps exponential; bisection."""
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        kept_s = GOES_ON * GAP_S * (1 - math.exp(-middle / GAP_S)) + (1 - GOES_ON) * middle
        low, high = (middle, high) if float((ALIVE * CONTEXTS).sum()) * kept_s < capacity else (low, middle)
    return low


@pytest.mark.parametrize("capacity", [40_000, 100_000, 200_000, 400_000])
def test_sessions_hit_as_often_as_the_next_turn_comes_in_time(capacity: int) -> None:
    """Share of the histories that is found: F(T) = 1 − e^{−T/gap}."""
    found = sessions(capacity)
    reusable = float((ALIVE[1:] * CONTEXTS[:-1]).sum()) * found.window_s
    share = float(found.batches.hit_tokens.sum()) / reusable
    assert share == pytest.approx(1 - math.exp(-time_in_cache_s(capacity) / GAP_S), abs=0.02)


def sessions(capacity: int) -> Outcome:
    """One instance; blocks of one token, so that nothing is lost at their edges."""
    source = Conversations(
        RATE_PER_S,
        duration_s=1500.0,
        groups=0,
        live_sessions=round(RATE_PER_S * GAP_S),
        turns=1 / (1 - GOES_ON),
        first_tokens=100.0,
        message_tokens=50.0,
        output_tokens=50.0,
        input_sigma=0.0,
        output_sigma=0.0,
        most_tokens=10**6,
    )
    setup = Config(
        instances=1,
        prefill_s_per_token=1e-8,
        prefill_fixed_s=1e-6,
        token_s=0.0,
        slots=10**6,
        cache_blocks=capacity,
        block_tokens=1,
    )
    return simulate(setup, source=source, warmup_s=300.0)


def test_every_kernel_is_compiled_for_one_signature() -> None:
    """A time given as an integer would silently compile a second time."""
    kernels = [data_plane.advance, orders.obey, conversations.talk]
    assert [kernel.signatures(one) for one in kernels] == [1] * len(kernels)
