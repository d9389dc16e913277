"""Columns of the catalog's tables: what tells its entries apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from planner.catalog.models import Entry
from planner.core import quantities
from planner.core.catalog import Catalog, UnknownEntry
from planner.formulas import attention, memory
from planner.web.catalog_labels import SHOWN
from planner.web.catalog_pictures import COMMITMENTS

BF16_BYTES = 2.0
Read = Callable[[Entry, Catalog], str]


@dataclass(frozen=True, slots=True)
class Column:
    """``secondary`` columns go on a phone."""

    label: Any
    read: Read
    is_number: bool = True
    secondary: bool = False


def cells(entry: Entry, *, catalog: Catalog) -> list[tuple[Column, str]]:
    """The columns of an entry with what they say; a figure nobody gave is a dash."""
    return [(column, _read(column, entry, catalog)) for column in COLUMNS[entry.table]]


def _read(column: Column, entry: Entry, catalog: Catalog) -> str:
    try:
        return column.read(entry, catalog) or quantities.NOTHING
    except (KeyError, UnknownEntry):
        return quantities.NOTHING


def _figure(name: str) -> Read:
    def read(entry: Entry, _catalog: Catalog) -> str:
        found = entry.payload["figures"].get(name)
        return quantities.show(found["value"], found["unit"], shown=SHOWN.get(name, "")) if found else ""

    return read


def _word(name: str, *, words: Mapping[str, Any] | None = None) -> Read:
    def read(entry: Entry, _catalog: Catalog) -> str:
        value = entry.payload[name]
        return str((words or {}).get(value, str(value).replace("_", " ")))

    return read


def _shape(name: str, unit: str = "") -> Read:
    def read(entry: Entry, _catalog: Catalog) -> str:
        return quantities.show(entry.payload["architecture"][name], unit)

    return read


def _assumed_price(entry: Entry, catalog: Catalog) -> str:
    price = catalog.price(entry.slug)
    return quantities.show(price.usd_per_h, "USD/h") if price else ""


def _parameters(entry: Entry, catalog: Catalog) -> str:
    return quantities.show_parts(memory.parameters(catalog.llm(entry.slug))["total"], "parameters")[0]


def _kv(entry: Entry, catalog: Catalog) -> str:
    size = attention.kv_bytes_per_token(catalog.llm(entry.slug), dtype_bytes=BF16_BYTES)
    return quantities.show(size, "bytes/token")


def _price(entry: Entry, _catalog: Catalog) -> str:
    price = entry.payload["price"]
    return quantities.show(price["value"], price["unit"])


def _token_price(name: str) -> Read:
    def read(entry: Entry, _catalog: Catalog) -> str:
        found = entry.payload.get(name)
        return quantities.show(found["value"], found["unit"]) if found else ""

    return read


def _token_price_date(entry: Entry, _catalog: Catalog) -> str:
    return str(entry.payload["output"]["as_of"])


def _newest_rate(entry: Entry, catalog: Catalog) -> str:
    return quantities.show(catalog.currency(entry.payload["code"]).rate().value, "USD")


def _newest_rate_date(entry: Entry, catalog: Catalog) -> str:
    return catalog.currency(entry.payload["code"]).rate().as_of


def _price_date(entry: Entry, _catalog: Catalog) -> str:
    return str(entry.payload["price"]["as_of"])


def _version(entry: Entry, _catalog: Catalog) -> str:
    return str(entry.payload["settings"].get("version", ""))


COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "gpus": (
        Column(gettext_lazy("Memory"), _figure("memory_bytes")),
        Column(gettext_lazy("Bandwidth"), _figure("memory_bytes_per_s")),
        Column("BF16", _figure("bf16_flops_per_s")),
        Column("FP8", _figure("fp8_flops_per_s"), secondary=True),
        Column(gettext_lazy("Scale-up"), _figure("scaleup_bytes_per_s"), secondary=True),
        Column("TDP", _figure("tdp_w"), secondary=True),
        Column(gettext_lazy("Price assumed"), _assumed_price, secondary=True),
    ),
    "llms": (
        Column(gettext_lazy("Parameters"), _parameters),
        Column(gettext_lazy("KV, BF16"), _kv),
        Column(gettext_lazy("Layers"), _shape("layers"), secondary=True),
        Column(gettext_lazy("Longest context"), _shape("max_context_tokens", "tokens"), secondary=True),
        Column(gettext_lazy("Format"), _word("native_dtype"), is_number=False, secondary=True),
    ),
    "links": (
        Column(gettext_lazy("Scope"), _word("scope"), is_number=False),
        Column(gettext_lazy("Bandwidth, one way"), _figure("bandwidth_bytes_per_s")),
        Column(gettext_lazy("Latency"), _figure("latency_s")),
    ),
    "engines": (Column(gettext_lazy("Default version"), _version, is_number=False),),
    "prices": (
        Column(gettext_lazy("Price"), _price),
        Column(gettext_lazy("Provider"), _word("provider"), is_number=False, secondary=True),
        Column(gettext_lazy("Region"), _word("region"), is_number=False, secondary=True),
        Column(gettext_lazy("Market"), _word("market"), is_number=False, secondary=True),
        Column(gettext_lazy("Commitment"), _word("commitment", words=COMMITMENTS), is_number=False),
        Column(gettext_lazy("As of"), _price_date, is_number=False, secondary=True),
    ),
    "api_prices": (
        Column(gettext_lazy("Input"), _token_price("input")),
        Column(gettext_lazy("Cached input"), _token_price("cached_input"), secondary=True),
        Column(gettext_lazy("Output"), _token_price("output")),
        Column(gettext_lazy("Terms"), _word("terms"), is_number=False, secondary=True),
        Column(gettext_lazy("As of"), _token_price_date, is_number=False, secondary=True),
    ),
    "currencies": (
        Column(gettext_lazy("In dollars"), _newest_rate),
        Column(gettext_lazy("As of"), _newest_rate_date, is_number=False),
    ),
}
