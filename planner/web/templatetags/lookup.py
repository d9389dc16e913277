"""Looks values up where a template's dot cannot: by a variable key or place; and writes figures of plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

from planner.core import quantities

register = template.Library()


@register.filter
def item(mapping: Mapping[str, Any], key: str) -> Any:
    """`mapping|item:key`: the value, or None."""
    return mapping.get(key)


@register.filter
def at(rows: Sequence[Any], place: int) -> Any:
    """`rows|at:forloop.counter0`: the row in this place, or None."""
    return rows[place] if place < len(rows) else None


@register.filter
def shown_in(value: float | None, unit: str) -> str:
    """`value|shown_in:"USD/h"`: the figure with its unit."""
    return quantities.show(value, unit)


@register.filter
def in_full(value: float | None) -> str:
    """`value|in_full`: every digit, for a title."""
    return quantities.full(value)


@register.filter
def signed_share(value: float) -> str:
    """`0.0123|signed_share`: "+1.23 %"; a share that is nothing in three digits says so."""
    if abs(value) < 5e-5:
        return f"0{quantities.NBSP}%"
    sign = quantities.MINUS if value < 0 else "+"
    return f"{sign}{quantities.show(abs(value), 'ratio')}"
