"""Brings the catalog files into the database: the rows that pages list and search, and the shipped workloads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from planner.catalog import shipped_traces
from planner.catalog.columns import pack
from planner.catalog.facts import FACTS_VERSION, trace_facts
from planner.catalog.files import CatalogFileError, FileCatalog, Record
from planner.catalog.models import Entry, Workload
from planner.catalog.schema import WorkloadContent

LISTED = ("gpus", "llms", "links", "engines", "prices", "api_prices", "currencies")
_ENTRY_FIELDS = ("name", "group", "payload", "search")
_WORKLOAD_FIELDS = ("name", "form", "description", "source", "licence", "facts")


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many rows a load touched. A second load of the same files touches none."""

    created: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0

    def __add__(self, other: Loaded) -> Loaded:
        return Loaded(
            self.created + other.created,
            self.updated + other.updated,
            self.removed + other.removed,
            self.unchanged + other.unchanged,
        )


def load_rows(catalog: FileCatalog) -> Loaded:
    """Make the built-in rows equal the files; teams' rows are not touched. All or nothing."""
    with transaction.atomic():
        return load_entries(catalog) + load_workloads(catalog)


def load_entries(catalog: FileCatalog) -> Loaded:
    stored = {(row.table, row.slug): row for row in Entry.objects.filter(team__isnull=True)}
    wanted = {(table, record.slug): record for table in LISTED for record in catalog.records(table)}
    fresh = {place: _entry(record) for place, record in wanted.items()}
    changed = [row for place, row in fresh.items() if place not in stored or _differs(row, stored[place])]
    Entry.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=("table", "slug", "team"),
        update_fields=(*_ENTRY_FIELDS, "updated_at"),
    )
    gone = [row.pk for place, row in stored.items() if place not in wanted]
    Entry.objects.filter(pk__in=gone).delete()
    return _counted(changed=((row.table, row.slug) for row in changed), stored=stored, wanted=wanted, gone=gone)


def _entry(record: Record) -> Entry:
    content = record.content
    return Entry(
        table=record.table,
        slug=content.slug,
        name=content.title,
        group=content.group,
        payload=dict(record.payload),
        search=content.search(),
    )


def _differs(fresh: Entry, stored: Entry) -> bool:
    return any(getattr(fresh, name) != getattr(stored, name) for name in _ENTRY_FIELDS)


def _counted(
    *, changed: Iterable[Any], stored: Mapping[Any, Any], wanted: Mapping[Any, Any], gone: list[Any]
) -> Loaded:
    places = list(changed)
    updated = sum(place in stored for place in places)
    return Loaded(len(places) - updated, updated, len(gone), len(wanted) - len(places))


def load_workloads(catalog: FileCatalog) -> Loaded:
    stored = {row.slug: row for row in Workload.objects.filter(team__isnull=True).defer("columns")}
    wanted = {record.slug: record for record in catalog.records("workloads")}
    changed = [
        _workload(record, catalog=catalog)
        for slug, record in wanted.items()
        if slug not in stored or stored[slug].facts.get("made_from") != _print_of(record)
    ]
    Workload.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=("slug", "team"),
        update_fields=(*_WORKLOAD_FIELDS, "columns"),
    )
    gone = [row.pk for slug, row in stored.items() if slug not in wanted]
    Workload.objects.filter(pk__in=gone).delete()
    return _counted(changed=(row.slug for row in changed), stored=stored, wanted=wanted, gone=gone)


def _print_of(record: Record) -> str:
    """Changes with the workload's file, with its trace (the file holds its SHA-256) and with how facts are made."""
    made = json.dumps([FACTS_VERSION, record.payload], sort_keys=True)
    return hashlib.sha256(made.encode()).hexdigest()


def _workload(record: Record, *, catalog: FileCatalog) -> Workload:
    content = record.content
    if not isinstance(content, WorkloadContent):
        raise TypeError(f"{record.slug} is no workload")
    facts, columns = _read(content, catalog=catalog)
    return Workload(
        slug=content.slug,
        name=content.name,
        form=content.form,
        description=content.description,
        source=content.source,
        licence=content.licence,
        facts={
            **facts,
            "attribution": content.attribution,
            "made": content.made,
            "as_of": content.as_of,
            "made_from": _print_of(record),
        },
        columns=columns,
    )


def _read(content: WorkloadContent, *, catalog: FileCatalog) -> tuple[dict[str, Any], bytes | None]:
    if content.facts:
        return {name: figure.value for name, figure in content.facts}, None
    path = catalog.folder / "workloads" / str(content.file)
    try:
        trace = shipped_traces.read(path, sha256=str(content.sha256))
    except shipped_traces.ChangedTraceError as problem:
        raise CatalogFileError(f"workloads/{content.slug}.toml", [("sha256", str(problem))]) from None
    return trace_facts(trace), pack(trace)
