"""The page of a design's reliability: terms in the address, changes that open in the editor, and nothing to lose."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from planner import kinds
from planner.core.fleet import Fleet, Pool
from planner.core.planning import Planning
from tests.web.library import check_page, words

pytestmark = pytest.mark.django_db
FRAGMENT = {"hx-request": "true", "hx-target": "reliability"}


def fleet(spec, _result, _catalog):
    """A unit of one GPU for each, three quarters of them needed; one GPU alone is not bought at all."""
    if spec.gpus == 1:
        return Fleet(pools=())
    pool = Pool(
        "unit", "Units", "unit", units=spec.gpus, needed_units=0.75 * spec.gpus, unit_gpus=1, unit_usd_per_h=2.0,
        spare_field="gpus", spare_value=spec.gpus,
    )  # fmt: skip
    return Fleet(pools=(pool,))


@pytest.fixture(autouse=True)
def bought(monkeypatch):
    monkeypatch.setattr(kinds, "planning", lambda _slug: Planning(fleet=fleet))


@pytest.fixture
def url(design):
    return f"/designs/{design.id}/reliability/"


def test_it_shows_the_plan_with_its_tab_and_the_changes_it_proposes(signed_in, url, design):
    check_page(signed_in, url)
    response = signed_in("bob").get(url, {"availability": "99.999", "zones": "1"})
    page = response.content.decode()
    assert "carries the peak for <b>only" in words(response)
    assert 'aria-current="page">Reliability' in page
    links = [unescape(link) for link in re.findall(r'href="(/designs/[^"]+\?set=[^"]+)"', page)]
    changes = [json.loads(parse_qs(urlsplit(link).query)["set"][0]) for link in links]
    assert changes
    assert all(set(change) == {"gpus"} for change in changes)
    assert all(link.startswith(f"/designs/{design.id}/") for link in links)
    dealt = re.search(r'href="(/designs/[^"]+\?[^"]*zones=4[^"]*)"', page)
    assert dealt
    assert "availability=99.999" in dealt[1]


def test_a_viewer_sees_it_without_what_changes_the_design(signed_in, url):
    page = words(signed_in("vera").get(url, {"availability": "99.999"}))
    assert "only" in page
    assert "?set=" not in page


def test_the_answer_follows_the_terms_without_a_new_page(signed_in, url):
    client = signed_in("bob")
    found = client.get(url, {"zones": "4"}, headers=FRAGMENT).content.decode()
    assert "<html" not in found
    assert 'id="answer"' in found
    refused = client.get(url, {"zones": "none"}, headers=FRAGMENT)
    assert (refused.status_code, refused["HX-Reswap"]) == (422, "none")
    assert 'id="e-zones" hx-swap-oob="true">“none” is not a number.' in refused.content.decode()


def test_a_term_that_cannot_be_read_is_named_and_the_usual_ones_answer(signed_in, url):
    page = signed_in("bob").get(url, {"nodes_per_rack": "0"})
    assert page.status_code == 422
    text = words(page)
    assert "Give at least 1" in text
    assert "carries the peak for" in text


def test_what_buys_nothing_has_nothing_to_lose(signed_in, url, design):
    design.spec = {"gpus": 1}
    design.save()
    assert "nothing to lose" in words(signed_in("bob").get(url))
