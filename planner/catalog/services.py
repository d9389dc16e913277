"""Writes of the catalog: loading the files, a team's own GPUs, LLMs and workloads.

A team's entry of a built-in slug hides the built-in one for that team; saving under the same name again replaces it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from planner.accounts.models import Team
from planner.accounts.selectors import scoped
from planner.catalog import files, loading, selectors
from planner.catalog.files import CatalogFileError, Record
from planner.catalog.importers import ImportProblem, excerpt
from planner.catalog.importers.hf_config import read_config
from planner.catalog.loading import Loaded
from planner.catalog.models import Entry
from planner.catalog.ownership import audit, named, refuse_unprintable
from planner.catalog.schema import GpuFigures
from planner.catalog.workload_services import workload_delete, workload_import, workload_save_profile
from planner.core.catalog import UnknownEntry

__all__ = [
    "ImportProblem",
    "catalog_load",
    "entry_delete",
    "gpu_save",
    "llm_import",
    "workload_delete",
    "workload_import",
    "workload_save_profile",
]

_UNIT_BY_END = (
    ("flops_per_s", "FLOP/s"),
    ("ops_per_s", "OP/s"),
    ("bytes_per_s", "bytes/s"),
    ("bytes", "bytes"),
    ("gpus", "GPUs"),
    ("_w", "W"),
)
FIGURE_UNITS: Mapping[str, str] = {
    name: next(unit for end, unit in _UNIT_BY_END if name.endswith(end)) for name in GpuFigures.model_fields
}
"""The unit of each figure of a GPU, as the end of its name says."""


def catalog_load() -> Loaded:
    """Bring the catalog files into the database. Raises `CatalogFileError`; a second call changes nothing."""
    selectors.shipped.cache_clear()
    return loading.load_rows(selectors.shipped())


def llm_import(
    *,
    team: Team,
    name: str,
    config: Any,
    quantised: Any = None,
    as_of: dt.date | None = None,
    user_id: int | None = None,
) -> Entry:
    """Add an LLM from the content of its ``config.json``; raises `ImportProblem` naming the key.

    An architecture the importer does not know is refused by name, never guessed. ``quantised`` is the content of a
    ``hf_quant_config.json``, where the checkpoint has one beside it.
    """
    name, slug = named(name)
    read = read_config(config, quantised=quantised)
    shape = read.shape | {"source": "config.json given by the team", "as_of": str(as_of or timezone.localdate())}
    hf_id = config.get("_name_or_path")
    payload = {
        "slug": slug,
        "name": name,
        "family": read.family,
        "hf_id": hf_id[:160] if isinstance(hf_id, str) else "",
        "native_dtype": read.native_dtype,
        "architecture": shape,
        "remarks": read.remarks,
    }
    if read.quantisation:
        payload["quantisation"] = read.quantisation
    return _entry_save(team=team, user_id=user_id, table="llms", payload=payload, strip="architecture.")


def gpu_save(
    *,
    team: Team,
    name: str,
    figures: Mapping[str, float | None],
    vendor: str = "Own",
    architecture: str = "Own",
    aliases: Sequence[str] = (),
    notes: str = "",
    source: str = "",
    price_usd_per_h: float | None = None,
    as_of: dt.date | None = None,
    user_id: int | None = None,
) -> Entry:
    """Add or replace a team's GPU and its price; raises `ImportProblem` naming the figure.

    ``figures`` are those of `planner.core.catalog.Gpu`, in base units; memory and its bandwidth are needed. Without
    ``visible_memory_bytes`` the size given stands in, marked as an estimate.
    """
    name, slug = named(name)
    made = {"source": source.strip()[:300] or "entered by the team", "as_of": str(as_of or timezone.localdate())}
    given = {key: value for key, value in figures.items() if value is not None}
    shown = {key: {"value": value, "unit": _unit(key), **made} for key, value in given.items()}
    if "memory_bytes" in shown:
        guess = {**shown["memory_bytes"], "source": "estimate: the size given; the runtime's own figure was not"}
        shown.setdefault("visible_memory_bytes", guess)
    payload = {
        "slug": slug,
        "name": name,
        "vendor": vendor.strip() or "Own",
        "architecture": architecture.strip() or "Own",
        "aliases": [alias.strip() for alias in aliases if alias.strip()],
        "notes": notes[:2000],
        "figures": shown,
    }
    price = None if price_usd_per_h is None else {"value": price_usd_per_h, "unit": "USD/h", **made}
    with transaction.atomic():
        entry = _entry_save(team=team, user_id=user_id, table="gpus", payload=payload, strip="figures.")
        _team_price(team, user_id=user_id, gpu=slug, price=price)
    return entry


def _unit(figure: str) -> str:
    if figure not in FIGURE_UNITS:
        raise ImportProblem(None, excerpt(figure), f"is not a figure of a GPU; known are {', '.join(FIGURE_UNITS)}")
    return FIGURE_UNITS[figure]


def _team_price(team: Team, *, user_id: int | None, gpu: str, price: Mapping[str, Any] | None) -> None:
    """The team's one on-demand price of a GPU: saved, or taken away with None."""
    slug = f"{gpu}-team"
    if price is None:
        scoped(Entry.objects.filter(table="prices", slug=slug), team).delete()
        return
    payload = {
        "slug": slug,
        "gpu": gpu,
        "provider": "Team",
        "market": "team",
        "commitment": "on_demand",
        "price": price,
    }
    _entry_save(team=team, user_id=user_id, table="prices", payload=payload, strip="")


def entry_delete(*, entry: Entry, team: Team, user_id: int | None = None) -> None:
    """Delete a team's own entry, a GPU with its price; raises `UnknownEntry` for one that is not the team's."""
    with transaction.atomic():
        deleted, _ = scoped(Entry.objects.filter(pk=entry.pk), team).delete()
        if not deleted:
            raise UnknownEntry(table=entry.table, slug=entry.slug)
        if entry.table == "gpus":
            _team_price(team, user_id=user_id, gpu=entry.slug, price=None)
        audit(team, user_id, action="delete", subject=entry.table, subject_id=entry.slug, summary=entry.name)
    selectors.forget(team)


def _entry_save(*, team: Team, user_id: int | None, table: str, payload: dict[str, Any], strip: str) -> Entry:
    refuse_unprintable(payload, "")
    record = _checked(table, payload, strip=strip)
    content = record.content
    values = {"name": content.title, "group": content.group, "payload": payload, "search": content.search()}
    with transaction.atomic():
        entry, _ = Entry.objects.update_or_create(table=table, slug=content.slug, team=team, defaults=values)
        audit(team, user_id, action="save", subject=table, subject_id=content.slug, summary=content.title)
    selectors.forget(team)
    return entry


def _checked(table: str, payload: dict[str, Any], *, strip: str) -> Record:
    """The record of a team's payload; the first thing wrong with it becomes an `ImportProblem`."""
    try:
        return files.checked(table, payload, where=table)
    except CatalogFileError as problem:
        key, message = problem.problems[0]
        field = key.removeprefix(strip).removesuffix(".value") or table
        raise ImportProblem(None, field, message.removeprefix("Value error, ")) from None
