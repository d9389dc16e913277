"""What each policy is for, on the same requests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sims.engine.kernel import loop
from sims.parts.balancing.dispatch import CODES, choose
from sims.parts.paths import stem_table
from sims.systems.gateway import POLICIES, Config, Conversations, compare, simulate
from sims.systems.gateway.state import State, make_state
from tests.sims.systems.gateway_scene import audited, config, one_prefix, talks


@loop
def decide(policy, state, luck):  # type: ignore[no-untyped-def]
    state.ask[0].luck = luck
    return choose(policy, state, state.ask[0])


def scene(
    loads: list[int], *, matches: dict[int, int] | None = None, dead: tuple[int, ...] = (), **changes: object
) -> State:
    """Instances with these loads; some hold the first blocks of the one shared prefix of 40 blocks."""
    stems = stem_table(parent=np.array([-1]), depth=np.array([0]), end=np.array([40]), keys=np.array([0.5]))
    state = make_state(
        config(instances=len(loads), **changes), stems=stems, sessions=0, from_s=0.0, batch_s=1.0, seed=1
    )
    state.loads[0] = loads
    state.queue_s[0] = [0.1 * load for load in loads]
    for i, blocks in (matches or {}).items():
        state.seen[0, i] = blocks
    for i in dead:
        state.closed[:, i] = 1
    ask = state.ask[0]
    ask.avoid, ask.stem, ask.session, ask.blocks, ask.tokens = -1, 0, -1, 45, 45 * 16
    return state


def picks(policy: str, state: State) -> set[int]:
    """All instances that some luck leads to."""
    return {int(decide(CODES[policy], state, luck)) for luck in (np.arange(400) + 0.5) / 400}


def test_nobody_is_chosen_when_all_are_closed_and_never_one_that_is() -> None:
    for policy in POLICIES:
        assert picks(policy, scene([1, 0, 2], dead=(0, 1, 2))) == {-1}
        assert picks(policy, scene([5, 0, 3, 4], dead=(1, 2))) <= {0, 3}
        again = scene([5, 0, 3, 4])
        again.ask[0].avoid = 1
        assert 1 not in picks(policy, again)


def test_each_policy_chooses_by_its_own_rule() -> None:
    loads = [3, 1, 1, 7]
    assert picks("random", scene(loads)) == {0, 1, 2, 3}
    assert picks("least_requests", scene(loads)) == {1, 2}
    assert picks("prefix_aware", scene(loads, matches={3: 20, 0: 10})) == {3}
    assert picks("prefix_aware", scene(loads)) == {1, 2}
    turns = scene(loads)
    assert [int(decide(CODES["round_robin"], turns, 0.5)) for _ in range(5)] == [0, 1, 2, 3, 0]


def test_ties_favour_nobody() -> None:
    for policy in ("least_requests", "prefix_aware", "cost_based"):
        state = scene([0, 5, 5, 0, 0, 5, 5, 5])
        counts = np.bincount([decide(CODES[policy], state, x) for x in np.random.default_rng(1).random(6000)])
        assert counts[[0, 3, 4]] == pytest.approx(2000, rel=0.1)


def test_cost_spills_when_waiting_costs_more_than_computing() -> None:
    """20 blocks of 16 tokens at 0.1 ms are worth 32 ms of waiting; a request in the queue is 100 ms here."""
    assert picks("cost_based", scene([1, 0], matches={0: 20})) == {1}
    held = scene([1, 0], matches={0: 20})
    held.queue_s[0, 0] = 0.03
    assert picks("cost_based", held) == {0}


def test_the_bound_on_load_passes_over_the_holder() -> None:
    assert picks("prefix_aware", scene([9, 1, 2], matches={0: 40, 2: 5}, load_bound=1.5)) == {2}
    assert picks("prefix_aware", scene([9, 1, 2], matches={0: 40, 2: 5})) == {0}


def test_a_key_stays_with_its_instance_and_moves_little_when_one_leaves() -> None:
    first = picks("consistent_hash", scene([0] * 8))
    assert len(first) == 1
    homes, moved = [], 0
    for key in (np.arange(200) + 0.5) / 200:
        kept, left = scene([0] * 8, load_bound=1e9), scene([0] * 8, load_bound=1e9, dead=(3,))
        kept.stems[0].key = left.stems[0].key = key
        before, after = (int(decide(CODES["consistent_hash"], state, 0.5)) for state in (kept, left))
        homes.append(before)
        moved += before != after
    assert moved == homes.count(3)
    assert 10 <= moved <= 45
    assert picks("consistent_hash", scene([9, 9, 9, 0, 0, 9, 9, 9], load_bound=1.25)) <= {3, 4}


# One prefix of 4,096 tokens, alone worth 16 instances at its rate.
HOT = one_prefix(400.0, 24_000, prefix=4096, own=300, output=10, block=64, seed=4)
FLEET = Config(
    instances=20,
    prefill_s_per_token=1 / 20_000,
    prefill_fixed_s=0.002,
    token_s=0.01,
    slots=64,
    cache_blocks=2000,
)


def test_one_shared_prefix_is_a_hot_spot_under_naive_affinity_and_not_with_the_cap() -> None:
    spills = simulate(FLEET, source=HOT, warmup_s=10.0)
    herd = simulate(replace(FLEET, policy="prefix_aware"), source=HOT, warmup_s=10.0)
    capped = simulate(replace(FLEET, policy="prefix_aware", hot_prefix_cap=1.25), source=HOT, warmup_s=10.0)
    bounded = simulate(replace(FLEET, policy="prefix_aware", load_bound=1.5), source=HOT, warmup_s=10.0)
    assert herd.max_over_mean is not None
    assert herd.max_over_mean > 15
    assert not herd.is_steady
    for cured, most in ((capped, 1.6), (bounded, 1.6), (spills, 4.0)):
        assert cured.is_steady
        assert cured.max_over_mean is not None
        assert cured.max_over_mean < most
        assert cured.hit_rate is not None
        assert cured.hit_rate.value > 0.9
    p99 = [found.quantile("ttft", q=0.99) for found in (capped, herd)]
    assert p99[0] is not None
    assert p99[1] is not None
    assert p99[0].value < 0.3
    assert p99[1].value > 30


SMALL_WORK = Conversations(
    rate_per_s=60.0,
    duration_s=300.0,
    groups=20,
    group_tokens=512,
    live_sessions=200,
    turns=5.0,
    first_tokens=300.0,
    message_tokens=100.0,
    output_tokens=100.0,
    most_tokens=4096,
)


def test_affinity_wins_when_the_cache_is_short() -> None:
    fleet = config(instances=8, cache_blocks=2500, slots=200, prefill_s_per_token=1 / 8000)
    found = compare(fleet, policies=("random", "cost_based"), source=SMALL_WORK, warmup_s=60.0)
    hits = {policy: outcome.hit_rate.value for policy, outcome in found.items() if outcome.hit_rate}
    assert hits["cost_based"] > 2 * hits["random"]
    means = {policy: outcome.mean_ttft_s.value for policy, outcome in found.items() if outcome.mean_ttft_s}
    assert means["cost_based"] < 0.5 * means["random"]


def test_policies_tie_when_the_work_fits_everywhere() -> None:
    """Every instance holds all prefixes and sessions: after the first touches everyone hits everywhere."""
    fleet = config(instances=2, cache_blocks=100_000, slots=400, prefill_s_per_token=1e-5, prefill_fixed_s=1e-3)
    source = Conversations(
        rate_per_s=20.0,
        duration_s=900.0,
        groups=20,
        group_tokens=2048,
        live_sessions=0,
        one_shot_share=1.0,
        first_tokens=20.0,
        output_tokens=50.0,
    )
    found = compare(fleet, policies=("random", "least_requests", "cost_based"), source=source, warmup_s=300.0)
    hits = [outcome.hit_rate.value for outcome in found.values() if outcome.hit_rate]
    assert max(hits) - min(hits) < 0.002
    means = [outcome.mean_ttft_s.value for outcome in found.values() if outcome.mean_ttft_s]
    assert max(means) < 1.03 * min(means)


def test_policies_tie_when_decode_slots_bind() -> None:
    """More requests than slots: whoever looks at prefixes serves no more than who does not."""
    fleet = config(instances=4, cache_blocks=60, slots=4, token_s=0.05, prefill_s_per_token=1e-5)
    source = talks(rate_per_s=30.0, duration_s=400.0, output_tokens=50.0)
    found = compare(fleet, policies=("least_requests", "cost_based"), source=source, warmup_s=100.0)
    rates = [outcome.throughput_per_s for outcome in found.values()]
    # Four slots on four instances, 2.5 s an answer.
    assert rates == pytest.approx([4 * 4 / 2.45] * 2, rel=0.05)


def test_the_same_requests_come_whatever_the_policy() -> None:
    found = compare(config(), policies=POLICIES, source=talks())
    assert len({outcome.counts["arrived"] for outcome in found.values()}) == 1
    assert {outcome.counts["arrived"] - outcome.counts["in_flight"] for outcome in found.values()}


def test_what_is_held_is_no_less_than_what_is_captured() -> None:
    for policy in ("random", "cost_based"):
        found = simulate(config(policy=policy, slots=100), source=talks(duration_s=600.0), warmup_s=60.0)
        assert found.held is not None
        assert found.captured is not None
        assert found.held.value >= found.captured.value > 0
    assert found.captured.value > 0.9 * found.held.value


def test_an_index_that_lags_costs_hits_and_counting_ones_own_mends_it() -> None:
    fleet = config(policy="prefix_aware", slots=100, load_bound=2.0, cache_blocks=400)
    source = talks(duration_s=600.0, rate_per_s=15.0)
    live, lags, mended = (
        audited(
            replace(fleet, index_period_s=period_s, index_own=own),
            source=source,
            warmup_s=60.0,
            samples=20,
        ).hit_rate
        for period_s, own in ((0.0, False), (60.0, False), (60.0, True))
    )
    assert live is not None
    assert lags is not None
    assert mended is not None
    assert lags.value < 0.95 * live.value
    assert mended.value > lags.value
