"""Writes of a team's workloads: uploaded traces, and profiles kept from a design."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from planner.accounts.models import Team
from planner.accounts.selectors import scoped
from planner.catalog import names, selectors
from planner.catalog.columns import pack
from planner.catalog.facts import trace_facts
from planner.catalog.importers import ImportProblem, excerpt
from planner.catalog.importers.traces import read_trace
from planner.catalog.models import Workload
from planner.catalog.ownership import audit, named, refuse_unprintable
from planner.core.catalog import UnknownEntry

UNPACKED_TO_PACKED = 8
PROFILE_FACTS: Mapping[str, tuple[float, float]] = {
    "peak_rps": (0, 1e9),
    "rate_rps": (0, 1e9),
    "input_tokens": (0, 1e8),
    "output_tokens": (0, 1e8),
    "prefix_hit_rate": (0, 1),
    "input_sigma": (0, 10),
    "output_sigma": (0, 10),
}
"""What a profile may hold, with its bounds; the names are those of specs."""


def workload_import(
    *,
    team: Team,
    user_id: int | None = None,
    name: str,
    data: bytes,
    filename: str = "",
    skip_bad_rows: bool = False,
) -> Workload:
    """Store an uploaded trace for a team; raises `ImportProblem` and keeps nothing of a bad file.

    ``filename`` is only shown as the source: the content says what it is. With ``skip_bad_rows`` the rows that can be
    read are kept, and the others counted.
    """
    trace = read_trace(
        data,
        max_bytes=settings.UPLOAD_MAX_BYTES,
        max_unpacked_bytes=UNPACKED_TO_PACKED * settings.UPLOAD_MAX_BYTES,
        max_rows=settings.UPLOAD_MAX_ROWS,
        skip_bad_rows=skip_bad_rows,
    )
    fields = {
        "form": Workload.Form.TRACE,
        "facts": trace_facts(trace),
        "columns": pack(trace),
        "source": f"upload {excerpt(filename[-120:], at_most=120)}".strip(),
    }
    return _workload_create(team=team, user_id=user_id, name=name, fields=fields)


def workload_save_profile(
    *, team: Team, name: str, facts: Mapping[str, Any], description: str = "", user_id: int | None = None
) -> Workload:
    """Keep rates and lengths under a name, to fill other designs with; raises `ImportProblem` naming the fact."""
    kept = {key: _fact(key, value) for key, value in facts.items() if value is not None}
    if not kept:
        raise ImportProblem(None, "facts", f"give at least one of {', '.join(PROFILE_FACTS)}")
    refuse_unprintable(description, "description")
    fields = {"form": Workload.Form.PROFILE, "facts": kept, "description": description[:600], "source": "saved design"}
    return _workload_create(team=team, user_id=user_id, name=name, fields=fields)


def _fact(key: str, value: Any) -> float:
    if key not in PROFILE_FACTS:
        raise ImportProblem(None, excerpt(key), f"is not a fact of a workload; known are {', '.join(PROFILE_FACTS)}")
    least, most = PROFILE_FACTS[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ImportProblem(None, key, "must be a number")
    if not least <= value <= most:
        raise ImportProblem(None, key, f"must lie between {least:g} and {most:g}")
    return float(value)


def _workload_create(*, team: Team, user_id: int | None, name: str, fields: Mapping[str, Any]) -> Workload:
    """A new row under a free slug. Two imports of one name at once both get a slug: the loser looks again."""
    name, wanted = named(name)
    for _attempt in range(5):
        taken = [*scoped(Workload.objects.all(), team).values_list("slug", flat=True), *_shipped_slugs()]
        try:
            with transaction.atomic():
                slug = names.free_slug(wanted, taken)
                row = Workload.objects.create(team=team, name=name, slug=slug, **fields)
                audit(team, user_id, action="create", subject="workload", subject_id=slug, summary=name)
                selectors.forget(team)
                return row
        except IntegrityError:
            continue
    raise ImportProblem(None, "name", "is being used by another import; try again")


def _shipped_slugs() -> list[str]:
    return [record.slug for record in selectors.shipped().records("workloads")]


def workload_delete(*, workload: Workload, team: Team, user_id: int | None = None) -> None:
    """Delete a team's workload; raises `UnknownEntry` for one that is not the team's (shipped ones stay)."""
    with transaction.atomic():
        deleted, _ = scoped(Workload.objects.filter(pk=workload.pk), team).delete()
        if not deleted:
            raise UnknownEntry(table="workloads", slug=workload.slug)
        audit(team, user_id, action="delete", subject="workload", subject_id=workload.slug, summary=workload.name)
        selectors.forget(team)
