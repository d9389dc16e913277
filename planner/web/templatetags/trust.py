"""The mark of a figure's basis as a link to the errors of its kind."""

from __future__ import annotations

from collections.abc import Mapping
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
