"""Points of a sweep: one replica over GPU types, tensor parallelism, concurrency and length, specs checked included."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Any

from planner.catalog import files
from planner.kinds import get, planning

KIND = "engine_instance"
ROUNDS = 5
WANTED_PER_CPU_S = 20_000.0
LOADS: dict[str, list[float]] = {
    "concurrency": [round(1.14**step, 2) for step in range(64)],
    "rate_rps": [round(1.14**step / 4, 3) for step in range(64)],
}


def columns(load: str) -> dict[str, list[Any]]:
    """25,600 points: 5 GPU types × 4 × 64 loads × 20 lengths."""
    axes = {
        "gpu": ["h100-sxm", "h200-sxm", "b200-sxm", "l40s", "mi300x"],
        "tensor_parallel": [1, 2, 4, 8],
        load: LOADS[load],
        "input_tokens": [int(128 * 1.4**step) for step in range(20)],
    }
    return {
        name: list(values)
        for name, values in zip(axes, zip(*itertools.product(*axes.values()), strict=True), strict=True)
    }


def points_per_cpu_s(load: str) -> float:
    """Median of some rounds, after one that reads the catalog."""
    catalog, base, asked, batch = files.load(), get(KIND).spec(), columns(load), planning(KIND).batch
    assert batch is not None
    rates = []
    for _ in range(ROUNDS + 1):
        begun_s = time.process_time()
        found = batch(base, asked, catalog)
        rates.append(len(found) / (time.process_time() - begun_s))
        assert found.figures["tpot_mean_s"].known.any()
    return statistics.median(rates[1:])
