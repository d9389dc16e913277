"""`make validate` as a test: what METHOD.md says of estimate against simulation must stay true."""

from __future__ import annotations

import math

import pytest

from tests import validation

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


@pytest.fixture(scope="module")
def errors() -> dict[str, list[float]]:
    return validation.errors_by_slice(validation.estimate_against_simulation())


def test_each_case_is_bounded() -> None:
    assert {name for name, *_ in validation.SIMULATED_CASES} == set(BOUNDS)


@pytest.mark.parametrize("case", BOUNDS)
def test_estimate_and_simulation_part_no_further_than_said(errors: dict[str, list[float]], case: str) -> None:
    found = [error for part, values in errors.items() if part.startswith(f"{case}, ") for error in values]
    assert len(found) == 6
    assert max(found) < BOUNDS[case]


@pytest.mark.parametrize("quantity", ["parameters", "kv_bytes_per_token", "reference_designs"])
def test_published_figures_come_out(quantity: str) -> None:
    errors = validation.errors_by_slice(validation.QUANTITIES[quantity]())["all"]
    assert errors
    assert all(math.isfinite(error) for error in errors)
    assert max(errors) < {"parameters": 1.0, "kv_bytes_per_token": 1e-9, "reference_designs": 1e-9}[quantity]
