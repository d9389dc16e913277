from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine.invariants import InvariantError
from sims.engine.run import COMPLETE
from sims.systems.kv_pool import Links, Loss, Switch, Tier, simulate
from sims.systems.kv_pool.audit import audit
from tests.sims.systems.kv_pool.scene import audited, config, sessions

HOLDS = ("copies", "dropped", "kept")


@pytest.mark.parametrize("holds", HOLDS)
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("place", ["affinity", "random", "round_robin", "least_loaded"])
def test_nothing_is_lost_or_made_up(holds: str, pooled: bool, place: str) -> None:
    dram = Tier(bytes_per_node=8000.0, holds=holds, pooled=pooled, every_touch=place != "random")
    found = audited(config(dram=dram, place=place, nodes=3), source=sessions(), samples=60)
    assert found.ending == COMPLETE
    assert found.arrived > 800
    assert found.arrived == found.finished + found.in_flight
    assert found.whole.hbm > 0
    assert found.whole.dram > 0


@pytest.mark.parametrize("eviction", ["lru", "ttl", "value"])
def test_losses_and_switches_keep_the_books(eviction: str) -> None:
    classes = tuple(dataclasses.replace(one, ttl_s=20.0) for one in sessions().classes)
    found = audited(
        config(eviction=eviction, nodes=3, prefill_s_per_token=2e-3),
        source=sessions(classes=classes, rate=2.0),
        losses=[Loss(node=1, at_s=60.0, rejoin_s=50.0), Loss(node=0, at_s=100.0, rejoin_s=100.0)],
        switches=[
            Switch(at_s=30.0, share=0.3, quota=0.2),
            Switch(at_s=150.0, share=0.7, by_request=True),
            Switch(at_s=220.0, share=1.0, purge=True),
        ],
        samples=150,
    )
    assert found.arrived == found.finished + found.in_flight
    assert found.restarted > 0
    assert min(one.alive for one in found.samples) == 1
    assert (found.tiers[0].expired_bytes > 0) == (eviction == "ttl")


def test_without_a_node_alive_requests_are_refused() -> None:
    found = audited(config(nodes=1), source=sessions(), losses=[Loss(node=0, at_s=100.0, rejoin_s=50.0)], samples=60)
    assert found.rejected > 50
    assert found.arrived == found.finished + found.in_flight + found.rejected
    assert any("no node alive" in said for said in found.remarks())


SETUPS = st.fixed_dictionaries(
    {
        "nodes": st.integers(1, 3),
        "block_tokens": st.sampled_from([1, 16, 500]),
        "hbm_bytes_per_node": st.sampled_from([0.0, 15.0, 700.0, 5000.0]),
        "dram": st.builds(
            Tier,
            bytes_per_node=st.sampled_from([0.0, 300.0, 9000.0]),
            holds=st.sampled_from(HOLDS),
            pooled=st.booleans(),
            every_touch=st.booleans(),
        ),
        "ssd": st.builds(
            Tier, bytes_per_node=st.sampled_from([0.0, 2000.0, 1e6]), holds=st.sampled_from(HOLDS), pooled=st.booleans()
        ),
        "links": st.sampled_from([Links(), Links(pcie=2e4, network=5e3, ssd_read=2e3, ssd_write=1e3)]),
        "fetch": st.sampled_from(["always", "cheaper", "never"]),
        "eviction": st.sampled_from(["lru", "ttl", "value"]),
        "place": st.sampled_from(["affinity", "random", "least_loaded"]),
        "state_blocks": st.sampled_from([1, 4]),
        "layers": st.sampled_from([1, 32]),
    }
)


@settings(max_examples=60)
@given(
    setup=SETUPS,
    rate=st.sampled_from([0.3, 3.0]),
    fails_at_s=st.one_of(st.none(), st.floats(1.0, 30.0)),
    share=st.sampled_from([0.0, 0.4, 1.0]),
    quota=st.sampled_from([None, 0.3]),
    seed=st.integers(0, 1000),
)
def test_any_pool_keeps_its_books(
    setup: dict[str, Any], rate: float, fails_at_s: float | None, share: float, quota: float | None, seed: int
) -> None:
    losses = [] if fails_at_s is None else [Loss(node=0, at_s=fails_at_s, rejoin_s=5.0)]
    found = audited(
        config(**setup),
        source=sessions(rate=rate, duration_s=40.0, lead_s=20.0),
        seed=seed,
        losses=losses,
        switches=[Switch(at_s=10.0, share=share, quota=quota)],
        samples=15,
    )
    assert found.ending == COMPLETE
    assert found.arrived == found.finished + found.rejected + found.in_flight


def test_what_is_hit_does_not_depend_on_queues_or_links() -> None:
    fast, slow = (
        simulate(config(links=links, prefill_s_per_token=each), source=sessions(), samples=2)
        for links, each in ((Links(), 1e-9), (Links(pcie=500.0, network=500.0, ssd_read=200.0), 1e-2))
    )
    for name in ("hbm", "dram", "ssd", "missed", "reusable", "tokens"):
        assert fast.whole[name] == slow.whole[name]
    assert slow.mean_s("ttft").value > 10 * fast.mean_s("ttft").value  # type: ignore[union-attr]


def test_the_audit_notices_lost_requests_and_blocks() -> None:
    def lose(plane: Any) -> None:
        plane.state.totals[0].finished -= 1
        audit(plane.state)

    def forge(plane: Any) -> None:
        plane.state.store.caches[0].used += 1
        audit(plane.state)

    def tangle(plane: Any) -> None:
        held = np.flatnonzero(plane.state.store.entries.owner >= 0)
        plane.state.store.entries.stamp[held] = 5
        audit(plane.state)

    for harm, named in ((lose, "requests arrived"), (forge, "blocks in cache 0"), (tangle, "out of order")):
        with pytest.raises(InvariantError, match=named):
            simulate(config(), source=sessions(), check=harm, samples=4)
