"""Tokens: made, shown once, scoped, expired, revoked; and who a session is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from knox.crypto import hash_token

from planner.accounts import services
from planner.accounts.models import ApiToken, User
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

URL = "/api/v1/tokens/"
ESTIMATE = ("/api/v1/estimates/", {"kind": "sample"})
DESIGN = ("/api/v1/designs/", {"kind": "sample", "name": "One"})


class TestMaking:
    def test_a_made_token_works_and_is_hashed_at_rest(self, bob: Caller) -> None:
        made = strict(bob.post(URL, {"name": "ci", "expires_in_days": 1}))
        assert Caller(token=made["token"]).get("/api/v1/kinds/").status_code == 200
        row = ApiToken.objects.filter(public_id=made["id"]).values().get()
        assert row["digest"] == hash_token(made["token"])
        assert made["token"] not in str(row)

    def test_the_list_never_shows_the_text_and_only_ones_own(self, bob: Caller, alice: Caller) -> None:
        made = strict(bob.post(URL, {"name": "ci"}))
        listed = bob.get(URL)
        assert made["token"] not in listed.content.decode()
        assert made["id"] in [row["id"] for row in strict(listed)["results"]]
        assert made["id"] not in [row["id"] for row in strict(alice.get(URL))["results"]]

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({}, "/name"),
            ({"name": "  "}, "/name"),
            ({"name": "x" * 81}, "/name"),
            ({"name": "x", "scopes": []}, "/scopes"),
            ({"name": "x", "scopes": ["admin"]}, "/scopes/0"),
            ({"name": "x", "expires_in_days": 0}, "/expires_in_days"),
            ({"name": "x", "expires_in_days": 10**9}, "/expires_in_days"),
            ({"name": "x", "user": "alice"}, "/user"),
        ],
    )
    def test_a_bad_field_is_named(self, bob: Caller, body: dict, pointer: str) -> None:
        response = bob.post(URL, body)
        assert response.status_code == 422
        assert check_problem(response)["errors"][0]["pointer"] == pointer

    def test_a_token_makes_none_that_lives_longer_or_may_more(self, world: World) -> None:
        short = Caller(token=world.token(world.bob, expires_in=timedelta(hours=1)))
        made = strict(short.post(URL, {"name": "longer", "expires_in_days": 30}))
        token = ApiToken.objects.get(public_id=made["id"])
        assert token.expiry <= timezone.now() + timedelta(hours=1)
        writer = Caller(token=world.token(world.bob, scopes=("write",)))
        assert writer.post(URL, {"name": "wider", "scopes": ["read", "write"]}).status_code == 403
        assert strict(writer.post(URL, {"name": "same"}))["scopes"] == ["write"]

    def test_a_viewer_makes_tokens_that_read(self, world: World) -> None:
        vera = world.caller("vera")
        assert strict(vera.post(URL, {"name": "mine"}))["scopes"] == ["read"]
        assert vera.post(URL, {"name": "more", "scopes": ["write"]}).status_code == 403


class TestUsing:
    def test_a_read_token_reads_and_estimates_but_does_not_write(self, world: World) -> None:
        reader = Caller(token=world.token(world.bob, scopes=("read",)))
        assert reader.get("/api/v1/designs/").status_code == 200
        assert reader.post(*ESTIMATE).status_code == 200
        response = reader.post(*DESIGN)
        assert response.status_code == 403
        assert "write" in check_problem(response)["detail"]
        assert reader.post(URL, {"name": "more"}).status_code == 403

    def test_a_write_only_token_does_not_read(self, world: World) -> None:
        assert Caller(token=world.token(world.bob, scopes=("write",))).get("/api/v1/designs/").status_code == 403

    def test_an_expired_token_opens_nothing(self, world: World) -> None:
        caller = Caller(token=world.token(world.bob, expires_in=timedelta(seconds=60)))
        assert caller.get("/api/v1/kinds/").status_code == 200
        ApiToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
        assert caller.get("/api/v1/kinds/").status_code == 401

    def test_a_revoked_token_opens_nothing(self, bob: Caller) -> None:
        made = strict(bob.post(URL, {"name": "ci"}))
        assert bob.delete(made["url"]).status_code == 204
        assert Caller(token=made["token"]).get("/api/v1/kinds/").status_code == 401
        assert bob.delete(made["url"]).status_code == 404

    def test_nobody_revokes_the_token_of_another(self, bob: Caller, alice: Caller) -> None:
        made = strict(bob.post(URL, {"name": "ci"}))
        assert alice.delete(made["url"]).status_code == 404
        assert Caller(token=made["token"]).get("/api/v1/kinds/").status_code == 200

    def test_who_leaves_the_team_leaves_the_token_behind(self, world: World) -> None:
        caller = world.caller("bob")
        services.membership_remove(team=world.team, user=world.bob, by=world.alice)
        assert caller.get("/api/v1/designs/").status_code == 401

    def test_an_inactive_user_is_nobody(self, world: World) -> None:
        caller = world.caller("bob")
        User.objects.filter(pk=world.bob.pk).update(is_active=False)
        assert caller.get("/api/v1/designs/").status_code == 401

    @pytest.mark.parametrize(
        "header", ["Bearer", "Bearer a b", "Bearer nonsense", "Bearer é", "Basic YTpi", "bearer  "]
    )
    def test_a_broken_header_is_a_401_that_says_how(self, db: None, header: str) -> None:
        response = Caller().get("/api/v1/kinds/", Authorization=header)
        assert response.status_code == 401
        assert response["WWW-Authenticate"].startswith("Bearer")

    def test_a_lower_case_scheme_will_do(self, world: World) -> None:
        plain = world.token(world.bob)
        assert Caller().get("/api/v1/kinds/", Authorization=f"bearer {plain}").status_code == 200

    def test_one_query_authenticates(self, world: World, django_assert_num_queries) -> None:
        caller = world.caller("bob")
        caller.get("/api/v1/kinds/")
        with django_assert_num_queries(1):
            caller.get("/api/v1/kinds/")


class TestSession:
    def test_a_signed_in_browser_reads(self, world: World) -> None:
        assert Caller(user=world.vera).get("/api/v1/designs/").status_code == 200

    def test_its_writes_need_the_csrf_token(self, world: World) -> None:
        browser = Caller(user=world.bob, csrf=True)
        assert browser.post(*DESIGN).status_code == 403
        browser.client.cookies["csrftoken"] = "a" * 32
        assert browser.post(*DESIGN, X_CSRFToken="a" * 32).status_code == 201

    def test_a_token_wins_over_the_session(self, world: World) -> None:
        browser = Caller(user=world.charlie)
        made = strict(browser.post(*DESIGN, Authorization=f"Bearer {world.token(world.bob)}"))
        assert made["created_by"] == "bob"

    def test_a_user_of_no_team_is_told_so(self, db: None) -> None:
        response = Caller(user=services.create_user(username="loner")).get("/api/v1/designs/")
        assert response.status_code == 403
        assert "team" in check_problem(response)["detail"]
