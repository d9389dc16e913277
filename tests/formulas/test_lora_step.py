"""Adapters in a step: the specification's factors, and published runs that set no constant."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from planner.formulas import lora_step
from planner.formulas.distinct import distinct_in_batch
from planner.formulas.lora_step import (
    EAGER,
    EAGER_OLD,
    GRAPHS,
    base_only_s,
    gather_s,
    grouped_s,
    step_factor,
)
from planner.formulas.popularity import zipf

H100_BYTES_PER_S, H100_FLOPS_PER_S = 3.35e12, 989e12
SLOT_BYTES = 83_886_080.0


def base_s(batch: float) -> float:
    """16e9 B of weights and 2,000 tokens of 131,072 B a sequence, at 80 % of the bandwidth."""
    return (16e9 + batch * 2000 * 131_072) / (0.8 * H100_BYTES_PER_S)


def added_s(batch: float, distinct: float, kernel_s: float = GRAPHS.kernel_s) -> float:
    return float(
        grouped_s(
            distinct,
            batch=batch,
            kernels=256,
            kernel_s=kernel_s,
            slot_bytes=SLOT_BYTES,
            adapter_parameters=SLOT_BYTES / 2,
            memory_bytes_per_s=H100_BYTES_PER_S,
            flops_per_s=H100_FLOPS_PER_S,
        )
    )


@pytest.mark.parametrize(
    ("batch", "distinct", "factor"),
    [(1, 1, 1.119), (16, 14.44, 1.152), (64, 48.9, 1.182), (256, 150, 1.174), (256, 1, 1.024)],
)
def test_factors_of_an_8b_on_an_h100(batch: float, distinct: float, factor: float) -> None:
    assert step_factor(added_s(batch, distinct), base_s=base_s(batch)) == pytest.approx(factor, abs=6e-4)


def test_without_graphs_launches_double_a_small_step() -> None:
    assert step_factor(added_s(1, 1, EAGER.kernel_s), base_s=base_s(1)) == pytest.approx(2.27, abs=6e-3)


def test_launches_follow_from_the_published_slow_downs() -> None:
    assert GRAPHS.kernel_s == pytest.approx(0.105 * 6.6e-3 / 256, rel=0.01)
    assert EAGER.kernel_s == pytest.approx((1 / 35 - 1 / 69) / 448, rel=0.06)
    assert EAGER_OLD.kernel_s == pytest.approx((1 / 6.5 - 1 / 17.6) / 640, rel=0.02)
    assert float(step_factor(0.0, base_s=1.0, engine_factor=lora_step.V0_FACTOR)) == pytest.approx(
        11.45 / 7.60, rel=0.01
    )
    # Llama-2-7B, 128 steps of the same pull request: 0.8445 s for all
    assert base_only_s(kernels=256, kernel_s=GRAPHS.kernel_s, specialised_graphs=False) == pytest.approx(
        0.105 * 0.8445 / 128, rel=0.01
    )
    assert base_only_s(kernels=256, kernel_s=GRAPHS.kernel_s, specialised_graphs=True) == 0


@pytest.mark.parametrize("measured_ms", [2.84, 2.09, 1.92, 2.44])
def test_a_mixture_of_experts_on_sixteen_gb300_that_set_no_constant(measured_ms: float) -> None:
    # Two for each product: four of latent attention, two of the dense layer, two of shared and two of routed experts.
    count = 2 * (61 * 4 + 1 * 2 + 60 * (2 + 2))
    assert count == 972
    ours_ms = 1e3 * base_only_s(kernels=count, kernel_s=GRAPHS.kernel_s, specialised_graphs=False)
    assert ours_ms == pytest.approx(2.624, abs=0.005)
    assert -0.08 <= ours_ms / measured_ms - 1 <= 0.37


RUNS = [
    # S-LoRA's repository: requests/s without and with one adapter of rank 64; layers, hidden, bandwidth
    (1.9959, 1.8783, 32, 4096, 0.6e12),
    (1.8210, 1.6714, 40, 5120, 1.555e12),
    (5.5861, 4.4291, 40, 5120, 2.039e12),
    (9.6412, 7.7373, 32, 4096, 2.039e12),
]


@pytest.mark.parametrize(("without", "with_one", "layers", "hidden", "bandwidth"), RUNS)
def test_gathering_kernels_pass_over_a_tera_byte_a_second_on_any_gpu(
    without: float, with_one: float, layers: int, hidden: int, bandwidth: float
) -> None:
    adapter = layers * 4 * 2 * hidden * 64 * 2.0
    token_s = (1 / with_one - 1 / without) / 260  # outputs of 8 to 512 tokens
    ours_s = gather_s(1.0, adapter_bytes=adapter, memory_bytes_per_s=bandwidth)
    assert 0.8 <= token_s / ours_s <= 1.03


def test_memory_bounds_what_differs_and_launches_hide_behind_reading() -> None:
    slow = {"adapter_bytes": 1e8, "memory_bytes_per_s": 6e11}
    assert gather_s(32.0, distinct=1.0, **slow) == pytest.approx(32e8 / 1.1e12)
    assert gather_s(32.0, distinct=32.0, **slow) == pytest.approx(32e8 / 4.8e11)
    assert gather_s(32.0, distinct=1.0, launch_s=2e-3, **slow) == pytest.approx(32e8 / 1.1e12)
    assert gather_s(1.0, distinct=1.0, launch_s=2e-3, **slow) == 2e-3


def test_after_the_first_adapter_more_cost_little() -> None:
    popular = zipf(1000, exponent=0.9)
    steps = np.array([added_s(64, distinct_in_batch(popular, batch=64) * share) for share in (1 / 48.9, 0.5, 1.0)])
    switched_on = steps[0] / base_s(64)
    assert switched_on > 0.055
    each = np.diff(steps) / np.diff([1.0, 24.46, 48.92])
    assert each == pytest.approx(np.full(2, SLOT_BYTES / (0.8 * H100_BYTES_PER_S)), rel=0.01)
    assert each.max() < 0.05 * steps[0]


def test_many_batches_at_once() -> None:
    batches = np.array([1.0, 16.0, 256.0])
    distinct = np.array([1.0, 14.44, 150.0])
    together = grouped_s(
        distinct,
        batch=batches,
        kernels=256,
        kernel_s=GRAPHS.kernel_s,
        slot_bytes=SLOT_BYTES,
        adapter_parameters=SLOT_BYTES / 2,
        memory_bytes_per_s=H100_BYTES_PER_S,
        flops_per_s=H100_FLOPS_PER_S,
    )
    assert together == pytest.approx([added_s(b, d) for b, d in zip(batches, distinct, strict=True)])
    assert gather_s(2 * batches, adapter_bytes=1e8, memory_bytes_per_s=1e12) == pytest.approx(
        2 * gather_s(batches, adapter_bytes=1e8, memory_bytes_per_s=1e12)
    )


def test_large_prefills_are_bound_by_compute() -> None:
    assert added_s(8192, 1) - 256 * GRAPHS.kernel_s == pytest.approx(
        2 * SLOT_BYTES / 2 * 8192 / (H100_FLOPS_PER_S * lora_step.COMPUTE_USE)
    )


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(lora_step).failed == 0
