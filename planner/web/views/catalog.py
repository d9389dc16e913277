"""The catalog: its tables with search and filters, and the page of an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from planner.catalog import selectors
from planner.catalog.models import Entry
from planner.core.catalog import Catalog, UnknownEntry
from planner.web import catalog_pictures as pictures
from planner.web import catalog_sheet as sheet
from planner.web.catalog_columns import COLUMNS, cells
from planner.web.catalog_labels import label_of
from planner.web.security import TeamRequest, member_required

PAGE_SIZE = 100
LONGEST_SEARCH = 200
_WORDS = ("hf_id", "native_dtype", "scope", "provider", "region", "market", "commitment", "terms", "currency")
"""What stands under the name of an entry, as far as it has them."""


@require_safe
@member_required
def catalog(request: TeamRequest) -> HttpResponse:
    """The tables, and how to add to them."""
    snapshot = selectors.catalog(request.team)
    counts = {table: len(snapshot.records(table)) for table in sheet.TABLES}
    context = {"tables": _tables(counts), "as_of": snapshot.as_of, "digest": snapshot.digest[:12]}
    return render(request, "catalog/catalog.html", context)


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def table(request: TeamRequest, table: str) -> HttpResponse:
    """The entries of a table that match; htmx swaps only the list."""
    if table not in sheet.TABLES:
        raise Http404
    words = request.GET.get("q", "")[:LONGEST_SEARCH].strip()
    chosen = {name: request.GET.get(name, "")[:LONGEST_SEARCH] for name in selectors.FILTERS[table]}
    found = selectors.entries(table, team=request.team, q=words, filters=chosen)
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    snapshot = selectors.catalog(request.team)
    context = {
        "tables": _tables({}),
        "table": table,
        "title": sheet.TABLES[table][0],
        "about": sheet.TABLES[table][1],
        "words": words,
        "columns": COLUMNS[table],
        "page": page,
        "rows": [(entry, cells(entry, catalog=snapshot)) for entry in page],
        "total": page.paginator.count,
        "filtered": bool(words) or any(chosen.values()),
    }
    if request.htmx.target == "entries":
        return render(request, "catalog/table.html#entries", context)
    return render(request, "catalog/table.html", {**context, "filters": _filters(request, table, chosen=chosen)})


@require_safe
@member_required
def entry(request: TeamRequest, table: str, slug: str) -> HttpResponse:
    """One entry by slug; an alias leads to it."""
    found = entry_of(request, table, slug)
    if found.slug != slug:
        return redirect("web:catalog-entry", table, found.slug)
    snapshot = selectors.catalog(request.team)
    groups, sources = sheet.figure_groups(found)
    context = {
        "entry": found,
        "table": table,
        "title": sheet.TABLES[table][0],
        "about": _about(found),
        "groups": groups,
        "sources": sources,
        "siblings": _siblings(request, found),
        "uses": sheet.uses(table, found.slug),
        "own": found.team_id is not None,
        **_EXTRAS.get(table, _nothing)(found, snapshot),
    }
    return render(request, "catalog/entry.html", context)


def entry_of(request: TeamRequest, table: str, slug: str) -> Entry:
    """The entry a team sees under a slug or alias; anything else is not there."""
    if table not in sheet.TABLES or not slug.isprintable():
        raise Http404
    try:
        return selectors.entry(table, slug, team=request.team)
    except UnknownEntry:
        raise Http404 from None


def _tables(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {"table": name, "title": title, "about": about, "count": counts.get(name)}
        for name, (title, about) in sheet.TABLES.items()
    ]


def _filters(request: TeamRequest, table: str, *, chosen: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each filter with the values that occur."""
    names = selectors.FILTERS[table]
    if not names:
        return []
    payloads = selectors.entries(table, team=request.team).values_list(*(f"payload__{name}" for name in names))
    rows = list(payloads)
    return [
        {
            "name": name,
            "label": label_of(name),
            "chosen": chosen[name],
            "values": sorted({row[place] for row in rows if isinstance(row[place], str)}, key=str.lower),
        }
        for place, name in enumerate(names)
    ]


def _siblings(request: TeamRequest, found: Entry) -> list[dict[str, Any]]:
    """The entries of the same table by group; the group of this one is open."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in selectors.entries(found.table, team=request.team).values("slug", "name", "group"):
        groups.setdefault(row["group"], []).append(dict(row))
    return [{"name": name, "rows": rows, "open": name == found.group} for name, rows in groups.items()]


def _about(found: Entry) -> dict[str, Any]:
    """What stands under the name."""
    payload = found.payload
    return {
        "group": found.group,
        "aliases": payload.get("aliases", []),
        "notes": payload.get("notes", ""),
        "words": [(label_of(name), str(payload[name]).replace("_", " ")) for name in _WORDS if payload.get(name)],
    }


def _gpu(found: Entry, snapshot: Catalog) -> dict[str, Any]:
    gpu = snapshot.gpu(found.slug)
    prices = sheet.prices_of(gpu.slug, catalog=snapshot)
    return {
        "ridges": sheet.ridge_points(gpu),
        "prices": [(price, pictures.COMMITMENTS.get(price.commitment, price.commitment)) for price in prices],
        "assumed": snapshot.price(gpu.slug),
        "charts": _drawn((pictures.price_chart(prices), pictures.roofline_chart(gpu))),
    }


def _llm(found: Entry, snapshot: Catalog) -> dict[str, Any]:
    llm = snapshot.llm(found.slug)
    derived = sheet.llm_sheet(llm, catalog=snapshot)
    facts = derived["facts"]
    charts = (
        pictures.kv_chart(llm, by_length=facts["kv_bytes_by_length"]) if _grows(facts) else None,
        pictures.parts_chart(facts["parameters_by_part"]),
    )
    return {"llm": llm, "derived": derived, "charts": _drawn(charts), "remarks": found.payload.get("remarks", [])}


def _grows(facts: Mapping[str, Any]) -> bool:
    """Whether there is a cache to draw: an LLM of recurrent layers only has none."""
    return len(facts["kv_bytes_by_length"]) > 1 and all(row["bytes"] > 0 for row in facts["kv_bytes_by_length"])


def _price(found: Entry, snapshot: Catalog) -> dict[str, Any]:
    try:
        return {"gpu": snapshot.gpu(found.payload["gpu"])}
    except UnknownEntry:
        return {}


def _nothing(found: Entry, snapshot: Catalog) -> dict[str, Any]:  # noqa: ARG001 - one of `_EXTRAS`
    return {}


def _drawn(charts: Iterable[Any]) -> list[Any]:
    return [chart for chart in charts if chart is not None]


_EXTRAS: Mapping[str, Callable[[Entry, Catalog], dict[str, Any]]] = {"gpus": _gpu, "llms": _llm, "prices": _price}
