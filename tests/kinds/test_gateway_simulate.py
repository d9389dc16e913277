"""The simulation of a gateway: beside the estimate where its assumptions hold, and what only time shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from planner.catalog import files
from planner.core.result import Metric, Result
from planner.core.simulation import Blocks, Cancelled, SimulationRequest, Workload
from planner.kinds import get
from planner.kinds.gateway.expected import loaded
from planner.kinds.gateway.simulation_options import OPTIONS, options

KIND = get("gateway")
CATALOG = files.load()
SMALL: dict[str, Any] = {
    # A fleet a twentieth of the reference: 10 instances at 250 req/s, warm within half a minute.
    "peak_rps": 250.0, "instances": 10, "kv_tokens_per_instance": 500_000, "prefix_groups": 100, "gap_s": 5.0,
    "output_tokens": 200.0, "hot_prefix_cap": None,
}  # fmt: skip
POLICIES = ["Random", "Round robin", "Least requests", "Power of two choices", "Bounded-load hash", "Longest prefix"]


class Watch:
    """Hooks that remember, and may ask to stop."""

    def __init__(self, *, stop_at: float = 2.0) -> None:
        self.fractions: list[float] = []
        self._stop_at = stop_at

    def progress(self, fraction: float, *, simulated_s: float, events: int, partial: Any = None) -> None:
        self.fractions.append(fraction)

    def cancelled(self) -> bool:
        return bool(self.fractions) and self.fractions[-1] >= self._stop_at


def run(
    spec: dict[str, Any],
    *,
    duration_s: float | None = 120.0,
    seed: int = 1,
    hooks: Any = None,
    trace: Any = None,
    **given: Any,
) -> Result:
    request = SimulationRequest(seed=seed, duration_s=duration_s, workload=trace, options=given)
    model = KIND.spec.model_validate(spec)
    assert KIND.simulator is not None
    return KIND.simulator.run(model, CATALOG, request, hooks or Watch())


def beside(spec: dict[str, Any], *, duration_s: float = 120.0, trace: Any = None, **given: Any) -> Result:
    request = SimulationRequest(duration_s=duration_s, workload=trace, options=given)
    assert KIND.simulator is not None
    assert KIND.simulator.expected is not None
    return KIND.simulator.expected(KIND.spec.model_validate(spec), CATALOG, request)


def near(metric: Metric, expected: float | None, *, slack: float = 0.0) -> bool:
    """Within the interval of the simulation, widened by a slack that the test argues."""
    assert expected is not None
    assert metric.low is not None
    assert metric.high is not None
    return metric.low - slack <= expected <= metric.high + slack


def of_policy(result: Result, series: str, policy: str, column: str) -> Any:
    table = result.series[series]
    return table.column(column).values[list(table.column("policy").values).index(policy)]


@pytest.fixture(scope="module")
def all_policies() -> Result:
    return run(SMALL)


def test_hits_of_every_policy_are_those_of_the_estimate(all_policies: Result) -> None:
    """Within two points: the interval of hits is a few tenths, and where the ring passes on is one draw of six."""
    estimate = beside(SMALL)
    for policy in ("Random", "Round robin", "Cost: queue + prefill"):
        simulated = of_policy(all_policies, "simulated_policies", policy, "hit_share")
        assert simulated == pytest.approx(of_policy(estimate, "policies", policy, "hit_share"), abs=0.02), policy


def test_the_chosen_policy_comes_first_and_all_see_the_same_requests(all_policies: Result) -> None:
    names = list(all_policies.series["simulated_policies"].column("policy").values)
    assert names[0] == "Cost: queue + prefill"
    assert set(POLICIES) <= set(names)


def test_held_captured_and_delivered_fall_in_this_order(all_policies: Result) -> None:
    held, captured = all_policies.value("hit_share_held"), all_policies.value("hit_share_captured")
    assert held is not None
    assert captured is not None
    assert held >= captured - 0.005


def test_requests_are_conserved(all_policies: Result) -> None:
    parts = ("requests_finished", "requests_rejected", "requests_failed", "requests_in_flight")
    assert all_policies.value("requests_arrived") == sum(all_policies.value(name) or 0.0 for name in parts)


def test_random_waits_as_pollaczek_and_khinchine_say() -> None:
    """No reuse and no decode: M/G/1, prompts of log-normal length with σ 0.5, c² = e^0.25 − 1."""
    spec = {
        "peak_rps": 60.0, "instances": 10, "prefix_groups": 0, "turns": 1.0,
        "input_tokens": 10_000.0, "output_tokens": 1.0,
        "prefill_tokens_per_s": 100_000.0, "policy": "random", "hot_prefix_cap": None, "queue_limit": 10_000,
        "request_cpu_s": 0.0, "decision_cpu_s": 0.0, "prompt_token_cpu_s": 0.0, "index_hop_s": 0.0,
    }  # fmt: skip
    result = run(spec, duration_s=3000.0, policies="chosen")
    rho = 0.6
    wait_s = rho / (1 - rho) * math.exp(0.25) / 2 * 0.1
    assert near(result.metrics["ttft_mean_s"], 0.1 + wait_s, slack=0.002)


def test_the_75_of_the_reference_within_the_spread_of_the_phase() -> None:
    """Probes alone: 62.5 on average, 50 to 75 by the phase of the last probe, give or take the Poisson spread."""
    spec = {"detection": "active", "broken_streams": "error", "policy": "round_robin", "prefill_tokens_per_s": 3e5}
    lost = [
        run(spec, duration_s=12.0, seed=seed, policies="chosen", fail_at_s=6.0, warmup_s=1.0).value("requests_lost")
        for seed in range(1, 9)
    ]
    mean = sum(each or 0.0 for each in lost) / len(lost)
    # The phase spreads by 25/sqrt(12), chance by sqrt(62.5); retries are attempts of their own and go elsewhere.
    spread = math.hypot(25 / math.sqrt(12), math.sqrt(62.5)) / math.sqrt(len(lost))
    assert abs(mean - 62.5) < 3.5 * spread
    assert max(each or 0.0 for each in lost) < 75 + 4 * math.sqrt(75)


def test_a_dead_instance_that_refuses_gets_every_request_from_who_counts_them() -> None:
    spec = {"detection": "active", "policy": "least_requests", "prefill_tokens_per_s": 3e5}
    lost = run(spec, duration_s=12.0, policies="chosen", fail_at_s=6.0, warmup_s=1.0).value("requests_lost")
    assert lost is not None
    assert lost > 0.5 * (beside(spec).value("requests_lost") or math.inf)
    assert any(each.code == "dead_looks_idle" for each in beside(spec).findings)


def test_errors_of_requests_cut_the_loss_to_one_a_gateway() -> None:
    result = run({"detection": "both"}, duration_s=12.0, policies="chosen", fail_at_s=6.0, warmup_s=1.0)
    lost = result.value("requests_lost")
    assert lost is not None
    assert 1 <= lost <= 8
    said = next(each.message for each in result.findings if each.code == "instances_lost")
    assert "Errors told the first gateway" in said
    assert "none failed for good" in said
    assert result.value("requests_failed") == 0


def test_streams_that_hang_are_cut_and_not_counted_as_requests_sent_to_the_dead() -> None:
    """Eight gateways wait for five errors each: an Erlang time of 1.6 s after the timeout of 4 s, at 25 req/s."""
    spec = {
        "gateway_replicas": 8, "failure_mode": "hangs", "request_timeout_s": 4.0, "detection": "passive",
        "passive_failures": 5, "policy": "round_robin", "prefill_tokens_per_s": 3e5,
    }  # fmt: skip
    result = run(spec, duration_s=20.0, policies="chosen", fail_at_s=8.0, warmup_s=4.0)
    sent = result.value("requests_lost") or 0.0
    assert sent == pytest.approx(25 * (4.0 + 1.6), abs=3 * math.sqrt(140))
    assert (result.value("streams_cut") or 0.0) > 100


def test_policies_that_find_the_same_or_wait_for_decode_tie_in_the_run_too() -> None:
    spec = {**SMALL, "kv_tokens_per_instance": 50_000_000, "turns": 1.0, "prefix_groups": 20}
    for given in (spec, {**spec, "input_tokens": 256.0, "prefix_tokens": 128.0, "output_tokens": 400.0}):
        codes = {each.code for each in run(given, duration_s=60.0).findings}
        assert "policies_tie" in codes
        assert "not_steady" not in codes


def test_a_run_that_turns_most_away_does_not_say_that_the_objective_is_met() -> None:
    spec = {
        "peak_rps": 300.0, "instances": 16, "prefix_groups": 3, "prefix_exponent": 2.0, "prefix_tokens": 3072.0,
        "turns": 1.0, "output_tokens": 50.0, "policy": "prefix_aware", "hot_prefix_cap": None,
        "prefill_tokens_per_s": 20_000.0,
    }  # fmt: skip
    result = run(spec, duration_s=60.0)
    assert "turned away" in result.answer.sentence
    hot = next(each for each in result.findings if each.code == "hot_spot")
    assert hot.severity == "warning"
    assert "With a cap and spilling by load" in hot.message


def test_a_run_without_a_failure_has_no_figures_of_one() -> None:
    result = run(SMALL, duration_s=20.0, policies="chosen")
    assert "requests_lost" not in result.metrics
    assert "streams_cut" not in result.metrics


def test_about_three_hundred_streams_break_and_go_on() -> None:
    result = run({}, duration_s=60.0, policies="chosen", fail_at_s=45.0, warmup_s=30.0)
    cut = result.value("streams_cut")
    assert cut is not None
    assert cut == pytest.approx(300, rel=0.35)
    assert result.value("streams_resumed") == pytest.approx(cut, abs=0.1 * cut)
    assert result.series["simulated_drill"].column("broken").values[-1] == pytest.approx(cut, abs=1)


def test_policies_tie_when_decode_binds() -> None:
    spec = {
        "peak_rps": 100.0, "instances": 10, "input_tokens": 256.0, "prefix_tokens": 128.0, "output_tokens": 1500.0,
        "turns": 2.0, "prefix_groups": 50, "tpot_s": 0.01,
    }  # fmt: skip
    result = run(spec)
    p50 = [value for value in result.series["simulated_policies"].column("ttft_p50_s").values if value]
    assert max(p50) - min(p50) < 0.01
    assert any(each.code == "policies_tie" for each in beside(spec).findings)


def test_one_shared_prefix_makes_a_hot_spot_without_a_cap_and_none_with_it() -> None:
    spec = {
        "peak_rps": 300.0, "instances": 16, "prefix_groups": 3, "prefix_exponent": 2.0, "prefix_tokens": 3072.0,
        "turns": 1.0, "output_tokens": 50.0, "policy": "prefix_aware", "hot_prefix_cap": None,
    }  # fmt: skip
    naive = run(spec, duration_s=60.0, policies="chosen")
    capped = run({**spec, "policy": "cost_based", "hot_prefix_cap": 1.25}, duration_s=60.0, policies="chosen")
    assert (naive.value("load_skew") or 0.0) > 4
    assert (capped.value("load_skew") or 9.0) < 1.4
    assert any(each.code == "hot_spot" for each in KIND.estimate(KIND.spec.model_validate(spec), CATALOG).findings)


def test_a_queue_limit_keeps_goodput_past_saturation() -> None:
    spec = {**SMALL, "policy": "random", "ttft_p99_slo_s": 0.5}
    limited = run(spec, duration_s=60.0, policies="chosen", rate_scale=2.5)
    unlimited = run({**spec, "queue_limit": 10_000}, duration_s=60.0, policies="chosen", rate_scale=2.5)
    assert (limited.value("goodput_rps") or 0.0) > 3 * (unlimited.value("goodput_rps") or 0.0)
    assert (limited.value("requests_rejected") or 0.0) > 0


def test_a_canary_starts_cold() -> None:
    result = run({**SMALL, "canary_weight": 0.3}, policies="chosen", canary_at_s=100.0)
    assert any(each.code == "canary_cold" for each in result.findings)


def test_the_same_seed_gives_the_same_figures_and_another_does_not() -> None:
    one, same = (run(SMALL, duration_s=20.0, policies="chosen") for _ in range(2))
    other = run(SMALL, duration_s=20.0, policies="chosen", seed=2)
    assert one.metrics == same.metrics
    assert one.metrics != other.metrics


def test_progress_grows_over_all_policies_and_a_run_stops_when_asked() -> None:
    watch = Watch()
    run(SMALL, duration_s=20.0, hooks=watch)
    assert watch.fractions == sorted(watch.fractions)
    assert watch.fractions[-1] <= 1.0
    with pytest.raises(Cancelled):
        run(SMALL, duration_s=3000.0, hooks=Watch(stop_at=0.01))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"router": 1}, "options.router"),
        ({"policies": "best"}, "options.policies"),
        ({"rate_scale": "many"}, "options.rate_scale"),
        ({"arrivals": "trace"}, "options.arrivals"),
        ({"warmup_s": 500.0}, "options.warmup_s"),
        ({"fail_at_s": 500.0}, "options.fail_at_s"),
        ({"rate_scale": 1000.0}, "duration_s"),
    ],
)
def test_an_impossible_option_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        run({}, **given)


def test_without_requests_nothing_is_simulated() -> None:
    result = run({"peak_rps": 0.0})
    assert [each.code for each in result.findings] == ["no_requests"]
    assert result.value("ttft_p99_s") is None


def test_options_have_their_defaults() -> None:
    assert options({}).rate_scale == 1.0
    assert {option.name for option in OPTIONS} == set(options({}).__dataclass_fields__)


def trace(*, blocks: bool) -> Workload:
    """A hundred conversations of five turns, each a block of 64 tokens longer than the one before."""
    turns, sessions = 5, 100
    at_s = np.arange(turns * sessions) / 10.0
    session, turn = np.tile(np.arange(sessions), turns), np.repeat(np.arange(turns), sessions)
    lengths = turn + 4
    ids = np.concatenate([np.arange(n) + 20 * s for s, n in zip(session, lengths, strict=True)])
    return Workload(
        name="talks",
        arrival_s=at_s,
        input_tokens=lengths * 64,
        output_tokens=np.full(turns * sessions, 20),
        blocks=Blocks(ids, np.concatenate([[0], np.cumsum(lengths)]), 64) if blocks else None,
    )


def test_a_trace_is_replayed_with_what_its_prompts_share() -> None:
    """All caches hold everything: a turn of n blocks finds the n − 1 of the turn before."""
    result = run({"instances": 4}, duration_s=None, trace=trace(blocks=True), policies="chosen", warmup_s=0.0)
    turns = np.arange(5)
    expected = (turns[1:] + 3).sum() / (turns + 4).sum()
    assert result.value("hit_share") == pytest.approx(expected, abs=0.01)
    plain = run({"instances": 4}, duration_s=None, trace=trace(blocks=False), policies="chosen", warmup_s=0.0)
    assert plain.value("hit_share") == 0


def test_the_estimate_of_a_trace_has_its_rate_and_lengths() -> None:
    request = SimulationRequest(workload=trace(blocks=True))
    spec = loaded(KIND.spec(), request=request, chosen=options({}))
    assert spec.peak_rps == pytest.approx(10.0)
    assert spec.input_tokens == pytest.approx(6 * 64)
    assert spec.gateway_replicas == 5


def test_every_chart_of_a_run_draws() -> None:
    from planner.charts import svg, table

    result, estimate = run(SMALL, duration_s=30.0, fail_at_s=20.0), beside(SMALL, duration_s=30.0)
    assert KIND.simulator is not None
    charts = KIND.simulator.charts(KIND.spec.model_validate(SMALL), estimate, result)
    names = {chart.name for chart in charts}
    assert {"simulated_policy_hit_share", "simulated_skew", "simulated_busy", "simulated_drill"} <= names
    for chart in charts:
        assert svg.draw(chart, width=470).startswith("<svg")
        assert table.rows(chart)[1]


def test_the_runs_that_answers_offer_can_be_started() -> None:
    assert KIND.simulator is not None
    spec = KIND.spec()
    offered = [each.simulate for each in KIND.advice.follow_ups(spec, KIND.estimate(spec, CATALOG)) if each.simulate]
    assert len(offered) >= 4
    for given in offered:
        beside({}, duration_s=KIND.simulator.default_duration_s, **given)
