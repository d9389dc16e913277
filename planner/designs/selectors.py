"""Reads of designs, revisions, comparisons, drills and shares; within a team, except by a share's secret link."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from planner.accounts.models import Team
from planner.accounts.selectors import row_id, scoped
from planner.designs import links
from planner.designs.models import Comparison, Design, Drill, FleetPlan, Revision, Share


def designs(team: Team, *, q: str = "", kind: str = "", tag: str = "", deleted: bool = False) -> QuerySet[Design]:
    """Designs of a team, last changed first. ``q`` looks in name, description and tags."""
    found = scoped(Design.objects.all(), team).filter(deleted_at__isnull=not deleted)
    if "\x00" in q + kind + tag:
        return found.none()  # no stored text holds NUL, and the database refuses to look for it
    for word in q.split():
        found = found.filter(
            Q(name__icontains=word) | Q(description__icontains=word) | Q(tags__contains=[word.lower()])
        )
    if kind:
        found = found.filter(kind=kind)
    if tag:
        found = found.filter(tags__contains=[tag.strip().lower()])
    return found.select_related("updated_by").order_by("-updated_at", "id")


def design(team: Team, id: UUID | str, *, deleted: bool = False) -> Design:
    """One design; raises `Design.DoesNotExist` for a stranger's, an unknown or (unless asked for) a deleted one."""
    found = scoped(Design.objects.select_related("team", "updated_by", "created_by"), team)
    return found.get(id=row_id(id), deleted_at__isnull=not deleted)


def revisions(design: Design) -> QuerySet[Revision]:
    """Revisions of a design, newest first."""
    return design.revisions.select_related("author").order_by("-number")


def revision(design: Design, number: int) -> Revision:
    """One revision; raises `Revision.DoesNotExist`."""
    return design.revisions.select_related("author").get(number=number)


def tags(team: Team) -> list[str]:
    """All tags in use, in order."""
    rows = scoped(Design.objects.all(), team).filter(deleted_at__isnull=True).values_list("tags", flat=True)
    return sorted({tag for row in rows for tag in row})


def plans(team: Team) -> QuerySet[FleetPlan]:
    """Fleet plans of a team, last changed first."""
    return scoped(FleetPlan.objects.all(), team).order_by("-updated_at", "id")


def plan(team: Team, id: UUID | str) -> FleetPlan:
    """One fleet plan; raises `FleetPlan.DoesNotExist`."""
    return plans(team).get(id=row_id(id))


def comparisons(team: Team) -> QuerySet[Comparison]:
    """Comparisons of a team, newest first."""
    return scoped(Comparison.objects.all(), team).order_by("-created_at", "id")


def comparison(team: Team, id: UUID | str) -> Comparison:
    """One comparison; raises `Comparison.DoesNotExist`."""
    return scoped(Comparison.objects.select_related("team"), team).get(id=row_id(id))


def drills(team: Team) -> QuerySet[Drill]:
    """Drills of a team, newest first."""
    found = scoped(Drill.objects.select_related("comparison", "team", "design"), team)
    return found.order_by("-comparison__created_at", "comparison_id")


def drill(team: Team, id: UUID | str) -> Drill:
    """One drill, by the id of its comparison; raises `Drill.DoesNotExist`."""
    return drills(team).get(comparison_id=row_id(id))


def drill_of(team: Team, *, key: str) -> Drill | None:
    """The newest drill one of whose runs has this key."""
    return drills(team).filter(runs__contains=[{"key": key}]).first()


def shares(team: Team, *, design: Design | None = None, comparison: Comparison | None = None) -> QuerySet[Share]:
    """Links of a team, newest first, revoked ones included; of one design or comparison if named."""
    found = scoped(Share.objects.all(), team)
    if design is not None:
        found = found.filter(design=design)
    if comparison is not None:
        found = found.filter(comparison=comparison)
    return found.select_related("created_by").order_by("-created_at", "id")


def share(team: Team, id: UUID | str) -> Share:
    """One link; raises `Share.DoesNotExist`."""
    return scoped(Share.objects.select_related("team"), team).get(id=row_id(id))


def share_by_token(token: str, now: datetime) -> Share | None:
    """The share a link opens; None when it is forged, expired, revoked, or its subject is deleted."""
    share_id = links.open_token(token)
    if share_id is None:
        return None
    alive = Q(expires_at__isnull=True) | Q(expires_at__gt=now)
    subject = Q(design__isnull=True) | Q(design__deleted_at__isnull=True)
    found = Share.objects.filter(alive, subject, id=share_id, revoked_at__isnull=True)
    return found.select_related("team", "design", "comparison").first()
