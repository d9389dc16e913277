"""Who sees what: every page and action against owner, team-mates, a stranger and nobody."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse

from planner.designs import services as designs

pytestmark = pytest.mark.django_db

PAGES = ["home", "new", "account", "search", "validation"]
DESIGN_PAGES = ["design", "history"]
DESIGN_WRITES = ["revert", "describe", "duplicate", "delete", "share", "report", "design"]


def addresses(design):
    """Every page of this half of the site that one can look at."""
    plain = [reverse(f"web:{name}") for name in PAGES]
    plain += [reverse("web:new-kind", args=["sample"]), reverse("web:new-kind", args=["sample"]) + "?example=small"]
    return plain + [reverse(f"web:{name}", args=[design.id]) for name in DESIGN_PAGES]


@pytest.mark.parametrize("name", ["alice", "bob", "vera"])
def test_members_see_every_page(signed_in, design, name):
    client = signed_in(name)
    for address in addresses(design):
        assert client.get(address).status_code == 200, address


def test_nobody_is_sent_to_sign_in_and_back(design):
    for address in addresses(design):
        response = Client().get(address)
        assert response.status_code == 302
        assert response.url.startswith("/sign-in/?next="), address


def test_a_fragment_for_nobody_sends_the_whole_page_to_sign_in(db):
    response = Client().post(
        "/designs/live/sample/",
        headers={"hx-request": "true", "hx-current-url": "http://testserver/designs/new/sample/"},
    )
    assert response["HX-Redirect"] == "/sign-in/?next=/designs/new/sample/"


def test_a_stranger_finds_nothing(signed_in, design):
    client = signed_in("charlie")
    for name in (*DESIGN_PAGES, *DESIGN_WRITES):
        address = reverse(f"web:{name}", args=[design.id])
        assert client.post(address).status_code in (404, 405), name
        if name in DESIGN_PAGES:
            assert client.get(address).status_code == 404, name
    assert client.post("/designs/live/sample/", {"design": str(design.id)}).status_code == 404
    assert client.post("/designs/simulate/sample/", {"design": str(design.id)}).status_code == 404
    for query in ({}, {"q": "Twelve"}):
        assert str(design.id) not in client.get("/", query).content.decode()
    assert str(design.id) not in client.get("/search/", {"q": "Twelve"}).content.decode()
    design.refresh_from_db()
    assert design.deleted_at is None


@pytest.mark.parametrize("name", DESIGN_WRITES)
def test_a_viewer_is_told_why_not(signed_in, design, name):
    response = signed_in("vera").post(reverse(f"web:{name}", args=[design.id]))
    assert response.status_code == 403
    assert "admin" in response.content.decode()
    design.refresh_from_db()
    assert (design.revision, design.deleted_at) == (1, None)


def test_a_viewer_looks_at_a_form_that_cannot_be_sent(signed_in, design):
    page = signed_in("vera").get(reverse("web:design", args=[design.id])).content.decode()
    assert "<fieldset disabled>" in page
    assert 'name="apply"' not in page
    assert "Make a link" not in page


def test_every_change_needs_the_form_key(people, design):
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.alice)
    for name in DESIGN_WRITES:
        response = client.post(reverse(f"web:{name}", args=[design.id]))
        assert response.status_code == 403, name
        assert "This form has expired" in response.content.decode()
    assert client.post("/preferences/", {"theme": "dark"}).status_code == 403


def test_reading_never_changes(signed_in, design):
    client = signed_in("alice")
    for name in ("delete", "duplicate", "share", "report", "revert"):
        assert client.get(reverse(f"web:{name}", args=[design.id])).status_code == 405, name
    assert client.get("/sign-out/").status_code == 405


class Inline(HTMLParser):
    """Finds what a strict content security policy would block."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        self.found += [(tag, name) for name in names if name == "style" or re.fullmatch(r"on\w+|hx-on.*", name)]
        if tag == "style" or (tag == "script" and not names.get("src") and names.get("type") != "application/json"):
            self.found.append((tag, "inline"))
        for name in ("src", "href"):
            if tag in ("script", "link", "img") and re.match(r"(https?:)?//", names.get(name) or ""):
                self.found.append((tag, names[name]))


@pytest.mark.parametrize("name", ["alice", "vera"])
def test_no_page_needs_more_than_the_strict_policy(signed_in, design, name):
    designs.share_create(team=design.team, user=design.created_by, design=design)
    client = signed_in(name)
    for address in [*addresses(design), "/nowhere/"]:
        response = client.get(address)
        policy = response["Content-Security-Policy"]
        assert "unsafe" not in policy, address
        assert "script-src 'self'" in policy
        assert "style-src 'self'" in policy
        parser = Inline()
        parser.feed(response.content.decode())
        assert parser.found == [], address


def test_a_host_that_is_not_ours_is_refused_under_the_same_policy(client):
    response = client.get("/sign-in/", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert "script-src 'self'" in response["Content-Security-Policy"]
    assert response["X-Frame-Options"] == "DENY"


def test_the_first_page_is_small(signed_in, design):
    assert len(signed_in("alice").get("/").content) < 60_000


def test_ids_are_given_once(signed_in, design):
    client = signed_in("alice")
    for address in addresses(design):
        ids = re.findall(r'\sid="([^"]+)"', client.get(address).content.decode())
        assert sorted(ids) == sorted(set(ids)), address
