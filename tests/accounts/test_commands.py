"""What whoever runs a server types: users and teams."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from planner.accounts import selectors
from planner.accounts.management.commands import user_create
from planner.accounts.models import Team, User

pytestmark = pytest.mark.django_db


def said(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_a_user_made_with_a_link_signs_in_by_it_once(client):
    link = said("user_create", "ana", "--link").split()[-1]
    assert client.get(link).status_code == 302
    client.logout()
    assert client.get(link).status_code == 410


def test_a_password_is_asked_for_twice_and_held_to_the_rules(monkeypatch, client):
    for typed, problem in ((["a-long-one-1", "another-one-2"], "differ"), (["short", "short"], "too short")):
        answers = iter(typed)
        monkeypatch.setattr(user_create, "getpass", lambda _prompt, answers=answers: next(answers))
        with pytest.raises(CommandError, match=problem):
            said("user_create", "ana")
    assert not User.objects.exists()
    monkeypatch.setattr(user_create, "getpass", lambda _prompt: "correct horse battery")
    said("user_create", "ana", "--email", "ana@example.org")
    assert client.post("/sign-in/", {"username": "ana", "password": "correct horse battery"}).status_code == 302


def test_a_name_is_taken_once():
    said("user_create", "ana", "--link")
    with pytest.raises(CommandError, match="already"):
        said("user_create", "ana", "--link")
    with pytest.raises(CommandError, match="empty"):
        said("user_create", "", "--link")


def test_a_team_has_its_first_admin():
    said("user_create", "ana", "--link")
    said("team_create", "Capacity  planning", "--admin", "ana")
    team = Team.objects.get()
    assert team.name == "Capacity planning"
    assert selectors.role_in(User.objects.get(), team) == "admin"
    with pytest.raises(CommandError, match="already"):
        said("team_create", "Capacity planning", "--admin", "ana")
    with pytest.raises(CommandError, match="no user"):
        said("team_create", "Another", "--admin", "bob")
    with pytest.raises(CommandError, match="name of at most"):
        said("team_create", " ", "--admin", "ana")
