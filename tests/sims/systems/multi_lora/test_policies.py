"""What routing, placement, cold replicas and changing popularity do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sims.parts.adapters import COLD
from sims.systems.multi_lora import AdapterRequests, Failure, Popularity, compare, simulate
from tests.sims.systems.multi_lora.scene import COUNT, asked, config

ROOMY = config(replicas=4, slots=6, host_adapters=COUNT, kv_capacity_tokens=10**6, max_running=64)


def test_policies_see_the_same_requests_and_affinity_finds_more_in_slots() -> None:
    found = compare(ROOMY, policies=["random", "round_robin", "least_loaded", "load_aware"], source=asked())
    assert len({one.counts["arrived"] for one in found.values()}) == 1
    assert len({one.counts["prompt_tokens"] for one in found.values()}) == 1
    blind = max(found[name].found()["hot"] for name in ("random", "round_robin", "least_loaded"))
    assert found["load_aware"].found()["hot"] > blind + 0.2
    assert found["load_aware"].distinct_busy < found["random"].distinct_busy


def test_round_robin_takes_replicas_in_turn() -> None:
    found = simulate(replace(ROOMY, policy="round_robin"), source=asked(requests=400), log=400)
    units = np.sort(found.log, order="seq").unit
    assert (units == np.arange(400) % 4).all()


@pytest.mark.parametrize(("policy", "homes"), [("consistent_hash", 1), ("affinity", 2)])
def test_an_adapter_stays_on_its_homes(policy: str, homes: int) -> None:
    found = simulate(replace(ROOMY, policy=policy, copies=2), source=asked(requests=2000), log=2000)
    for adapter in range(6):
        assert len(np.unique(found.log.unit[found.log.adapter == adapter])) == homes


def test_popular_adapters_have_more_homes_under_load_aware_placement() -> None:
    """⌈4 · M · p⌉ copies; with Zipf 1 over 24 the first has a share of .265 and gets all four."""
    found = simulate(replace(ROOMY, policy="load_aware"), source=asked(requests=3000), log=3000)
    counts = [len(np.unique(found.log.unit[found.log.adapter == adapter])) for adapter in range(COUNT)]
    shares = Popularity.zipf(COUNT, exponent=1.0).shares()
    assert counts == np.minimum(4, np.ceil(16 * shares)).astype(int).tolist()


def test_load_aware_placement_keeps_the_least_copies() -> None:
    found = simulate(replace(ROOMY, policy="load_aware", copies=2), source=asked(requests=3000), log=3000)
    counts = [len(np.unique(found.log.unit[found.log.adapter == adapter])) for adapter in range(COUNT)]
    assert counts[0] == 4
    assert min(counts) == 2


def test_the_bound_sends_a_crowd_to_other_replicas() -> None:
    """One adapter has all the traffic and one home, unless the home may not have more than twice the mean."""
    crowd = asked(popularity=Popularity(np.array([1.0])), rate=60.0)
    setup = replace(ROOMY, policy="load_aware", copies_per_load=0.1)
    alone, spread = (simulate(replace(setup, load_bound=bound), source=crowd) for bound in (np.inf, 2.0))
    assert np.count_nonzero(alone.replicas.served) == 1
    assert np.count_nonzero(spread.replicas.served) == 4


def test_cold_replicas_take_what_is_not_in_memory_and_the_others_warm_up() -> None:
    setup = replace(ROOMY, policy="affinity", cold_replicas=1)
    found = simulate(setup, source=asked(requests=1500), log=1500)
    cold = found.log[found.log.heat == COLD]
    assert len(cold) > 0
    assert (cold.unit == 3).all()
    assert found.counts["diverted"] > found.counts["warm_ups"] >= COUNT - 3
    late = found.log[found.log.seq > 750]
    assert (late.unit == 3).mean() < 0.05
    never = simulate(replace(setup, warm_up=False), source=asked(requests=1500), log=1500)
    assert (never.log.unit == 3).all()


def test_cold_replicas_that_hold_all_spare_the_download() -> None:
    setup = replace(ROOMY, policy="affinity", cold_replicas=1, cold_hold_all=True, store_first_byte_s=3.0)
    found = simulate(setup, source=asked(requests=1500), log=1500)
    assert (found.log.unit == 3).any()
    assert not (found.log.heat == COLD).any()
    assert found.counts["downloads"] == found.counts["warm_ups"] > 0
    assert found.waits_s()["download"] == 0.0


def test_a_shift_of_popularity_is_felt_until_adapters_are_placed_anew() -> None:
    """The dealt ranks put popular adapters together by chance; placing by the traffic since evens it out again."""
    popularity = Popularity.zipf(COUNT, exponent=1.3, shifts_at_s=(60.0,))
    source = AdapterRequests(asked(rate=25.0, duration_s=200.0).arrivals, popularity)
    setup = replace(ROOMY, policy="load_aware", copies_per_load=1.0)
    skews = []
    for every_s in (0.0, 10.0):
        found = simulate(replace(setup, replace_every_s=every_s), source=source, warmup_s=90.0, seed=4)
        skews.append(float(found.replicas.sequence_s.max() / found.replicas.sequence_s.mean()))
    assert skews[0] > skews[1] + 0.1
    assert skews[1] < 1.25


def test_a_shift_makes_adapters_cold_for_a_while() -> None:
    popularity = Popularity.zipf(200, exponent=1.2, shifts_at_s=(100.0,))
    setup = config(adapters=200, replicas=1, slots=10, host_adapters=40, kv_capacity_tokens=10**6, max_running=64)
    found = simulate(setup, source=AdapterRequests(asked(rate=20.0, duration_s=200.0).arrivals, popularity))
    line = found.timeline
    before, just_after = (
        np.diff(line.counts["cold"])[(line.at_s[1:] > low) & (line.at_s[1:] <= high)].sum()
        for low, high in ((80.0, 100.0), (100.0, 120.0))
    )
    assert just_after > 1.5 * before


def test_a_lost_replica_hands_its_requests_and_adapters_over() -> None:
    failure = Failure(replica=0, at_s=10.0, detection_s=1.0, rejoin_s=8.0)
    setup = replace(ROOMY, policy="consistent_hash", preload="host")
    found = simulate(setup, source=asked(requests=800), failures=[failure], log=800)
    assert found.counts["finished"] == 800
    assert found.counts["restarted"] > 0
    sent_while_out = found.log[(found.log.sent_s > 11.0) & (found.log.sent_s < 19.0)]
    assert (sent_while_out.unit != 0).all()
    # What was at home on the lost replica is in nobody's memory, and later not in its own.
    assert (sent_while_out.heat == COLD).any()
    back = found.log[(found.log.sent_s > 19.0) & (found.log.unit == 0)]
    assert back[np.argsort(back.sent_s)].heat[0] == COLD


def test_when_all_replicas_are_lost_requests_wait() -> None:
    failures = [Failure(replica=u, at_s=5.0, rejoin_s=4.0) for u in range(4)]
    found = simulate(ROOMY, source=asked(requests=300), failures=failures, log=300)
    assert found.counts["finished"] == 300
    assert not ((found.log.sent_s > 5.0) & (found.log.sent_s < 9.0)).any()


def test_pinned_adapters_are_always_found_in_a_slot() -> None:
    found = simulate(replace(ROOMY, pinned=(20, 23), policy="random"), source=asked(requests=1000), log=1000)
    pinned = np.isin(found.log.adapter, (20, 23))
    assert pinned.sum() > 5
    assert (found.log.heat[pinned] == 0).all()
