from __future__ import annotations

import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from planner.accounts import services as accounts
from planner.accounts.models import AuditEntry
from planner.designs import links, selectors, services
from planner.designs.models import Share
from planner.designs.services import InvalidField

pytestmark = pytest.mark.django_db


@pytest.fixture
def design(team, alice):
    return services.design_create(team=team, user=alice, kind="toy", spec={"rate_rps": 50}, name="Fleet")


@pytest.fixture
def share(team, alice, design):
    return services.share_create(team=team, user=alice, design=design)


def opened(share, *, now=None):
    token = services.share_link(share).removeprefix("/s/").removesuffix("/")
    return selectors.share_by_token(token, now=now or timezone.now())


def test_a_link_opens_what_was_frozen_and_does_not_follow_later_saves(share, design, alice):
    services.design_update(design=design, user=alice, expected_revision=1, spec={"rate_rps": 500}, name="Later")
    found = opened(share)
    assert found.frozen["design"]["name"] == "Fleet"
    assert found.frozen["spec"]["rate_rps"] == 50
    assert found.frozen["provenance"]["catalog_digest"] == "d1"


def test_what_is_frozen_is_strict_json_without_names_of_people_or_ids_of_the_team(share, team):
    text = json.dumps(share.frozen, allow_nan=False)
    assert str(team.id) not in text
    assert "alice" not in text


def test_a_revoked_link_is_dead_for_good(share, alice):
    services.share_revoke(share=share, user=alice)
    first = share.revoked_at
    assert opened(share) is None
    services.share_revoke(share=share, user=alice)
    assert share.revoked_at == first
    assert AuditEntry.objects.filter(action="link revoked").count() == 1


def test_a_link_lives_until_it_expires(team, alice, design):
    ends = timezone.now() + timedelta(hours=1)
    share = services.share_create(team=team, user=alice, design=design, expires_at=ends)
    assert opened(share, now=ends - timedelta(seconds=1)) == share
    assert opened(share, now=ends) is None


def test_an_expiry_in_the_past_is_refused(team, alice, design):
    with pytest.raises(InvalidField, match="expires_at"):
        services.share_create(team=team, user=alice, design=design, expires_at=timezone.now())


def test_a_deleted_design_kills_its_links_and_restoring_revives_them(share, design, alice):
    services.design_delete(design=design, user=alice)
    assert opened(share) is None
    services.design_restore(design=design, user=alice)
    assert opened(share) == share


def test_a_link_cannot_be_forged(share):
    token = links.token(share.id)
    assert links.open_token(token) == share.id
    changed = [
        token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :] for place in range(len(token))
    ]
    for forged in (*changed, "", token[:-1], token + "0", f" {token}", "é" * 54, str(share.id), token.upper(), "\x00"):
        assert links.open_token(forged) is None


def test_a_link_of_another_installation_does_not_open(share, settings):
    token = links.token(share.id)
    settings.SECRET_KEY = "another"
    assert links.open_token(token) is None


def test_no_secret_of_a_link_is_stored(share):
    stored = json.dumps(list(Share.objects.values()), default=str)
    assert links.token(share.id)[22:] not in stored


def test_a_share_is_of_one_thing(team, alice):
    with pytest.raises(ValueError, match="one"):
        services.share_create(team=team, user=alice)


def test_opening_in_the_planner_copies_into_the_readers_team(share, stranger):
    reader = accounts.create_user(username="reader")
    copy = services.share_open(share=share, team=stranger, user=reader)
    assert (copy.team, copy.name, copy.spec["rate_rps"]) == (stranger, "Fleet", 50)
    assert copy.id != share.design_id


def test_a_shared_comparison_opens_as_inline_designs(team, alice, design, stranger):
    items = [{"design": str(design.id)}, {"kind": "other", "spec": {"depth": 5}, "name": "Deep"}]
    comparison = services.comparison_create(team=team, user=alice, items=items)
    share = services.share_create(team=team, user=alice, comparison=comparison)
    assert "alice" not in json.dumps(share.frozen)
    services.design_delete(design=design, user=alice)
    copy = services.share_open(share=opened(share), team=stranger, user=None)
    assert [(item["kind"], item["name"]) for item in copy.items] == [("toy", "Fleet"), ("other", "Deep")]
    assert copy.items[0]["spec"]["rate_rps"] == 50


@pytest.mark.parametrize(
    ("items", "field"),
    [
        ([{"kind": "toy"}], "items"),
        ([{"kind": "toy"}] * 7, "items"),
        ([{"kind": "toy"}, {}], "items/1"),
        ([{"kind": "toy"}, "toy"], "items/1"),
        ([{"kind": "toy"}, {"design": "nonsense"}], "items/1/design"),
        ([{"kind": "toy"}, {"design": str(uuid4())}], "items/1/design"),
        ([{"kind": "toy"}, {"kind": "toy", "colour": 1}], "items/1/colour"),
        ([{"kind": "toy"}, {"kind": "toy", "name": "x" * 161}], "items/1/name"),
    ],
)
def test_a_bad_comparison_names_the_item(team, alice, items, field):
    with pytest.raises(InvalidField) as caught:
        services.comparison_create(team=team, user=alice, items=items)
    assert caught.value.field == field


def test_a_strangers_design_cannot_be_compared(design, stranger):
    with pytest.raises(InvalidField) as caught:
        services.comparison_create(team=stranger, user=None, items=[{"design": str(design.id)}, {"kind": "toy"}])
    assert caught.value.field == "items/0/design"
