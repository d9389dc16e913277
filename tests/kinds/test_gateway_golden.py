"""Published and derived tables through the kind: values from notes, from theory or from a few independent lines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from planner.catalog import files
from planner.core.result import Result
from planner.kinds import get

KIND = get("gateway")
CATALOG = files.load()


def answer(**given: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(given), CATALOG)


def value(result: Result, name: str) -> float:
    found = result.value(name)
    assert found is not None, name
    return found


def outcome(result: Result, policy: str, column: str) -> float | None:
    series = result.series["policies"]
    row = list(series.column("policy").values).index(policy)
    found = series.column(column).values[row]
    assert found is None or isinstance(found, int | float)
    return found


PURE_QUEUE: dict[str, Any] = {
    # No cache, no reuse, no decode: prompts of 1,000 tokens at 10,000 tok/s are a service of 0.1 s.
    "kv_tokens_per_instance": 0, "prefix_groups": 0, "turns": 1.0, "output_tokens": 0.0, "input_tokens": 1000.0,
    "prefix_tokens": 0.0, "prefill_tokens_per_s": 10_000.0, "instances": 200, "view_interval_s": 0.0,
    "input_sigma": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("routers", "failures", "mean_s", "last_s", "lost"),
    [(1, 5, 0.20, 0.20, 5), (8, 1, 0.32, 0.870, 8), (8, 5, 1.6, 2.74, 40), (32, 5, 6.4, 13.8, 160)],
)
def test_passive_detection_by_private_counters(
    routers: int, failures: int, mean_s: float, last_s: float, lost: float
) -> None:
    result = answer(gateway_replicas=routers, passive_failures=failures)
    assert value(result, "detection_passive_mean_s") == pytest.approx(mean_s, rel=0.005)
    assert value(result, "detection_passive_last_s") == pytest.approx(last_s, rel=0.005)
    assert value(result, "requests_lost_passive") == lost


def test_marking_at_the_first_error_takes_a_few_hundred_milliseconds() -> None:
    assert 0.1 < value(answer(), "detection_passive_last_s") < 0.5


def test_probes_with_a_timeout_of_a_second_lose_87_5_on_average_and_100_at_most() -> None:
    result = answer(failure_mode="hangs")
    assert value(result, "requests_lost_before_ejection_mean") == 87.5
    assert value(result, "requests_lost_before_ejection") == 100


@pytest.mark.parametrize(
    ("weight", "worse", "samples", "seconds"),
    [(0.01, 0.002, 8137, 162.7), (0.05, 0.002, 8602, 34.4), (0.5, 0.002, 18_519, 7.4), (0.05, 0.0011, 672_895, 2692)],
)
def test_samples_of_a_canary(weight: float, worse: float, samples: int, seconds: float) -> None:
    """The normal law; the kind takes the exact test where that asks for more because few errors are expected."""
    result = answer(canary_weight=weight, canary_error_rate=worse)
    expected = weight * 5000 * value(result, "canary_s")
    assert expected == pytest.approx(value(result, "canary_samples"))
    assert value(result, "canary_samples") >= samples * 0.9999
    if samples * 0.001 >= 20:
        assert value(result, "canary_samples") == pytest.approx(samples, rel=1e-4)
        assert value(result, "canary_s") == pytest.approx(seconds, rel=2e-3)


@pytest.mark.parametrize(("quantile", "samples"), [(0.99, 5430), (0.9, 1232), (0.5, 722)])
def test_samples_of_a_slow_down(quantile: float, samples: int) -> None:
    result = answer(latency_quantile=quantile)
    assert value(result, "canary_latency_samples") == pytest.approx(samples, abs=0.5)


def test_the_exact_canary_has_its_power_by_an_independent_sum() -> None:
    result = answer(canary_weight=0.01)
    count = math.ceil(value(result, "canary_samples"))
    critical = next(c for c in range(1, 200) if _tail(c, count, 0.001) <= 0.05)
    assert _tail(critical, count, 0.002) >= 0.8
    assert value(result, "canary_samples") > 8137


def _tail(at_least: int, count: int, rate: float) -> float:
    """P(X >= c) of a binomial number, by its terms."""
    logs = [
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        + k * math.log(rate) + (count - k) * math.log1p(-rate)
        for k in range(at_least)
    ]  # fmt: skip
    return 1 - math.fsum(math.exp(log) for log in logs)


@pytest.mark.parametrize(
    ("factor", "limit", "goodput"),
    [(0.8, 8, 0.7465), (0.95, 20, 0.5668), (1.2, 10, 0.7740), (1.2, 50, 0.0007), (2.0, 5, 0.9663), (2.0, 20, 0.0133)],
)
def test_goodput_of_a_queue_limit(factor: float, limit: int, goodput: float) -> None:
    """A deadline of ten service times; goodput over the service rate of all instances."""
    result = answer(
        **PURE_QUEUE, peak_rps=200.0, overload_factor=factor, queue_limit=limit, ttft_p99_slo_s=1.0, policy="random"
    )
    assert value(result, "goodput_rps_overload") / 2000 == pytest.approx(goodput, abs=6e-5)


@pytest.mark.parametrize(("rho", "waits"), [(0.5, 1.0), (0.8, 4.0), (0.9, 9.0)])
def test_random_routing_of_constant_prompts_waits_half_of_what_m_m_1_does(rho: float, waits: float) -> None:
    """Pollaczek and Khinchine: rho / (2 (1 - rho)) service times for constant service."""
    result = answer(**PURE_QUEUE, peak_rps=rho * 2000)
    assert outcome(result, "Random", "prefill_wait_s") == pytest.approx(0.1 * waits / 2, rel=1e-9)


@pytest.mark.parametrize(("rho", "sojourn"), [(0.5, 1.2657), (0.8, 1.9474), (0.9, 2.6141), (0.95, 3.3830)])
def test_two_choices_by_fresh_counts_without_decode(rho: float, sojourn: float) -> None:
    """With nothing but prefill the count of requests is the queue; half the wait because service is constant."""
    result = answer(**PURE_QUEUE, peak_rps=rho * 2000)
    wait = outcome(result, "Power of two choices", "prefill_wait_s")
    assert wait == pytest.approx(0.1 * (sojourn - 1) / 2, rel=1e-4)


def test_hot_prefixes_of_the_notes() -> None:
    """2,000 prefixes, exponent 1, cap 1.25: 19 prefixes on 79 places; the fullest near 25 times the mean."""
    said = next(each.message for each in answer().findings if each.code == "hot_prefixes")
    assert "19 prefixes" in said
    assert "79 places" in said
    assert outcome(answer(), "Longest prefix, no cap", "load_skew") == pytest.approx(25.3, abs=0.2)


def test_hits_of_affinity_agree_with_an_independent_replay() -> None:
    """One LRU over prefixes and growing histories, in a few lines, against the law of the characteristic time."""
    spec: dict[str, Any] = {
        "peak_rps": 40.0, "instances": 4, "kv_tokens_per_instance": 40_000, "prefix_groups": 60, "prefix_tokens": 512.0,
        "input_tokens": 1024.0, "output_tokens": 0.0, "turns": 4.0, "gap_s": 5.0, "gap_sigma": 0.8,
        "prefill_tokens_per_s": 1e6, "policy": "prefix_aware", "hot_prefix_cap": None, "event_lag_s": 0.0,
    }  # fmt: skip
    expected = answer(**spec)
    prefix, history = _replayed(spec, seconds=1500.0)
    assert value(expected, "prefix_hit_share") == pytest.approx(prefix, abs=0.02)
    assert value(expected, "history_hit_share") == pytest.approx(history, abs=0.02)


def _replayed(spec: dict[str, Any], *, seconds: float) -> tuple[float, float]:
    """Whole prefixes and whole histories as items of one LRU cache of the fleet; hits after a fifth of the time."""
    draw = np.random.default_rng(11)
    groups, turns, rate = spec["prefix_groups"], spec["turns"], spec["peak_rps"]
    weights = 1 / np.arange(1, groups + 1)
    per_turn = (spec["input_tokens"] - spec["prefix_tokens"]) / turns
    mu = math.log(spec["gap_s"]) - spec["gap_sigma"] ** 2 / 2
    events: list[tuple[float, int, int, int]] = []
    starts = np.cumsum(draw.exponential(turns / rate, round(seconds * rate / turns)))
    chosen = draw.choice(groups, size=len(starts), p=weights / weights.sum())
    for session, (start, group) in enumerate(zip(starts.tolist(), chosen.tolist(), strict=True)):
        at, turn = start, 0
        while True:
            events.append((at, session, group, turn))
            turn += 1
            if draw.random() < 1 / turns:
                break
            at += draw.lognormal(mu, spec["gap_sigma"])
    capacity, used = spec["instances"] * spec["kv_tokens_per_instance"], 0.0
    held: dict[tuple[str, int], float] = {}
    found = {"prefix": [0, 0], "history": [0.0, 0.0]}
    for at, session, group, turn in sorted(events):
        late = at > seconds / 5
        size = per_turn * (turn + 1)
        if late:
            found["prefix"][0] += ("prefix", group) in held
            found["prefix"][1] += 1
            if turn:
                before = per_turn * turn
                found["history"][0] += before if ("history", session) in held else 0.0
                found["history"][1] += before
        for key, tokens in ((("history", session), size), (("prefix", group), spec["prefix_tokens"])):
            used += tokens - held.pop(key, 0.0)
            held[key] = tokens
        while used > capacity:
            oldest = next(iter(held))
            used -= held.pop(oldest)
    return found["prefix"][0] / found["prefix"][1], found["history"][0] / found["history"][1]


def test_cores_of_the_notes() -> None:
    """Relay alone 10 cores; bodies and chunks through an external processor 31 to 72 and 200 to 400."""
    assert dict(zip(*(answer().series["cores"].column(name).values for name in ("work", "cores")), strict=True))[
        "events of streams"
    ] == pytest.approx(10)
    cores = answer(processing="external").series["cores"]
    by_work = dict(zip(cores.column("work").values, cores.column("cores").values, strict=True))
    assert 31 <= float(by_work["prompts"] or 0) <= 72
    assert 200 <= float(by_work["events of streams"] or 0) <= 400


def test_events_of_an_index_at_half_hits() -> None:
    """2 * 25 * (0.5 * 4,096 + 400) / 64 = 1,912.5 an instance; the kind uses the hits of its own policy."""
    result = answer()
    hit = value(result, "hit_share")
    assert value(result, "index_events_per_s_per_instance") == pytest.approx(50 * ((1 - hit) * 4096 + 400) / 64)


@pytest.mark.parametrize(
    ("miss", "failures", "probes"), [(0.01, 3, 1_010_100), (0.05, 3, 8420), (0.1, 3, 1110), (0.05, 5, 3_368_420)]
)
def test_live_instances_taken_for_dead(miss: float, failures: int, probes: float) -> None:
    result = answer(probe_error=miss, probe_failures=failures)
    assert value(result, "false_ejections_per_day") == pytest.approx(86_400 * 200 / probes, rel=1e-3)


def test_retries_multiply_by_layer_and_a_budget_bounds_them() -> None:
    assert value(answer(retries=3, retry_budget=None), "retry_amplification") == 4
    assert value(answer(retries=3, retry_budget=None, retry_layers=3), "retry_amplification") == 64
    assert value(answer(retries=3, retry_budget=0.2), "retry_amplification") == 1.2


def test_a_cut_stream_is_length_biased() -> None:
    """E[O²] / (2 E[O]): with a squared variation of 1 the mean age is the mean, 400."""
    result = answer(output_sigma=math.sqrt(math.log(2)))
    assert value(result, "cut_age_tokens") == pytest.approx(400)
    assert value(result, "streams_cut") == 300
    assert value(result, "restart_delay_s") == pytest.approx(12.0, abs=0.1)


def test_requests_keep_w2_of_the_last_turn_hits_and_sessions_all() -> None:
    assert value(answer(canary_by="request", canary_weight=0.5), "canary_kept_hits") == 0.5
    assert value(answer(canary_weight=0.5), "canary_kept_hits") == 1


def test_the_gain_of_affinity_is_the_ratio_of_instance_times() -> None:
    """Amdahl's form against the times of a request themselves."""
    result = answer(hot_prefix_cap=None)
    out = 400 / 40_000
    held, random = value(result, "hit_share_held"), value(result, "hit_share_random")
    times = [4096 * (1 - hit) / 100_000 + out for hit in (random, held)]
    assert value(result, "affinity_gain") == pytest.approx(times[0] / times[1], rel=1e-9)
