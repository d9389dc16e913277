"""Strict reader of the catalog files, and the catalog they make.

`load` reads every file under ``data/`` and refuses, naming file and key, anything it does not know.
"""

from __future__ import annotations

import copy
import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from planner.catalog import kernels, names, pricing, shipped_traces, tables
from planner.catalog.figure_schema import EntryContent
from planner.catalog.importers import excerpt
from planner.catalog.programs import LAUNCH, ProgramContent
from planner.catalog.schema import TABLES, WorkloadContent
from planner.core import llm_names
from planner.core.catalog import ApiPrice, Currency, Engine, Figure, Gpu, Link, Llm, Price, Table, UnknownEntry
from planner.core.latency import KernelTimes, Ranks
from planner.core.launch import Program
from planner.core.simulation import Workload

DATA = Path(__file__).resolve().parent / "data"
CALIBRATIONS = "calibrations"
MEASURED = "measured"
"""Tables of others as they came: no entries."""
VALIDATION = "validation"
"""Rows of `planner.catalog.validation`: no entries."""


_DOLLAR = Currency(
    slug="usd", name="US dollar", code="USD", rates=(Figure(1.0, "USD", source="one dollar is one dollar"),)
)
Checked = TypeVar("Checked", bound=BaseModel)


class CatalogFileError(ValueError):
    """A catalog file that cannot be accepted. ``problems`` are pairs of key and message."""

    def __init__(self, file: str, problems: Sequence[tuple[str, str]]) -> None:
        lines = "; ".join(f"{key}: {message}" if key else message for key, message in problems)
        super().__init__(f"{file}: {lines}")
        self.file, self.problems = file, tuple(problems)


@dataclass(frozen=True, slots=True)
class Record:
    """One entry: its checked content, and the payload it was made from (what pages and the API show)."""

    table: str
    content: EntryContent
    payload: Mapping[str, Any]

    @property
    def slug(self) -> str:
        return self.content.slug


def checked(table: str, payload: Mapping[str, Any], *, where: str) -> Record:
    """The record of a payload; raises `CatalogFileError` that names ``where`` and each key that is wrong."""
    return Record(table, _validated(TABLES[table], payload, where=where), payload)


def _validated(model: type[Checked], payload: Mapping[str, Any], *, where: str) -> Checked:
    try:
        return model.model_validate(dict(payload))
    except ValidationError as error:
        problems = [(".".join(str(part) for part in each["loc"]), each["msg"]) for each in error.errors()]
        raise CatalogFileError(where, problems) from None


@cache
def programs(folder: Path) -> Mapping[str, Program]:
    """The programs that ``launch/`` of a folder documents, by slug; raises `CatalogFileError`."""
    found = {}
    for path in sorted((folder / LAUNCH).glob("*.toml")):
        where = path.relative_to(folder).as_posix()
        content = _validated(ProgramContent, _toml(path, folder), where=where)
        if content.slug != path.stem:
            raise CatalogFileError(where, [("slug", f"“{content.slug}” must be the name of its file, “{path.stem}”")])
        found[content.slug] = content.plain()
    return MappingProxyType(found)


def load(folder: Path = DATA) -> FileCatalog:
    """Read all files of a folder into a catalog; raises `CatalogFileError`."""
    records = [record for table in TABLES for record in _read_table(folder, table)]
    calibrations = {path.stem: _toml(path, folder) for path in sorted((folder / CALIBRATIONS).glob("*.toml"))}
    measured = _measured_rows(folder, calibrations)
    _refuse_unknown_folders(folder)
    catalog = FileCatalog(records, calibrations=calibrations, measured=measured, folder=folder)
    _refuse_dangling(catalog)
    return catalog


def _measured_rows(folder: Path, calibrations: dict[str, dict[str, Any]]) -> dict[str, Table]:
    """Rows beside a calibration, by its name; their digest becomes part of it."""
    found = {}
    for path in sorted((folder / CALIBRATIONS).glob("*.csv")):
        where = path.relative_to(folder).as_posix()
        if path.stem not in calibrations:
            raise CatalogFileError(where, [("", f"there is no {path.stem}.toml that says how the rows are used")])
        calibrations[path.stem][tables.DIGEST] = tables.digest(path)
        try:
            found[path.stem] = tables.read(path, meta=calibrations[path.stem])
        except (tables.TableError, UnicodeDecodeError) as error:
            raise CatalogFileError(where, [("", str(error))]) from None
    return found


def _read_table(folder: Path, table: str) -> Iterator[Record]:
    slugs: dict[str, str] = {}
    owners: dict[str, str] = {}
    for path in sorted((folder / table).rglob("*.toml")):
        where = path.relative_to(folder).as_posix()
        record = checked(table, _toml(path, folder), where=where)
        if record.slug != path.stem:
            raise CatalogFileError(where, [("slug", f"“{record.slug}” must be the name of its file, “{path.stem}”")])
        if record.slug in slugs:
            raise CatalogFileError(where, [("slug", f"“{record.slug}” is also in {slugs[record.slug]}")])
        slugs[record.slug] = where
        for name in (record.slug, *record.content.also()):
            owner = owners.setdefault(names.key(name), record.slug)
            if owner != record.slug:
                raise CatalogFileError(where, [("aliases", f"“{name}” already means {owner}")])
        yield record


def _toml(path: Path, folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogFileError(path.relative_to(folder).as_posix(), [("", str(error))]) from None


def _refuse_unknown_folders(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        known_folders = (*TABLES, CALIBRATIONS, MEASURED, VALIDATION, LAUNCH)
        if path.is_dir() and path.name not in known_folders:
            known = ", ".join(known_folders)
            raise CatalogFileError(path.name, [("", f"no table has this name; known are {known}")])


def _refuse_dangling(catalog: FileCatalog) -> None:
    """Prices of a GPU or an LLM that is not here, or in a currency that has no rate."""
    refer = (("prices", "gpu", "gpus"), ("api_prices", "llm", "llms"))
    for table, field, other in refer:
        known = {record.slug for record in catalog.records(other)}
        for record in catalog.records(table):
            named = record.payload.get(field)
            if named is not None and named not in known:
                thing = {"gpu": "GPU", "llm": "LLM"}[field]
                raise CatalogFileError(f"{table}: {record.slug}", [(field, f"there is no {thing} “{named}”")])
            _refuse_unknown_currency(catalog, record)


def _refuse_unknown_currency(catalog: FileCatalog, record: Record) -> None:
    code = record.payload.get("currency", "USD")
    try:
        catalog.currency(code)
    except UnknownEntry as error:
        raise CatalogFileError(f"{record.table}: {record.slug}", [("currency", str(error))]) from None


class FileCatalog:
    """The catalog of the files, or of the files and a team's entries (`with_records`). Immutable."""

    def __init__(
        self,
        records: Sequence[Record],
        *,
        calibrations: Mapping[str, Mapping[str, Any]],
        measured: Mapping[str, Table] | None = None,
        folder: Path = DATA,
    ) -> None:
        self.folder = folder
        self._calibrations = calibrations
        self._measured = measured or {}
        self._find_trace: Callable[[str], Workload] = self._shipped_trace
        self._own_traces: tuple[str, ...] = ()
        self._tables: dict[str, dict[str, Record]] = {table: {} for table in TABLES}
        self._index: dict[str, dict[str, str]] = {table: {} for table in TABLES}
        for record in records:
            self._tables[record.table][record.slug] = record
            for name in (*record.content.also(), record.slug):
                self._index[record.table][names.key(name)] = record.slug
        self._short = names.unpublished(
            (name, slug) for slug, row in self._tables["llms"].items() for name in (*row.content.also(), slug)
        )

    def with_records(self, records: Sequence[Record]) -> FileCatalog:
        """This catalog and further records, which win over those of the same slug or name."""
        mine = [record for table in self._tables.values() for record in table.values()]
        return FileCatalog(
            [*mine, *records], calibrations=self._calibrations, measured=self._measured, folder=self.folder
        )

    def with_traces(self, find: Callable[[str], Workload], *, own: Sequence[str]) -> FileCatalog:
        """This catalog with the traces that ``find`` knows; ``own`` names those it has beyond the shipped ones."""
        seen = copy.copy(self)
        vars(seen).update(_find_trace=find, _own_traces=tuple(sorted(own)))
        vars(seen).pop("digest", None)
        return seen

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the content, whatever the order or the layout of the files, and the package of measured kernels.

        What was answered without the package is not the answer with it, nor one with other traces.
        """
        tables = {table: {slug: row.payload for slug, row in rows.items()} for table, rows in self._tables.items()}
        parts: list[Any] = [tables, self._calibrations, *([self.kernel_package] if self.kernel_package else [])]
        parts += [self._own_traces] if self._own_traces else []
        content = json.dumps(parts, sort_keys=True, default=str, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    @cached_property
    def as_of(self) -> str:
        """The newest date of any figure."""
        return max(
            (date for rows in self._tables.values() for row in rows.values() for date in _dates(row.payload)),
            default="",
        )

    def records(self, table: str) -> Sequence[Record]:
        return tuple(self._tables[table].values())

    def record(self, table: str, name: str) -> Record:
        """The record of a slug or alias; raises `UnknownEntry` with the nearest slugs.

        A requantised or republished copy of an LLM is found by the LLM's name: its architecture is the same.
        """
        if table not in self._tables:
            raise UnknownEntry(table=table, slug=name)
        rows, index = self._tables[table], self._index[table]
        slug = name if name in rows else index.get(names.key(name))
        if slug is None and table == "llms":
            slug = self._copied(name)
        if slug is None:
            shown = excerpt(name, at_most=names.LONGEST_NAME)
            raise UnknownEntry(table=table, slug=shown, nearest=names.nearest(name, index))
        return rows[slug]

    def _copied(self, name: str) -> str | None:
        keys = [names.key(candidate) for candidate in llm_names.plain_names(name[: names.LONGEST_NAME])]
        index = self._index["llms"]
        return next((found for key in keys if (found := index.get(key) or self._short.get(key))), None)

    def _plain(self, table: str) -> dict[str, Any]:
        return {slug: row.content.plain() for slug, row in self._tables[table].items()}

    @cached_property
    def _gpus(self) -> dict[str, Gpu]:
        return self._plain("gpus")

    @cached_property
    def _llms(self) -> dict[str, Llm]:
        return self._plain("llms")

    @cached_property
    def _engines(self) -> dict[str, Engine]:
        return self._plain("engines")

    @cached_property
    def _links(self) -> dict[str, Link]:
        return self._plain("links")

    @cached_property
    def _prices(self) -> dict[str, Price]:
        return self._in_usd("prices")

    @cached_property
    def _api_prices(self) -> dict[str, ApiPrice]:
        return self._in_usd("api_prices")

    @cached_property
    def _currencies(self) -> dict[str, Currency]:
        return {found.code: found for found in self._plain("currencies").values()}

    def _in_usd(self, table: str) -> dict[str, Any]:
        """The prices of a table, each at what its currency was worth when it was read."""
        found = {}
        for slug, row in self._tables[table].items():
            priced: Any = row.content
            figure = getattr(priced, "price", None) or priced.output
            found[slug] = priced.plain(usd_per_unit=self.currency(priced.currency).rate(figure.as_of).value)
        return found

    def gpu(self, slug: str) -> Gpu:
        return self._gpus[self.record("gpus", slug).slug]

    def llm(self, slug: str) -> Llm:
        return self._llms[self.record("llms", slug).slug]

    def engine(self, slug: str) -> Engine:
        return self._engines[self.record("engines", slug).slug]

    def link(self, slug: str) -> Link:
        return self._links[self.record("links", slug).slug]

    def price(self, gpu: str) -> Price | None:
        """The price to assume for a GPU (see `planner.catalog.pricing`), or None."""
        return pricing.assumed(self.prices(), gpu=self.gpu(gpu).slug)

    def gpus(self) -> Sequence[Gpu]:
        return tuple(self._gpus.values())

    def llms(self) -> Sequence[Llm]:
        return tuple(self._llms.values())

    def engines(self) -> Sequence[Engine]:
        return tuple(self._engines.values())

    def links(self) -> Sequence[Link]:
        return tuple(self._links.values())

    def prices(self) -> Sequence[Price]:
        return tuple(self._prices.values())

    def api_prices(self) -> Sequence[ApiPrice]:
        return tuple(self._api_prices.values())

    def api_price(self, slug: str) -> ApiPrice:
        return self._api_prices[self.record("api_prices", slug).slug]

    def currency(self, code: str) -> Currency:
        """A currency by its ISO letters; the dollar needs no file."""
        if code in self._currencies:
            return self._currencies[code]
        if code == _DOLLAR.code:
            return _DOLLAR
        raise UnknownEntry(table="currencies", slug=code, nearest=tuple(self._currencies))

    def calibration(self, name: str) -> Mapping[str, Any]:
        """The table of fitted coefficients of a name; raises `UnknownEntry`."""
        if name not in self._calibrations:
            index = {names.key(known): known for known in self._calibrations}
            raise UnknownEntry(table=CALIBRATIONS, slug=name, nearest=names.nearest(name, index))
        return MappingProxyType(self._calibrations[name])

    def table(self, name: str) -> Table:
        """The measured rows beside a calibration, the same object at every call; raises `UnknownEntry`."""
        if name not in self._measured:
            index = {names.key(known): known for known in self._measured}
            raise UnknownEntry(table=CALIBRATIONS, slug=name, nearest=names.nearest(name, index))
        return self._measured[name]

    def program(self, slug: str) -> Program:
        """A program with its documented options; raises `UnknownEntry`. No estimate reads it: no part of the digest."""
        known = programs(self.folder)
        if slug not in known:
            raise UnknownEntry(table=LAUNCH, slug=slug, nearest=tuple(known))
        return known[slug]

    def workload(self, name: str) -> Workload:
        """The requests of a trace, the same object at every call; raises `UnknownEntry`, for a profile too."""
        return self._find_trace(name)

    def _shipped_trace(self, name: str) -> Workload:
        content = self.record("workloads", name).content
        if not isinstance(content, WorkloadContent) or content.form != "trace":
            raise UnknownEntry(table="workloads", slug=name)
        path = self.folder / "workloads" / str(content.file)
        return shipped_traces.requests(path, sha256=str(content.sha256), name=content.name, source=content.source)

    @property
    def kernel_package(self) -> str | None:
        """The installed package of measured kernels with its version; None: there is none."""
        return kernels.installed()

    def kernel_times(
        self, llm: Llm, gpu: Gpu, *, engine: str, ranks: Ranks, weight_dtype: str, kv_dtype: str
    ) -> KernelTimes:
        """Measured kernels for a replica; raises `KernelsUnavailable` with the reason when there are none."""
        return kernels.times(llm, gpu, engine=engine, ranks=ranks, weight_dtype=weight_dtype, kv_dtype=kv_dtype)


def _dates(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key == "as_of" and isinstance(part, str):
                yield part
            else:
                yield from _dates(part)
    elif isinstance(value, list):
        for part in value:
            yield from _dates(part)
