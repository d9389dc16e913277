"""`/validation/`: how far our figures are off those that others measured or published, and every row of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Literal

from django.urls import reverse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import schema, shapes
from planner.api import shapes_validation as mine
from planner.api.errors import InvalidInput
from planner.api.inputs import Body, query
from planner.api.paging import paged
from planner.api.views.resource import ApiView, reply
from planner.catalog import validation as stored_rows
from planner.catalog import validation_query
from planner.catalog.validation import Stored
from planner.core.validation import Row, Summary, slices, summary


class RowsQuery(Body):
    quantity: str = Field("", description="One of the quantities of /validation/; all of them without it.")
    group: str = Field("", description="The condition of the test.")
    gpu: str = Field("", description="Slug of a GPU.")
    engine: str = Field("", description="Slug of an engine.")
    family: str = Field("", description="Family of the LLM.")
    llm: str = Field("", description="Slug of an LLM.")
    id: str = Field("", description="One row by its id, under every condition it was tested in.")
    status: Literal["", "compared", "set aside", "not expressible"] = Field("", description="What became of the row.")
    sort: Literal["-error", "error", "id"] = Field("-error", description="The order; rows without an error come last.")


class Validation(ApiView):
    @reply(mine.ValidationShape, summary="Errors of our figures by quantity, condition, GPU, engine and LLM family")
    def get(self, _request: Request) -> Response:
        stored = stored_rows.stored()
        return Response({"as_of": stored.date, "quantities": [_quantity(stored, name) for name in stored.rows]})


def _quantity(stored: Stored, name: str) -> dict[str, Any]:
    lines = [line for line in validation_query.overview(stored) if line.quantity.name == name]
    quantity = lines[0].quantity
    return {
        "quantity": name,
        "label": _(quantity.label),
        "against": _(quantity.against) if quantity.against else "",
        "theirs": _(quantity.theirs),
        "conditions": [_condition(line) for line in lines],
        "slices": _slices(stored, name),
        "rows_url": f"{reverse('api:validation-rows')}?quantity={name}",
    }


def _condition(line: validation_query.Line) -> dict[str, Any]:
    checks = [asdict(check) | {"limit": list(check.limit), "found": _rounded(check.found)} for check in line.checks]
    return {"group": line.group, **_errors(line.summary), "met": line.met, "checks": checks}


def _errors(found: Summary) -> dict[str, Any]:
    return {
        "n": found.n,
        "median": _rounded(found.median),
        "p90": _rounded(found.p90),
        "coverage": _rounded(found.coverage),
        "answered": _rounded(found.answered),
        "set_aside": found.set_aside,
        "not_expressible": found.not_expressible,
    }


@lru_cache(maxsize=64)
def _slices(stored: Stored, name: str) -> Mapping[str, dict[str, Any]]:
    return {part: _errors(summary(rows)) for part, rows in slices(stored.rows[name])}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


class ValidationRows(ApiView):
    @reply(
        shapes.page_of(mine.ValidationRow),
        summary="Predicted against measured: every row of a quantity, with its source",
        parameters=schema.query(RowsQuery),
    )
    def get(self, request: Request) -> Response:
        asked = query(request, RowsQuery)
        rows = _rows_of(asked.quantity)
        filters = {name: getattr(asked, name) for name in (*validation_query.FILTERS, "id")}
        found = validation_query.ordered(validation_query.select(rows, filters), asked.sort)
        return paged(self, found, show=_row)


def _rows_of(quantity: str) -> Sequence[Row]:
    stored = stored_rows.stored().rows
    if not quantity:
        return [row for rows in stored.values() for row in rows]
    if quantity not in stored:
        names = ", ".join(stored)
        raise InvalidInput.of_parameter(
            "quantity", detail=_("No such quantity; there are %(names)s.") % {"names": names}
        )
    return stored[quantity]


def _row(row: Row) -> dict[str, Any]:
    return {**asdict(row), "error_percent": _rounded(row.error), "in_range": row.is_covered}
