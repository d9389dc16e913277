"""Who is in the team: admins change it, and cannot lock everybody out."""

from __future__ import annotations

import pytest

from planner.accounts import selectors
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

URL = "/api/v1/members/"


def test_everybody_sees_who_is_in_it(world: World) -> None:
    rows = strict(world.caller("vera").get(URL))["results"]
    assert [(row["username"], row["role"]) for row in rows] == [
        ("alice", "admin"),
        ("bob", "editor"),
        ("vera", "viewer"),
    ]


def test_an_admin_adds_changes_and_removes(world: World, alice: Caller) -> None:
    added = alice.post(URL, {"username": "charlie", "role": "viewer"})
    assert strict(added)["role"] == "viewer"
    assert alice.post(URL, {"username": "charlie", "role": "editor"}).status_code == 200
    assert selectors.role_in(world.charlie, world.team) == "editor"
    assert alice.delete(strict(added)["url"]).status_code == 204
    assert selectors.role_in(world.charlie, world.team) is None


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"username": "nobody", "role": "viewer"}, "/username"),
        ({"username": "bob", "role": "owner"}, "/role"),
        ({"username": "bob"}, "/role"),
    ],
)
def test_a_bad_field_is_named(alice: Caller, body: dict[str, str], pointer: str) -> None:
    response = alice.post(URL, body)
    assert response.status_code == 422
    assert check_problem(response)["errors"][0]["pointer"] == pointer


def test_the_last_admin_stays(world: World, alice: Caller) -> None:
    assert alice.post(URL, {"username": "alice", "role": "editor"}).status_code == 409
    assert alice.delete(f"{URL}{world.alice.public_id}/").status_code == 409
    assert selectors.role_in(world.alice, world.team) == "admin"


def test_a_stranger_is_no_member_to_remove(world: World, alice: Caller) -> None:
    assert alice.delete(f"{URL}{world.charlie.public_id}/").status_code == 404
