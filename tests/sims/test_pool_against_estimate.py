"""The simulator of the pool's kind: it shares its figures with the estimate, and speaks to the surfaces."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from planner.catalog import files
from planner.core.result import Result
from planner.core.simulation import Blocks, Cancelled, SimulationRequest, Workload
from planner.kinds.kv_pool.estimate import estimate
from planner.kinds.kv_pool.simulate import SIMULATOR
from planner.kinds.kv_pool.spec import KvPoolSpec

CATALOG = files.load()
LAW = 0.004
"""What the formula may be off by where its assumptions hold: three tenths of a point, and rounding."""
SMALL: dict[str, Any] = {
    "turns_per_s": 20.0,
    "context_tokens": 2000.0,
    "new_tokens": 300.0,
    "output_tokens": 150.0,
    "continue_probability": 0.75,
    "gap_law": "exponential",
    "gap_s": 60.0,
    "prefill_gpus": 8,
    "nodes": 2,
    "hbm_bytes_per_gpu": 8e9,
    "dram_bytes_per_node": 0.05e12,
    "ssd_bytes_per_node": 0.1e12,
    "block_tokens": 16,
}
"""Sessions that come back within a minute: a run of an hour is at rest for most of it."""


class Quiet:
    def __init__(self, *, stop: bool = False) -> None:
        self.stop, self.told = stop, []

    def progress(
        self, fraction: float, *, simulated_s: float, events: int, partial: Mapping[str, Any] | None = None
    ) -> None:
        self.told.append(fraction)

    def cancelled(self) -> bool:
        return self.stop


def both(spec: Mapping[str, Any], *, hooks: Quiet | None = None, **request: Any) -> tuple[Result, Result]:
    stated, asked = KvPoolSpec(**spec), SimulationRequest(**request)
    return SIMULATOR.run(stated, CATALOG, asked, hooks or Quiet()), SIMULATOR.expected(stated, CATALOG, asked)


def assert_within(simulated: Result, promised: Result, name: str, *, beyond: float = LAW) -> None:
    metric, expected = simulated.metrics[name], promised.value(name)
    assert expected is not None
    assert metric.low is not None
    assert metric.high is not None
    assert metric.low - beyond <= expected <= metric.high + beyond, (name, metric, expected)


LAWS: dict[str, dict[str, Any]] = {
    "exponential": {},
    "log-normal": {"gap_law": "lognormal", "gap_s": 40.0, "gap_sigma": 1.2},
    "bursts and pauses": {"gap_law": "hyperexponential", "gap_s": 10.0, "gap_long_s": 200.0},
    "exclusive": {"relation": "exclusive"},
    "inclusive": {"relation": "inclusive"},
    "agents and one-shots": {"agent_share": 0.4, "agent_gap_s": 5.0, "one_shot_share": 0.1, "context_tokens": 4000.0},
}


@pytest.mark.parametrize("law", LAWS)
def test_hits_by_tier_are_those_of_the_estimate(law: str) -> None:
    options = {"place": "affinity", "policies": "chosen"}
    simulated, promised = both({**SMALL, **LAWS[law]}, duration_s=5400.0, options=options)
    for tier in ("hbm", "dram", "ssd"):
        assert_within(simulated, promised, f"{tier}_hit_share", beyond=0.01)
    assert_within(simulated, promised, "hit_share")
    assert_within(simulated, promised, "prefix_hit_rate")


def test_policies_are_compared_on_the_same_turns() -> None:
    spec = {
        **SMALL,
        "agent_share": 0.4,
        "agent_gap_s": 5.0,
        "one_shot_share": 0.3,
        "ttl_s": 20.0,
        "context_tokens": 4000.0,
    }
    tiers = {"hbm_bytes_per_gpu": 4e9, "dram_bytes_per_node": 0.0, "ssd_bytes_per_node": 0.0}
    simulated, promised = both({**spec, **tiers}, duration_s=3600.0, options={"place": "affinity"})
    for policy in ("lru", "ttl", "value"):
        assert_within(simulated, promised, f"{policy}_hit_share", beyond=0.012)
    hits = {policy: simulated.value(f"{policy}_hit_share") or 0.0 for policy in ("lru", "ttl", "value")}
    assert hits["value"] > hits["lru"] + 0.02
    assert "policies_compared" in {finding.code for finding in simulated.findings}
    assert len(simulated.series["policies"].columns[0].values) == 3


def test_sessions_that_wander_hit_by_chance() -> None:
    tiers = {"dram_bytes_per_node": 0.0, "ssd_bytes_per_node": 0.0, "hbm_bytes_per_gpu": 20e9, "prefill_units": 8}
    spec = {**SMALL, **tiers, "placement": "random", "nodes": 8}
    simulated, promised = both(spec, duration_s=3600.0, options={"policies": "chosen"})
    assert_within(simulated, promised, "hit_share", beyond=0.01)


def test_waits_are_those_of_the_queue_when_any_unit_serves() -> None:
    spec = {**SMALL, "prefill_units": 2, "turns_per_s": 40.0, "active_parameters": 50e9}
    simulated, promised = both(spec, duration_s=3600.0, options={"place": "least_loaded", "policies": "chosen"})
    for name in ("ttft_p50_s", "ttft_p90_s", "ttft_p99_s", "ttft_mean_s"):
        assert simulated.value(name) == pytest.approx(promised.value(name), rel=0.12), name
    assert simulated.value("prefill_utilisation") == pytest.approx(promised.value("prefill_utilisation"), rel=0.04)


def test_at_low_load_the_first_token_takes_its_path() -> None:
    spec = {**SMALL, "turns_per_s": 0.2}
    simulated, promised = both(spec, duration_s=40_000.0, options={"policies": "chosen"})
    for name in ("ttft_p50_s", "ttft_p90_s"):
        assert simulated.value(name) == pytest.approx(promised.value(name), rel=0.04), name


def replayed(ids: np.ndarray, *, capacity: int) -> int:
    """LRU in a few lines."""
    held: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for block in ids.tolist():
        if block in held:
            hits += 1
            held.move_to_end(block)
        else:
            held[block] = None
            if len(held) > capacity:
                held.popitem(last=False)
    return hits


@pytest.mark.parametrize(("name", "most"), [("mooncake-conversation", 0.366), ("mooncake-synthetic", 0.640)])
def test_the_curve_of_a_trace_is_its_replay(name: str, most: float) -> None:
    workload = CATALOG.workload(name)
    spec = {"source": "trace", "workload": name, "turns_per_s": 3.0, "ssd_bytes_per_node": 0.0}
    simulated, _ = both(spec, options={"policies": "chosen"})
    curve = simulated.series["trace_curve"]
    sizes, exact, law = (curve.column(column).values for column in ("capacity_bytes", "exact", "law"))
    assert exact[-1] == pytest.approx(most, abs=0.0005)
    assert workload.blocks is not None
    for place in (len(sizes) // 2, 3 * len(sizes) // 4, len(sizes) - 4):
        blocks = round(float(sizes[place] or 0) / (512 * 160e3))
        hits = replayed(workload.blocks.ids, capacity=blocks)
        assert round(float(exact[place] or 0) * len(workload.blocks.ids)) == hits
        assert law[place] == pytest.approx(exact[place], abs=0.015)


def scan(count: int, *, rounds: int) -> Workload:
    """Documents asked for in a circle."""
    offsets = np.arange(count * rounds + 1)
    ids = np.tile(np.arange(count), rounds)
    lengths = np.full(count * rounds, 512)
    blocks = Blocks(ids, offsets, 512)
    return Workload("scan", np.arange(count * rounds) * 1.0, lengths, np.ones_like(lengths), blocks=blocks)


@pytest.mark.parametrize(("room", "hits"), [(80, 0.0), (120, 1.0)])
def test_a_cyclic_scan_hits_nothing_until_it_fits(room: int, hits: float) -> None:
    tiers = {"nodes": 1, "gpus_per_node": 8, "dram_bytes_per_node": 0.0, "ssd_bytes_per_node": 0.0, "prefill_units": 1}
    spec = {**tiers, "hbm_bytes_per_gpu": room * 512 * 160e3 / 8}
    simulated, promised = both(spec, workload=scan(100, rounds=6), options={"policies": "chosen"})
    assert simulated.value("hit_share") == pytest.approx(hits, abs=1e-9)
    assert promised.value("hit_share") == pytest.approx(hits, abs=1e-9)


def test_an_upgrade_is_cold_and_recovers() -> None:
    options = {"policies": "chosen", "upgrade_at_s": 3000.0, "warmup_s": 1000.0}
    simulated, _ = both({**SMALL, "prefill_units": 3}, duration_s=6000.0, options=options)
    line = simulated.series["timeline"]
    rows = list(zip(line.column("time_s").values, line.column("prefix_hit_rate").values, strict=True))
    before = [float(share or 0) for at, share in rows if 2000 < float(at or 0) < 3000]
    just_after = [float(share or 0) for at, share in rows if 3000 < float(at or 0) < 3040]
    later = [float(share or 0) for at, share in rows if float(at or 0) > 5000]
    assert np.mean(just_after) < 0.5 * np.mean(before)
    assert np.mean(later) == pytest.approx(np.mean(before), abs=0.02)
    assert "upgraded" in {finding.code for finding in simulated.findings}


def test_a_lost_unit_is_told() -> None:
    options = {"policies": "chosen", "lose_unit_at_s": 1000.0, "rejoin_s": 300.0}
    simulated, _ = both({**SMALL, "prefill_units": 3}, duration_s=3000.0, options=options)
    assert "unit_lost" in {finding.code for finding in simulated.findings}
    counts = [simulated.value(f"requests_{name}") or 0.0 for name in ("finished", "rejected", "in_flight")]
    assert simulated.value("requests_arrived") == sum(counts)


def test_the_same_seed_gives_the_same_result() -> None:
    one, _ = both(SMALL, duration_s=600.0, seed=5)
    other, _ = both(SMALL, duration_s=600.0, seed=5)
    assert {name: each.value for name, each in one.metrics.items()} == {
        name: each.value for name, each in other.metrics.items()
    }


def test_progress_runs_over_all_policies_and_a_run_can_be_stopped() -> None:
    hooks = Quiet()
    both(SMALL, hooks=hooks, duration_s=600.0)
    assert hooks.told == sorted(hooks.told)
    assert hooks.told[-1] == pytest.approx(1.0)
    with pytest.raises(Cancelled):
        SIMULATOR.run(KvPoolSpec(**SMALL), CATALOG, SimulationRequest(duration_s=600.0), Quiet(stop=True))


def test_every_chart_of_a_run_has_something_to_draw() -> None:
    simulated, promised = both(SMALL, duration_s=1200.0)
    names = {chart.name for chart in SIMULATOR.charts(KvPoolSpec(**SMALL), promised, simulated)}
    assert {"simulated_hits", "simulated_ttft_cdf", "simulated_policies", "simulated_bytes"} <= names


def test_no_load_is_an_answer() -> None:
    simulated, promised = both({"turns_per_s": 0.0}, duration_s=60.0)
    assert simulated.value("requests_arrived") == 0
    assert simulated.value("hit_share") is None
    assert promised.value("hit_share") == 0


@pytest.mark.parametrize(
    ("message", "request_", "spec"),
    [
        ("options.nothing", {"options": {"nothing": 1}}, {}),
        ("options.policies", {"options": {"policies": "best"}}, {}),
        ("options.rate_scale", {"options": {"rate_scale": -1}}, {}),
        ("options.warmup_s", {"duration_s": 60.0, "options": {"warmup_s": 90}}, {}),
        ("options.upgrade_at_s", {"duration_s": 60.0, "options": {"upgrade_at_s": 90}}, {}),
        ("duration_s", {"duration_s": 1e6, "options": {"rate_scale": 1000}}, {}),
        ("prefill_units", {"duration_s": 1.0}, {"turns_per_s": 1e6}),
        ("seed", {"seed": -1}, {}),
    ],
)
def test_an_impossible_run_is_refused_by_name(message: str, request_: dict[str, Any], spec: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=message):
        SIMULATOR.run(KvPoolSpec(**spec), CATALOG, SimulationRequest(**request_), Quiet())


def test_a_trace_without_hashes_is_refused() -> None:
    trace = CATALOG.workload("azure-2023-conversation")
    with pytest.raises(ValueError, match="block hashes"):
        SIMULATOR.run(KvPoolSpec(), CATALOG, SimulationRequest(workload=trace), Quiet())


def test_the_estimate_of_the_run_is_the_estimate_where_nothing_is_young() -> None:
    """With one unit and caches long warm, nothing is left of the start."""
    spec = {**SMALL, "prefill_units": 1, "turns_per_s": 2.0, "eviction": "lru", "nodes": 1}
    _, promised = both(spec, duration_s=100_000.0, options={"place": "affinity", "policies": "chosen"})
    alone = estimate(KvPoolSpec(**spec), CATALOG)
    for name in ("hit_share", "hbm_hit_share", "ttft_p50_s", "prefix_hit_rate"):
        assert promised.value(name) == pytest.approx(alone.value(name), rel=1e-3), name
