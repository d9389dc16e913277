"""The KV pool: exact replay of a trace, and all its sizes at once; then ten million look-ups; and sessions."""

from __future__ import annotations

import csv
import functools
import gzip
import json
from pathlib import Path

import numpy as np

from sims.systems.kv_pool import (
    Config,
    Links,
    LogNormal,
    SessionClass,
    Sessions,
    Tier,
    dense_ids,
    miss_ratio_curve,
    replay,
    simulate,
)

TRACE = Path(__file__).resolve().parents[2] / "planner/catalog/data/workloads/mooncake-conversation.csv.gz"
CAPACITY = 20_000
REPEATS = 20
LONG = 10_000_000
LONG_BLOCKS = 2_000_000


@functools.cache
def conversation() -> np.ndarray:
    """The blocks of the Mooncake conversation trace, as the loops take them."""
    with gzip.open(TRACE, "rt", encoding="utf-8", newline="") as file:
        hashes = [block for row in csv.DictReader(file) for block in json.loads(row["hash_ids"])]
    return dense_ids(hashes)


@functools.cache
def long_stream() -> np.ndarray:
    """Ten million look-ups of two million blocks, popularity Zipf with exponent 0.9, names in no order."""
    generator = np.random.default_rng(7)
    weights = 1.0 / np.arange(1, LONG_BLOCKS + 1) ** 0.9
    shares = np.cumsum(weights) / weights.sum()
    ranks = np.minimum(np.searchsorted(shares, generator.random(LONG)), LONG_BLOCKS - 1)
    return generator.permutation(LONG_BLOCKS)[ranks].astype(np.int32)


def replay_trace() -> float:
    """The trace through one LRU, again and again."""
    for _ in range(REPEATS):
        replay(conversation(), capacity_blocks=CAPACITY)
    return float(REPEATS * len(conversation()))


def all_sizes() -> float:
    """The trace through every LRU at once."""
    for _ in range(REPEATS):
        miss_ratio_curve(conversation())
    return float(REPEATS * len(conversation()))


def replay_long() -> float:
    """Ten million look-ups through an LRU of 200,000 blocks."""
    replay(long_stream(), capacity_blocks=200_000)
    return float(LONG)


def all_sizes_long() -> float:
    """Ten million look-ups through every LRU at once."""
    miss_ratio_curve(long_stream())
    return float(LONG)


REFERENCE = Config(
    nodes=16,
    kv_bytes_per_token=160e3,
    hbm_bytes_per_node=8 * 40e9,
    dram=Tier(bytes_per_node=1.5e12, holds="dropped", latency_s=1e-4),
    ssd=Tier(bytes_per_node=60e12, latency_s=1e-3),
    links=Links(pcie=8 * 50e9, network=8 * 50e9, ssd_read=8 * 6e9, ssd_write=8 * 3e9),
    prefill_s_per_token=2 * 70.6e9 / (8 * 989e12 * 0.5),
    prefill_s_per_token2=2 * 80 * 8192 / (8 * 989e12 * 0.5),
    layers=80,
    fetch="cheaper",
)
CHAT = SessionClass(
    "chat", gaps=LogNormal(300.0, 1.2), follow=0.8, first_tokens=3192, user_tokens=750, answer_tokens=250, sigma=0.6
)


def sessions_hour() -> float:
    """100 turns a second for an hour from a load at rest: 16 nodes, three tiers, links and prefill."""
    load = Sessions(sessions_per_s=20.0, duration_s=3600.0, classes=(CHAT,), lead_s=12_000.0)
    return float(simulate(REFERENCE, source=load, warmup_s=1800.0).arrived)
