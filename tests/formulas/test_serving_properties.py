"""The calibrated formula is monotone and its parts sum exactly, whatever measurements add to it elsewhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.catalog import files
from planner.formulas import calibration, roofline, serving

CATALOG = files.load()
TABLE = CATALOG.calibration("roofline")
LLMS = ("llama-3.1-8b", "qwen3-32b", "gpt-oss-120b", "deepseek-r1", "qwen3-next-80b-a3b", "gemma-3-27b")
GPUS = ("h100-sxm", "b200-sxm", "a100-sxm-80gb", "mi300x", "l40s")
EXACT = 1e-9


@st.composite
def replicas(draw: st.DrawFn) -> roofline.Replica:
    ranks = draw(st.sampled_from([1, 2, 4, 8]))
    gpu = CATALOG.gpu(draw(st.sampled_from(GPUS)))
    return roofline.replica(
        CATALOG.llm(draw(st.sampled_from(LLMS))),
        gpu,
        layout=roofline.Layout(gpus=ranks, tensor_parallel=ranks),
        weight_dtype=draw(st.sampled_from(["bf16", "fp8", "int4"])),
        coefficients=calibration.coefficients(TABLE, gpu=gpu, engine=draw(st.sampled_from(["vllm", "sglang"]))),
    )


LOADS = st.builds(
    serving.Load,
    new_tokens=st.floats(1, 50_000),
    output_tokens=st.floats(2, 5000),
    cached_tokens=st.sampled_from([0.0, 1000.0]),
    draft_tokens=st.sampled_from([0, 2]),
)


def parts_sum(point: serving.Point) -> None:
    assert point.ttft_s == pytest.approx(
        point.base_s + point.prefill_s + point.first_step_s + point.queue_s + point.admission_s
    )
    assert point.tpot_s == pytest.approx(point.decode_s + point.interference_s)
    assert point.e2e_s == pytest.approx(point.ttft_s + (point.output_tokens - 1) * (point.tpot_s or 0))
    assert point.request_rate_rps * point.e2e_s == pytest.approx(point.concurrency)


@settings(max_examples=60, deadline=None)
@given(times=replicas(), load=LOADS, capacity=st.floats(1, 500))
def test_more_requests_serve_more_and_each_slower(times: roofline.Replica, load: serving.Load, capacity: float) -> None:
    steps = [2.0**power for power in range(11)]
    points = [serving.closed_loop(times, load=load, concurrency=each, capacity=capacity) for each in steps]
    for point in points:
        parts_sum(point)
        assert point.running <= min(capacity, point.concurrency) * (1 + EXACT)
    for fewer, more in pairwise(points):
        assert more.ttft_s >= fewer.ttft_s * (1 - 1e-6)
        assert (more.tpot_s or 0) >= (fewer.tpot_s or 0) * (1 - 1e-5)
        # With all places taken a wait counts o gaps where a request takes o − 1.
        assert more.request_rate_rps >= fewer.request_rate_rps * (1 - 1 / load.output_tokens)
        if more.concurrency <= capacity:
            assert more.request_rate_rps >= fewer.request_rate_rps * (1 - 1e-5)


@settings(max_examples=60, deadline=None)
@given(times=replicas(), load=LOADS, capacity=st.floats(1, 500))
def test_a_higher_rate_keeps_more_in_the_system_up_to_the_largest(
    times: roofline.Replica, load: serving.Load, capacity: float
) -> None:
    most = serving.max_rate_rps(times, load=load, capacity=capacity)
    shares = (0.0, 0.01, 0.2, 0.5, 0.8, 0.95, 0.999)
    points = [serving.open_loop(times, load=load, rate_rps=each * most, capacity=capacity) for each in shares]
    found = [point for point in points if point is not None]
    assert len(found) == len(shares)
    for share, point in zip(shares, found, strict=True):
        # Little's law, for the batch and for the system.
        assert point.running == pytest.approx(share * most * load.output_tokens * (point.tpot_s or 0), rel=1e-4)
        assert point.concurrency == pytest.approx(share * most * point.e2e_s)
    for fewer, more in pairwise(found):
        assert more.ttft_s >= fewer.ttft_s * (1 - EXACT)
        assert (more.tpot_s or 0) >= (fewer.tpot_s or 0) * (1 - 1e-5)
        assert more.ttft_quantile_s(0.99) >= fewer.ttft_quantile_s(0.99) * (1 - EXACT)
    assert serving.open_loop(times, load=load, rate_rps=1.001 * most, capacity=capacity) is None


@settings(max_examples=60, deadline=None)
@given(times=replicas(), load=LOADS, concurrency=st.floats(1, 300), more=st.floats(1, 20_000))
def test_longer_prompts_and_contexts_cost_more(
    times: roofline.Replica, load: serving.Load, concurrency: float, more: float
) -> None:
    def at(**changed: float) -> serving.Point:
        lengths = {"new_tokens": load.new_tokens, "cached_tokens": load.cached_tokens, **changed}
        longer = serving.Load(**lengths, output_tokens=load.output_tokens, draft_tokens=load.draft_tokens)
        return serving.closed_loop(times, load=longer, concurrency=concurrency, capacity=1e9)

    plain, prompt = at(), at(new_tokens=load.new_tokens + more)
    cached = at(cached_tokens=load.cached_tokens + more)
    assert prompt.ttft_s > plain.ttft_s
    # Tokens in the cache are read, tokens that are not are computed as well.
    assert cached.ttft_s <= prompt.ttft_s * (1 + EXACT)
    assert cached.e2e_s <= prompt.e2e_s * (1 + EXACT)
    assert cached.e2e_s >= plain.e2e_s * (1 - EXACT)
