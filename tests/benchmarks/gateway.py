"""The gateway: 5,000 requests a second on 200 instances, with the index live and the caches full."""

from __future__ import annotations

from sims.systems.gateway import Config, Conversations, simulate

REFERENCE = Config(
    instances=200,
    cache_blocks=31_250,
    block_tokens=64,
    prefill_s_per_token=1 / 60_000,
    prefill_fixed_s=0.002,
    token_s=0.03,
    slots=512,
    policy="cost_based",
)
SPAN_S = 240.0
# A prompt has 58 blocks on average, the first 32 of them shared by one of 2,000 groups.
STREAM = Conversations(
    5000.0, duration_s=SPAN_S, turns=4.0, first_tokens=500.0, message_tokens=150.0, output_tokens=250.0
)


def reference() -> float:
    """240 simulated seconds, 1.2 million requests; the caches are full after the first half."""
    found = simulate(REFERENCE, source=STREAM, warmup_s=SPAN_S / 2)
    assert found.timeline.counts["finished"][-1] > 0.98 * found.counts["arrived"] - 20_000
    assert found.cached_blocks.mean() > 0.99 * REFERENCE.cache_blocks
    return float(found.counts["arrived"])
