"""Messages of a replica: exact sums and the scope they travel in."""

from __future__ import annotations

import pytest

from planner.core.catalog import MissingFigure
from planner.formulas import collectives
from tests.formulas.llms import gpu


def test_a_ring_sends_every_chunk_twice() -> None:
    # p − 1 steps of reduce-scatter and p − 1 of all-gather, a p-th of the payload each.
    assert collectives.all_reduce_bytes(payload_bytes=100.0, ranks=5) == pytest.approx(2 * 4 * 100 / 5)
    assert collectives.all_reduce_bytes(payload_bytes=100.0, ranks=1) == 0


def test_deepseek_dispatches_a_byte_and_combines_two() -> None:
    # arXiv 2412.19437: FP8 dispatch, BF16 combine; 7,168 wide, 8 experts.
    assert collectives.all_to_all_bytes_per_token(hidden=7168, copies=8) == 7168 * 8 * 3


@pytest.mark.parametrize(("overlap", "expected"), [(0.0, 5.0), (1.0, 3.0), (0.5, 4.0)])
def test_overlap_hides_a_share_of_the_shorter(overlap: float, expected: float) -> None:
    assert collectives.overlapped_s(compute_s=3.0, communication_s=2.0, overlap=overlap) == expected


def test_bandwidth_follows_the_scope() -> None:
    def scope(ranks: int, **changes: float) -> float:
        return collectives.scope_bytes_per_s(gpu(**changes), ranks=ranks, gpus_per_node=8)

    assert scope(8) == 450e9
    assert scope(16) == 50e9
    assert scope(4, scaleup_gpus=1, scaleup_bytes_per_s=0, pcie_bytes_per_s=64e9) == 64e9


def test_an_unknown_link_is_named() -> None:
    with pytest.raises(MissingFigure, match="nic_bytes_per_s"):
        collectives.scope_bytes_per_s(gpu(nic_bytes_per_s=0), ranks=16, gpus_per_node=8)
