"""`make validate` as a test: what METHOD.md says of estimate against simulation must stay true."""

from __future__ import annotations

import pytest

from tests.validation import architecture, designs, simulation
from tests.validation.rows import Row

# Largest error of a percentile [%], from the table in METHOD.md, rounded up: a wider gap is a new fact to write down.
BOUNDS = {
    "reference": 10,
    "N+1": 10,
    "derived rates": 10,
    "10 req/s": 10,
    "replica of 4 GPUs": 30,
    "replica of 8 GPUs": 27,
    "many ranks": 58,
}
EXACT = 1e-9


@pytest.fixture(scope="module")
def simulated() -> list[Row]:
    return list(simulation.estimate_against_simulation())


def test_each_case_is_bounded() -> None:
    assert {name for name, *_ in simulation.SIMULATED_CASES} == set(BOUNDS)


@pytest.mark.parametrize("case", BOUNDS)
def test_estimate_and_simulation_part_no_further_than_said(simulated: list[Row], case: str) -> None:
    found = [row.error for row in simulated if row.id.startswith(f"{case}, ")]
    assert len(found) == 6
    assert max(found) < BOUNDS[case]


@pytest.mark.parametrize(
    ("source", "bound"),
    [(architecture.parameters, 1.0), (architecture.kv_bytes_per_token, EXACT), (designs.reference_designs, EXACT)],
)
def test_published_figures_come_out(source, bound: float) -> None:
    rows = list(source())
    assert rows
    assert max(row.error for row in rows) < bound
