"""The reference designs of the customer's notes."""

from __future__ import annotations

from collections.abc import Iterator

from planner import kinds
from tests.golden.published import DESIGN_FIGURES
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog


@gives("reference_designs")
def reference_designs() -> Iterator[Row]:
    """The figures of the notes against our answer to the default spec."""
    for (slug, name), published in DESIGN_FIGURES.items():
        kind = kinds.get(slug)
        metric = kind.estimate(kind.spec(), catalog()).metrics[name]
        yield Row(
            quantity="reference_designs",
            id=f"{slug}/{name}",
            source="Customer’s design notes",
            family=kind.label,
            predicted=metric.value,
            measured=published,
            unit=metric.definition.unit,
            conditions=metric.definition.label,
        )
