"""Looks values up where a template's dot cannot: by a variable key or place; and writes figures of plain numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.translation import gettext as _

from planner.core import quantities
from planner.designs.evidence import SHOWN_APART

register = template.Library()

DIGEST = re.compile(r"[0-9a-f]{16,}")
LONGEST_SHOWN = 240
"""Characters of what made a figure from which on a row starts closed."""


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


@register.filter
def made_of(provenance: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What made a figure, a row each: name, words, and the whole of a digest that is cut; a long one starts closed."""
    return [
        {"name": name.replace("_", " "), "text": _cut(text), "full": text, "long": len(text) > LONGEST_SHOWN}
        for name, value in provenance.items()
        if name not in SHOWN_APART and (text := _said(value))
    ]


def _said(value: Any) -> str:
    """A value in words; the parts of a mapping that say the same stand together."""
    if not isinstance(value, Mapping):
        return _word(value)
    by_text: dict[str, list[str]] = {}
    for name, part in value.items():
        if text := _cut(_said(part)):
            by_text.setdefault(text, []).append(str(name).replace("_", " "))
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in by_text.items())


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(map(_word, value))
    return "" if value is None else str(value)


def _cut(text: str) -> str:
    """A digest as far as one compares it by eye."""
    return text[:12] if DIGEST.fullmatch(text) else text
