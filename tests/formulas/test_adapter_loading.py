"""Swaps and downloads of an adapter of 80 MiB: arithmetic of the specification, and limits."""

from __future__ import annotations

import doctest
import math

import pytest

from planner.formulas import adapter_loading
from planner.formulas.adapter_loading import (
    PINNED_BYTES_PER_S,
    SLOW_TENSOR_S,
    TENSOR_S,
    cold_start,
    download_s,
    exposed_swap_s,
    gets_per_s,
    swap,
)

BYTES = 83_886_080.0


@pytest.mark.parametrize(("tensor_s", "total_s"), [(0.0, 0.00335544), (TENSOR_S, 0.0123), (SLOW_TENSOR_S, 0.205)])
def test_a_swap_of_80_mib_in_448_copies(tensor_s: float, total_s: float) -> None:
    found = swap(BYTES, tensors=448, tensor_s=tensor_s, bytes_per_s=PINNED_BYTES_PER_S)
    assert found.total_s == pytest.approx(total_s, rel=2e-3)
    assert found.bytes_s == pytest.approx(0.00335544, abs=5e-9)


def test_a_slow_copy_of_each_tensor_is_what_one_slab_saved() -> None:
    before = swap(BYTES, tensors=448, tensor_s=SLOW_TENSOR_S, bytes_per_s=PINNED_BYTES_PER_S).total_s
    slab = swap(BYTES, tensors=1, tensor_s=SLOW_TENSOR_S, bytes_per_s=PINNED_BYTES_PER_S).total_s
    assert before == pytest.approx(0.2, rel=0.05)  # measured: about 200 ms, then 17 ms
    assert slab < 0.017


@pytest.mark.parametrize(("connections", "seconds"), [(1, 1.109), (8, 0.270)])
def test_a_download(connections: int, seconds: float) -> None:
    assert download_s(BYTES, connections=connections) == pytest.approx(seconds, abs=6e-4)


def test_connections_stop_helping_at_the_network_card() -> None:
    card = 12.5e9
    assert download_s(BYTES, connections=1000, nic_bytes_per_s=card) == pytest.approx(0.15 + BYTES / card)
    assert download_s(BYTES, connections=0) == download_s(BYTES, connections=1)


def test_what_prefill_hides_of_a_swap() -> None:
    assert exposed_swap_s(0.2, prefill_s=0.05, layers=32, pipelined=False) == 0.2
    # pipelined: the larger of the two and one layer, of which prefill is there anyway
    for swap_s, prefill_s in ((0.2, 0.05), (0.012, 0.05)):
        added = exposed_swap_s(swap_s, prefill_s=prefill_s, layers=32, pipelined=True)
        assert prefill_s + added == pytest.approx(max(swap_s, prefill_s) + swap_s / 32)


def test_a_cold_start_is_the_sum_of_its_parts() -> None:
    found = cold_start(
        BYTES,
        swap_s=0.0123,
        prefill_s=0.08,
        queue_s=1.5,
        connections=8,
        first_byte_s=0.1,
        connection_bytes_per_s=90e6,
        nic_bytes_per_s=1e9,
        parse_s=0.05,
    )
    assert found.download_s == pytest.approx(BYTES / 720e6)
    assert found.total_s == pytest.approx(1.5 + 0.1 + BYTES / 720e6 + 0.05 + 0.0123 + 0.08, abs=1e-12)


def test_reads_of_the_store() -> None:
    assert gets_per_s(3.0, adapter_bytes=BYTES) == 3
    assert gets_per_s(3.0, adapter_bytes=BYTES, part_bytes=8 * 2**20) == 30
    assert gets_per_s(0.0, adapter_bytes=0.0, part_bytes=math.inf) == 0


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(adapter_loading).failed == 0
