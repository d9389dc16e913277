"""What every write for a team shares: names, what may be stored, and the audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.accounts.models import AuditEntry, Team
from planner.catalog import names
from planner.catalog.importers import ImportProblem

LONGEST_NAME = 120


def named(name: str) -> tuple[str, str]:
    """A name and its slug; raises `ImportProblem` for a name that is too long or says nothing."""
    name = " ".join(name.split())
    if len(name) > LONGEST_NAME:
        raise ImportProblem(None, "name", f"is longer than {LONGEST_NAME} characters")
    if not name.isprintable() or not (slug := names.slug_of(name)):
        raise ImportProblem(None, "name", "must hold a letter or digit, and nothing that cannot be printed")
    return name, slug


def refuse_unprintable(value: Any, field: str) -> None:
    """Zero bytes and half characters cannot be stored; line ends may stand in notes."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            refuse_unprintable(part, name)
    elif isinstance(value, list):
        for part in value:
            refuse_unprintable(part, field)
    elif isinstance(value, str) and not all(line.isprintable() for line in value.replace("\t", " ").splitlines()):
        raise ImportProblem(None, field, "holds a character that cannot be printed")


def audit(team: Team, user_id: int | None, *, action: str, subject: str, subject_id: str, summary: str) -> None:
    AuditEntry.objects.create(
        team=team,
        user_id=user_id,
        action=action,
        subject=subject,
        subject_id=subject_id[:40],
        summary=summary[:300],
    )
