"""A run from outside: hooks, budgets, memory, sources, the time line."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from sims.engine.hooks import Cancelled
from sims.engine.run import BUDGET, COMPLETE, FULL
from sims.parts.arrivals import Lengths, Poisson, Table
from sims.parts.traces import Trace
from sims.systems.multi_lora import AdapterRequests, Popularity, Tenants, simulate
from sims.systems.multi_lora.state import FIRST_SLOTS
from tests.sims.impatient import Impatient, ticks
from tests.sims.systems.multi_lora.scene import COUNT, asked, audited, config


def test_a_run_is_cancelled_within_a_second() -> None:
    simulate(config(), source=asked(requests=20))
    hooks = Impatient(lambda partial: partial["ttft_p50_s"] is not None)
    with pytest.raises(Cancelled):
        simulate(config(), source=asked(rate=15.0, duration_s=1e8), hooks=hooks, clock=process_time)
    assert hooks.longest_s < 1.0
    assert hooks.told[-1]["ttft_p50_s"] is not None
    assert 0 < hooks.told[-1]["slot_hit_rate"] < 1


def test_a_run_out_of_time_says_so_and_keeps_what_it_has() -> None:
    found = simulate(config(), source=asked(rate=15.0, duration_s=1e8), budget_s=0.3, clock=ticks())
    assert found.ending == BUDGET
    counts = found.counts
    assert counts["finished"] > 100
    assert counts["arrived"] == counts["finished"] + counts["rejected"] + counts["limited"] + counts["in_flight"]
    assert found.span_s == pytest.approx(found.simulated_s, rel=1e-6)
    assert sum(found.gpu_s.values()) == pytest.approx(3 * found.span_s, rel=1e-9)


def test_overload_ends_in_bounded_memory_and_is_called_unsteady() -> None:
    found = simulate(config(), source=asked(rate=2000.0, duration_s=1e6), most_in_flight=2 * FIRST_SLOTS)
    assert found.ending == FULL
    assert not found.is_steady
    assert found.counts["in_flight"] == 2 * FIRST_SLOTS


def test_overload_ends_in_bounded_time() -> None:
    found = simulate(config(), source=asked(rate=500.0, duration_s=60.0))
    assert found.ending == COMPLETE
    assert not found.is_steady
    assert 30 < found.oldest_waiting_s <= 60.1


def test_the_pool_of_requests_grows() -> None:
    source = asked(rate=1e6, requests=3 * FIRST_SLOTS, lengths=Lengths(20, 3))
    found = simulate(config(slots=COUNT, host_adapters=COUNT), source=source)
    assert found.counts["finished"] == 3 * FIRST_SLOTS


def test_a_fleet_that_keeps_up_is_steady() -> None:
    found = simulate(config(), source=asked(rate=12.0, duration_s=400.0), warmup_s=50.0)
    assert found.is_steady
    assert found.timeline.at_s[-1] == pytest.approx(400.0)


def test_a_trace_brings_its_own_adapters() -> None:
    """Adapters of its rows in order; −1 asks for the bare base."""
    table = Table(at_s=np.arange(40.0), input=np.full(40, 50), output=np.full(40, 5))
    column = np.tile([3, 1, -1, 20], 10)
    source = AdapterRequests(Trace(table), column=column)
    found = simulate(config(), source=source, log=40)
    adapters = np.sort(found.log, order="seq").adapter
    assert (adapters == np.where(column < 0, COUNT, column)).all()
    shares = source.shares(COUNT)
    assert shares[[1, 3, 20]] == pytest.approx([1 / 3] * 3)
    assert found.counts["bare"] == 10
    assert found.tenants.requests[-1] == 10


def test_a_source_that_names_unknown_adapters_is_refused() -> None:
    with pytest.raises(ValueError, match="requests name 30 adapters, the fleet has 24"):
        simulate(config(), source=asked(adapters=30))
    with pytest.raises(ValueError, match="tenants name 3 adapters"):
        simulate(config(), source=asked(), tenants=Tenants(np.arange(3)))
    with pytest.raises(ValueError, match="slots of tenants must be above 0"):
        Tenants(np.arange(3), slots=np.array([0]))
    with pytest.raises(ValueError, match="more than the tables are meant for"):
        simulate(config(adapters=10**6, replicas=8), source=asked())
    with pytest.raises(ValueError, match="either drawn"):
        AdapterRequests(Poisson(1.0, Lengths(1, 1), requests=1))


def test_a_request_larger_than_the_kv_is_refused_once() -> None:
    table = Table(at_s=np.arange(4.0), input=np.array([100, 9000, 100, 100]), output=np.array([10, 10, 8000, 0]))
    found = audited(config(), source=AdapterRequests(Trace(table), column=np.zeros(4, np.int64)))
    assert found.counts["rejected"] == 2
    assert found.counts["finished"] == 2
    assert found.quantile("ttft", q=0.5) is not None


def test_only_base_requests_need_no_adapter() -> None:
    found = audited(config(), source=asked(rate=20.0, base_share=1.0))
    assert found.counts["copies"] == found.counts["downloads"] == 0
    assert found.found() == {}
    assert found.gpu_s["lora"] == 0.0
    assert found.mean("distinct") == 0.0


def test_preloaded_adapters_are_found_from_the_first_request_on() -> None:
    everywhere = {"host_adapters": COUNT, "policy": "random"}
    none, host, slots = (
        simulate(config(preload=preload, **everywhere), source=asked(rate=10.0)).counts
        for preload in ("none", "host", "slots")
    )
    assert none["cold"] > 0
    assert host["cold"] == slots["cold"] == 0
    assert slots["copies"] < host["copies"]


def test_the_time_line_adds_up_to_the_counts() -> None:
    found = simulate(config(), source=asked(rate=20.0, duration_s=60.0), samples=30)
    line = found.timeline
    for name in ("arrived", "finished", "copies", "downloads", "output_tokens", "hot"):
        assert line.counts[name][-1] == found.counts[name]
        assert (line.per_s(name) * 2.0).sum() == pytest.approx(found.counts[name])
    assert line.service.shape == line.waiting.shape == (30, COUNT + 1)
    assert line.service[-1].sum() == pytest.approx(float(found.tenants.service.sum()))
    busy = line.mean("busy_s")
    assert busy.shape == (30, 3)
    assert (busy <= 1 + 1e-9).all()
    assert (line.mean("distinct_s") <= 4 + 1e-9).all()
    assert np.nanmean(line.mean_ttft_s()) > 0


def test_many_tenants_are_not_watched_but_billed() -> None:
    source = AdapterRequests(asked(rate=10.0).arrivals, Popularity.zipf(1100, exponent=1.0))
    found = simulate(config(adapters=1100), source=source)
    assert found.timeline.service.shape[1] == 0
    assert found.fairness_gap() is None
    assert found.tenants.out_tokens.sum() == found.counts["output_tokens"]


def test_objectives_are_counted_in_requests() -> None:
    found = simulate(config(), source=asked(rate=15.0, duration_s=100.0), warmup_s=10.0)
    tally = found.batches
    assert 0 < tally.good.sum() <= min(tally.ttft_met.sum(), tally.tpot_met.sum()) <= tally.finished.sum()
    good = found.share("good", of="finished")
    assert good is not None
    assert 0 < good.value < 1
