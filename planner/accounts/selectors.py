"""Reads of accounts, and THE one place where rows are scoped to a team."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, Q, QuerySet

from planner.accounts.models import ApiToken, AuditEntry, Membership, Team, User

Row = TypeVar("Row", bound=Model)
ROLE_RANK = {"viewer": 0, "editor": 1, "admin": 2}


def scoped(queryset: QuerySet[Row], team: Team | None) -> QuerySet[Row]:
    """The rows of one team. Without a team there are none: a null team marks shipped rows, not everybody's."""
    return queryset.none() if team is None else queryset.filter(team=team)


def scoped_or_shipped(queryset: QuerySet[Row], team: Team | None) -> QuerySet[Row]:
    """The rows that ship with the project, and those of one team."""
    shipped = Q(team__isnull=True)
    return queryset.filter(shipped if team is None else shipped | Q(team=team))


def row_id(text: UUID | str) -> UUID:
    """The id of a row, or the nil UUID (which no row has) where the text is none."""
    try:
        return text if isinstance(text, UUID) else UUID(str(text))
    except ValueError:
        return UUID(int=0)


def allows(role: str | None, needed: str) -> bool:
    """Whether a role includes another: admins may what editors may, editors what viewers may."""
    return role is not None and ROLE_RANK[role] >= ROLE_RANK[needed]


def user_named(username: str) -> User | None:
    """The active user of this name; whoever may add members may know that there is one."""
    return User.objects.filter(username=username, is_active=True).first()


def teams_of(user: User) -> QuerySet[Team]:
    return Team.objects.filter(memberships__user=user).order_by("memberships__pk")


def role_in(user: User | AnonymousUser, team: Team) -> str | None:
    """The role of a user in a team; None for a stranger."""
    if not user.is_authenticated:
        return None
    return Membership.objects.filter(user=user, team=team).values_list("role", flat=True).first()


def membership(user: User, *, team_id: str | None = None) -> Membership | None:
    """The membership in the chosen team if there is one, else the user's first; one query."""
    found = list(Membership.objects.filter(user=user).select_related("team").order_by("pk"))
    return next((row for row in found if str(row.team_id) == team_id), found[0] if found else None)


def members(team: Team) -> QuerySet[Membership]:
    return scoped(Membership.objects.all(), team).select_related("user").order_by("user__username")


def tokens(user: User, *, team: Team) -> QuerySet[ApiToken]:
    """The user's own tokens in a team, newest first. Nobody sees another's."""
    return scoped(ApiToken.objects.all(), team).filter(user=user).order_by("-created")


def audit_entries(team: Team, *, subject: str = "", subject_id: str = "") -> QuerySet[AuditEntry]:
    """The audit trail of a team, newest first; of one subject if it is named."""
    entries = scoped(AuditEntry.objects.all(), team).select_related("user").order_by("-at", "-pk")
    if subject:
        entries = entries.filter(subject=subject)
    return entries.filter(subject_id=subject_id) if subject_id else entries
