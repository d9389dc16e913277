"""Looks values up where a template's dot cannot: by a variable key or place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

register = template.Library()


@register.filter
def item(mapping: Mapping[str, Any], key: str) -> Any:
    """`mapping|item:key`: the value, or None."""
    return mapping.get(key)


@register.filter
def at(rows: Sequence[Any], place: int) -> Any:
    """`rows|at:forloop.counter0`: the row in this place, or None."""
    return rows[place] if place < len(rows) else None
