"""Adapters in the pages of the KV cache: the balance worked out by halving over every adapter, and its ends."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.formulas.adapter_pages import shared_pages
from planner.formulas.popularity import zipf


@pytest.mark.parametrize("exponent", [0.0, 0.9, 1.4])
@pytest.mark.parametrize("adapted", [1.0, 0.4])
def test_kv_and_the_adapters_of_what_runs_fill_the_pool(exponent: float, adapted: float) -> None:
    shares = np.arange(1, 201) ** -exponent
    shares /= shares.sum()

    def used(batch: float) -> float:
        return batch * 3.0 + 50.0 * float(np.sum(1 - np.exp(-shares * batch * adapted)))

    low, high = 0.0, 4000.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if used(middle) < 5000.0 else (low, middle)
    pages = {"pool_bytes": 5000.0, "request_bytes": 3.0, "adapter_bytes": 50.0, "adapted": adapted}
    found = shared_pages(zipf(200, exponent=exponent), **pages)
    assert found.batch == pytest.approx(low, rel=1e-7)
    assert found.batch * 3.0 + found.adapters * 50.0 == pytest.approx(5000.0, rel=1e-9)


def test_the_ends() -> None:
    popular = zipf(10, exponent=1.0)
    room = {"request_bytes": 1.0, "adapter_bytes": 5.0}
    assert shared_pages(popular, pool_bytes=-1.0, **room) == (0.0, 0.0)
    assert shared_pages(popular, pool_bytes=100.0, request_bytes=1.0, adapter_bytes=0.0).batch == 100.0
    assert shared_pages(popular, pool_bytes=1e6, most=32.0, **room).batch == 32.0
    none = shared_pages(popular, pool_bytes=100.0, adapted=0.0, **room)
    assert none == (100.0, 0.0)
    endless = shared_pages(popular, pool_bytes=100.0, request_bytes=0.0, adapter_bytes=0.0)
    assert math.isinf(endless.batch)
    assert endless.adapters == pytest.approx(10)
