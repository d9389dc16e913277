"""Lines of decode steps against quoted rates and a roofline by hand."""

from __future__ import annotations

import pytest

from planner.formulas.decode_step import (
    DecodeStep,
    batch_in_memory,
    from_quoted_rate,
    from_roofline,
    shared_weight,
)

REACHED = 0.8 * 3.35e12


def test_the_quoted_rate_lies_on_the_line() -> None:
    line = from_quoted_rate(2500.0, batch=128, fixed_s=0.0119)
    assert line is not None
    assert line.tokens_per_s(128) == pytest.approx(2500)
    assert shared_weight(line, batch=128) == pytest.approx(3.30, abs=0.005)
    assert line.tokens_per_s(0) == 0


def test_a_rate_that_the_fixed_part_alone_forbids_has_no_line() -> None:
    assert from_quoted_rate(2500.0, batch=128, fixed_s=0.06) is None


def test_the_fixed_part_of_32e9_bytes_of_weights() -> None:
    line = from_roofline(
        weight_bytes=32e9, kv_bytes_per_token=0, flops_per_token=0, memory_bytes_per_s=REACHED, flops_per_s=1e15
    )
    assert line.fixed_s == pytest.approx(11.9e-3, rel=0.005)


@pytest.mark.parametrize(("kv_bytes", "batch", "rate"), [(262_144, 19.2, 720), (131_072, 38.4, 1441)])
def test_full_memory_bounds_the_batch_and_the_rate(kv_bytes: float, batch: float, rate: float) -> None:
    """64 layers, 8 heads of 128, 39.5 GB free: both are read within (32 + 39.5) GB over the bandwidth reached."""
    found = batch_in_memory(39.5e9 / kv_bytes, context_tokens=7856)
    line = from_roofline(
        weight_bytes=32e9, kv_bytes_per_token=kv_bytes, flops_per_token=0, memory_bytes_per_s=REACHED, flops_per_s=1e15
    )
    assert found == pytest.approx(batch, abs=0.05)
    assert line.at(found, context_tokens=7856) == pytest.approx((32e9 + 39.5e9) / REACHED)
    assert line.tokens_per_s(found, context_tokens=7856) == pytest.approx(rate, rel=0.003)
    assert 16.384e6 / (300 * 0.9 * rate) == pytest.approx(84 if kv_bytes == 262_144 else 42, abs=0.5)


def test_a_context_turns_reading_into_a_part_per_sequence() -> None:
    line = DecodeStep(0.01, 1e-4, 1e-8)
    assert line.with_context(5000.0).at(30) == pytest.approx(line.at(30, context_tokens=5000.0))
