"""How the figures are made: the METHOD.md of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from planner import kinds
from planner.web.security import TeamRequest, member_required


@require_safe
@member_required
def methods(request: TeamRequest) -> HttpResponse:
    return render(request, "methods/methods.html", {"kinds": list(kinds.all_kinds().values())})


@require_safe
@member_required
def method(request: TeamRequest, kind: str) -> HttpResponse:
    """The method of a kind, as its folder tells it."""
    try:
        found = kinds.get(kind)
    except kinds.UnknownKind:
        raise Http404 from None
    context = {"kind": found, "kinds": list(kinds.all_kinds().values()), "text": html_of(kinds.method(kind))}
    return render(request, "methods/method.html", context)


@lru_cache(maxsize=32)
def html_of(markdown: str) -> SafeString:
    """The text as HTML. Markup within it is shown, not obeyed; what scrolls can be scrolled by keyboard."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    parser.add_render_rule("th_open", _cell)
    parser.add_render_rule("td_open", _cell)
    parser.add_render_rule("code_block", _code)
    parser.add_render_rule("fence", _code)
    return SafeString(parser.render(markdown))


def _table_open(*_parts: Any) -> str:
    return '<div class="scroll" tabindex="0"><table class="data">'


def _table_close(*_parts: Any) -> str:
    return "</table></div>"


def _cell(_renderer: Any, tokens: Sequence[Token], place: int, *_parts: Any) -> str:
    """Columns of figures by their class: the style that markdown would write is barred by the policy of the pages."""
    is_figure = "right" in str(tokens[place].attrGet("style"))
    return f'<{tokens[place].tag} class="n">' if is_figure else f"<{tokens[place].tag}>"


def _code(_renderer: Any, tokens: Sequence[Token], place: int, *_parts: Any) -> str:
    return format_html('<pre class="codeblock" tabindex="0"><code>{}</code></pre>', tokens[place].content)
