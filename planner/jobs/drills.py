"""Drills: a preset of a kind played on variants of a design, whose runs are ordinary jobs with the same requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from planner.accounts.models import Team, User
from planner.core.kind import DesignKind
from planner.core.simulation import Drill as Preset
from planner.core.simulation import DrillVariant
from planner.designs import estimation, serial
from planner.designs import selectors as design_selectors
from planner.designs import services as designs
from planner.designs.models import Design, Drill
from planner.designs.texts import InvalidField
from planner.jobs import services
from planner.jobs.requests import key_of, simulator_of


def preset_of(kind: DesignKind, *, name: str) -> Preset:
    """The kind's drill of this name; raises `InvalidField` where it has none."""
    known = {preset.name: preset for preset in simulator_of(kind).drills}
    if name not in known:
        names = ", ".join(known) or _("none")
        raise InvalidField(field="drill", message=_("No such drill; there are %(names)s.") % {"names": names})
    return known[name]


@transaction.atomic
def drill_start(
    *,
    team: Team,
    user: User | None,
    kind: str,
    spec: Mapping[str, Any],
    name: str,
    design: Design | None = None,
    seed: int | None = None,
) -> Drill:
    """Simulate all variants of a drill and keep them side by side; raises as `services.simulation_start`.

    The same drill on the same inputs is kept once: asked for again it is given back, with its runs.
    """
    estimate = estimation.estimate(kind=kind, spec=spec, team=team)
    preset = preset_of(estimate.kind, name=name)
    how = dict(preset.how(estimate.spec, estimate.catalog)) | ({} if seed is None else {"seed": seed})
    variants = list(preset.variants(estimate.spec, estimate.catalog))
    subject = design.name if design else estimate.kind.label
    items = [_item(variant, kind=estimate.kind, spec=estimate.spec_json) for variant in variants]
    jobs = [
        services.simulation_start(
            team=team, user=user, kind=kind, spec=item["spec"], design=design, title=f"{subject}: {item['name']}", **how
        )
        for item in items
    ]
    key = key_of(purpose="drill", name=name, subject=subject, runs=[job.key for job in jobs])
    kept = design_selectors.drills(team).filter(key=key).first()
    if kept is not None:
        return kept
    title = f"{preset.label}: {subject}"[:160]
    return Drill.objects.create(
        comparison=designs.comparison_create(team=team, user=user, items=items, name=title),
        team=team,
        kind=kind,
        name=name,
        design=design,
        design_revision=design.revision if design and design.spec == estimate.spec_json else None,
        how=serial.plain(how),
        runs=[{"label": item["name"], "key": job.key} for item, job in zip(items, jobs, strict=True)],
        key=key,
    )


def drill_again(*, drill: Drill, user: User | None) -> Drill:
    """Run what failed or was cancelled again: the drill itself where nothing else changed, else a new one.

    Raises as `drill_start`.
    """
    first = drill.comparison.items[0]
    return drill_start(
        team=drill.team,
        user=user,
        kind=drill.kind,
        spec=first["spec"],
        name=drill.name,
        design=drill.design,
        seed=drill.how.get("seed"),
    )


def _item(variant: DrillVariant, *, kind: DesignKind, spec: Mapping[str, Any]) -> dict[str, Any]:
    changed = estimation.parse_spec(kind, spec={**spec, **variant.changes})
    return {"kind": kind.slug, "spec": changed.model_dump(mode="json"), "name": variant.label}
