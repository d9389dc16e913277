"""A replica under load: Little's law, limits at low and high load, waits that only grow."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import serving
from planner.formulas.serving import Load
from tests.formulas.llms import DEEPSEEK_V3, LLAMA_8B, gpu
from tests.formulas.test_roofline import made

REPLICA = made(LLAMA_8B, gpu(), engine="vllm")
LOAD = Load(new_tokens=1000, output_tokens=200)


@given(concurrency=st.floats(0.01, 5000), capacity=st.floats(1, 3000))
def test_littles_law_holds_in_the_closed_loop(concurrency: float, capacity: float) -> None:
    point = serving.closed_loop(REPLICA, load=LOAD, concurrency=concurrency, capacity=capacity)
    assert point.request_rate_rps * point.e2e_s == pytest.approx(concurrency)
    assert point.running <= min(concurrency, capacity) * (1 + 1e-9)


@given(
    capacity=st.floats(1, 300),
    share=st.sampled_from([0.5, 0.99, 1.01]),
    new_tokens=st.sampled_from([10.0, 1000.0, 20_000.0]),
    output_tokens=st.sampled_from([2.0, 200.0]),
)
def test_a_rate_is_served_below_the_largest_and_not_above(
    capacity: float, share: float, new_tokens: float, output_tokens: float
) -> None:
    load = Load(new_tokens=new_tokens, output_tokens=output_tokens)
    limit = serving.max_rate_rps(REPLICA, load=load, capacity=capacity)
    point = serving.open_loop(REPLICA, load=load, rate_rps=share * limit, capacity=capacity)
    assert (point is not None) == (share < 1)


@given(rate=st.floats(1e-6, 100))
def test_littles_law_holds_in_the_open_loop(rate: float) -> None:
    point = serving.open_loop(REPLICA, load=LOAD, rate_rps=rate, capacity=200.0)
    limit = serving.max_rate_rps(REPLICA, load=LOAD, capacity=200.0)
    if point is None:
        assert rate >= limit * 0.999
        return
    assert rate < limit
    assert point.concurrency == pytest.approx(rate * point.e2e_s)
    assert point.tpot_s is not None
    assert point.running == pytest.approx(rate * 200 * point.tpot_s, rel=1e-6)


def test_an_idle_replica_takes_constants_prefill_and_half_a_step() -> None:
    point = serving.open_loop(REPLICA, load=LOAD, rate_rps=0.0, capacity=100.0)
    assert point is not None
    c = REPLICA.coefficients
    step = REPLICA.decode_step(batch=0.0, context_tokens=1100).total_s
    expected = c.first_token_s + 32 * c.prefill_layer_s + REPLICA.prefill(new_tokens=1000).latency_s + step / 2
    assert point.ttft_s == pytest.approx(expected)
    assert point.ttft_quantile_s(0.99) == pytest.approx(expected)


def test_parts_sum_to_ttft_and_tpot() -> None:
    point = serving.closed_loop(REPLICA, load=LOAD, concurrency=300, capacity=100)
    parts = point.base_s + point.prefill_s + point.first_step_s + point.queue_s + point.admission_s
    assert point.ttft_s == parts
    assert point.tpot_s == point.decode_s + point.interference_s
    assert point.admission_s > 0


@given(concurrency=st.floats(0.1, 2000), factor=st.floats(1, 3))
def test_more_requests_at_once_never_shorten_waits(concurrency: float, factor: float) -> None:
    few = serving.closed_loop(REPLICA, load=LOAD, concurrency=concurrency, capacity=150)
    many = serving.closed_loop(REPLICA, load=LOAD, concurrency=concurrency * factor, capacity=150)
    assert many.ttft_s >= few.ttft_s * (1 - 1e-6)
    assert many.decode_s >= few.decode_s * (1 - 1e-6)
    # A request holds its place for o steps and its latency counts o − 1 gaps: the rate is only defined to 1/o.
    assert many.request_rate_rps >= few.request_rate_rps * (1 - 1 / LOAD.output_tokens)


@given(rate=st.floats(0.01, 30), factor=st.floats(0.5, 1))
def test_a_higher_rate_never_shortens_waits(rate: float, factor: float) -> None:
    slow = serving.open_loop(REPLICA, load=LOAD, rate_rps=rate * factor, capacity=150)
    quick = serving.open_loop(REPLICA, load=LOAD, rate_rps=rate, capacity=150)
    if quick is None:
        return
    assert slow is not None
    assert slow.ttft_s <= quick.ttft_s * (1 + 1e-9)
    assert slow.ttft_quantile_s(0.99) <= quick.ttft_quantile_s(0.99) * (1 + 1e-9)


def test_waits_blow_up_towards_the_largest_rate_and_then_do_not_exist() -> None:
    limit = serving.max_rate_rps(REPLICA, load=LOAD, capacity=20)
    waits = []
    for share in (0.5, 0.9, 0.99, 0.999):
        point = serving.open_loop(REPLICA, load=LOAD, rate_rps=share * limit, capacity=20)
        assert point is not None
        waits.append(point.admission_s)
    assert waits[3] > 8 * waits[2] > 64 * waits[1]
    assert serving.open_loop(REPLICA, load=LOAD, rate_rps=limit, capacity=20) is None


def test_percentiles_are_ordered_and_finite() -> None:
    for point in (
        serving.closed_loop(REPLICA, load=LOAD, concurrency=64, capacity=200),
        serving.open_loop(REPLICA, load=LOAD, rate_rps=8.0, capacity=200),
    ):
        assert point is not None
        ttft = [point.ttft_quantile_s(q) for q in (0.5, 0.9, 0.99)]
        tpot = [point.tpot_quantile_s(q) for q in (0.5, 0.9, 0.99)]
        assert ttft == sorted(ttft)
        assert all(value is not None and math.isfinite(value) for value in tpot)
        assert tpot == sorted(tpot)  # type: ignore[type-var]
        assert point.itl_quantile_s(0.99) >= point.decode_s  # type: ignore[operator]


def test_one_output_token_has_no_time_between_tokens() -> None:
    point = serving.closed_loop(REPLICA, load=Load(new_tokens=1000, output_tokens=1), concurrency=8, capacity=100)
    assert point.tpot_s is None
    assert point.itl_quantile_s(0.99) is None
    assert point.e2e_s == point.ttft_s


def test_cached_input_is_not_computed_but_is_read() -> None:
    fresh = serving.closed_loop(REPLICA, load=Load(new_tokens=4000, output_tokens=100), concurrency=1, capacity=9)
    cached = serving.closed_loop(
        REPLICA, load=Load(new_tokens=400, cached_tokens=3600, output_tokens=100), concurrency=1, capacity=9
    )
    assert cached.ttft_s < fresh.ttft_s
    assert cached.step.kv_s / cached.running == pytest.approx(fresh.step.kv_s / fresh.running)


def test_drafts_pay_only_when_they_are_accepted() -> None:
    unit = made(DEEPSEEK_V3, gpu(), weight_dtype="fp8", data_parallel=8, expert_parallel=8)

    def tpot(drafts: int, acceptance: float) -> float:
        load = Load(new_tokens=500, output_tokens=500, draft_tokens=drafts, acceptance=acceptance)
        return serving.closed_loop(unit, load=load, concurrency=8, capacity=500).decode_s

    assert tpot(1, 0.9) < tpot(0, 0.9)
    assert tpot(1, 0.0) > tpot(0, 0.0)


@given(
    concurrency=st.floats(1, 100),
    tpot=st.floats(0.3, 3),
    ttft=st.floats(0.3, 3),
    rate=st.one_of(st.none(), st.floats(0.1, 5)),
)
def test_a_bounded_point_is_no_slower_than_its_bound_nor_than_itself(
    concurrency: float, tpot: float, ttft: float, rate: float | None
) -> None:
    def at(unit: serving.StepTimes) -> serving.Point:
        if rate is None:
            return serving.closed_loop(unit, load=LOAD, concurrency=concurrency, capacity=200)
        found = serving.open_loop(unit, load=LOAD, rate_rps=rate, capacity=200)
        assert found is not None
        return found

    own, other = at(REPLICA).leaning(tpot=tpot, ttft=ttft), at(made(LLAMA_8B, gpu(), engine="sglang"))
    found = own.bounded(other)
    assert found.ttft_s == pytest.approx(min(own.ttft_s, other.ttft_s))
    assert found.tpot_s == pytest.approx(min(own.tpot_s or 0, other.tpot_s or 0))
    for share in (0.5, 0.9, 0.99):
        assert found.ttft_quantile_s(share) <= other.ttft_quantile_s(share) * (1 + 1e-9)
        assert (found.tpot_quantile_s(share) or 0) <= (other.tpot_quantile_s(share) or 0) * (1 + 1e-9)
    parts = found.base_s + found.prefill_s + found.first_step_s + found.queue_s + found.admission_s
    assert found.ttft_s == parts
    decoding_s = found.output_tokens * (found.decode_s + found.interference_s)
    if found is not own:
        assert found.running == pytest.approx(found.concurrency * decoding_s / (decoding_s + found.ttft_s))


def test_where_the_bound_waits_for_places_whole_times_compare() -> None:
    own = serving.closed_loop(REPLICA, load=LOAD, concurrency=100, capacity=200).leaning(tpot=9, ttft=9)
    other = serving.closed_loop(REPLICA, load=LOAD, concurrency=100, capacity=20)
    assert other.admission_s > 0
    assert own.bounded(other).e2e_s == pytest.approx(min(own.e2e_s, other.e2e_s))
