"""The spread of kernels: what factors and quantiles of errors mean."""

from __future__ import annotations

import tomllib

import pytest

from tests.validation import kernel_spread


def test_a_factor_counts_up_and_down_alike() -> None:
    assert kernel_spread.factor([0.5, 2.0, 1.0, 1.0], share=0.9) == pytest.approx(2.0)
    assert kernel_spread.factor([0.5, 0.5, 0.5]) == pytest.approx(2.0)


def test_quantiles_are_ranks() -> None:
    assert kernel_spread.quantile([3.0, 1.0, 2.0, 4.0], 0.5) == 3.0
    assert kernel_spread.quantile([1.0], 0.9) == 1.0


def test_the_stored_spread_reads_back() -> None:
    stored = tomllib.loads(kernel_spread.RESULT.read_text(encoding="utf-8"))
    assert set(stored["interval"]) == set(kernel_spread.QUANTITIES)
    assert all(width > 1 for width in stored["interval"].values())
