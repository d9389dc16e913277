"""Comparisons, and links that show a frozen design or comparison to anyone who has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.models import Team, User
from planner.accounts.selectors import scoped
from planner.accounts.services import audit
from planner.designs import compare, found, links, measurements, snapshot, texts
from planner.designs.equal import AS_IS, MODES
from planner.designs.estimation import parse_spec
from planner.designs.models import Comparison, Design, Measurement, Share
from planner.designs.texts import InvalidField

FEWEST_COMPARED, MOST_COMPARED = 2, 6


@transaction.atomic
def comparison_create(
    *, team: Team, user: User | None, items: Sequence[Mapping[str, Any]], name: str = "", mode: str = AS_IS
) -> Comparison:
    """Save a comparison of 2–6 items: ``{"design": id}``, an inline ``{"kind", "spec", "name"}``, a
    ``{"measurement": id}``, or a ``{"simulation": job, "found"}`` as `jobs.compared.with_simulations` makes it.

    Raises `InvalidField`, `UnknownKind` and pydantic's ValidationError.
    """
    comparison = Comparison.objects.create(
        team=team,
        created_by=user,
        items=checked_items(items, team=team),
        name=texts.text(name, field="name", longest=texts.LONGEST_NAME),
        mode=checked_mode(mode),
    )
    audit(
        team=team,
        user=user,
        action="created",
        subject="comparison",
        subject_id=str(comparison.id),
        summary=_("%(count)d designs") % {"count": len(comparison.items)},
    )
    return comparison


def checked_mode(mode: str) -> str:
    """On what terms to compare; raises `InvalidField`."""
    if mode not in MODES:
        raise InvalidField(field="mode", message=_("Choose one of %(modes)s.") % {"modes": ", ".join(MODES)})
    return mode


def checked_items(items: Sequence[Mapping[str, Any]], *, team: Team) -> list[dict[str, Any]]:
    """Items as they are stored; raises as `comparison_create`."""
    if not FEWEST_COMPARED <= len(items) <= MOST_COMPARED:
        span = {"fewest": FEWEST_COMPARED, "most": MOST_COMPARED}
        raise InvalidField(field="items", message=_("Compare %(fewest)d to %(most)d designs.") % span)
    return [_checked_item(item, place=f"items/{index}", team=team) for index, item in enumerate(items)]


@transaction.atomic
def share_create(
    *,
    team: Team,
    user: User | None,
    design: Design | None = None,
    comparison: Comparison | None = None,
    expires_at: datetime | None = None,
    found: Mapping[str, Any] | None = None,
) -> Share:
    """A link to the design or comparison as it is now; it does not follow later changes.

    ``found`` is what has been simulated of a comparison, as its page shows it: frozen with the rest.
    """
    if (design is None) == (comparison is None):
        raise ValueError("share one design or one comparison")
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidField(field="expires_at", message=_("Give a time in the future."))
    share = Share.objects.create(
        team=team,
        design=design,
        comparison=comparison,
        frozen=texts.storable({**_frozen(design, comparison=comparison), **(found or {})}, field="spec"),
        created_by=user,
        expires_at=expires_at,
    )
    _audit(share, user=user, action="shared")
    return share


@transaction.atomic
def share_revoke(*, share: Share, user: User | None) -> Share:
    """Make a link stop working for good; revoking twice changes nothing."""
    if Share.objects.filter(id=share.id, revoked_at=None).update(revoked_at=timezone.now()):
        _audit(share, user=user, action="link revoked")
    share.refresh_from_db(fields=["revoked_at"])
    return share


def share_link(share: Share) -> str:
    """The path of the page a link opens."""
    return f"/s/{links.token(share.id)}/"


def _checked_item(item: Mapping[str, Any], *, place: str, team: Team) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise InvalidField(field=place, message=_("Give a design or a kind with its spec."))
    extra = set(item) - {"design", "kind", "spec", "name", "measurement", "simulation", "found"}
    if extra:
        raise InvalidField(field=f"{place}/{min(extra)}", message=_("No such field."))
    if sum(name in item for name in ("design", "kind", "measurement", "simulation")) != 1:
        raise InvalidField(
            field=place, message=_("Give one of: a design, a kind with its spec, a measurement, a simulation.")
        )
    if "measurement" in item:
        return _measured_item(item["measurement"], place=f"{place}/measurement", team=team)
    if "simulation" in item:
        return {"simulation": str(item["simulation"]), "found": dict(item["found"])}
    if "design" in item:
        return {"design": _design_id(item["design"], place=f"{place}/design", team=team)}
    kind = kinds.get(str(item["kind"]))
    spec = parse_spec(kind, spec=item.get("spec") or {}).model_dump(mode="json")
    label = texts.text(item.get("name") or kind.label, field=f"{place}/name", longest=texts.LONGEST_NAME)
    return {"kind": kind.slug, "spec": texts.storable(spec, field=f"{place}/spec"), "name": label}


def _measured_item(given: Any, *, place: str, team: Team) -> dict[str, Any]:
    try:
        row = measurements.measurement(team, str(given))
    except Measurement.DoesNotExist:
        raise InvalidField(field=place, message=_("No such measurement in this team.")) from None
    return {"measurement": str(row.id), "found": found.of_measurement(row)}


def _design_id(given: Any, *, place: str, team: Team) -> str:
    try:
        wanted = UUID(str(given))
    except ValueError:
        raise InvalidField(field=place, message=_("Not the id of a design.")) from None
    if not scoped(Design.objects.all(), team).filter(id=wanted, deleted_at=None).exists():
        raise InvalidField(field=place, message=_("No such design in this team."))
    return str(wanted)


def _frozen(design: Design | None, *, comparison: Comparison | None) -> dict[str, Any]:
    """The picture as a stranger may see it: without the names of those who saved."""
    if design is not None:
        view = snapshot.design_view(design)
        return {**view, "design": {**view["design"], "saved_by": ""}}
    assert comparison is not None  # noqa: S101 - one of the two is given, checked by the caller
    view = compare.comparison_view(comparison)
    items = [{**item, "design": item["design"] and {**item["design"], "saved_by": ""}} for item in view["items"]]
    return {**view, "items": items}


def _audit(share: Share, *, user: User | None, action: str) -> None:
    subject, subject_id = ("design", share.design_id) if share.design_id else ("comparison", share.comparison_id)
    audit(team=share.team, user=user, action=action, subject=subject, subject_id=subject_id, summary=f"link {share.id}")
