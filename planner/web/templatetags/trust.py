"""The mark of a figure's basis as a link to the errors of its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from planner.web import trust_links
from planner.web.templatetags.icons import basis_mark

register = template.Library()


@register.simple_tag
def basis_link(row: Mapping[str, Any], place: Mapping[str, str] | str = "") -> SafeString:
    """`{% basis_link row place %}`: the mark; a link where ``place`` is known and errors of this quantity are."""
    mark = basis_mark(row["basis"])
    if not isinstance(place, Mapping):
        return mark
    where = trust_links.address(row["name"], unit=row["unit"], basis=row["basis"], place=place)
    if not where:
        return mark
    title = _("How far such figures were off what was measured on this GPU and engine")
    return format_html('<a href="{}" title="{}">{}</a>', where, title, mark)


@register.simple_tag
def evidence_link(found: Mapping[str, Any]) -> str:
    """`{% evidence_link found as row %}`: the address of its row among those of validation; "" where it has none."""
    return trust_links.row_address(found)


@register.simple_tag
def evidence_parts(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`{% evidence_parts items as parts %}`: a row for each part measured, a cell a design."""
    by_item = [{found["subject"]: found for found in item.get("evidence", ())} for item in items]
    return [
        {
            "subject": subject,
            "cells": [
                {"label": item["label"], "found": of_item.get(subject)}
                for item, of_item in zip(items, by_item, strict=True)
            ],
        }
        for subject in dict.fromkeys(subject for of_item in by_item for subject in of_item)
    ]


@register.filter
def compared_rows(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`metrics|compared_rows`: the cells of a comparison as groups of rows, for `bases_legend`."""
    return [{"rows": [cell for row in group["rows"] for cell in row["cells"] if cell]} for group in groups]
