"""What a cache hits: our law of reuse times against exact replays of published traces, and against published rates."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import cache

from planner import kinds
from planner.formulas.gaps import LogNormal, Mixture
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog

QUANTITY = "cache_hits"
REPLAYED = "replayed trace"
PUBLISHED = "published rate"
BLOCKS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
TRACES = ("mooncake-conversation", "mooncake-synthetic")

TRACELAB = "TraceLab, statistics of about 4,300 coding sessions"
TRACELAB_URL = "https://github.com/uw-syfi/TraceLab"
# Median and another quantile of the pauses, medians of prefix and of appended tokens, and steps by what starts them.
TOOL_S, TOOL_SIGMA = 0.1, 3.25  # 192 s at P99
HUMAN_S, HUMAN_SIGMA = 84.0, 2.098  # 1,236 s at P90
TOOL_STEPS, HUMAN_STEPS = 73.6, 9.2
PREFIX_TOKENS, APPENDED_TOKENS = 118_656.0, 875.0
KEPT = {60.0: 0.854, 300.0: 0.94, 3600.0: 0.986}
"""Achievable hit rate by time to live [s], replayed by the authors with an ideal cache."""


@gives(QUANTITY)
def cache_hits() -> Iterator[Row]:
    for slug in TRACES:
        for blocks in BLOCKS:
            yield _replayed(slug, blocks)
    for ttl_s, published in KEPT.items():
        yield _published(ttl_s, published)


def _replayed(slug: str, blocks: int) -> Row:
    """One cache of so many blocks as the pool's answer, and a replay of a few lines that shares no code with it."""
    trace = catalog().workload(slug)
    kind = kinds.get("kv_pool")
    spec = kind.spec.model_validate(
        {
            "source": "trace",
            "workload": slug,
            "turns_per_s": 3.4,
            "nodes": 1,
            "gpus_per_node": 1,
            "prefill_gpus": 1,
            "hbm_bytes_per_gpu": blocks * 512 * 160e3,
            "dram_bytes_per_node": 0,
            "ssd_bytes_per_node": 0,
        }
    )
    return Row(
        quantity=QUANTITY,
        id=f"{slug}, {blocks:,} blocks",
        source=trace.source,
        source_url="https://github.com/kvcache-ai/Mooncake",
        family=kind.label,
        group=REPLAYED,
        predicted=kind.estimate(spec, catalog()).value("hit_share"),
        measured=_hits(slug, blocks) / _hits(slug, len(_ids(slug))),
        unit="ratio",
        conditions=f"LRU of {blocks:,} blocks of 512 tokens; share of what a cache without limit hits",
    )


@cache
def _ids(slug: str) -> tuple[int, ...]:
    blocks = catalog().workload(slug).blocks
    assert blocks is not None
    return tuple(blocks.ids.tolist())


@cache
def _hits(slug: str, capacity: int) -> int:
    held: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for block in _ids(slug):
        if block in held:
            hits += 1
            held.move_to_end(block)
        else:
            held[block] = None
            if len(held) > capacity:
                held.popitem(last=False)
    return hits


def _published(ttl_s: float, published: float) -> Row:
    steps = TOOL_STEPS + HUMAN_STEPS
    pauses = Mixture(
        shares=(TOOL_STEPS / steps, HUMAN_STEPS / steps),
        laws=(LogNormal(TOOL_S, TOOL_SIGMA), LogNormal(HUMAN_S, HUMAN_SIGMA)),
    )
    again = PREFIX_TOKENS / (PREFIX_TOKENS + APPENDED_TOKENS)
    return Row(
        quantity=QUANTITY,
        id=f"coding sessions, kept for {ttl_s:,.0f} s",
        source=TRACELAB,
        source_url=TRACELAB_URL,
        group=PUBLISHED,
        predicted=again * float(pauses.cdf(ttl_s)),
        measured=published,
        unit="ratio",
        conditions="pauses of tools and of people as two log-normal laws; steps count alike, theirs by tokens",
    )
