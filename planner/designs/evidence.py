"""Published measurements beside an answer, as strict JSON: the one builder behind page, share, report and API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner.core import quantities
from planner.core.result import Beside, Evidence, Result, Series
from planner.designs.serial import evidence_json

SHOWN_APART = ("nearest_measurement", "measurements_behind")
"""What provenance says of measurements for scripts: surfaces show it as evidence, not among what made the figures."""
NEAR, FAR = 0.3, 1.0
"""Distances up to which a measurement is called near, and from which far: there its likeness is below 1/e."""


def evidence_view(result: Result, *, tables: bool = True) -> list[dict[str, Any]]:
    """Each measurement with its figures shown; with ``tables`` its like, nearest first."""
    return [_shown(found, series=result.series if tables and found.series else {}) for found in result.evidence]


def _shown(found: Evidence, *, series: Mapping[str, Series]) -> dict[str, Any]:
    table = series.get(found.series)
    return evidence_json(found) | {
        "distance_text": f"{found.distance:.2f}",
        "distance_words": distance_words(found.distance),
        "differs_text": ", ".join(found.differs) or _("nothing that is stated"),
        "rows": [_beside(row) for row in found.figures],
        "table": None if table is None else table_view(table),
    }


def distance_words(distance: float) -> str:
    """How near a measurement is, for who does not read numbers."""
    if distance <= NEAR:
        return _("near")
    return _("some way off") if distance <= FAR else _("far")


def _beside(row: Beside) -> dict[str, str]:
    amount, share = quantities.delta(row.measured, row.estimate, row.unit)
    return {
        "name": row.name,
        "label": row.label,
        "measured": quantities.show(row.measured, row.unit),
        "measured_full": f"{quantities.full(row.measured)} {row.unit}",
        "estimate": quantities.show(row.estimate, row.unit),
        "estimate_full": "" if row.estimate is None else f"{quantities.full(row.estimate)} {row.unit}",
        "delta": "" if row.estimate is None else share or amount,
    }


def table_view(series: Series) -> dict[str, Any]:
    """A series as header and rows, figures shown and full."""
    columns = series.columns
    return {
        "label": series.label,
        "header": [{"label": column.label, "number": _is_number(column.values)} for column in columns],
        "rows": [
            [_cell(column.values[place], unit=column.unit) for column in columns]
            for place in range(len(columns[0].values) if columns else 0)
        ],
    }


def _is_number(values: Any) -> bool:
    return all(value is None or isinstance(value, int | float) for value in values)


def _cell(value: float | str | None, *, unit: str) -> dict[str, str]:
    if isinstance(value, str):
        return {"text": value, "full": ""}
    return {"text": quantities.show(value, unit), "full": "" if value is None else quantities.full(value)}
