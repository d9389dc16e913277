"""Method pages: the METHOD.md of each kind, as text and never as markup of its own."""

from __future__ import annotations

import pytest

from planner import kinds
from planner.web.views.methods import html_of
from tests.web.library import check_page, words

pytestmark = pytest.mark.django_db

TEXT = """# How it is made
Some **bold** words and `code`.

| part | share |
|---|--:|
| a | 1 |

    tokens · bytes < limit

<script>alert(1)</script> [here](javascript:alert(1))
"""


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    monkeypatch.setattr(kinds, "method", lambda _slug: TEXT)


def test_members_read_methods(signed_in):
    for address in ("/methods/", "/methods/sample/"):
        check_page(signed_in, address)
    assert 'href="/methods/sample/"' in words(signed_in("vera").get("/methods/"))


def test_an_unknown_kind_is_not_found(signed_in):
    assert signed_in("vera").get("/methods/nothing/").status_code == 404


def test_the_text_is_set_with_its_tables(signed_in):
    text = words(signed_in("vera").get("/methods/sample/"))
    assert "<h1>How it is made</h1>" in text
    assert "<strong>bold</strong>" in text
    assert '<div class="scroll" tabindex="0"><table class="data">' in text
    assert '<th class="n">share</th>' in text
    assert '<td class="n">1</td>' in text
    assert " style=" not in text
    assert '<pre class="codeblock" tabindex="0"><code>tokens · bytes &lt; limit' in text


def test_markup_in_the_text_is_shown_not_obeyed():
    html = html_of(TEXT)
    assert "<script" not in html
    assert 'href="javascript' not in html


def test_every_method_that_ships_can_be_set(monkeypatch):
    monkeypatch.undo()
    for slug in kinds.all_kinds():
        html = html_of(kinds.method(slug))
        assert html.startswith("<h1>")
        assert "|---" not in html
