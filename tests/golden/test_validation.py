"""`make validate` as a test: its rows are the stored ones, and what METHOD.md says of the simulation stays true."""

from __future__ import annotations

from functools import cache

import pytest

from planner.catalog.validation import NUMBERS, stored
from tests.validation import SOURCES, architecture, designs, simulation
from tests.validation.rows import Row, Source, sample_of

# Largest error of a percentile [%], from the table in METHOD.md, rounded up: a wider gap is a new fact to write down.
BOUNDS = {
    "reference": 10,
    "N+1": 10,
    "derived rates": 10,
    "10 req/s": 10,
    "replica of 4 GPUs": 33,
    "replica of 8 GPUs": 27,
    "many ranks": 83,
    "pool, reference": 8,
    "pool, small tiers, exponential": 8,
    "pool, small tiers, log-normal": 8,
    "gateway, reference": 15,
    "gateway, 8,000 req/s": 30,
    "gateway, round robin": 12,
    "gateway, random": 75,
    "adapters, reference": 9,
    "adapters, a fifth of the load": 5,
    "adapters, 32 slots first come": 5,
    "adapters, any replica": 4,
    "adapters in pages of KV": 4,
    "rollout, reference": 31,
    "rollout, synchronous": 3,
    "rollout, one step off": 3,
    "rollout, co-located": 1,
    "rollout, bound of one": 3,
    "rollout, bound of four": 1,
    "rollout, discard": 21,
    "rollout, partial rollouts": 1,
    "rollout, over-sampling": 1,
}
EXACT = 1e-9
SAMPLE = 60
STORED_TO = 1e-4
"""Stored figures keep five digits."""


@cache
def rows_of(source: Source) -> tuple[Row, ...]:
    sample = sample_of(source)
    return tuple(sample(SAMPLE) if sample else source())


def figures(row: Row) -> dict[str, float]:
    return {name: value for name in NUMBERS if (value := getattr(row, name)) is not None}


def test_each_case_is_bounded() -> None:
    assert {case.name for case in simulation.SIMULATED_CASES} == set(BOUNDS)


@pytest.mark.parametrize("case", BOUNDS)
def test_estimate_and_simulation_part_no_further_than_said(case: str) -> None:
    rows = rows_of(simulation.estimate_against_simulation)
    found = [row.error for row in rows if row.conditions.startswith(f"{case}, ")]
    assert len(found) >= 4
    assert max(found) < BOUNDS[case]


@pytest.mark.parametrize(
    ("source", "bound"),
    [(architecture.parameters, 1.0), (architecture.kv_bytes_per_token, EXACT), (designs.reference_designs, EXACT)],
)
def test_published_figures_come_out(source: Source, bound: float) -> None:
    rows = rows_of(source)
    assert rows
    assert max(row.error for row in rows) < bound


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_the_stored_rows_are_those_of_this_code(source: Source) -> None:
    """After a change that moves figures, `make validate` writes them again."""
    kept = {(row.quantity, row.group, row.id): row for rows in stored().rows.values() for row in rows}
    rows = rows_of(source)
    assert rows
    for row in rows:
        before = kept.get((row.quantity, row.group, row.id))
        assert before is not None, f"{row.quantity}: {row.id} is not stored"
        assert before.status == row.status, row.id
        fresh = figures(row)
        assert {name: figures(before)[name] for name in fresh} == pytest.approx(fresh, rel=STORED_TO), row.id


@pytest.mark.parametrize("source", [each for each in SOURCES if not sample_of(each)], ids=lambda each: each.__name__)
def test_no_stored_row_is_without_its_source(source: Source) -> None:
    computed = {(row.quantity, row.group, row.id) for row in rows_of(source)}
    kept = {
        (row.quantity, row.group, row.id)
        for name in {quantity for quantity, *_ in computed}
        for row in stored().rows[name]
    }
    assert kept == computed
