"""How the points of a sweep are said: by the values of the few fields that vary, or by all they change."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.models import Team
from planner.catalog import selectors as catalogs
from planner.designs.inputs import show_value

MOST_COLUMNS = 4
"""Fields that have a column of their own."""
MOST_OTHERS = 2
A_WORD = 4
"""How much more a value in words tells of a point than one of a number."""
SAME = 5e-4
"""Relative difference up to which two figures are written alike."""

Result = Mapping[str, Any]
Words = Callable[[str, Any], str]


def words_of(kind: str, *, team: Team) -> Words:
    """How a value of a field is said."""
    fields, catalog = kinds.get(kind).spec.model_fields, catalogs.catalog(team)
    known: dict[tuple[str, str], str] = {}

    def words(name: str, value: Any) -> str:
        key = (name, json.dumps(value))
        if key not in known:
            known[key] = show_value(fields[name], value=value, catalog=catalog) if name in fields else str(value)
        return known[key]

    return words


def columns_of(result: Result) -> list[Mapping[str, Any]]:
    """The fields that have a column of their own: all, or of many those that tell the points best apart."""
    fields = list(result["fields"])
    if len(fields) <= MOST_COLUMNS:
        return fields
    values, front = result["points"]["values"], result["front"]

    def rank(one: Mapping[str, Any]) -> tuple[bool, int]:
        column = values[one["name"]]
        is_number = all(value is None or isinstance(value, int | float) for value in column)
        tried = len({str(value) for value in column})
        return len({str(column[place]) for place in front}) < 2, -tried * (1 if is_number else A_WORD)

    kept = sorted((one for one in fields if not _is_price(one)), key=rank)[: MOST_COLUMNS + 1]
    return [one for one in fields if one in kept]


def _is_price(one: Mapping[str, Any]) -> bool:
    """Prices follow from what is chosen."""
    return str(one["unit"]).startswith("USD")


def metrics_of(result: Result) -> list[Mapping[str, Any]]:
    """The metrics that have a column of their own: what is sought, and a few others that tell points apart."""
    sought = [result["objective"]["metric"], (result["against"] or {}).get("metric")]
    known = {one["name"]: one for one in result["metrics"]}
    figures = result["points"]["figures"]
    others = [
        one for one in result["metrics"] if one["name"] not in sought and one["unit"] and _differs(figures[one["name"]])
    ]
    return [known[name] for name in dict.fromkeys(sought) if name in known] + others[:MOST_OTHERS]


def sought_of(result: Result) -> int:
    """How many of them are what is sought."""
    return 2 if result["against"] else 1


def _differs(column: Sequence[float | None]) -> bool:
    """Whether a figure is not the same of all points that have it."""
    known = [value for value in column if value is not None]
    return bool(known) and max(known) - min(known) > SAME * max(abs(max(known)), abs(min(known)))


def point_words(result: Result, place: int, *, words: Words) -> str:
    """What makes a point, in a line: its value of each field, or what it changes where there are many."""
    values, spec = result["points"]["values"], result["spec"]
    fields = list(result["fields"])
    if len(fields) > MOST_COLUMNS:
        fields = [one for one in fields if not _is_price(one) and values[one["name"]][place] is not None]
        fields = [one for one in fields if values[one["name"]][place] != spec.get(one["name"])]
    said = (f"{one['label']} {words(one['name'], values[one['name']][place])}" for one in fields)
    return " · ".join(said) or _("as it is")
