"""The simulator against the formulas where their assumptions hold: within its confidence interval.

Bounds are twice the 95 % half-width (99.9 %) plus what the formula itself is known to be off by, said in each test.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from planner.formulas import gaps as laws
from planner.formulas.caching import OneShots, characteristic_time_s, kept_s
from planner.formulas.caching import Sessions as CachedSessions
from planner.formulas.fetching import overlapped_s
from planner.formulas.flush import hit_after_flush
from planner.formulas.popularity import SharedPrefixes, zipf
from sims.engine.interval import Interval
from sims.systems.kv_pool import (
    Config,
    Exponential,
    Hyperexponential,
    Links,
    LogNormal,
    Loss,
    Outcome,
    Prefixes,
    SessionClass,
    Sessions,
    Switch,
    Tier,
    TraceSource,
    simulate,
)
from tests.sims.systems.kv_pool.scene import cache_only

HOUR_S = 3600.0
PAIRS: dict[str, tuple[Any, laws.GapLaw]] = {
    "exponential": (Exponential(300.0), laws.Exponential(300.0)),
    "lognormal": (LogNormal(120.0, 1.5), laws.LogNormal(120.0, 1.5)),
    "hyperexponential": (
        Hyperexponential(0.8, 10.0, 600.0),
        laws.hyperexponential([0.8, 0.2], means_s=[10.0, 600.0]),
    ),
}


def covers(interval: Interval | None, expected: float, *, slack: float = 0.0) -> bool:
    assert interval is not None
    return abs(interval.value - expected) <= 2 * (interval.high - interval.value) + slack


def talk(gaps: Any, **changes: Any) -> SessionClass:
    """Contexts of 2,000 tokens after the first turn, 1,000 more after each later one; six turns on average."""
    values: dict[str, Any] = {"follow": 5 / 6, "first_tokens": 1000, "user_tokens": 750, "answer_tokens": 250}
    return SessionClass("talk", gaps=gaps, **{**values, **changes})


def run(source: Sessions, setup: Config, *, warm: float = 0.25, **options: Any) -> Outcome:
    return simulate(
        setup, source=source, warmup_s=warm * source.duration_s, samples=options.pop("samples", 4), **options
    )


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("capacity", [10**6, 10**7, 2 * 10**7, 4 * 10**7])
def test_sessions_hit_what_the_characteristic_time_says(name: str, capacity: int) -> None:
    """Specification notes, A1.1: the formula is within 0.3 point."""
    mine, theirs = PAIRS[name]
    load = CachedSessions.geometric(theirs, turns_per_s=12.0, follow_share=5 / 6, context_tokens=7000.0)
    kept = characteristic_time_s([load], capacity_tokens=float(capacity))
    source = Sessions(2.0, 24 * HOUR_S, (talk(mine),))
    found = run(source, cache_only(capacity // 50, block_tokens=50))
    # Gaps of heavy tails make batches alike, so that their spread understates the error: two seeds' difference was 0.4.
    assert covers(found.hit_share(), theirs.cdf(kept), slack=0.004)


def test_golden_hit_shares_of_the_specification() -> None:
    """Notes, A1, theory golden: F(T) of exponential gaps."""
    for capacity, share in ((10**6, 0.039548657), (10**7, 0.38044101), (4 * 10**7, 0.98969704)):
        source = Sessions(2.0, 24 * HOUR_S, (talk(Exponential(300.0)),))
        found = run(source, cache_only(capacity // 50, block_tokens=50), seed=3)
        assert covers(found.hit_share(), share, slack=0.003)


def test_mixed_loads_share_one_characteristic_time() -> None:
    """Notes, A1.4: sessions behind 200 Zipf prefixes and one-shot requests; the formula is within 0.3 point."""
    own = dataclasses.replace(talk(Exponential(300.0)), shared=True, first_tokens=0.0)
    once = SessionClass("once", share=1.0, follow=0.0, user_tokens=5000, answer_tokens=0)
    source = Sessions(1.0, 24 * HOUR_S, (own, once), prefixes=Prefixes(groups=200, tokens=2000, exponent=1.0))
    gaps = laws.Exponential(300.0)
    loads = [
        CachedSessions.geometric(gaps, turns_per_s=3.0, follow_share=5 / 6, context_tokens=1000.0 + 5000.0),
        OneShots(0.5 * 5000.0),
        SharedPrefixes(zipf(200, exponent=1.0), gaps=gaps, prefix_tokens=2000.0, sessions_per_s=0.5, mean_turns=6.0),
    ]
    for capacity in (10**6, 4 * 10**6):
        kept = characteristic_time_s(loads, capacity_tokens=float(capacity))
        expected = sum(float(load.hit_tokens_per_s(kept)) for load in loads)
        found = run(source, cache_only(capacity // 50, block_tokens=50))
        hits = found.share("hit_tokens", of="tokens")
        assert hits is not None
        assert covers(hits, expected / found.rates["tokens_per_s"], slack=0.006)


@pytest.mark.parametrize("split", [0.2, 0.5])
def test_exclusive_tiers_divide_the_stack(split: float) -> None:
    """Notes, A1.5: tier 1 hits F(T1), both F(T12) with C1 + C2."""
    load = CachedSessions.geometric(
        laws.Exponential(300.0), turns_per_s=12.0, follow_share=5 / 6, context_tokens=7000.0
    )
    first = split * 2e7
    times = characteristic_time_s([load], capacity_tokens=np.array([first, 2e7]))
    shares = laws.Exponential(300.0).cdf(times)
    setup = cache_only(int(first // 50), block_tokens=50, dram=Tier(bytes_per_node=2e7 - first, holds="dropped"))
    found = run(Sessions(2.0, 12 * HOUR_S, (talk(Exponential(300.0)),)), setup)
    assert covers(found.hit_share("hbm"), shares[0], slack=0.003)
    assert covers(found.hit_share(), shares[1], slack=0.003)


def test_a_time_to_live_replaces_a_longer_characteristic_time() -> None:
    """Notes, A1.8."""
    gaps = laws.Exponential(300.0)
    for ttl_s in (60.0, 900.0):
        source = Sessions(2.0, 12 * HOUR_S, (talk(Exponential(300.0), ttl_s=ttl_s),))
        found = run(source, cache_only(400_000, block_tokens=50, eviction="ttl"))
        load = CachedSessions.geometric(gaps, turns_per_s=12.0, follow_share=5 / 6, context_tokens=7000.0)
        expected = gaps.cdf(kept_s(characteristic_time_s([load], capacity_tokens=2e7), ttl_s=ttl_s))
        assert covers(found.hit_share(), expected, slack=0.003)


def test_equal_turns_hit_k_of_k_plus_one() -> None:
    """In a cache without limit turn k + 1 finds k of its k + 1 equal parts."""
    even = SessionClass("even", gaps=Exponential(5.0), turns=8, user_tokens=512, answer_tokens=0)
    found = run(Sessions(1.0, 2000.0, (even,)), cache_only(10**7), warm=0.0)
    for turn in range(8):
        tokens, hits, requests = (int(value) for value in found.by_turn[turn])
        assert requests > 1000
        assert hits * (turn + 1) == tokens * turn


def test_affinity_keeps_the_hits_of_the_pool_and_random_placement_loses_them() -> None:
    """Notes, B3: with affinity the share of a pool of all nodes, 0.38; at random over 8 nodes 0.0480."""
    source = Sessions(2.0, 12 * HOUR_S, (talk(Exponential(300.0)),))
    kept, lost = (
        run(source, cache_only(25_000, block_tokens=50, nodes=8, place=place)).hit_share()
        for place in ("affinity", "random")
    )
    assert covers(kept, 0.38044101, slack=0.005)
    assert covers(lost, 0.0480, slack=0.004)


FLUSH_S = 14_400
"""Eight mean lives of a session after the start: the load has come to rest."""


def flush_run(**options: Any) -> Outcome:
    source = Sessions(20.0, FLUSH_S + 1200.0, (talk(Exponential(300.0)),))
    return run(source, cache_only(2_000_000, block_tokens=50), samples=(FLUSH_S + 1200) // 15, **options)


def test_after_a_version_switch_hits_come_back_as_gaps_end() -> None:
    """h(t) = F(min(t, T)) while the old version's entries age out; ten times the golden row's capacity and load."""
    found = flush_run(switches=[Switch(at_s=float(FLUSH_S))])
    gaps = laws.Exponential(300.0)
    ends = {round(one.at_s): one for one in found.samples}
    for first, last in ((15, 30), (60, 120), (300, 1200)):
        begun, ended = ends[FLUSH_S + first], ends[FLUSH_S + last]
        seen = (sum(ended.hits) - sum(begun.hits)) / (ended.reusable - begun.reusable)
        moments = np.arange(first, last) + 0.5
        expected = float(np.mean(hit_after_flush(moments, gaps=gaps, kept_s=143.62421)))
        assert seen == pytest.approx(expected, abs=0.011)


def test_a_share_of_requests_on_a_new_version_loses_the_hits_between_versions() -> None:
    """Notes, A5: half by half per request keep half of the last turn's hits; per session they keep all.

    With an infinite cache the turns before the last add to what is kept: 1/2 of all contexts, then 1/4 of the rest's.
    """
    one_turn_back = SessionClass("pair", gaps=Exponential(100.0), turns=2, user_tokens=1000, answer_tokens=0)
    source = Sessions(5.0, 2 * HOUR_S, (one_turn_back,))
    shares = {}
    for by_request in (False, True):
        switch = Switch(at_s=0.0, share=0.5, by_request=by_request)
        found = run(source, cache_only(10**8), switches=[switch]).hit_share()
        assert found is not None
        shares[by_request] = found
    assert shares[False].value == 1.0
    assert covers(shares[True], 0.5)


def test_a_lost_node_takes_its_share_of_the_hits() -> None:
    """One of four nodes: a quarter of the reusable tokens is gone at once; with a short outage all come back."""
    setup = cache_only(500_000, block_tokens=50, nodes=4)
    source = Sessions(20.0, FLUSH_S + 1200.0, (talk(Exponential(300.0)),))
    loss = Loss(node=1, at_s=float(FLUSH_S), rejoin_s=10.0)
    found = run(source, setup, samples=(FLUSH_S + 1200) // 10, losses=[loss])
    ends = {round(one.at_s): one for one in found.samples}

    def share(first: int, last: int) -> float:
        return (sum(ends[last].hits) - sum(ends[first].hits)) / (ends[last].reusable - ends[first].reusable)

    usual = share(FLUSH_S - 1200, FLUSH_S)
    assert share(FLUSH_S, FLUSH_S + 10) == pytest.approx(0.75 * usual, abs=0.03)
    assert share(FLUSH_S + 300, FLUSH_S + 1200) == pytest.approx(usual, abs=0.02)


def one_prefix(*, rate: float, span_s: float, **setup: Any) -> Outcome:
    """Requests whose only context is one prefix that lies in DRAM: equal transfers at random moments."""
    lone = SessionClass("lone", follow=0.0, user_tokens=0.0, answer_tokens=0.0, shared=True)
    source = Sessions(rate, span_s, (lone,), prefixes=Prefixes(groups=1, tokens=1000))
    return run(source, Config(nodes=1, kv_bytes_per_token=1.0, block_tokens=100, **setup), warm=0.02)


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_equal_reads_wait_as_in_an_m_d_1_queue(rho: float) -> None:
    """Mean wait D·ρ/(2(1 − ρ)); Kleinrock, Queueing Systems I, eq. 5.63, less the service."""
    found = one_prefix(
        rate=rho, span_s=60_000.0, prefill_s_per_token=1e-9, dram=Tier(bytes_per_node=1e4), links=Links(pcie=1000.0)
    )
    expected = 1.0 + rho / (2 * (1 - rho))
    assert covers(found.mean_s("ttft"), expected, slack=0.001)
    dram = found.tiers[1]
    assert dram.mean_wait_s == pytest.approx(expected - 1.0, rel=0.08)
    assert found.links[0].busy == pytest.approx(rho, rel=0.03)


def test_prompts_without_hits_wait_as_in_an_m_d_1_queue() -> None:
    lone = SessionClass("lone", follow=0.0, user_tokens=1000, answer_tokens=0.0)
    setup = Config(nodes=1, kv_bytes_per_token=1.0, block_tokens=100, prefill_s_per_token=1e-3)
    found = run(Sessions(0.8, 100_000.0, (lone,)), setup, warm=0.02)
    expected = 1.0 + 0.8 / (2 * 0.2)
    assert covers(found.mean_s("ttft"), expected)
    assert found.rates["node_busy"] == pytest.approx(0.8, rel=0.02)
    # Nothing is cached, so that the same fleet without the pool takes the same time.
    alone = found.mean_s("ttft_without")
    assert alone is not None
    assert alone.value == pytest.approx(found.mean_s("ttft").value, rel=0.005)  # type: ignore[union-attr]


@pytest.mark.parametrize("layers", [1, 80])
@pytest.mark.parametrize("suffix", [64, 512])
def test_a_lone_prompt_overlaps_fetching_and_computing_layer_by_layer(layers: int, suffix: int) -> None:
    """Notes, A2: 70B, 8,192 tokens read at 400 GB/s, 80 layers: 6.7434 and 20.9400 ms; in turn 9.3084 and 27.5670."""
    linear_s, square_s = 2 * 69.5e9 / (8 * 989e12 * 0.5), 2 * 80 * 8192 / (8 * 989e12 * 0.5)
    golden = {(80, 64): 6.7434e-3, (80, 512): 20.9400e-3, (1, 64): 9.3084e-3, (1, 512): 27.5670e-3}
    setup = Config(
        nodes=1,
        kv_bytes_per_token=327_680.0,
        block_tokens=64,
        prefill_s_per_token=linear_s,
        prefill_s_per_token2=square_s,
        layers=layers,
        dram=Tier(bytes_per_node=1e13),
        links=Links(pcie=400e9),
    )
    head, all_of_it = np.arange(128), np.arange(128 + suffix // 64)
    source = TraceSource(
        at_s=np.array([0.0, 10_000.0]),
        tokens=np.array([8192, 8192 + suffix]),
        ids=np.concatenate([head, all_of_it]),
        offsets=np.array([0, 128, 128 + len(all_of_it)]),
    )
    found = simulate(setup, source=source, samples=2)
    first_s = 8192 * linear_s + 8192.0**2 * square_s
    second_s = float(found.batches.ttft_sum_s.sum()) - first_s
    assert second_s == pytest.approx(golden[layers, suffix], rel=2e-4)
    compute_s = suffix * linear_s + ((8192.0 + suffix) ** 2 - 8192.0**2) * square_s
    fetch_s = 8192 * 327_680 / 400e9
    assert second_s == pytest.approx(overlapped_s(fetch_s=fetch_s, compute_s=compute_s, layers=layers), rel=1e-9)
