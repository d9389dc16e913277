"""A row of validation in words."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from planner.catalog import selectors as catalogs
from planner.core.quantities import MINUS, full, show, show_parts
from planner.core.validation import VERDICT, Row
from planner.web.validation_charts import percent


@lru_cache(maxsize=1)
def names() -> dict[str, str]:
    """Names of the catalog's GPUs, LLMs and engines by slug."""
    catalog = catalogs.shipped()
    found = {engine.slug: engine.name for engine in catalog.engines()}
    found |= {gpu.slug: gpu.name for gpu in catalog.gpus()}
    return found | {llm.slug: llm.name for llm in catalog.llms()}


def row_line(row: Row) -> dict[str, Any]:
    """A row as the list shows it."""
    known = names()
    return {
        "id": row.id,
        "title": known.get(row.llm, row.llm) or row.conditions or row.id,
        "where": " · ".join(part for part in (known.get(row.gpu, row.gpu), known.get(row.engine, row.engine)) if part),
        "conditions": row.conditions if row.llm else "",
        "group": _(row.group) if row.group else "",
        "predicted": figure(row.predicted, row.unit),
        "predicted_full": full(row.predicted),
        "range": _range(row),
        "measured": figure(row.measured, row.unit),
        "measured_full": full(row.measured),
        "error": signed_error(row),
        "held": row.is_covered,
        "status": row.status,
        "status_words": _(row.status),
        "reason": row.reason,
        "source": row.source,
        "source_url": row.source_url if row.source_url.startswith(("https://", "http://")) else "",
    }


def figure(value: float | None, unit: str) -> str:
    if unit == VERDICT and value is not None:
        words: dict[float, str] = {0.0: _("no"), 1.0: _("yes")}
        return words.get(value, _("too close to call"))
    return show(value, unit)


def _range(row: Row) -> str:
    if row.low is None or row.high is None or row.unit == VERDICT:
        return ""
    number, words = show_parts(row.low, row.unit)
    high = show(row.high, row.unit)
    return f"{number}–{high}" if words == show_parts(row.high, row.unit)[1] else f"{show(row.low, row.unit)} – {high}"


def signed_error(row: Row) -> str:
    """The error with the side it is on; of a verdict whether it is right."""
    error = row.error
    if error is None or row.predicted is None or row.measured is None:
        return show(None)
    if row.unit == VERDICT:
        return _("wrong") if error else _("open") if row.is_open else _("right")
    if error < 0.05:
        return percent(error)
    return f"{'+' if row.predicted > row.measured else MINUS}{percent(error)}"
