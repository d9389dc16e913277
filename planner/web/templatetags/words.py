"""Words and figures on a page: claims, changes, differences."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from planner.charts import board

register = template.Library()


@register.filter
def claim(sentence: str) -> SafeString:
    """A sentence whose `**claim**` stands out."""
    escaped = str(conditional_escape(sentence or ""))
    return mark_safe(re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escaped))  # noqa: S308 - escaped above


@register.filter
def clock(at_s: float) -> str:
    """A length of simulated time as hours, minutes and seconds."""
    return board.clock(float(at_s))


@register.filter
def as_json(value: Any) -> str:
    """A change as the value of a button; the template escapes it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@register.filter
def figure_words(row: dict[str, Any]) -> str:
    """A figure under its label: with its unit, unless the label has just said it ("Nodes 68")."""
    unit = row["unit_text"].lower().removesuffix("s")
    said = len(unit) > 2 and unit in row["label"].lower()
    return str(row["text"] if said else row["shown"])


@register.filter
def ago(then: datetime | None) -> str:
    """How long ago, in its largest unit."""
    if then is None:
        return ""
    if timezone.now() - then < timedelta(minutes=1):
        return _("just now")
    return _("%(time)s ago") % {"time": timesince(then, depth=1)}


@register.simple_tag
def delta(row: dict[str, Any] | None, label: str = "") -> SafeString:
    """How a figure moved, in the colour of its direction; nothing where it did not."""
    found = (row or {}).get("delta")
    if not found or found["change"] == "same" or not found["text"]:
        return SafeString("")
    return format_html('<span class="delta" data-d="{}">{} {}</span>', found["change"], label, found["text"])


@register.filter
def count_of(rows: list[Any], key: str) -> int:
    """How many rows have this severity or state: `findings|count_of:"severity=error"`."""
    name, _equals, wanted = key.partition("=")
    return sum(1 for row in rows if row.get(name) == wanted)
