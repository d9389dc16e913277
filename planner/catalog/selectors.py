"""Reads of the catalog: the snapshot estimators use, the rows that pages list, and workloads."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet

from planner.accounts.models import Team
from planner.accounts.selectors import scoped, scoped_or_shipped
from planner.catalog import files, names
from planner.catalog.columns import unpack
from planner.catalog.derived import llm_facts
from planner.catalog.files import CatalogFileError, FileCatalog, Record
from planner.catalog.importers import excerpt
from planner.catalog.models import Entry, Workload
from planner.core.catalog import UnknownEntry
from planner.core.simulation import Workload as Columns

__all__ = [
    "catalog",
    "entries",
    "entry",
    "forget",
    "llm_facts",
    "shipped",
    "workload",
    "workload_columns",
    "workload_profile",
    "workloads",
]

CHECK_EVERY_S = 1.0
MOST_TEAMS = 256
FILTERS: Mapping[str, tuple[str, ...]] = {
    "gpus": ("vendor", "architecture"),
    "llms": ("family", "native_dtype"),
    "links": ("scope",),
    "engines": (),
    "prices": ("gpu", "provider", "region", "market", "commitment"),
    "api_prices": ("provider", "llm"),
    "currencies": (),
}
"""What the entries of a table can be filtered by, besides ``group``: top-level keys of the payload."""
PROFILE_FIELDS = ("rate_rps", "input_tokens", "output_tokens", "prefix_hit_rate")

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Snapshot:
    version: tuple[Any, ...]
    catalog: FileCatalog
    checked_at: float


_snapshots: dict[uuid.UUID, _Snapshot] = {}


@lru_cache(maxsize=1)
def shipped() -> FileCatalog:
    """The catalog of the files, read once a process."""
    return files.load()


def catalog(team: Team | None = None) -> FileCatalog:
    """The catalog a team sees: the files, and over them the team's own entries.

    Kept in the process; whether the team's entries changed is looked up at most once a second, and at once after a
    change made here (`forget`).
    """
    if team is None:
        return shipped()
    now = time.monotonic()
    snapshot = _snapshots.get(team.pk)
    if snapshot and now - snapshot.checked_at < CHECK_EVERY_S:
        return snapshot.catalog
    version = _version(team)
    if snapshot and snapshot.version == version:
        snapshot.checked_at = now
        return snapshot.catalog
    fresh = _Snapshot(version, _built(team), now)
    if len(_snapshots) >= MOST_TEAMS:
        _snapshots.clear()
    _snapshots[team.pk] = fresh
    return fresh.catalog


def forget(team: Team) -> None:
    """Look at the team's entries and traces again on the next call.

    And once more when the change is committed: another thread may have looked in between.
    """
    _snapshots.pop(team.pk, None)
    transaction.on_commit(lambda: _snapshots.pop(team.pk, None))


def _version(team: Team) -> tuple[Any, ...]:
    found = scoped(Entry.objects.all(), team).aggregate(changed=Max("updated_at"), count=Count("pk"))
    return found["changed"], found["count"], _own_traces(team)


def _own_traces(team: Team) -> tuple[str, ...]:
    """The team's traces as they are now: one replaced under the same name has another id."""
    rows = scoped(Workload.objects.filter(form=Workload.Form.TRACE), team).order_by("slug")
    return tuple(f"{slug} {pk}" for slug, pk in rows.values_list("slug", "pk"))


def _built(team: Team) -> FileCatalog:
    records = [record for row in scoped(Entry.objects.all(), team) if (record := _record(row))]
    seen = shipped().with_records(records) if records else shipped()
    traces = _own_traces(team)
    return seen.with_traces(partial(_own_or_shipped_trace, team), own=traces) if traces else seen


def _own_or_shipped_trace(team: Team, name: str) -> Columns:
    """The requests of a team's own trace of this slug, else of the shipped one; raises `UnknownEntry`."""
    own = scoped(Workload.objects.filter(form=Workload.Form.TRACE, slug=name), team) if name.isprintable() else None
    found = own.values_list("pk", flat=True).first() if own is not None else None
    return shipped().workload(name) if found is None else _requests(found)


@lru_cache(maxsize=16)
def _requests(pk: uuid.UUID) -> Columns:
    """The requests of a stored trace, which never change under one id."""
    return workload_columns(Workload.objects.get(pk=pk))


def _record(row: Entry) -> Record | None:
    """The record of a stored entry; None, and a line in the log, where an older version took what is refused today."""
    try:
        return files.checked(row.table, row.payload, where=f"{row.table}/{row.slug}")
    except CatalogFileError as problem:
        log.warning("catalog entry left out", entry=str(row.pk), problem=str(problem))
        return None


def entries(table: str, *, team: Team | None, q: str = "", filters: Mapping[str, str] | None = None) -> QuerySet[Entry]:
    """The entries of a table that a team sees, by group and name. A team's own entry hides the built-in of its slug.

    ``q`` are words that must all occur; ``filters`` are exact (``group`` or one of `FILTERS`), empty ones are ignored;
    raises ValueError for a filter the table does not have.
    """
    rows = scoped_or_shipped(Entry.objects.filter(table=table), team)
    if team is not None:
        own = scoped(Entry.objects.filter(table=table), team).values("slug")
        rows = rows.exclude(team__isnull=True, slug__in=own)
    for word in filter(str.isprintable, q.lower().split()[:8]):
        rows = rows.filter(Q(search__contains=word) | Q(search__contains=names.key(word)))
    for name, value in (filters or {}).items():
        if name != "group" and name not in FILTERS.get(table, ()):
            raise ValueError(f"the table {table} has no filter {name}")
        if value:
            field = "group" if name == "group" else f"payload__{name}"
            rows = rows.filter(**{field: value}) if value.isprintable() else rows.none()
    return rows.order_by("group", "name")


def entry(table: str, slug: str, *, team: Team | None) -> Entry:
    """The entry of a slug or alias that a team sees; raises `UnknownEntry`."""
    record = catalog(team).record(table, slug)
    rows = scoped_or_shipped(Entry.objects.filter(table=table, slug=record.slug), team)
    found = rows.order_by("team").first()  # PostgreSQL puts nulls last: the team's own first
    if found is None:
        raise UnknownEntry(table=table, slug=slug)
    return found


def workloads(team: Team | None) -> QuerySet[Workload]:
    """The workloads that ship with the project and those of a team, without their columns."""
    return scoped_or_shipped(Workload.objects.defer("columns"), team).order_by("name")


def workload(slug_or_id: str | uuid.UUID, *, team: Team | None) -> Workload:
    """The workload of an id, slug or alias that a team sees, its own first; raises `UnknownEntry`."""
    rows = scoped_or_shipped(Workload.objects.all(), team)
    if not str(slug_or_id).isprintable():
        raise UnknownEntry(table="workloads", slug=excerpt(slug_or_id))
    try:
        found = rows.filter(pk=uuid.UUID(str(slug_or_id))).first()
    except ValueError:
        found = rows.filter(slug=str(slug_or_id)).order_by("team").first() or _shipped_workload(str(slug_or_id), rows)
    if found is None:
        index = {names.key(slug): slug for slug in rows.values_list("slug", flat=True)}
        nearest = names.nearest(str(slug_or_id), index)
        raise UnknownEntry(table="workloads", slug=str(slug_or_id), nearest=nearest)
    return found


def _shipped_workload(name: str, rows: QuerySet[Workload]) -> Workload | None:
    try:
        slug = shipped().record("workloads", name).slug
    except UnknownEntry:
        return None
    return rows.filter(slug=slug, team__isnull=True).first()


def workload_columns(row: Workload) -> Columns:
    """The requests of a trace; raises ValueError for a profile, which has none."""
    if row.columns is None:
        raise ValueError(f"the workload {row.slug} is a profile: it has no requests")
    return unpack(bytes(row.columns), name=row.name, source=row.source)


def workload_profile(row: Workload) -> dict[str, float]:
    """Mean rate, lengths and hit rate of a workload, whichever its form; what is not known is left out."""
    known = {name: value for name, value in row.facts.items() if value is not None}
    known.setdefault("rate_rps", known.get("peak_rps"))
    return {name: float(known[name]) for name in PROFILE_FIELDS if known.get(name) is not None}
