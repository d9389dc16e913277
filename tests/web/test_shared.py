"""Share links: what they show to anyone, until when, and how it is copied."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from planner.designs import services
from planner.designs.models import Comparison, Design, Share
from tests.web.library import check_write, words
from tests.web.test_access import Inline

pytestmark = pytest.mark.django_db


@pytest.fixture
def share(people, design):
    return services.share_create(team=people.team, user=people.alice, design=design)


@pytest.fixture
def comparison(people, design):
    other = services.design_create(
        team=people.team, user=people.alice, kind="sample", spec={"gpus": 16}, name="Sixteen"
    )
    items = [{"design": str(row.id)} for row in (design, other)]
    return services.comparison_create(team=people.team, user=people.alice, items=items, name="Both")


@pytest.fixture
def share_of_both(people, comparison):
    return services.share_create(team=people.team, user=people.alice, comparison=comparison)


def check_headers(response):
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert response["Referrer-Policy"] == "no-referrer"
    assert response["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize("name", [None, "vera", "charlie"])
def test_a_link_shows_the_design_to_anyone(signed_in, share, name):
    client = signed_in(name) if name else Client()
    response = client.get(services.share_link(share))
    text = words(response)
    assert response.status_code == 200
    assert "<b>12 GPUs</b> do it." in text
    assert "Read-only copy" in text
    assert "from r1" in text
    assert "does not expire" in text
    assert "The rest <b>carry</b> it." in text
    for title in ("Findings", "Architecture", "Metrics", "Trade-offs", "Follow-ups", "Assumptions", "Made by"):
        assert title in text
    check_headers(response)
    parser = Inline()
    parser.feed(response.content.decode())
    assert parser.found == []


def test_nothing_else_is_reachable_from_it(signed_in, share, share_of_both):
    for client in (Client(), signed_in("alice")):
        for each in (share, share_of_both):
            link = services.share_link(each)
            text = client.get(link).content.decode()
            targets = re.findall(r'<a [^>]*href="([^"]+)"', text)
            assert {target for target in targets if not target.startswith(("#", link))} == set()
            assert re.findall(r"<form (?!method=\"dialog\")", text) == []
            assert str(each.design_id or each.comparison_id) not in text
            assert "alice" not in text
            assert 'aria-label="Main"' not in text


def test_it_keeps_showing_what_was_shared(share, design, people):
    services.design_update(design=design, user=people.alice, expected_revision=1, spec={"gpus": 99}, name="Other")
    text = words(Client().get(services.share_link(share)))
    assert "<b>12 GPUs</b> do it." in text
    assert "$24" in text
    assert "$198" not in text
    assert "Other" not in text


def test_a_comparison_is_shown_side_by_side(share_of_both):
    response = Client().get(services.share_link(share_of_both))
    text = words(response)
    assert response.status_code == 200
    assert "Side by side" in text
    assert "Sixteen" in text
    assert "/designs/" not in text
    check_headers(response)


@pytest.mark.parametrize("ending", ["", "report.pdf", "figures.csv", "open/"])
@pytest.mark.parametrize("why", ["unknown", "cut", "expired", "revoked", "deleted", "odd"])
def test_a_dead_link_is_one_and_the_same_page(share, design, people, why, ending):
    link = services.share_link(share)
    if why == "unknown":
        link = link[:-2] + ("0" if link[-2] != "0" else "1") + "/"
    elif why == "cut":
        link = link[:-9] + "/"
    elif why == "expired":
        Share.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif why == "revoked":
        services.share_revoke(share=share, user=people.alice)
    elif why == "deleted":
        services.design_delete(design=design, user=people.alice)
    else:
        link = "/s/%00%C3%A9" + "x" * 300 + "/"
    response = Client().get(link + ending)
    assert response.status_code == 404
    text = words(response)
    assert "Links can expire or be revoked" in text
    assert "Twelve" not in text
    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert re.sub(r'"x-csrftoken": "[^"]+"', "", text) == re.sub(
        r'"x-csrftoken": "[^"]+"', "", words(Client().get("/s/nothing/" + ending))
    )


def test_an_end_is_shown(people, design):
    until = timezone.now() + timedelta(days=7)
    share = services.share_create(team=people.team, user=people.alice, design=design, expires_at=until)
    assert f"expires {until:%-d %b %Y %H:%M} UTC" in words(Client().get(services.share_link(share)))


def test_the_figures_come_as_csv(share, share_of_both):
    for each in (share, share_of_both):
        response = Client().get(services.share_link(each) + "figures.csv")
        assert response["Content-Type"].startswith("text/csv")
        assert "power_w" in response.content.decode()
        check_headers(response)


def test_the_report_comes_as_pdf(share, share_of_both):
    for each in (share, share_of_both):
        response = Client().get(services.share_link(each) + "report.pdf?paper=wall")
        assert response.status_code == 200
        assert response.content.startswith(b"%PDF-")
        check_headers(response)


def test_only_reading_is_allowed(share):
    link = services.share_link(share)
    for ending in ("", "report.pdf", "figures.csv"):
        assert Client().post(link + ending).status_code == 405


def test_opening_it_copies_into_the_readers_team(signed_in, share, people):
    client, address = signed_in("charlie"), services.share_link(share) + "open/"
    asked = client.get(address)
    assert "Copy “Twelve” to your team?" in words(asked)
    # A page without a referrer would post with the origin "null", which the CSRF check refuses.
    assert asked["Referrer-Policy"] == "same-origin"
    assert Design.objects.count() == 1
    response = client.post(address)
    copy = Design.objects.exclude(pk=share.design_id).get()
    assert response.url == f"/designs/{copy.id}/"
    assert (copy.name, copy.spec["gpus"], copy.created_by) == ("Twelve", 12, people.charlie)
    assert copy.team != people.team
    assert client.get(response.url).status_code == 200


def test_opening_a_comparison_copies_it(signed_in, share_of_both):
    client = signed_in("charlie")
    response = client.post(services.share_link(share_of_both) + "open/")
    copy = Comparison.objects.exclude(pk=share_of_both.comparison_id).get()
    assert response.url == f"/compare/{copy.id}/"
    assert "Sixteen" in words(client.get(response.url))


def test_who_may_not_write_may_not_open(signed_in, share, people):
    address = services.share_link(share) + "open/"
    check_write(signed_in, people, address)
    assert "Open in planner" not in words(signed_in("vera").get(services.share_link(share)))
    assert Client().get(address).url == f"/sign-in/?next={address}"
    assert Design.objects.count() == 1


def test_inputs_that_no_longer_fit_are_not_copied(signed_in, share):
    frozen = json.loads(json.dumps(share.frozen))
    frozen["spec"]["gone"] = 1
    Share.objects.update(frozen=frozen)
    response = signed_in("charlie").post(services.share_link(share) + "open/")
    assert response.status_code == 409
    assert "cannot be copied" in words(response)
    assert Design.objects.count() == 1


def test_a_link_takes_few_queries(share, django_assert_max_num_queries):
    with django_assert_max_num_queries(4):
        Client().get(services.share_link(share))
