"""Plan: from the first look over an example to a saved, revised and restored design, sent as a browser would.

Every kind walks it; nothing here knows one.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from django.test import Client

from planner import kinds
from planner.accounts import services as accounts
from planner.catalog.services import catalog_load
from planner.designs.models import Design
from planner.web.fields import fields_of

pytestmark = pytest.mark.django_db
SLUGS = list(kinds.all_kinds())
EXAMPLES = [pytest.param(row.kind, row, id=row.slug) for row in kinds.examples()]
HTMX = {"hx-request": "true", "hx-target": "result"}


class Inputs(HTMLParser):
    """What a browser would send of the form with the inputs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inside, self.select, self.sent, self.required = False, "", {}, set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.inside = self.inside or (tag == "form" and found.get("id") == "inputs")
        name = found.get("name")
        if not self.inside and found.get("form") != "inputs":
            return
        if tag == "input" and name and (found.get("type") != "radio" or "checked" in found):
            self.sent[name] = found.get("value") or ""
        elif tag == "select" and name:
            self.select = name
        elif tag == "option" and self.select and ("selected" in found or self.select not in self.sent):
            self.sent[self.select] = found.get("value") or ""

    def handle_endtag(self, tag):
        if tag == "form":
            self.inside = False
        if tag == "select":
            self.select = ""


@pytest.fixture
def planner(db):
    catalog_load()
    client = Client()
    client.force_login(accounts.local_user())
    return client


def words(response):
    return re.sub(r"\s+", " ", response.content.decode().replace("\u00a0", " "))


def headline(page):
    return re.search(r'<p class="fig"[^>]*>\s*<b title="([^"]*)"', page).group(1)


def test_the_first_look_shows_examples_with_figures_and_pictures(planner):
    page = words(planner.get("/"))
    assert page.count('class="card"') == len(kinds.examples())
    assert page.count('class="mini"') == len(kinds.examples())
    for kind in kinds.all_kinds().values():
        assert kind.question in page


@pytest.mark.parametrize(("slug", "example"), EXAMPLES)
def test_an_example_opens_with_figures_charts_and_the_five_steps(planner, slug, example):
    response = planner.get(f"/designs/new/{slug}/?example={example.slug}")
    page = words(response)
    assert response.status_code == 200
    assert headline(page)
    assert page.count("<figure") >= 2
    for step in ("clarify", "estimate", "architecture", "trade-offs", "follow-ups", "metrics"):
        assert f'id="{step}"' in page
        assert f'href="#{step}"' in page
    assert "NaN" not in page
    assert "Infinity" not in page
    assert "0 of" in page


@pytest.mark.parametrize("slug", SLUGS)
def test_the_form_sends_back_the_very_spec_it_was_opened_with(planner, slug):
    sent = Inputs(planner.get(f"/designs/new/{slug}/").content.decode()).sent
    saved = planner.post(f"/designs/new/{slug}/", {**sent, "save_name": "As it comes"})
    assert saved.status_code == 302
    assert Design.objects.get().spec == kinds.get(slug).spec().model_dump(mode="json")


@pytest.mark.parametrize("slug", SLUGS)
def test_one_plans_saves_and_goes_back(planner, slug):
    kind = kinds.get(slug)
    variant = next(iter(kind.advice.variants(kind.spec(), kind_result(kind))))
    change = json.dumps(dict(variant.change))
    opened = planner.get(f"/designs/new/{slug}/")
    sent = Inputs(opened.content.decode()).sent
    tried = planner.post(f"/designs/live/{slug}/", {**sent, "apply": change})
    assert tried.status_code == 200
    assert "What changed" in words(tried)
    sent = Inputs(tried.content.decode()).sent
    live = planner.post(f"/designs/live/{slug}/", sent, headers=HTMX)
    assert live.status_code == 200
    assert headline(words(live)) == headline(words(tried))
    saved = planner.post(f"/designs/new/{slug}/", {**sent, "save_name": "Mine", "save_tags": "plan, test"})
    design = Design.objects.get()
    page = words(planner.get(saved.url))
    assert headline(page) == headline(words(tried))
    planner.post(saved.url, {**sent, **Inputs(opened.content.decode()).sent, "design": str(design.id), "revision": "1"})
    design.refresh_from_db()
    assert design.revision == 2
    planner.post(f"{saved.url}revert/", {"number": "1", "revision": "2"})
    assert headline(words(planner.get(saved.url))) == headline(words(tried))
    gone = planner.post(f"{saved.url}delete/")
    assert "Undo" in words(planner.get(gone.url))
    planner.post(f"{saved.url}restore/")
    assert planner.get(saved.url).status_code == 200


def kind_result(kind):
    from planner.catalog import selectors

    return kind.estimate(kind.spec(), selectors.catalog())


@pytest.mark.parametrize("slug", SLUGS)
def test_every_field_refuses_nonsense_by_name(planner, slug):
    sent = Inputs(planner.get(f"/designs/new/{slug}/").content.decode()).sent
    names = [field.name for field in fields_of(kinds.get(slug)) if field.control not in ("text", "lines")]
    assert set(names) <= set(sent)
    response = planner.post(f"/designs/live/{slug}/", sent | dict.fromkeys(names, "−nonsense€"), headers=HTMX)
    assert response.status_code == 422
    page = words(response)
    assert [name for name in names if re.search(rf'id="e-{name}"[^>]*></p>', page)] == []


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("text", ["1e308", "-1e308", "0", "9" * 26, ""])
def test_no_figure_breaks_the_page(planner, slug, text):
    sent = Inputs(planner.get(f"/designs/new/{slug}/").content.decode()).sent
    for name, field in kinds.get(slug).spec.model_fields.items():
        if "unit" in (field.json_schema_extra or {}):
            response = planner.post(f"/designs/live/{slug}/", sent | {name: text}, headers=HTMX)
            assert response.status_code in (200, 409, 422), (name, text)
