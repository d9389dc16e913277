"""Small SVG signs, drawn inline so that they take the colour of their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from planner.designs import badges

register = template.Library()

_CUT = 'stroke="var(--surface)" stroke-width="1.8"'
_SHAPES = {
    "error": (
        '<path d="M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2L1.5 10.8V5.2z" fill="currentColor"/>'
        f'<path d="M8 4.2v4.6M8 10.7V12" {_CUT}/>'
    ),
    "warning": f'<path d="M8 1.6 15 14.2H1z" fill="currentColor"/><path d="M8 6v4M8 11.4v1.4" {_CUT}/>',
    "info": f'<circle cx="8" cy="8" r="6.7" fill="currentColor"/><path d="M8 7v4.6M8 4.2v1.6" {_CUT}/>',
    "ok": f'<circle cx="8" cy="8" r="6.7" fill="currentColor"/><path d="m4.8 8.2 2.2 2.3 4.2-4.6" {_CUT} fill="none"/>',
    "open": (
        '<circle cx="8" cy="8" r="5.8" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2.6 2"/>'
    ),
    "plus": '<path d="M8 3v10M3 8h10" stroke="currentColor" stroke-width="1.7"/>',
    "theme": (
        '<circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        '<path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor"/>'
    ),
    "menu": '<path d="M2 4h12M2 8h12M2 12h12" stroke="currentColor" stroke-width="1.6"/>',
    "close": '<path d="m4 4 8 8M12 4l-8 8" stroke="currentColor" stroke-width="1.6"/>',
    "brand": '<path d="M2 14h3V8H2zM6.5 14h3V2h-3zM11 14h3V5.500h-3z" fill="currentColor"/>',
}
_RING = '<circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.3"/>'
_BASES = {
    "exact": '<path d="M2 2h8v8H2z" fill="currentColor"/>',
    "measured": '<circle cx="6" cy="6" r="4.5" fill="currentColor"/>',
    "calibrated": f'{_RING}<path d="M6 2a4 4 0 0 0 0 8z" fill="currentColor"/>',
    "extrapolated": _RING,
    "assumed": '<path d="M6 2 10.600 10H1.400z" fill="none" stroke="currentColor" stroke-width="1.3"/>',
    "simulated": '<path d="M6 1.500 10.500 6 6 10.500 1.500 6z" fill="none" stroke="currentColor" stroke-width="1.3"/>',
}


@register.simple_tag
def icon(name: str, size: int = 16, tone: str = "") -> SafeString:
    """The sign ``name``; ``tone`` is a severity whose colour it takes."""
    return format_html(
        '<svg class="{}" width="{}" height="{}" viewBox="0 0 16 16" aria-hidden="true">{}</svg>',
        f"s-{tone}" if tone else "",
        size,
        size,
        mark_safe(_SHAPES[name]),  # noqa: S308
    )


@register.simple_tag
def basis_mark(basis: str, quiet: bool = False) -> SafeString:
    """How a figure came about: mark and word, its meaning on hover; ``quiet`` leaves the word to who does not see."""
    return format_html(
        '<span class="basis" title="{}">'
        '<svg width="10" height="10" viewBox="0 0 12 12" aria-hidden="true">{}</svg>{}</span>',
        badges.meaning(basis),
        mark_safe(_BASES.get(basis, _BASES["assumed"])),  # noqa: S308
        format_html('<span class="vh">{}</span>', badges.words(basis)) if quiet else badges.words(basis),
    )


@register.inclusion_tag("components/bases.html")
def bases_legend(groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`{% bases_legend groups %}`: what the badges of these groups of rows mean."""
    return {"legend": badges.legend(row["basis"] for group in groups for row in group["rows"])}


@register.simple_tag
def verdict_mark(met: bool | None, text: str = "") -> SafeString:
    """Whether an objective is met, with its limit in words; nothing where there is no objective."""
    if met is None:
        return SafeString("")
    tone, word = ("ok", _("met")) if met else ("error", _("not met"))
    return format_html(
        '<span class="basis s-{}">{}<span>{}<span class="vh"> {}</span></span></span>',
        tone,
        icon(tone, size=13),
        text,
        word,
    )
