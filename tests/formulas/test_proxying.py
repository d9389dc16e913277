"""What a proxy carries: the reference's figures, and replicas that survive the loss of one."""

from __future__ import annotations

import math

import pytest

from planner.formulas import proxying


def test_the_reference_carries_the_printed_load() -> None:
    stream_s = proxying.stream_s(0.5, output_tokens=400, tpot_s=0.03)
    assert stream_s == 12.5
    assert proxying.streams(5000.0, stream_s=stream_s) == 62_500
    events = proxying.events_per_s(5000.0, output_tokens=400)
    assert events == 2_000_000
    assert events * proxying.EVENT_BYTES * 8 / 1e9 == pytest.approx(4.8)


def test_relaying_takes_ten_cores_and_external_processing_hundreds() -> None:
    inside = proxying.core_demand(5000.0, prompt_tokens=4096, output_tokens=400)
    assert inside.relay == pytest.approx(10.0)
    assert inside.decisions < 1
    assert inside.handshakes == pytest.approx(2.5)
    assert inside.total == pytest.approx(sum(inside))
    for prompt_token_s, relay_s, bodies, chunks in ((1.5e-6, 100e-6, 31, 200), (3.5e-6, 200e-6, 72, 400)):
        outside = proxying.core_demand(
            5000.0, prompt_tokens=4096, output_tokens=400, relay_s=relay_s, prompt_token_s=prompt_token_s
        )
        assert outside.prompts == pytest.approx(bodies, abs=0.5)
        assert outside.relay == pytest.approx(chunks)


def test_a_core_decides_tens_of_thousands_of_times_a_second() -> None:
    assert 1 / proxying.DECISION_S >= 10_000
    assert 1 / proxying.EXTERNAL_DECISION_S < 10_000


def test_memory_of_a_connection_is_that_of_the_vendors_table() -> None:
    per_gb = [
        1e9 / size
        for size in (
            proxying.CONNECTION_BYTES_TLS_BOTH,
            proxying.CONNECTION_BYTES_TLS_CLIENT,
            proxying.CONNECTION_BYTES_CLEAR,
        )
    ]
    assert per_gb == [5_000, 8_000, 20_000]


def test_resumed_and_kept_connections_spare_handshakes() -> None:
    full = proxying.core_demand(1000.0, prompt_tokens=0, output_tokens=0)
    resumed = proxying.core_demand(1000.0, prompt_tokens=0, output_tokens=0, resumed_share=1.0)
    kept = proxying.core_demand(1000.0, prompt_tokens=0, output_tokens=0, new_connection_share=0.0)
    assert full.handshakes == pytest.approx(0.5)
    assert resumed.handshakes == pytest.approx(1 / 13)
    assert kept.handshakes == 0


@pytest.mark.parametrize(("cores", "streams"), [(30.0, 100.0), (1.0, 62_500.0), (9.6, 0.0), (400.0, 62_500.0)])
def test_replicas_keep_to_the_fill_when_one_is_out_and_are_the_fewest(cores: float, streams: float) -> None:
    capacities = {"cores": 16.0, "streams": 20_000.0}
    found = proxying.replicas({"cores": cores, "streams": streams}, capacities=capacities)
    assert found.bought == found.needed + 1
    assert max(found.survivor_loads.values()) <= proxying.FILL + 1e-9
    if found.needed > 1:
        fewer = found.needed - 1
        assert max(cores / 16 / fewer, streams / 20_000 / fewer) > proxying.FILL
    assert found.binding == ("cores" if cores / 16 >= streams / 20_000 else "streams")


def test_no_load_needs_one_replica_and_its_spare() -> None:
    found = proxying.replicas({"cores": 0.0}, capacities={"cores": 16.0})
    assert (found.needed, found.bought, found.binding, found.loads) == (1, 2, "", {"cores": 0.0})
    idle = proxying.core_demand(0.0, prompt_tokens=4096, output_tokens=400)
    assert idle.total == 0


def test_exact_fills_do_not_round_up_by_a_hair() -> None:
    assert proxying.replicas({"cores": 0.6 * 16 * 7}, capacities={"cores": 16.0}).needed == 7


def test_clients_of_a_lost_replica_come_back_at_once() -> None:
    storm = proxying.reconnect_storm_cores(62_500, replicas=5, lost=1, within_s=5.0, handshakes_per_core_s=2000.0)
    assert storm == pytest.approx(12_500 / 5 / 2000)
    assert proxying.reconnect_storm_cores(0, replicas=5, lost=1, within_s=5.0, handshakes_per_core_s=2000.0) == 0
    assert math.isfinite(proxying.reconnect_storm_cores(1, replicas=0, lost=1, within_s=0.0, handshakes_per_core_s=1.0))
