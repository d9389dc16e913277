"""Writes of designs. Each is one transaction that leaves a revision and an audit entry, or nothing.

Who may write is decided by the surfaces (roles); whose it is, by the selectors the objects came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from planner import kinds
from planner.accounts.models import Team, User
from planner.accounts.services import audit
from planner.designs import texts
from planner.designs.estimation import Estimate, estimate, parse_spec
from planner.designs.models import Comparison, Design, Revision, Share
from planner.designs.sharing import comparison_create, share_create, share_link, share_revoke
from planner.designs.texts import InvalidField

__all__ = [
    "Estimate",
    "InvalidField",
    "StaleWrite",
    "comparison_create",
    "design_copy",
    "design_create",
    "design_delete",
    "design_restore",
    "design_revert",
    "design_update",
    "designs_purge",
    "estimate",
    "share_create",
    "share_link",
    "share_open",
    "share_revoke",
]

RESTORABLE = timedelta(days=30)


class StaleWrite(Exception):
    """The design has moved on since it was read; ``current`` is it as it stands."""

    def __init__(self, current: Design) -> None:
        super().__init__(f"the design is at revision {current.revision}")
        self.current = current


@transaction.atomic
def design_create(
    *,
    team: Team,
    user: User | None,
    kind: str,
    spec: Mapping[str, Any],
    name: str,
    description: str = "",
    tags: Iterable[str] = (),
    example: str = "",
) -> Design:
    """Save a new design. Raises `UnknownKind`, pydantic's ValidationError and `InvalidField`."""
    content = _content(kind, changes={"spec": spec, "name": name, "description": description, "tags": tags})
    design = Design.objects.create(team=team, kind=kind, example=example, created_by=user, updated_by=user, **content)
    _record(design, user=user, action="created", summary=design.name)
    return design


@transaction.atomic
def design_update(*, design: Design, user: User | None, expected_revision: int, **changes: Any) -> Design:
    """Save a change of ``name``, ``description``, ``tags`` or ``spec``; returns the design as saved.

    Raises `StaleWrite` when the design is no longer at the revision the writer read, and as `design_create`.
    Saving what is already there makes no revision.
    """
    unknown = set(changes) - {"name", "description", "tags", "spec"}
    if unknown:
        raise TypeError(f"a design has no {', '.join(sorted(unknown))} to change")
    current = _current(design, expected_revision=expected_revision)
    content = _content(current.kind, changes=changes)
    differing = [name for name, value in content.items() if value != getattr(current, name)]
    if not differing:
        return current
    _write(current, expected_revision=expected_revision, values={**content, "updated_by": user})
    saved = Design.objects.select_related("team", "updated_by", "created_by").get(id=design.id)
    _record(saved, user=user, action="saved", summary=f"r{saved.revision}: {', '.join(sorted(differing))}")
    return saved


def design_revert(*, design: Design, user: User | None, expected_revision: int, number: int) -> Design:
    """Bring an old revision back as a new one; raises `Revision.DoesNotExist` and as `design_update`."""
    old = design.revisions.get(number=number)
    return design_update(
        design=design,
        user=user,
        expected_revision=expected_revision,
        name=old.name,
        description=old.description,
        tags=old.tags,
        spec=old.spec,
    )


@transaction.atomic
def design_delete(*, design: Design, user: User | None, expected_revision: int | None = None) -> Design:
    """Delete; it can be restored for 30 days. Its links stop working at once."""
    current = _current(design, expected_revision=expected_revision)
    _write(current, expected_revision=current.revision, values={"deleted_at": timezone.now()}, revise=False)
    _audit(current, user=user, action="deleted", summary=current.name)
    return Design.objects.get(id=design.id)


@transaction.atomic
def design_restore(*, design: Design, user: User | None) -> Design:
    """Undo a deletion; raises `Design.DoesNotExist` when it is too late or there is nothing to undo."""
    oldest = timezone.now() - RESTORABLE
    rows = Design.objects.filter(id=design.id, deleted_at__gte=oldest).update(deleted_at=None)
    if not rows:
        raise Design.DoesNotExist
    restored = Design.objects.select_related("team", "updated_by", "created_by").get(id=design.id)
    _audit(restored, user=user, action="restored", summary=restored.name)
    return restored


def design_copy(*, design: Design, user: User | None, name: str = "") -> Design:
    """A new design with the same content, in the same team."""
    return design_create(
        team=design.team,
        user=user,
        kind=design.kind,
        spec=design.spec,
        name=name or texts.copy_name(design.name),
        description=design.description,
        tags=design.tags,
    )


@transaction.atomic
def share_open(*, share: Share, team: Team, user: User | None) -> Design | Comparison:
    """Copy what a link shows into a team of the reader ("Open in planner")."""
    if share.comparison_id is not None:
        items = [
            {"kind": item["kind"]["slug"], "spec": item["spec"], "name": item["name"]} for item in share.frozen["items"]
        ]
        return comparison_create(team=team, user=user, items=items, name=share.frozen["name"])
    design = share.frozen["design"]
    return design_create(
        team=team,
        user=user,
        kind=share.frozen["kind"]["slug"],
        spec=share.frozen["spec"],
        name=design["name"],
        description=design["description"],
        tags=design["tags"],
    )


def designs_purge(*, now: datetime) -> int:
    """Remove designs deleted more than 30 days ago; returns how many."""
    _rows, by_model = Design.objects.filter(deleted_at__lt=now - RESTORABLE).delete()
    return by_model.get("designs.Design", 0)


def _content(kind: str, *, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes as they are stored. A spec that does not change is not read again: an old one may no longer pass."""
    content: dict[str, Any] = {}
    if "name" in changes:
        content["name"] = texts.name(changes["name"])
    if "description" in changes:
        written = texts.text(changes["description"], field="description", longest=texts.LONGEST_DESCRIPTION)
        content["description"] = written
    if "tags" in changes:
        content["tags"] = texts.tags(changes["tags"])
    if "spec" in changes:
        chosen = kinds.get(kind)
        complete = parse_spec(chosen, spec=changes["spec"]).model_dump(mode="json")
        content |= {"spec": texts.storable(complete, field="spec"), "spec_version": chosen.spec.version}
    return content


def _current(design: Design, *, expected_revision: int | None) -> Design:
    """The design as it stands in the database, at the expected revision."""
    current = Design.objects.select_related("team", "updated_by", "created_by").get(id=design.id, deleted_at=None)
    if expected_revision is not None and current.revision != expected_revision:
        raise StaleWrite(current)
    return current


def _write(design: Design, *, expected_revision: int, values: dict[str, Any], revise: bool = True) -> None:
    """Write unless somebody else was first: the revision is part of the condition."""
    if revise:
        values = {**values, "revision": expected_revision + 1, "updated_at": timezone.now()}
    rows = Design.objects.filter(id=design.id, revision=expected_revision, deleted_at=None).update(**values)
    if not rows:
        raise StaleWrite(Design.objects.get(id=design.id))


def _record(design: Design, *, user: User | None, action: str, summary: str) -> None:
    """The revision that was just saved, and who saved it."""
    Revision.objects.create(
        design=design,
        number=design.revision,
        name=design.name,
        description=design.description,
        tags=design.tags,
        spec=design.spec,
        spec_version=design.spec_version,
        author=user,
    )
    _audit(design, user=user, action=action, summary=summary)


def _audit(design: Design, *, user: User | None, action: str, summary: str) -> None:
    audit(team=design.team, user=user, action=action, subject="design", subject_id=str(design.id), summary=summary)
