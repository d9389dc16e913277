"""From a figure to what its kind of figure was worth on the same GPU and engine: links into the validation page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from planner.catalog import selectors as catalogs
from planner.catalog.validation import stored
from planner.core.catalog import UnknownEntry

BASES = ("measured", "calibrated", "extrapolated")
QUANTITIES = (
    ("ttft", "ttft"),
    ("tpot", "tpot"),
    ("output_tokens_per_s", "throughput"),
    ("throughput", "throughput"),
    ("kv_tokens", "memory_kv_tokens_configured"),
)
"""How the name of a metric begins, and the quantity that its errors are kept under."""
USUAL = "tpot"
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


def address(metric: str, *, basis: str, place: Mapping[str, str]) -> str:
    """Where the errors of a figure are shown; "" for one that has none, or that nobody has compared yet."""
    if basis not in BASES or "gpu" not in place:
        return ""
    quantity = next((found for start, found in QUANTITIES if metric.startswith(start)), USUAL)
    if quantity not in stored().rows:
        return ""
    return f"{reverse('web:validation')}?{urlencode({'quantity': quantity, **place})}#detail"
