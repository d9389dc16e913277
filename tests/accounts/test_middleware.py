"""Which team a request acts in."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from planner.accounts import services
from planner.accounts.middleware import SESSION_KEY, TeamMiddleware
from planner.accounts.models import Team, User


def seen(user: Any, *, session: dict[str, str] | None = None) -> tuple[Team | None, str | None]:
    request = RequestFactory().get("/")
    request.user, request.session = user, session or {}
    found: list[HttpRequest] = []
    TeamMiddleware(lambda passed: found.append(passed) or HttpResponse())(request)
    return found[0].team, found[0].role


def test_the_first_membership_is_the_default(alice: User, team: Team) -> None:
    assert seen(alice) == (team, "admin")


def test_the_session_chooses_among_several(alice: User, bob: User, team: Team) -> None:
    other = services.create_team(name="Other", owner=bob)
    services.membership_set(team=other, user=alice, role="viewer", by=bob)
    assert seen(alice, session={SESSION_KEY: str(other.pk)}) == (other, "viewer")


@pytest.mark.parametrize("chosen", ["nonsense", "00000000-0000-0000-0000-000000000000"])
def test_a_choice_that_is_not_ours_falls_back(alice: User, team: Team, chosen: str) -> None:
    assert seen(alice, session={SESSION_KEY: chosen}) == (team, "admin")


def test_signed_out_has_neither_team_nor_role_and_asks_no_database(django_assert_num_queries: Any, db: None) -> None:
    with django_assert_num_queries(0):
        assert seen(AnonymousUser()) == (None, None)


def test_one_query_finds_both(alice: User, team: Team, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        seen(alice)
