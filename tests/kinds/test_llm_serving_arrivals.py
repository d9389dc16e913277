"""Ways in which requests arrive in a simulation of this kind: what they bring, and what cannot be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner import kinds
from planner.catalog import files
from planner.core.simulation import Blocks, SimulationRequest, Workload
from planner.kinds.llm_serving.arriving import arrive, mean_rps, rate_for
from planner.kinds.llm_serving.expected import load_of
from planner.kinds.llm_serving.physics import physics
from planner.kinds.llm_serving.simulate import arrivals_for
from planner.kinds.llm_serving.simulation_options import options
from planner.kinds.llm_serving.spec import LlmServingSpec
from sims.engine.hooks import NoHooks
from sims.parts.rates import expected_count, highest_per_s

CATALOG = files.load()
KIND = kinds.get("llm_serving")
SPEC = LlmServingSpec(peak_rps=20.0, mean_to_peak=0.7)
OWN = {"prefix_hits": "own_caches"}
HOURS = ",".join(str(1 + hour % 12) for hour in range(24))


def trace(requests: int = 100, *, gap_s: float = 0.5, blocks: Blocks | None = None) -> Workload:
    numbers = np.arange(requests)
    return Workload("even", numbers * gap_s, 1000 + numbers, np.full(requests, 100), blocks=blocks)


def mean_of(asked: SimulationRequest) -> float:
    return float(load_of(SPEC, request=asked, chosen=options(asked.options))["peak_rps"])


def drawn(asked: SimulationRequest) -> np.ndarray:
    source = arrivals_for(SPEC, request=asked, chosen=options(asked.options), most_tokens=100_000)
    return np.concatenate(list(source.chunks(asked.seed)))


def test_of_a_day_the_peak_is_the_designs_and_the_mean_is_its_mean_demand() -> None:
    chosen = options({"arrivals": "diurnal"})
    rate = rate_for(SPEC, chosen=chosen)
    assert highest_per_s(rate, until_s=86_400.0) == pytest.approx(20.0, rel=1e-4)
    assert expected_count(rate, until_s=86_400.0) == pytest.approx(0.7 * 20 * 86_400, rel=1e-4)
    flat = LlmServingSpec(peak_rps=20.0)
    assert rate_for(flat, chosen=chosen).mean_per_s == pytest.approx(12.0, rel=1e-4)
    assert mean_of(SimulationRequest(options={"arrivals": "diurnal"})) == pytest.approx(14.0, rel=1e-4)


def test_a_day_may_be_told_by_the_hour_and_begin_at_any() -> None:
    asked = {"arrivals": "diurnal", "hourly": HOURS, "start_h": 11.0}
    request = SimulationRequest(duration_s=3600.0, options=asked)
    assert mean_of(request) == pytest.approx(20.0)  # the twelfth hour is the highest
    day = SimulationRequest(duration_s=86_400.0, options=asked)
    assert mean_of(day) == pytest.approx(20.0 * 6.5 / 12)


def test_a_day_is_simulated_whole_where_nobody_says_how_long() -> None:
    asked = SimulationRequest(options={"arrivals": "diurnal", "day_s": 600.0})
    source = arrivals_for(SPEC, request=asked, chosen=options(asked.options), most_tokens=1000)
    assert source.horizon_s == 600.0
    assert len(drawn(asked)) == pytest.approx(0.7 * 20 * 600, abs=4 * math.sqrt(8400))


def test_bursts_and_uneven_gaps_keep_the_rate_of_the_design() -> None:
    for asked in ({"arrivals": "bursty", "burst_times": 9.0}, {"arrivals": "gamma", "gap_cv": 3.0}):
        assert mean_of(SimulationRequest(duration_s=600.0, options=asked)) == pytest.approx(20.0)
    gamma = drawn(SimulationRequest(requests=20_000, options={"arrivals": "gamma", "gap_cv": 3.0}))
    assert np.diff(gamma["at_s"]).std() * 20 == pytest.approx(3.0, rel=0.1)


def test_a_spike_is_part_of_the_load() -> None:
    spike = {"arrivals": "poisson", "spike_at_s": 100.0, "spike_for_s": 50.0, "spike_times": 5.0}
    assert mean_of(SimulationRequest(duration_s=200.0, options=spike)) == pytest.approx(20 * (150 + 5 * 50) / 200)


def test_a_stretched_trace_has_the_rate_of_its_requests_or_its_own() -> None:
    for keeps, rate in (("requests", 100 / 500), ("rate", 2.0)):
        asked = {"warp_to_s": 500.0, "warp_keeps": keeps}
        assert mean_of(SimulationRequest(workload=trace(), options=asked)) == pytest.approx(rate, rel=0.02)


def test_the_load_of_a_part_of_a_trace_is_that_of_its_requests() -> None:
    asked = SimulationRequest(workload=trace(), options={"trace_start_s": 25.0, "repeat": 2})
    load = load_of(SPEC, request=asked, chosen=options(asked.options))
    assert load["input_tokens"] == pytest.approx(1000 + np.arange(50, 100).mean())
    found = drawn(asked)
    assert found["input"].tolist() == [*range(1050, 1100)] * 2
    assert load["input_sigma"] == pytest.approx(math.sqrt(math.log1p((found["input"].std() / 1074.5) ** 2)))


def test_nothing_arrives_where_no_request_is_left() -> None:
    asked = SimulationRequest(workload=trace(), options={"trace_start_s": 1e6})
    assert not arrive(SPEC, request=asked, chosen=options(asked.options))
    assert mean_of(asked) == 0.0
    found = KIND.simulator.run(SPEC, CATALOG, asked, None) if KIND.simulator else None
    assert found is not None
    assert [finding.code for finding in found.findings] == ["no_requests"]


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"arrivals": "diurnal", "hourly": "1 2 3"}, "options.hourly"),
        ({"arrivals": "diurnal", "hourly": "a" + HOURS[1:]}, "options.hourly"),
        ({"arrivals": "diurnal", "hourly": ",".join("0" * 24)}, "options.hourly"),
        ({"arrivals": "diurnal", "hourly": 5}, "options.hourly"),
        ({"arrivals": "diurnal", "peak_h": 25.0}, "options.peak_h"),
        ({"arrivals": "weekly"}, "options.arrivals"),
        ({"arrivals": "poisson", "spike_at_s": 1e6}, "options.spike_at_s"),
        ({"arrivals": "poisson", "rate_scale": 1e4}, "duration_s"),
    ],
)
def test_impossible_drawn_arrivals_are_refused_by_name(asked: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        drawn(SimulationRequest(duration_s=1e5, options=asked))


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"warp_to_s": 100.0, "rate_scale": 2.0}, "options.rate_scale"),
        ({"spike_at_s": 1.0}, "options.spike_at_s"),
        ({"repeat": 100_000, "warp_to_s": 1e6, "warp_keeps": "rate"}, "options.repeat"),
    ],
)
def test_an_impossible_replay_is_refused_by_name(asked: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        drawn(SimulationRequest(workload=trace(), options=asked))


def test_days_differ_in_luck_and_requests_do_not_change_with_the_rate() -> None:
    """Common random numbers: twice the rate is the same requests twice as fast."""
    slow, fast = (
        drawn(
            SimulationRequest(requests=500, seed=4, options={"arrivals": "bursty", "burst_times": 1.0, "rate_scale": s})
        )
        for s in (1.0, 2.0)
    )
    assert np.allclose(slow["at_s"], 2 * fast["at_s"])
    assert np.array_equal(slow["input"], fast["input"])
    assert mean_rps(SPEC, request=SimulationRequest(requests=10), chosen=options({})) == pytest.approx(20.0)


def blocked() -> Workload:
    """Every second prompt begins with the two blocks of the first, every other one with two of its own."""
    chains = [[0, 1, 2 + 3 * at] if at % 2 == 0 else [3 * at, 3 * at + 1, 2 + 3 * at] for at in range(100)]
    _, ids = np.unique(np.array(chains).ravel(), return_inverse=True)
    return trace(blocks=Blocks(ids, np.arange(101) * 3, 512))


def test_the_blocks_of_a_trace_reach_the_units_own_caches() -> None:
    found = drawn(SimulationRequest(workload=blocked(), options={"prefix_hits": "own_caches"}))
    assert found["cached"].tolist() == [0] * 100
    assert found["blocks"].tolist() == [3] * 100
    assert (found["stem"][::2] == found["stem"][0]).all()
    assert found["stem"][0] >= 0
    assert (found["stem"][1::2] == -1).all()
    assert drawn(SimulationRequest(workload=blocked()))["blocks"].tolist() == [0] * 100


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        (SPEC, SimulationRequest(workload=trace(), options={"prefix_hits": "own_caches"})),
        (SPEC, SimulationRequest(duration_s=10.0, options={"prefix_hits": "own_caches"})),
        (
            SPEC,
            SimulationRequest(workload=blocked(), options={"prefix_hits": "own_caches", "arrivals": "poisson"}),
        ),
    ],
)
def test_own_caches_need_a_trace_with_blocks(spec: LlmServingSpec, asked: SimulationRequest) -> None:
    with pytest.raises(ValueError, match=r"options\.prefix_hits"):
        arrivals_for(spec, request=asked, chosen=options(asked.options), most_tokens=1000)


def test_the_kv_pool_of_a_prefill_unit_is_what_its_cache_may_hold() -> None:
    """The reference: 32 H800 with a latent cache of 70,272 bytes a token, each prompt on one GPU."""
    facts = physics(LlmServingSpec(), catalog=CATALOG)
    pool = facts.prefill_memory.kv_pool_bytes * 32 / 70_272
    assert facts.kv_tokens_per_prefill_unit == pytest.approx(pool - 16_384, rel=0.02)


@pytest.mark.parametrize("topology", ["disaggregated", "aggregated"])
def test_a_units_own_cache_finds_what_its_prompts_share(topology: str) -> None:
    """Two prompts in turn on few units: each unit has seen the two shared blocks of three before."""
    at, shared = np.arange(200), np.arange(200) % 2
    chains = np.stack([2 * shared, 2 * shared + 1, 4 + at], axis=1)
    asked = Workload(
        "pairs", at * 5.0, np.full(200, 1536), np.full(200, 2), blocks=Blocks(chains.ravel(), np.arange(201) * 3, 512)
    )
    spec = LlmServingSpec(peak_rps=80.0, topology=topology)

    def share(router: str) -> str:
        request = SimulationRequest(workload=asked, options={**OWN, "router": router, "warmup_s": 50.0})
        assert KIND.simulator is not None
        result = KIND.simulator.run(spec, CATALOG, request, NoHooks())
        assert result.metrics["requests_finished"].value == 200
        return next(finding.message for finding in result.findings if finding.code == "own_cache_hits")

    assert "found 66.7\u00a0%" in share("round_robin")
    assert "found 66.7\u00a0%" in share("cache_aware")
