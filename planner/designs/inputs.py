"""A spec as its reader sees it: labelled, grouped, in shown units, changed fields marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo

from planner.core import quantities
from planner.core.catalog import Catalog, UnknownEntry
from planner.core.compare import Input
from planner.core.kind import DesignKind, Spec
from planner.designs.serial import plain

_LOOKUP = {"gpus": "gpu", "llms": "llm", "engines": "engine", "links": "link", "workloads": "workload"}


def inputs(kind: DesignKind, *, spec: Spec, catalog: Catalog) -> dict[str, Input]:
    """Every input by name, in the order of the spec."""
    values = {name: plain(getattr(spec, name)) for name in kind.spec.model_fields}
    return said(kind, values=values, catalog=catalog)


def said(kind: DesignKind, *, values: Mapping[str, Any], catalog: Catalog) -> dict[str, Input]:
    """Those of some values, by name, that are inputs of the kind."""
    known = {name: field for name, field in kind.spec.model_fields.items() if name in values}
    return {
        name: Input(
            name=name,
            label=field.title or name,
            group=_meta(field)["group"],
            value=values[name],
            shown=show_value(field, value=values[name], catalog=catalog),
        )
        for name, field in known.items()
    }


def groups_view(kind: DesignKind, *, spec: Spec, catalog: Catalog) -> list[dict[str, Any]]:
    """Groups of fields with their values; ``line`` tells a closed group in one line."""
    default = kind.spec()
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, found in inputs(kind, spec=spec, catalog=catalog).items():
        field = kind.spec.model_fields[name]
        row = _row(field, found=found, default=plain(getattr(default, name)), catalog=catalog)
        groups.setdefault(found.group, []).append(row)
    return [_group(name, rows=rows) for name, rows in groups.items()]


def show_value(field: FieldInfo, *, value: Any, catalog: Catalog) -> str:
    """One value in words: a choice by its label, an entry by its name, a number in its shown unit."""
    meta = _meta(field)
    if value is None or value == "":
        return str(meta.get("empty") or quantities.NOTHING)
    labels: Mapping[Any, str] = meta.get("labels", {})
    if _key(value, labels=labels) is not None:
        return labels[_key(value, labels=labels)]
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return _text(meta, text=value, catalog=catalog)
    if isinstance(value, int | float):
        return quantities.show(value, meta.get("unit", ""), shown=meta.get("shown_unit", ""))
    if isinstance(value, list):
        return ", ".join(show_value(field, value=item, catalog=catalog) for item in value) or quantities.NOTHING
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {show_value(field, value=item, catalog=catalog)}" for key, item in value.items())
    return str(value)


def _text(meta: Mapping[str, Any], *, text: str, catalog: Catalog) -> str:
    if meta.get("lines"):
        return quantities.show(float(len(text.strip().splitlines())), "lines")
    return _entry_name(meta.get("catalog", ""), slug=text, catalog=catalog)


def _group(name: str, *, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "fields": rows,
        "line": " · ".join(row["shown"] for row in rows if row["value"] not in (None, ""))[:160],
        "changed": sum(row["changed"] for row in rows),
        "advanced": all(row["advanced"] for row in rows),
    }


def _row(field: FieldInfo, *, found: Input, default: Any, catalog: Catalog) -> dict[str, Any]:
    meta = _meta(field)
    return {
        "name": found.name,
        "label": found.label,
        "value": found.value,
        "shown": found.shown,
        "unit": meta.get("unit", ""),
        "changed": found.value != default,
        "default_shown": show_value(field, value=default, catalog=catalog),
        "help": field.description or "",
        "catalog": meta.get("catalog", ""),
        "source": _source(meta.get("catalog", ""), slug=found.value, catalog=catalog),
        "advanced": bool(meta.get("advanced")),
    }


def _meta(field: FieldInfo) -> Mapping[str, Any]:
    extra = field.json_schema_extra
    return extra if isinstance(extra, Mapping) else {"group": ""}


def _key(value: Any, *, labels: Mapping[Any, str]) -> Any:
    """The key a value has in the labels: itself, or its JSON word (`true`) where labels are written as text."""
    if isinstance(value, list | dict):
        return None
    words = (value, str(value), str(value).lower())
    return next((word for word in words if word in labels), None)


def _entry(table: str, *, slug: Any, catalog: Catalog) -> Any:
    if table not in _LOOKUP or not isinstance(slug, str) or not slug:
        return None
    try:
        return getattr(catalog, _LOOKUP[table])(slug)
    except UnknownEntry:
        return None


def _entry_name(table: str, *, slug: str, catalog: Catalog) -> str:
    return getattr(_entry(table, slug=slug, catalog=catalog), "name", slug)


def _source(table: str, *, slug: Any, catalog: Catalog) -> str:
    """Where a catalog entry's figures come from, as far as the entry itself says."""
    found = _entry(table, slug=slug, catalog=catalog)
    figures = getattr(found, "figures", None) or {}
    return getattr(found, "source", "") or next((figure.source for figure in figures.values()), "")
