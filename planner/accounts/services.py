"""Writes of accounts: users, teams, memberships, API tokens, sign-in links and the audit trail."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from planner.accounts.models import ApiToken, AuditEntry, Membership, Role, SignInLink, Team, User

SCOPES = ("read", "write")
LOCAL_USERNAME, LOCAL_TEAM = "local", "Local"


class LastAdmin(ValueError):
    """The change would leave a team without an admin."""

    def __init__(self, team: Team) -> None:
        super().__init__(
            _("“%(team)s” needs at least one admin; make someone else an admin first") % {"team": team.name}
        )
        self.team = team


def audit(
    *, team: Team, user: User | None, action: str, subject: str, subject_id: Any, summary: str = ""
) -> AuditEntry:
    """Record who changed what; call it in the transaction of the change."""
    return AuditEntry.objects.create(
        team=team, user=user, action=action, subject=subject, subject_id=str(subject_id), summary=summary[:300]
    )


def create_user(*, username: str, password: str | None = None, email: str = "") -> User:
    """A user; without a password they can only come in by a sign-in link. Raises ValidationError on a weak password."""
    if password is not None:
        validate_password(password, User(username=username, email=email))
    return User.objects.create_user(username=username, email=email, password=password)


def preference_set(*, user: User, name: str, value: str) -> None:
    """Remember a choice of a person (``theme`` or ``language``) for their other machines."""
    setattr(user, name, value)
    user.save(update_fields=(name,))


@transaction.atomic
def create_team(*, name: str, owner: User) -> Team:
    team = Team.objects.create(name=name)
    Membership.objects.create(team=team, user=owner, role=Role.ADMIN)
    audit(team=team, user=owner, action="created", subject="team", subject_id=team.pk, summary=name)
    return team


def _guard_last_admin(team: Team, user: User) -> None:
    """Lock the admins of the team, so that two of them cannot step down at once."""
    admins = Membership.objects.select_for_update().filter(team=team, role=Role.ADMIN)
    if [row.user_id for row in admins] == [user.pk]:
        raise LastAdmin(team)


@transaction.atomic
def membership_set(*, team: Team, user: User, role: str, by: User | None) -> Membership:
    """Add a member or change their role. Raises `LastAdmin`."""
    role = Role(role).value
    if role != Role.ADMIN:
        _guard_last_admin(team, user)
    row, _created = Membership.objects.update_or_create(team=team, user=user, defaults={"role": role})
    audit(
        team=team,
        user=by,
        action="role set",
        subject="member",
        subject_id=user.public_id,
        summary=f"{user.username}: {role}",
    )
    return row


@transaction.atomic
def membership_remove(*, team: Team, user: User, by: User | None) -> bool:
    """Take a member out of the team, with the tokens they hold for it. Raises `LastAdmin`."""
    _guard_last_admin(team, user)
    removed, _rows = Membership.objects.filter(team=team, user=user).delete()
    ApiToken.objects.filter(team=team, user=user).delete()
    if removed:
        audit(team=team, user=by, action="removed", subject="member", subject_id=user.public_id, summary=user.username)
    return bool(removed)


@transaction.atomic
def token_create(
    *, user: User, team: Team, name: str, scopes: Sequence[str] = SCOPES, expires_in: timedelta | None = None
) -> tuple[ApiToken, str]:
    """A token and its plain text, which is shown once: only the digest is stored."""
    if unknown := sorted(set(scopes) - set(SCOPES)):
        raise ValueError(_("unknown scope “%(scope)s”; the scopes are read and write") % {"scope": unknown[0]})
    wanted = [scope for scope in SCOPES if scope in scopes]
    token, plain = ApiToken.objects.create(user=user, team=team, name=name, scopes=wanted, expiry=expires_in)
    audit(team=team, user=user, action="created", subject="token", subject_id=token.public_id, summary=name)
    return token, plain


@transaction.atomic
def token_revoke(*, token: ApiToken, by: User | None) -> None:
    audit(team=token.team, user=by, action="revoked", subject="token", subject_id=token.public_id, summary=token.name)
    token.delete()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def sign_in_link_create(*, user: User, ttl_s: float) -> str:
    """The path token of a link that signs ``user`` in once; only its digest is stored."""
    token = secrets.token_urlsafe(32)
    SignInLink.objects.create(digest=_digest(token), user=user, expires_at=timezone.now() + timedelta(seconds=ttl_s))
    return token


def sign_in_link_use(*, token: str, now: datetime) -> User | None:
    """The user of a link that is fresh, unused and not expired; the link is spent by this call."""
    # The conditional update is the lock: of two clicks at once one changes the row, the other finds it spent. Its
    # conditions are on the row itself; a join would be read before the lock and let both in.
    fresh = SignInLink.objects.filter(digest=_digest(token), used_at__isnull=True, expires_at__gt=now)
    if not fresh.update(used_at=now):
        return None
    user = SignInLink.objects.select_related("user").get(digest=_digest(token)).user
    return user if user.is_active else None


@transaction.atomic
def local_user() -> User:
    """The one user of local mode, admin of the team “Local”; made on first use."""
    user, created = User.objects.get_or_create(username=LOCAL_USERNAME)
    if created:
        user.set_unusable_password()
        user.save(update_fields=("password",))
    if not Membership.objects.filter(user=user).exists():
        create_team(name=LOCAL_TEAM, owner=user)
    return user
