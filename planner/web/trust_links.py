"""From a figure to what its kind of figure was worth on the same GPU and engine: links into the validation page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from planner.catalog import selectors as catalogs
from planner.catalog.validation import Stored, stored
from planner.core.catalog import UnknownEntry

BASES = ("measured", "calibrated", "extrapolated")
MEMORY = "memory_kv_tokens_configured"
QUANTITIES = {
    "s": "tpot",
    "bytes": MEMORY,
    "tokens": MEMORY,
    "blocks": MEMORY,
    "tok": "throughput",
    "req": "throughput",
    "USD": "throughput",
}
"""What the errors of a figure are kept under, by the unit it begins with: rates and costs are those of throughput."""
FIRST = "ttft"
TABLES = {"gpus": "gpu", "engines": "engine"}


def place_of(view: Mapping[str, Any] | None) -> dict[str, str]:
    """The GPU and the engine of a design, as the rows of validation name them; what it does not say is left out."""
    if view is None:
        return {}
    place = {"engine": str(view["spec"].get("engine") or "")}
    for group in view["inputs"]["groups"]:
        for field in group["fields"]:
            if (name := TABLES.get(field["catalog"], "")) and field["value"]:
                place.setdefault(name, _slug(field["catalog"], field["value"]))
    return {name: value for name, value in place.items() if value}


def _slug(table: str, name: str) -> str:
    try:
        return catalogs.shipped().record(table, name).slug
    except UnknownEntry:
        return name


def address(metric: str, *, unit: str, basis: str, place: Mapping[str, str]) -> str:
    """Where the errors of a figure are shown; "" for one that has none, or that nobody has compared yet."""
    if basis not in BASES or "gpu" not in place:
        return ""
    quantity = FIRST if metric.startswith(FIRST) else QUANTITIES.get(unit.partition("/")[0], "")
    if quantity not in stored().rows:
        return ""
    return f"{reverse('web:validation')}?{urlencode({'quantity': quantity, **place})}#detail"


def row_address(evidence: Mapping[str, Any]) -> str:
    """Where a published measurement stands beside what would be said of it; "" where none of its figures does."""
    for figure in evidence["figures"]:
        if evidence["id"] in _ids(stored(), figure["name"]):
            return (
                f"{reverse('web:validation')}?{urlencode({'quantity': figure['name'], 'row': evidence['id']})}#detail"
            )
    return ""


@lru_cache(maxsize=16)
def _ids(found: Stored, quantity: str) -> frozenset[str]:
    return frozenset(row.id for row in found.rows.get(quantity, ()))
