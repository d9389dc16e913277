"""Fetch or recompute: the specification's table, sums by hand, and a flow shop stepped layer by layer."""

from __future__ import annotations

import doctest
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import fetching
from planner.formulas.fetching import Recompute

H100 = 989e12 * 0.5
LLAMA_8B = Recompute.of(active_parameters=7.5e9, attention_width=32 * 4_096, flops_per_s=H100)
DENSE_70B = Recompute.of(active_parameters=69.5e9, attention_width=80 * 8_192, flops_per_s=8 * H100)
DEEPSEEK_V3 = Recompute.of(active_parameters=37e9, attention_width=61 * 20_480, flops_per_s=8 * H100)
KV_BYTES = {LLAMA_8B: 131_072.0, DENSE_70B: 327_680.0, DEEPSEEK_V3: 70_272.0}


@pytest.mark.parametrize(
    ("recompute", "gb_per_s"),
    [(LLAMA_8B, (4.32, 3.78, 1.31)), (DENSE_70B, (9.33, 8.66, 4.17)), (DEEPSEEK_V3, (3.76, 2.94, 0.69))],
)
def test_the_bandwidth_that_decides(recompute: Recompute, gb_per_s: tuple[float, ...]) -> None:
    least = fetching.least_bytes_per_s(
        np.array([0.0, 8_192.0, 131_072.0]), kv_bytes_per_token=KV_BYTES[recompute], recompute=recompute
    )
    assert list(np.round(least / 1e9, 2)) == list(gb_per_s)


@pytest.mark.parametrize(
    ("recompute", "bytes_per_s", "latency_s", "utilisation", "tokens"),
    [
        (LLAMA_8B, 11e9, 1e-4, 0.0, 5.4),
        (LLAMA_8B, 11e9, 1e-4, 0.7, 17_714),
        (LLAMA_8B, 6e9, 1e-3, 0.0, 117),
        (LLAMA_8B, 6e9, 1e-3, 0.7, 80_164),
        (LLAMA_8B, 48e9, 1e-3, 0.0, 36),
        (LLAMA_8B, 45e9, 1e-4, 0.0, 3.6),
        (DENSE_70B, 11e9, 1e-4, 0.0, 19),
        (DENSE_70B, 11e9, 1e-4, 0.7, 193_650),
        (DENSE_70B, 6e9, 1e-3, 0.0, 58_836),
        (DENSE_70B, 6e9, 1e-3, 0.7, 443_400),
        (DENSE_70B, 48e9, 1e-3, 0.0, 35),
        (DENSE_70B, 45e9, 1e-4, 0.0, 3.6),
        (DEEPSEEK_V3, 11e9, 1e-4, 0.0, 8.1),
        (DEEPSEEK_V3, 11e9, 1e-4, 0.7, 4_137),
        (DEEPSEEK_V3, 6e9, 1e-3, 0.0, 141),
        (DEEPSEEK_V3, 6e9, 1e-3, 0.7, 32_245),
        (DEEPSEEK_V3, 48e9, 1e-3, 0.0, 58),
        (DEEPSEEK_V3, 45e9, 1e-4, 0.0, 5.8),
    ],
)
def test_the_length_that_breaks_even(
    recompute: Recompute, bytes_per_s: float, latency_s: float, utilisation: float, tokens: float
) -> None:
    found = fetching.break_even_tokens(
        recompute,
        kv_bytes_per_token=KV_BYTES[recompute],
        bytes_per_s=fetching.shared_bytes_per_s(bytes_per_s, utilisation=utilisation),
        latency_s=latency_s,
    )
    # Half a unit of the last digit printed.
    assert found == pytest.approx(tokens, abs=0.05 if tokens < 10 else max(0.5, 1e-5 * tokens))


@given(
    linear=st.floats(1e-9, 1e-3),
    square=st.one_of(st.just(0.0), st.floats(1e-15, 1e-8)),
    bytes_per_s=st.floats(1e8, 1e12),
    latency_s=st.floats(1e-6, 1e-2),
)
def test_at_the_length_that_breaks_even_both_take_as_long(
    linear: float, square: float, bytes_per_s: float, latency_s: float
) -> None:
    recompute = Recompute(linear, square)
    found = fetching.break_even_tokens(recompute, kv_bytes_per_token=1e5, bytes_per_s=bytes_per_s, latency_s=latency_s)
    if math.isinf(found):
        assert square == 0
        assert linear <= 1e5 / bytes_per_s
    else:
        fetched_s = fetching.fetch_s(found, kv_bytes_per_token=1e5, bytes_per_s=bytes_per_s, latency_s=latency_s)
        assert recompute.time_s(found) == pytest.approx(fetched_s, rel=1e-6)


def test_no_bandwidth_never_breaks_even() -> None:
    never = fetching.break_even_tokens(LLAMA_8B, kv_bytes_per_token=1e5, bytes_per_s=0.0, latency_s=1e-4)
    assert never == math.inf


def test_the_reference_reads_back_ten_times_quicker_than_it_computes() -> None:
    reference = Recompute.of(active_parameters=70.6e9, attention_width=0.0, flops_per_s=8 * H100)
    assert reference.time_s(8192.0) == pytest.approx(2 * 70.6e9 * 8192 / (8 * 989e12 * 0.5))
    dram_s = fetching.fetch_s(8192.0, kv_bytes_per_token=160e3, bytes_per_s=8 * 50e9)
    assert dram_s == pytest.approx(1_310_720_000 / 400e9)
    assert fetching.fetch_s(8192.0, kv_bytes_per_token=160e3, bytes_per_s=8 * 6e9) == pytest.approx(0.0273067, abs=5e-8)
    # 4.48 GB/s is the reference's own bandwidth that decides.
    least = fetching.least_bytes_per_s(8192.0, kv_bytes_per_token=160e3, recompute=reference)
    assert least / 1e9 == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize(
    ("suffix", "compute_ms", "overlapped_ms", "serial_ms"),
    [
        (64.0, 2.5975, 6.7434, 9.3084),
        (512.0, 20.8561, 20.9400, 27.5670),
    ],
)
def test_layers_that_overlap(suffix: float, compute_ms: float, overlapped_ms: float, serial_ms: float) -> None:
    compute_s = DENSE_70B.suffix_s(suffix, cached_tokens=8192.0)
    assert 1e3 * compute_s == pytest.approx(compute_ms, abs=5e-5)
    fetch_s = fetching.fetch_s(8192.0, kv_bytes_per_token=327_680.0, bytes_per_s=8 * 50e9)
    found_s = fetching.overlapped_s(fetch_s=fetch_s, compute_s=compute_s, layers=80)
    assert 1e3 * found_s == pytest.approx(overlapped_ms, abs=6e-5)
    assert 1e3 * (fetch_s + compute_s) == pytest.approx(serial_ms, abs=6e-5)


def stepped_flow_shop(fetch_s: float, compute_s: float, layers: int) -> float:
    there_s = done_s = 0.0
    for _ in range(layers):
        there_s += fetch_s / layers
        done_s = max(done_s, there_s) + compute_s / layers
    return done_s


@given(fetch_s=st.floats(0, 1.0), compute_s=st.floats(0, 1.0), layers=st.integers(1, 100))
def test_overlap_is_the_flow_shop_stepped_layer_by_layer(fetch_s: float, compute_s: float, layers: int) -> None:
    found = fetching.overlapped_s(fetch_s=fetch_s, compute_s=compute_s, layers=layers, latency_s=0.5)
    assert found == pytest.approx(0.5 + stepped_flow_shop(fetch_s, compute_s, layers), abs=1e-12)


def test_contention_by_sharing_and_by_queueing() -> None:
    assert 1 / fetching.shared_bytes_per_s(1.0, utilisation=0.7) == pytest.approx(3.33, abs=0.005)
    assert list(fetching.shared_bytes_per_s(2.0, utilisation=np.array([0.0, 0.5, 1.0, 1.5]))) == [2, 1, 0, 0]
    # Pollaczek-Khinchine waits in service times at rho, cs²: the specification's rows.
    for rho, scv, wait in ((0.8, 0.0, 2.0), (0.8, 1.0, 4.0), (0.8, 4.0, 10.0), (0.9, 1.0, 9.0)):
        assert fetching.queued_factor(rho, size_scv=scv) == pytest.approx(1 + wait)
    assert fetching.queued_factor(0.0, arrival_scv=9.0) == 1
    assert fetching.queued_factor(1.0) == math.inf


def test_a_queue_of_equal_transfers_waits_as_stepped() -> None:
    draw, free_s, now_s, total_s, count = random.Random(4), 0.0, 0.0, 0.0, 200_000
    for _ in range(count):
        now_s += draw.expovariate(0.7)
        free_s = max(free_s, now_s) + 1.0
        total_s += free_s - now_s
    assert total_s / count == pytest.approx(fetching.queued_factor(0.7), rel=0.02)


def test_a_latent_crosses_once_for_every_rank_unless_handed_on() -> None:
    assert fetching.latent_copies(tensor_parallel=8, is_latent=True, is_broadcast=True) == 1


def test_a_pool_may_gain_nothing() -> None:
    good = {
        "bytes_per_s": 400e9,
        "least_bytes_per_s": 4.5e9,
        "reusable_share": 0.8,
        "kept_in_gpu_s": 60.0,
        "gap_p99_s": 3600.0,
        "prefill_binds": True,
        "ttft_met_without": False,
    }
    assert fetching.reasons_for_no_gain(**good) == ()
    for change, reason in (
        ({"bytes_per_s": 4e9}, fetching.SLOW),
        ({"reusable_share": 0.049}, fetching.RARE),
        ({"kept_in_gpu_s": 7200.0}, fetching.NEAR),
        ({"prefill_binds": False, "ttft_met_without": True}, fetching.IDLE),
    ):
        assert fetching.reasons_for_no_gain(**{**good, **change}) == (reason,)
    assert fetching.reasons_for_no_gain(**{**good, "prefill_binds": False}) == ()


def test_its_examples_hold() -> None:
    assert doctest.testmod(fetching).failed == 0
