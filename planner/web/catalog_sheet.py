"""What the page of a catalog entry shows: every figure with its unit, source, date and whether it is a guess."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner import kinds
from planner.catalog import selectors
from planner.catalog.models import Entry
from planner.core import quantities
from planner.core.catalog import Catalog, Gpu, Llm, Price
from planner.web.catalog_labels import LABELS, SHOWN, label_of

TABLES = {
    "gpus": (gettext_lazy("GPUs"), gettext_lazy("Memory, compute, links, power, and what an hour costs.")),
    "llms": (gettext_lazy("LLMs"), gettext_lazy("Architectures, and what follows from them: parameters, weights, KV.")),
    "links": (gettext_lazy("Links"), gettext_lazy("Bandwidth one way and latency, by scope.")),
    "engines": (gettext_lazy("Engines"), gettext_lazy("Defaults and memory conventions, by version.")),
    "prices": (gettext_lazy("Prices"), gettext_lazy("What providers ask for a GPU-hour, by region and commitment.")),
    "api_prices": (gettext_lazy("API prices"), gettext_lazy("What providers ask for a million tokens.")),
    "currencies": (gettext_lazy("Currencies"), gettext_lazy("What a unit was worth in dollars, by date.")),
}
"""Name and content of each table, in the order of the page."""

GPU_FIGURES = (
    (gettext_lazy("Memory"), ("memory_bytes", "visible_memory_bytes", "memory_bytes_per_s")),
    (
        gettext_lazy("Compute, dense"),
        ("bf16_flops_per_s", "fp8_flops_per_s", "fp4_flops_per_s", "int8_ops_per_s"),
    ),
    (
        gettext_lazy("Links, one way"),
        ("scaleup_bytes_per_s", "scaleup_gpus", "nic_bytes_per_s", "pcie_bytes_per_s"),
    ),
    (gettext_lazy("Power"), ("tdp_w",)),
)
PARTS = ("moe", "mla", "sliding", "linear", "indexer", "compressed")
"""Parts of an architecture that have shapes of their own."""
Row = dict[str, Any]


def figure_row(name: str, *, figure: Mapping[str, Any], label: str = "") -> Row:
    """A figure of a file as a row: as read, in full, and where it comes from."""
    value, unit = figure["value"], figure["unit"]
    text, unit_text = quantities.show_parts(value, unit, shown=SHOWN.get(name, ""))
    return {
        "label": label or label_of(name),
        "text": text,
        "unit_text": unit_text.lstrip("/") if text.startswith("$") else unit_text,
        "full": f"{quantities.full(value)} {unit}",
        "source": figure["source"],
        "as_of": figure["as_of"],
        "note": figure.get("note", ""),
        "is_estimate": figure["source"].startswith("estimate:"),
    }


def figure_groups(entry: Entry) -> tuple[list[dict[str, Any]], list[str]]:
    """The figures of an entry by group, in reading order, and their sources; a row names its source by number."""
    groups = {
        "gpus": _gpu_groups,
        "llms": _llm_groups,
        "links": _link_groups,
        "engines": _engine_groups,
        "prices": _price_groups,
        "api_prices": _api_price_groups,
        "currencies": _currency_groups,
    }[entry.table](entry.payload)
    kept = [(name, rows) for name, rows in groups if rows]
    rows = [row for _name, members in kept for row in members]
    sources = list(dict.fromkeys(row["source"] for row in rows if row["source"]))
    for row in rows:
        row["number"] = sources.index(row["source"]) + 1 if row["source"] else None
    return [{"name": name, "rows": members} for name, members in kept], sources


def ridge_points(gpu: Gpu) -> list[Row]:
    """Peak over bandwidth, by format: the arithmetic a byte read must carry before compute binds."""
    if not gpu.has("memory_bytes_per_s"):
        return []
    bandwidth = gpu.figure("memory_bytes_per_s")
    rows = []
    for name in ("bf16_flops_per_s", "fp8_flops_per_s", "fp4_flops_per_s"):
        if gpu.has(name):
            peak = gpu.figure(name)
            ridge, shown = peak / bandwidth, quantities.show(peak, "FLOP/s", shown=SHOWN[name])
            working = f"{shown} ÷ {quantities.show(bandwidth, 'bytes/s', shown='GB/s')}"
            rows.append(
                {"label": label_of(name), "value": ridge, "peak": peak, "text": f"{ridge:,.0f}", "working": working}
            )
    return rows


def prices_of(gpu: str, *, catalog: Catalog) -> list[Price]:
    """What is asked for a GPU, cheapest first."""
    return sorted((price for price in catalog.prices() if price.gpu == gpu), key=lambda price: price.usd_per_h)


def llm_sheet(llm: Llm, *, catalog: Catalog) -> dict[str, Any]:
    """What follows from an architecture, as rows."""
    facts = selectors.llm_facts(llm, catalog)
    return {
        "facts": facts,
        "parameters": [(label_of(name), _count(value), value) for name, value in facts["parameters"].items() if value],
        "published": _count(llm.published_params) if llm.published_params else "",
        "difference": facts["published_difference"],
        "weights": [
            (dtype, quantities.show(size, "bytes"), quantities.full(size), dtype == llm.native_dtype)
            for dtype, size in facts["weight_bytes"].items()
        ],
        "kv": [
            (dtype, quantities.show(size, "bytes/token"), quantities.full(size))
            for dtype, size in facts["kv_bytes_per_token"].items()
        ],
        "index": [
            (dtype, quantities.show(size, "bytes/token"), quantities.full(size))
            for dtype, size in facts["indexer_bytes_per_token"].items()
        ],
        "layers": [(label_of(kind), layers) for kind, layers in facts["layers_by_kind"].items()],
        "formats": _formats(facts["part_formats"]),
        "state": quantities.show(facts["state_bytes_per_request"], "bytes") if facts["state_bytes_per_request"] else "",
        "split": facts["kv_split_by_tensor_parallel"],
        "gpus": [(catalog.gpu(slug), count) for slug, count in facts.get("gpus_to_hold_weights", {}).items()],
    }


def _formats(parts: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each part with the formats that the published checkpoint holds it in."""
    found: dict[str, list[str]] = {}
    for each in parts:
        share = "" if each["share"] == 1 else f" {quantities.show(each['share'], 'ratio')}"
        found.setdefault(label_of(each["part"]), []).append(each["dtype"].upper() + share)
    return [(part, ", ".join(formats)) for part, formats in found.items()]


def uses(table: str, slug: str) -> list[tuple[str, str]]:
    """Kinds that have a field for this table: label, and the address of a new design with it chosen."""
    found = []
    for kind in kinds.all_kinds().values():
        fields = kind.spec.model_fields.items()
        name = next((name for name, field in fields if _extra(field).get("catalog") == table), None)
        if name:
            found.append((kind.label, new_design(kind.slug, change={name: slug})))
    return found


def new_design(kind: str, *, change: Mapping[str, Any]) -> str:
    """The address of a new design of a kind with these inputs set."""
    return f"{reverse('web:new-kind', args=[kind])}?{urlencode({'set': json.dumps(change)})}"


def _extra(field: Any) -> Mapping[str, Any]:
    extra = field.json_schema_extra
    return extra if isinstance(extra, Mapping) else {}


def _count(value: float) -> str:
    return quantities.show_parts(value, "parameters")[0]


def _gpu_groups(payload: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    figures = payload["figures"]
    for name, members in GPU_FIGURES:
        yield str(name), [figure_row(each, figure=figures[each]) for each in members if figures.get(each)]


def _link_groups(payload: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    yield "", [figure_row(name, figure=figure) for name, figure in payload["figures"].items()]


def _price_groups(payload: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    yield "", [figure_row("price", figure=payload["price"])]


def _api_price_groups(payload: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    names = ("input", "cached_input", "output")
    yield "", [figure_row(name, figure=payload[name]) for name in names if payload.get(name)]


def _currency_groups(payload: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    label = _("1 %(code)s") % {"code": payload["code"]}
    dated = sorted(payload["rates"], key=lambda rate: str(rate["as_of"]), reverse=True)
    yield "", [figure_row("rate", figure=rate, label=label) for rate in dated]


def _llm_groups(payload: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    shape = payload["architecture"]
    made = {"source": shape["source"], "as_of": shape["as_of"], "note": "", "is_estimate": False, "unit_text": ""}
    whole = {name: value for name, value in shape.items() if name not in PARTS}
    parts = {label_of(name): shape.get(name) or {} for name in PARTS}
    for title, members in {str(_("Architecture")): whole, **parts}.items():
        yield title, [{"label": label_of(name), **_plain(value), **made} for name, value in _in_order(members) if value]
    published = payload.get("published") or {}
    yield str(_("Published")), [figure_row(name, figure=figure) for name, figure in published.items() if figure]


def _in_order(shape: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Keys in the order of the labels: JSONB keeps none."""
    yield from ((name, shape[name]) for name in LABELS if name in shape and name != "as_of")


def _plain(value: Any) -> dict[str, str]:
    """A whole number, a flag, a word, or layers by ratio."""
    if isinstance(value, str):
        return {"text": value, "full": ""}
    if isinstance(value, list):
        return {"text": ", ".join(f"{each['ratio']}:1 × {each['layers']}" for each in value), "full": ""}
    if isinstance(value, bool):
        return {"text": _("yes") if value else _("no"), "full": ""}
    return {"text": f"{value:,}", "full": str(value)}


def _engine_groups(payload: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    yield from _settings(payload["settings"], name=_("Settings"))


def _settings(settings: Mapping[str, Any], *, name: str) -> Iterator[tuple[str, list[Row]]]:
    """Nested settings, each table as a group of its own."""
    rows, tables = [], []
    for key, value in settings.items():
        if isinstance(value, Mapping) and "value" in value:
            rows.append(figure_row(key, figure=value))
        elif isinstance(value, Mapping):
            tables.append((label_of(key), value))
        elif _is_tables(value):
            tables += [(_table_name(key, part), part) for part in value]
        else:
            rows.append({"label": label_of(key), **_words(value)})
    yield name, rows
    for title, table in tables:
        yield from _settings(table, name=title)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, Mapping) for part in value)


def _table_name(key: str, part: Mapping[str, Any]) -> str:
    """A table of a list by what it applies from: "versions, since 0.8"."""
    mark = next((name for name in part if name == "since" or name.endswith("_from")), "")
    value = part.get(mark, "")
    shown = quantities.show(value["value"], value["unit"]) if isinstance(value, Mapping) else value
    return f"{label_of(key)}, {label_of(mark).lower()} {shown}" if mark else label_of(key)


def _words(value: Any) -> dict[str, str]:
    texts: Sequence[Any] = value if isinstance(value, list) else [value]
    words = [(_("yes") if each else _("no")) if isinstance(each, bool) else str(each) for each in texts]
    return {"text": ", ".join(words), "full": "", "source": "", "as_of": "", "note": "", "unit_text": ""}
