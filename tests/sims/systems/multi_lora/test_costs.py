"""Steps, swaps and bills: what adapters cost, and that the parts are the whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sims.engine.interval import Interval
from sims.parts.arrivals import Lengths, Poisson
from sims.systems.multi_lora import AdapterRequests, Burst, Config, Outcome, Popularity, simulate
from tests.sims.systems.multi_lora.scene import COUNT, LENGTHS, asked, audited, config

LENGTHS_200 = Lengths(input_tokens=100, output_tokens=200, output_sigma=0.5)
SLOTS = 16


def full(adapters: int, *, base_share: float = 0.0, **changes: Any) -> Outcome:
    """A replica always full with 32 sequences that use so many adapters, as many as it has slots or one more."""
    setup = config(
        replicas=1,
        adapters=max(1, adapters),
        slots=SLOTS,
        host_adapters=SLOTS + 1,
        kv_capacity_tokens=10**9,
        max_running=32,
        preload="host",
        **changes,
    )
    source = AdapterRequests(
        Poisson(40.0, LENGTHS_200, duration_s=120.0),
        Popularity.zipf(max(1, adapters), exponent=0.0),
        base_share=base_share,
    )
    return simulate(setup, source=source, warmup_s=20.0)


def tpot(outcome: Outcome) -> Interval:
    found = outcome.share("tpot_sum_s", of="tpot_n")
    assert found is not None
    return found


def test_lora_costs_a_step_and_then_little_for_each_adapter() -> None:
    """Launches .7 ms on a step of 15 ms, .03 ms for each adapter: the first costs more than the next fifteen."""
    kernels = {"lora_step_s": 7e-4, "lora_s_per_adapter": 3e-5, "lora_s_per_sequence": 0.0}
    bare, one, some = (
        tpot(full(adapters, base_share=share, **kernels)).value
        for adapters, share in ((1, 1.0), (1, 0.0), (SLOTS, 0.0))
    )
    assert one - bare == pytest.approx(7.3e-4, rel=0.03)
    assert 0 < some - one < 15 * 3e-5 * 1.05
    assert one - bare > some - one


def test_gathering_kernels_cost_by_sequence_whatever_the_adapters() -> None:
    kernels = {"lora_step_s": 0.0, "lora_s_per_adapter": 0.0, "lora_s_per_sequence": 5e-5}
    one, some = (tpot(full(adapters, **kernels)).value for adapters in (1, SLOTS))
    assert some == pytest.approx(one, rel=2e-3)
    none = tpot(full(1, base_share=1.0, **kernels)).value
    assert one - none == pytest.approx(32 * 5e-5, rel=0.05)


def test_base_requests_pay_for_launches_only_without_specialised_graphs() -> None:
    cheap, dear = (tpot(full(1, base_share=1.0, lora_always=always)).value for always in (False, True))
    assert dear - cheap == pytest.approx(0.001, rel=0.03)


def test_one_adapter_more_than_slots_costs_far_more_than_a_copy() -> None:
    """Each has five requests running on average, so who has no slot waits for another to drain, not for a copy."""
    light = {"max_running": 10**6, "kv_capacity_tokens": 10**9, "preload": "slots"}
    waits = []
    for adapters in (SLOTS, SLOTS + 1):
        setup = config(replicas=1, adapters=adapters, slots=SLOTS, host_adapters=adapters, **light)
        arrivals = Poisson(15.0, LENGTHS_200, duration_s=600.0)
        found = simulate(
            setup, source=AdapterRequests(arrivals, Popularity.zipf(adapters, exponent=0.0)), warmup_s=20.0
        )
        waits.append(sum(found.waits_s()[part] for part in ("slot", "copy")))
    copy_s = 0.005 + 80e6 / 25e9
    assert waits[0] < copy_s
    assert waits[1] > 10 * copy_s


@pytest.mark.parametrize("swap", ["beside", "stalls", "pipelined"])
def test_a_request_that_finds_its_adapter_in_host_memory_waits_for_one_copy(swap: str) -> None:
    """Alone on the replica: prompt of 101 tokens .0121 s + launches; a copy of 8.2 ms before it, or behind it."""
    setup = config(replicas=1, adapters=COUNT, host_adapters=COUNT, preload="host", swap=swap, gateway_s=0.0)
    lengths = Lengths(input_tokens=100, output_tokens=1)
    arrivals = Poisson(0.2, lengths, requests=200)
    found = simulate(setup, source=AdapterRequests(arrivals, Popularity.zipf(COUNT, exponent=0.0)), log=200)
    copy_s, prompt_s = 0.005 + 80e6 / 25e9, 0.01 + 0.002 + 100 * 1e-4 + 0.001 + 2e-4
    ttft = found.log.first_s - found.log.sent_s
    whole_s = max(prompt_s, copy_s + 0.001) if swap == "pipelined" else prompt_s + copy_s
    assert np.median(ttft[found.log.heat == 1]) == pytest.approx(whole_s, rel=1e-6)
    assert np.median(ttft[found.log.heat == 0]) == pytest.approx(prompt_s, rel=1e-6)


def test_a_cold_request_waits_for_first_byte_and_download() -> None:
    setup = config(replicas=1, adapters=COUNT, host_adapters=COUNT, gateway_s=0.0)
    arrivals = Poisson(0.2, Lengths(input_tokens=100, output_tokens=1), requests=100)
    found = simulate(setup, source=AdapterRequests(arrivals, Popularity.zipf(COUNT, exponent=0.0)), log=100)
    cold = found.log[found.log.heat == 2]
    expected = 0.1 + 80e6 / 700e6 + 0.005 + 80e6 / 25e9 + 0.0232
    assert len(cold) >= 20
    assert np.median(cold.first_s - cold.sent_s) == pytest.approx(expected, rel=1e-6)


def test_downloads_wait_in_line() -> None:
    """Twenty-four adapters asked for within a moment, two downloads at a time of .2143 s each."""
    setup = config(replicas=1, adapters=COUNT, host_adapters=COUNT, slots=COUNT, gateway_s=0.0)
    source = AdapterRequests(Poisson(1e5, Lengths(8, 1), requests=400), Popularity.zipf(COUNT, exponent=0.0))
    found = simulate(setup, source=source, log=400)
    assert found.counts["downloads"] == COUNT
    last = float(found.log.admitted_s.max())
    assert last == pytest.approx(COUNT / 2 * (0.1 + 80e6 / 700e6) + 0.0082, rel=0.02)


def everything(**changes: Any) -> Outcome:
    bursts = (Burst((3,), 5.0, LENGTHS, from_s=8.0, until_s=15.0),)
    return audited(config(**changes), source=asked(rate=15.0, base_share=0.2, bursts=bursts), warmup_s=3.0)


@pytest.mark.parametrize("changes", [{}, {"swap": "stalls"}, {"prefill": "first", "scheduler": "fair"}])
def test_bills_add_up_to_the_fleet(changes: dict[str, Any]) -> None:
    """GPU time of tenants + idle = replicas × window; slot time of tenants + empty = slots × replicas × window."""
    found = everything(**changes)
    fleet_s = found.span_s * found.config.replicas
    assert sum(found.gpu_s.values()) == pytest.approx(fleet_s, rel=1e-9)
    assert all(share >= 0 for share in found.gpu_s.values())
    assert float(found.tenants.slot_s.sum()) + found.empty_slot_s == pytest.approx(fleet_s * 4, rel=1e-9)
    assert found.empty_slot_s >= -1e-9 * fleet_s
    assert found.gpu_s["lora"] > 0
    # The bare base pays for no adapter.
    assert found.tenants.lora_s[-1] == 0
    assert found.tenants.slot_s[-1] == 0
    assert found.tenants.base_s[-1] > 0


def test_moved_bytes_are_those_of_the_tenants_by_size() -> None:
    sizes = np.linspace(20e6, 160e6, COUNT)
    found = simulate(config(), source=asked(rate=15.0), sizes_bytes=sizes)
    assert found.tenants.copy_bytes.sum() == pytest.approx(found.counts["copy_bytes"], abs=1)
    # Each adapter has a tenant of its own here.
    np.testing.assert_allclose(found.tenants.copy_bytes[:-1], found.tenants.copies[:-1] * sizes, rtol=1e-12)
    np.testing.assert_allclose(found.tenants.download_bytes[:-1], found.tenants.downloads[:-1] * sizes, rtol=1e-12)


def test_parts_of_the_first_tokens_time_add_up() -> None:
    found = everything()
    mean = found.share("ttft_sum_s", of="ttft_n")
    assert mean is not None
    assert sum(found.waits_s().values()) == pytest.approx(mean.value, rel=1e-9)
    assert all(part >= 0 for part in found.waits_s().values())


def test_little_s_law_holds_for_batches() -> None:
    """Sequences in the batch = rate × time from admission to the last token."""
    setup = replace(config(), kv_capacity_tokens=10**9, max_running=10**6, slots=COUNT, host_adapters=COUNT)
    found = simulate(setup, source=asked(rate=20.0, duration_s=300.0), log=10**4, warmup_s=0.0)
    stay_s = float((found.log.finish_s - found.log.first_s).sum())
    assert found.mean("running") * 3 * 300.0 == pytest.approx(stay_s, rel=0.01)


def test_a_full_fleet_is_always_busy_and_an_idle_one_never() -> None:
    assert full(SLOTS).busy_share[0] == pytest.approx(1.0, abs=1e-6)
    rare = simulate(config(), source=asked(rate=1e-3, duration_s=100.0), seed=3)
    assert rare.gpu_s["idle"] == pytest.approx(3 * 100.0, rel=0.02)


def test_configurations_without_meaning_are_refused() -> None:
    for changes, message in (
        ({"host_adapters": 3}, "host_adapters must be at least slots"),
        ({"replicas": 0}, "replicas must be at least 1"),
        ({"cold_replicas": 3}, "cold_replicas must leave a replica"),
        ({"pinned": (0, 1, 2, 3)}, "pinned must leave a slot"),
        ({"pinned": (99,)}, "pinned must be adapters from 0 to 23"),
        ({"policy": "guess"}, "policy must be one of"),
        ({"swap_bytes_per_s": 0.0}, "swap_bytes_per_s must be above 0"),
        ({"step_s": -1.0}, "step_s must be finite and at least 0"),
        ({"load_bound": 0.5}, "load_bound must be at least 1"),
        ({"step_s": 0.0, "step_s_per_sequence": 0.0}, "a step must take time"),
    ):
        with pytest.raises(ValueError, match=message):
            config(**changes)
    assert isinstance(config(), Config)
