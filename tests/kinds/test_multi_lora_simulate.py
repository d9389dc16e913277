"""The simulation of multi-LoRA serving: beside the estimate where its assumptions hold, and what only time shows."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from planner.catalog import files
from planner.charts import plotly, svg, table
from planner.core.catalog import MissingFigure
from planner.core.result import Finding, Result
from planner.core.simulation import Cancelled, SimulationRequest, Workload
from planner.kinds import get
from planner.kinds.multi_lora.simulation_options import OPTIONS, options

KIND = get("multi_lora")
CATALOG = files.load()
FIFO: dict[str, Any] = {"fairness": "first_come", "routing": "random", "replicas": 4}
COLD: dict[str, Any] = {"adapters": 5000, "host_adapters": 400, "zipf_exponent": 1.0, "requests_per_s": 30.0}


class Watch:
    """Hooks that remember, and may ask to stop."""

    def __init__(self, *, stop_at: float = 2.0) -> None:
        self.fractions: list[float] = []
        self._stop_at = stop_at

    def progress(self, fraction: float, *, simulated_s: float, events: int, partial: Any = None) -> None:
        self.fractions.append(fraction)

    def cancelled(self) -> bool:
        return bool(self.fractions) and self.fractions[-1] >= self._stop_at


def both(
    spec: dict[str, Any] | None = None, *, duration_s: float | None = 300.0, trace: Any = None, **given: Any
) -> tuple[Result, Result]:
    """Simulated and estimated."""
    stated = KIND.spec.model_validate(spec or {})
    request = SimulationRequest(duration_s=duration_s, workload=trace, options={"policies": "chosen", **given})
    assert KIND.simulator is not None
    assert KIND.simulator.expected is not None
    done = KIND.simulator.run(stated, CATALOG, request, Watch())
    return done, KIND.simulator.expected(stated, CATALOG, request)


def run(spec: dict[str, Any] | None = None, **given: Any) -> Result:
    return both(spec, **given)[0]


def assert_near(done: Result, told: Result, name: str, rel: float) -> None:
    mine, theirs = done.value(name), told.value(name)
    assert mine is not None, name
    assert theirs is not None, name
    assert mine == pytest.approx(theirs, rel=rel), name


def found(result: Result, code: str) -> Finding:
    return next(each for each in result.findings if each.code == code)


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0, 1.5])
def test_estimate_and_simulation_agree_below_the_cliff(rate: float) -> None:
    done, told = both(rate_scale=rate, duration_s=600.0)
    for name, rel in (
        ("tpot_s", 0.05),
        ("ttft_mean_s", 0.05),
        ("ttft_hot_s", 0.05),
        ("ttft_warm_s", 0.05),
        ("ttft_p50_s", 0.06),
        ("ttft_p99_s", 0.15),
        ("running", 0.06),
        ("distinct_in_batch", 0.06),
        ("swaps_per_s", 0.08),
    ):
        assert_near(done, told, name, rel)
    assert done.value("gpu_hit_share") == pytest.approx(told.value("gpu_hit_share"), abs=0.02)


@pytest.mark.parametrize(
    "change",
    [
        {"copying": "beside"},
        {"copying": "layers"},
        {"kernels": "gather"},
        {"launches": "eager", "base_share": 0.4, "specialised_graphs": "on"},
        {"routing": "random"},
        {"copies": 2},
        {"copies_as": "slab", "prefix_share": 0.0},
        {"input_sigma": 0.0, "output_sigma": 0.0},
    ],
    ids=str,
)
def test_they_agree_on_every_mechanism(change: dict[str, Any]) -> None:
    done, told = both(change)
    for name, rel in (("tpot_s", 0.05), ("ttft_hot_s", 0.06), ("distinct_in_batch", 0.06), ("running", 0.06)):
        assert_near(done, told, name, rel)
    assert_near(done, told, "ttft_warm_s", 0.08)
    assert done.value("gpu_hit_share") == pytest.approx(told.value("gpu_hit_share"), abs=0.02)


@pytest.mark.parametrize(("slots", "rel"), [(40, 0.15), (32, 0.12), (24, 0.12)])
def test_they_agree_past_the_cliff(slots: int, rel: float) -> None:
    done, told = both({**FIFO, "slots": slots}, duration_s=3600.0)
    assert (done.value("slot_wait_s") or 0.0) > 1.0
    for name in ("slot_wait_s", "slot_wait_p99_s", "ttft_mean_s", "ttft_p99_s"):
        assert_near(done, told, name, 2 * rel if "p99" in name and slots == 40 else rel)
    assert done.value("gpu_hit_share") == pytest.approx(told.value("gpu_hit_share"), abs=0.02)
    assert_near(done, told, "swaps_per_s", 0.06)


def test_one_adapter_more_than_the_slots_costs_far_more_than_a_copy() -> None:
    """Uniform, few adapters, all of which always run: with a slot for each nobody waits, with one fewer many do."""
    spec = {"adapters": 24, "tenants": 24, "zipf_exponent": 0.0, "routing": "random", "replicas": 1}
    spec |= {"requests_per_s": 15.0, "fairness": "first_come"}
    enough, short = (run({**spec, "slots": count}, duration_s=1200.0) for count in (24, 20))
    assert enough.value("slot_wait_s") == 0.0
    _, told = both({**spec, "slots": 20})
    assert (short.value("slot_wait_s") or 0.0) > 3 * (told.value("swap_s") or 0.0)
    assert "past_cliff" in {each.code for each in short.findings}


def test_cold_adapters_wait_for_the_download() -> None:
    done, told = both(COLD, duration_s=600.0)
    assert_near(done, told, "ttft_cold_s", 0.05)
    assert done.value("store_share") == pytest.approx(told.value("store_share"), abs=0.02)
    assert_near(done, told, "cold_loads_per_h", 0.1)
    parts = done.series["simulated_ttft_parts"]
    total = math.fsum(float(each or 0.0) for each in parts.column("seconds").values)
    assert total == pytest.approx(done.value("ttft_mean_s"))


def test_a_cold_start_replica_serves_them_without() -> None:
    with_one, told = both({**COLD, "cold_replicas": 1, "replicas": 3}, duration_s=600.0)
    without = run({**COLD, "replicas": 3}, duration_s=600.0)
    assert (with_one.value("ttft_p99_s") or 9.0) < 0.6 * (without.value("ttft_p99_s") or 0.0)
    assert with_one.value("store_share") == pytest.approx(told.value("store_share"), abs=0.03)


def test_routing_side_by_side_on_the_same_requests() -> None:
    done, told = both(policies="routing")
    series = done.series["simulated_ways"]
    hits = dict(zip(series.column("way").values, series.column("gpu_hit_share").values, strict=True))
    assert len(hits) == 5
    assert float(hits["copies by load"] or 0.0) > float(hits["any replica"] or 0.0) + 0.2
    uneven = dict(zip(series.column("way").values, series.column("load_imbalance").values, strict=True))
    assert float(uneven["by hash of the adapter"] or 0.0) > 1.2 > float(uneven["copies by load"] or 0.0)
    beside = told.series["routings"]
    expected = dict(zip(beside.column("routing").values, beside.column("gpu_hit_share").values, strict=True))
    for way in ("copies by load", "any replica"):
        assert hits[way] == pytest.approx(expected[way], abs=0.02)
    assert "ways_differ" in {each.code for each in done.findings}


def test_counters_keep_a_noisy_tenant_from_the_others() -> None:
    loud: dict[str, Any] = {"noisy_factor": 60.0, "replicas": 4, "tenants": 20}
    done = run(loud, policies="fairness", noisy_at_s=60.0, duration_s=400.0)
    series = done.series["simulated_ways"]
    served = dict(zip(series.column("way").values, series.column("goodput_rps").values, strict=True))
    assert float(served["weighted counters"] or 0.0) > 2 * float(served["first come, first served"] or 0.0)
    assert "weighted counters" in found(done, "fairness").message


def test_limits_refuse_what_is_too_much() -> None:
    done = run({"tenant_limit_rps": 0.5}, duration_s=200.0)
    assert (done.value("requests_limited") or 0.0) > 0
    counts = [done.value(f"requests_{name}") or 0.0 for name in ("finished", "rejected", "limited", "in_flight")]
    assert sum(counts) == done.value("requests_arrived")


def test_tenants_and_what_none_used_sum_to_the_bill() -> None:
    done, told = both({"base_share": 0.2})
    series = done.series["simulated_tenants"]
    bill = math.fsum(float(each or 0.0) for each in series.column("usd_per_h").values)
    assert bill == pytest.approx(told.value("cost_usd_per_h"), rel=1e-12)
    shares = math.fsum(float(each or 0.0) for each in series.column("gpu_share").values)
    assert shares == pytest.approx(1.0)
    assert "the base alone" in series.column("tenant").values


def test_a_lost_replica_restarts_its_requests_and_a_shift_costs_hits() -> None:
    lost = run({"replicas": 4}, fail_at_s=100.0, rejoin_s=60.0)
    assert (lost.value("requests_restarted") or 0.0) > 0
    assert "started again" in found(lost, "replica_lost").message
    shifted = run({"host_adapters": 400}, shift_at_s=150.0)
    line = shifted.series["timeline"]
    times = np.array(line.column("time_s").values, float)
    hits = np.array([np.nan if each is None else each for each in line.column("gpu_hit_share").values], float)
    # slots are full of what is popular now within seconds
    assert hits[times > 150][0] < np.nanmean(hits[(times > 100) & (times <= 150)]) - 0.1
    assert "popular" in found(shifted, "popularity_shifted").message


def test_cold_hosts_download_each_adapter_once() -> None:
    warm, cold = run(hosts="warm", warmup_s=0.0), run(hosts="cold", warmup_s=0.0)
    assert warm.value("store_share") == 0.0
    assert 0.0 < (cold.value("store_share") or 0.0) < 0.2


def test_the_same_seed_gives_the_same_result_and_another_does_not() -> None:
    request = SimulationRequest(seed=4, duration_s=60.0, options={"policies": "chosen"})
    other = SimulationRequest(seed=5, duration_s=60.0, options={"policies": "chosen"})
    assert KIND.simulator is not None
    first, again, third = (
        KIND.simulator.run(KIND.spec(), CATALOG, each, Watch()) for each in (request, request, other)
    )
    assert first.metrics == again.metrics
    assert first.series == again.series
    assert first.metrics != third.metrics


def test_a_run_reports_its_progress_and_stops_when_asked() -> None:
    request = SimulationRequest(duration_s=100.0)
    watch = Watch()
    assert KIND.simulator is not None
    KIND.simulator.run(KIND.spec(), CATALOG, request, watch)
    assert watch.fractions == sorted(watch.fractions)
    assert watch.fractions[-1] == pytest.approx(1.0)
    with pytest.raises(Cancelled):
        KIND.simulator.run(KIND.spec(), CATALOG, request, Watch(stop_at=0.0))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"policies": "none"}, "options.policies"),
        ({"rate_scale": 0.0}, "options.rate_scale"),
        ({"no_such": 1}, "options.no_such"),
        ({"fail_at_s": 1e6}, "options.fail_at_s"),
        ({"shift_at_s": 400.0}, "options.shift_at_s"),
        ({"warmup_s": 300.0}, "options.warmup_s"),
        ({"arrivals": "trace"}, "options.arrivals"),
    ],
)
def test_bad_options_are_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        run(**given)


def test_options_have_the_defaults_that_are_shown() -> None:
    plain = options({})
    for each in OPTIONS:
        assert getattr(plain, each.name) == each.default


@pytest.mark.parametrize(
    ("spec", "code"),
    [({"requests_per_s": 0.0}, "no_requests"), ({"adapter_memory_bytes": 0.0}, "no_adapters")],
)
def test_nothing_to_run_is_an_answer(spec: dict[str, Any], code: str) -> None:
    done = run(spec)
    assert found(done, code)
    assert done.value("requests_arrived") == 0.0


def named_trace(*, adapters: bool) -> Workload:
    count, random = 4000, np.random.default_rng(2)
    fields: dict[str, Any] = {
        "name": "log",
        "arrival_s": np.cumsum(random.exponential(1 / 40, count)),
        "input_tokens": random.integers(50, 900, count),
        "output_tokens": random.integers(10, 300, count),
        "source": "",
    }
    ids = random.zipf(1.6, count) % 40
    ids[::7] = -1
    return Workload(**fields, adapters=ids if adapters else None)


def test_a_trace_brings_its_adapters_lengths_and_rate() -> None:
    trace = named_trace(adapters=True)
    assert trace.adapters is not None
    done, told = both({"tenants": 10}, duration_s=None, trace=trace)
    assert done.value("requests_arrived") == 4000
    assert told.value("hottest_share") == pytest.approx(
        np.bincount(trace.adapters[trace.adapters >= 0]).max() / 4000, rel=1e-6
    )
    assert_near(done, told, "tpot_s", 0.1)


def test_a_trace_without_adapters_draws_them() -> None:
    done = run({"tenants": 10}, duration_s=None, trace=named_trace(adapters=False))
    assert done.value("requests_arrived") == 4000
    assert "drawn" in found(done, "simplified").message


def test_a_design_by_a_trace_that_names_none_is_refused() -> None:
    spec = {"popularity": "trace", "workload": "mooncake-conversation"}
    with pytest.raises(MissingFigure, match="adapter of each request"):
        run(spec)


def test_every_chart_draws() -> None:
    stated = KIND.spec()
    request = SimulationRequest(duration_s=120.0, options={"fail_at_s": 60.0})
    assert KIND.simulator is not None
    assert KIND.simulator.expected is not None
    done = KIND.simulator.run(stated, CATALOG, request, Watch())
    charts = list(KIND.simulator.charts(stated, KIND.simulator.expected(stated, CATALOG, request), done))
    assert len(charts) >= 12
    assert len({chart.name for chart in charts}) == len(charts)
    for chart in charts:
        json.dumps(plotly.figure(chart), allow_nan=False)
        assert svg.draw(chart, width=470).startswith("<svg")
        assert table.rows(chart)[1]
