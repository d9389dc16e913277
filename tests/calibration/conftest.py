from __future__ import annotations

import pytest

from planner.catalog import files
from planner.core.catalog import Catalog
from tests.calibration import design as designs
from tests.calibration import rows
from tests.calibration.design import Design
from tests.calibration.rows import MeasuredRow
from tests.calibration.run import MEASURED

EVERY = 12


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return files.load()


@pytest.fixture(scope="session")
def read(catalog: Catalog) -> list[MeasuredRow]:
    """All rows of the file."""
    return rows.read(MEASURED, catalog=catalog)


@pytest.fixture(scope="session")
def some(read: list[MeasuredRow], catalog: Catalog) -> Design:
    """A design of one in twelve usable rows: every LLM, GPU and engine, few enough to be quick."""
    return designs.design([row for row in read if not row.reasons][::EVERY], catalog=catalog)
