"""Scoping: the one place that decides whose rows a request sees."""

from __future__ import annotations

import pytest

from planner.accounts import selectors, services
from planner.accounts.models import AuditEntry, Team, User
from planner.catalog.models import Workload


def test_scoped_gives_the_rows_of_one_team(team: Team, charlie: User) -> None:
    assert {entry.team_id for entry in selectors.scoped(AuditEntry.objects.all(), team)} == {team.pk}
    assert AuditEntry.objects.exclude(team=team).exists()


def test_scoped_without_a_team_gives_nothing_not_the_shipped_rows(db: None) -> None:
    Workload.objects.create(slug="shipped", name="Shipped", form="profile")
    assert not selectors.scoped(Workload.objects.all(), None).exists()


def test_scoped_or_shipped_adds_what_ships_and_nothing_of_others(team: Team, charlie: User) -> None:
    other = selectors.teams_of(charlie).get()
    for slug, owner in (("shipped", None), ("ours", team), ("theirs", other)):
        Workload.objects.create(slug=slug, name=slug, form="profile", team=owner)
    seen = selectors.scoped_or_shipped(Workload.objects.all(), team)
    assert set(seen.values_list("slug", flat=True)) == {"shipped", "ours"}
    unsigned = selectors.scoped_or_shipped(Workload.objects.all(), None)
    assert set(unsigned.values_list("slug", flat=True)) == {"shipped"}


@pytest.mark.parametrize(
    ("role", "needed", "expected"),
    [
        ("viewer", "viewer", True),
        ("viewer", "editor", False),
        ("editor", "viewer", True),
        ("editor", "admin", False),
        ("admin", "editor", True),
        (None, "viewer", False),
    ],
)
def test_a_role_includes_the_lesser_ones(role: str | None, needed: str, expected: bool) -> None:
    assert selectors.allows(role, needed) is expected


def test_the_chosen_team_is_taken_only_by_a_member(alice: User, team: Team, charlie: User) -> None:
    second = services.create_team(name="Second", owner=alice)
    theirs = selectors.teams_of(charlie).get()
    assert selectors.membership(alice).team == team
    assert selectors.membership(alice, team_id=str(second.pk)).team == second
    assert selectors.membership(alice, team_id=str(theirs.pk)).team == team


def test_a_user_of_no_team_has_no_membership(bob: User) -> None:
    assert selectors.membership(bob) is None
