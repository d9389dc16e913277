"""Published measurements of replicas by row: the nearest, in what they differ, what they found (see `neighbours`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from planner.core.catalog import Catalog, Table
from planner.core.quantities import show
from planner.core.result import Basis, Beside, Column, Evidence, Series
from planner.formulas import neighbours
from planner.formulas.traffic import Layout

TABLE = "step_time"
SERIES = "nearest"
SHOWN = 6
SAME = 0.03
"""Distance up to which a measurement counts as one of this very replica at this load."""
FAR = 1.0
"""Distance from which a measurement is no longer like it: its likeness is 1/e of that of the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """All measurements, read once for each table."""

    table: Table
    measured: neighbours.Measurements
    columns: neighbours.Columns
    distinct: neighbours.Distinct
    kernels: tuple[neighbours.Kernel, neighbours.Kernel]
    gpus: frozenset[str]

    def seen_from(self, asked: neighbours.Configuration) -> neighbours.Lean:
        """The measurements from one configuration."""
        return _seen(self, asked)


@lru_cache(maxsize=32)
def _seen(measured: Library, asked: neighbours.Configuration) -> neighbours.Lean:
    """Kept, for whoever edits a design asks again from where a replica like it stands."""
    return neighbours.Lean(
        measured.measured,
        columns=measured.columns,
        asked=asked,
        kernels=measured.kernels,
        distinct=measured.distinct,
    )


@lru_cache(maxsize=4)
def library(table: Table) -> Library:
    """The measurements of a table as the formulas take them."""
    measured = neighbours.Measurements(
        configurations=_configurations(table),
        concurrency=_numbers(table, "concurrency"),
        pressure=_numbers(table, "pressure"),
        weights_tpot=_numbers(table, "weight_tpot"),
        weights_ttft=_numbers(table, "weight_ttft"),
    )
    tpot, ttft = (neighbours.Kernel.read(table.meta["kernel"][name]) for name in ("tpot", "ttft"))
    return Library(
        table=table,
        measured=measured,
        columns=measured.columns,
        distinct=measured.distinct(),
        kernels=(tpot, ttft),
        gpus=frozenset(table.columns["gpu"]),
    )


def _numbers(table: Table, name: str) -> neighbours.Array:
    return np.array(table.columns[name], dtype=float)


def _configurations(table: Table) -> list[neighbours.Configuration]:
    shapes = {slug: tuple(float(size) for size in sizes) for slug, sizes in table.meta["shape"].items()}
    columns = table.columns
    names = ("llm", "gpu", "generation", "engine", "format", "version", "ranks", "copies", "experts", "input", "output")
    return [
        neighbours.Configuration(
            shape=shapes[llm],
            gpu=gpu,
            generation=generation,
            engine=engine,
            format=number_format,
            version=version,
            ranks=float(ranks),
            copies=copies == "1",
            experts=experts == "1",
            input=float(new),
            output=float(output),
        )
        for llm, gpu, generation, engine, number_format, version, ranks, copies, experts, new, output in zip(
            *(columns[name] for name in names), strict=True
        )
    ]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is held against the measurements: a replica with its lengths and its load."""

    configuration: neighbours.Configuration
    layout: Layout
    input_tokens: float
    output_tokens: float
    concurrency: float
    """Requests in the system [1], at which the nearest rows are sought."""
    capacity: float
    """Requests that run at once [1]."""
    held: bool = True
    """Whether the concurrency is kept, as it was in the measurements; else requests come at a rate."""
    also: tuple[str, ...] = ()
    """What else no measurement has: a prefix cache, drafts."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """A published measurement. ``distance`` 0: the same configuration and load; 1: a likeness of 1/e."""

    row: Mapping[str, str]
    words: str
    differs: tuple[str, ...]
    distance: float

    @property
    def is_same_replica(self) -> bool:
        """Whether it ran on this very replica, whatever its load: likeness does not see all that makes another one."""
        return {"version", "lengths", "load"}.issuperset(self.differs)

    @property
    def concurrency(self) -> float:
        return float(self.row["concurrency"])

    @property
    def ttft_s(self) -> float:
        return float(self.row["ttft_s"])

    @property
    def tpot_s(self) -> float:
        return float(self.row["tpot_s"])

    @property
    def output_tokens_per_s(self) -> float:
        """Of the whole replica: each request in the system gives its output in TTFT and the gaps after it [tok/s]."""
        output = float(self.row["output_tokens"])
        return self.concurrency * output / (self.ttft_s + (output - 1.0) * self.tpot_s)

    @property
    def output_tokens_per_s_per_gpu(self) -> float:
        return self.output_tokens_per_s / float(self.row["gpus"])


def nearest(subject: Subject, *, lean: neighbours.Lean, catalog: Catalog, count: int = SHOWN) -> tuple[Nearest, ...]:
    """The measurements most like a replica at its load, nearest first; empty where none is like it at all.

    ``lean`` is ``library(…).seen_from(subject.configuration)``, ``count`` the rows at most.
    """
    table = catalog.table(TABLE)
    found = lean.nearest_few(concurrency=subject.concurrency, capacity=subject.capacity, count=count)
    return tuple(_one(subject, table=table, row=row, distance=distance, catalog=catalog) for row, distance in found)


def _one(subject: Subject, *, table: Table, row: int, distance: float, catalog: Catalog) -> Nearest:
    one = {name: values[row] for name, values in table.columns.items()}
    version = f" {one['version']}" if one["version"] else ""
    words = (
        f"{catalog.llm(one['llm']).name} in {one['format'].upper()} on {one['gpus']} × {catalog.gpu(one['gpu']).name}, "
        f"{catalog.engine(one['engine']).name}{version}, {float(one['input_tokens']):,.0f} in, "
        f"{float(one['output_tokens']):,.0f} out, {show(float(one['concurrency']), 'requests')} at once"
    )
    return Nearest(row=one, words=words, differs=tuple(_differences(subject, table, one)), distance=distance)


def _differences(subject: Subject, table: Table, one: Mapping[str, str]) -> Iterator[str]:
    asked, layout = subject.configuration, subject.layout
    if not np.allclose(asked.shape, table.meta["shape"][one["llm"]], atol=1e-4):
        yield "LLM"
    pairs = (
        ("GPU", asked.gpu, one["gpu"]),
        ("engine", asked.engine, one["engine"]),
        ("precision", asked.format, one["format"]),
        ("GPUs", f"{layout.gpus}", one["gpus"]),
        ("attention copies", f"{layout.data_parallel}", one["data_parallel"]),
        ("expert ranks", f"{layout.expert_parallel}", one["expert_parallel"]),
        ("version", asked.version, one["version"]),
    )
    yield from (name for name, mine, theirs in pairs if mine != theirs)
    if subject.input_tokens != float(one["input_tokens"]) or subject.output_tokens != float(one["output_tokens"]):
        yield "lengths"
    if not subject.held or subject.concurrency != float(one["concurrency"]):
        yield "load"
    yield from subject.also


def badge(near: Nearest | None, *, seen: int) -> Basis:
    """How a time is founded: measured, calibrated or extrapolated.

    Parameters
    ----------
    near : the nearest measurement; None where none is like it at all
    seen : measurements of this LLM, GPU, engine and format [1]
    """
    if not seen or near is None or near.distance > FAR:
        return "extrapolated"
    return "measured" if near.distance <= SAME and near.is_same_replica else "calibrated"


def differences(one: Nearest) -> str:
    """In what a measurement differs, as the end of a sentence."""
    return ", ".join(one.differs) or "nothing that is stated"


def evidence(
    one: Nearest,
    *,
    table: Table,
    said: str,
    tpot_s: float | None,
    ttft_s: float | None = None,
    output_per_gpu: float | None = None,
    subject: str = "",
    series: str = SERIES,
    names: Sequence[str] = ("tpot", "ttft", "throughput"),
) -> Evidence:
    """A measurement with our figures beside it.

    ``said``: what the answer makes of it; ``subject``: the part of the design it stands for; ``series`` holds its like;
    ``names``: the figures to show, ours in seconds and tokens a second of one GPU.
    """
    figures = (
        Beside("tpot", "TPOT, mean", "s", one.tpot_s, tpot_s),
        Beside("ttft", "TTFT, mean", "s", one.ttft_s, ttft_s),
        Beside("throughput", "Output of a GPU", "tok/s/GPU", one.output_tokens_per_s_per_gpu, output_per_gpu),
    )
    return Evidence(
        id=one.row["id"],
        subject=subject,
        configuration=one.words,
        differs=one.differs,
        distance=one.distance,
        figures=tuple(figure for figure in figures if figure.name in names),
        source=str(table.meta["source"]),
        source_url=str(table.meta["source_url"]),
        said=said,
        place={name: one.row[name] for name in ("llm", "gpu", "engine")},
        series=series,
    )


def series(near: Sequence[Nearest], *, name: str = SERIES, label: str = "Nearest published measurements") -> Series:
    """Measurements as a table, nearest first."""
    columns = (
        Column("measurement", "Measured", "", [one.words for one in near]),
        Column("distance", "Distance", "1", [one.distance for one in near]),
        Column("differs_in", "Differs in", "", [differences(one) for one in near]),
        Column("tpot_s", "TPOT, mean", "s", [one.tpot_s for one in near]),
        Column("ttft_s", "TTFT, mean", "s", [one.ttft_s for one in near]),
        Column("output_tokens_per_s", "Output tokens", "tok/s", [one.output_tokens_per_s for one in near]),
    )
    return Series(name=name, label=label, columns=columns)


def provenance(one: Nearest, *, table: Table) -> dict[str, Any]:
    """The measurement as scripts read it: base units, names as they are stored."""
    return {
        "id": one.row["id"],
        "source": f"{table.meta['source']}, {table.meta['source_url']}",
        "configuration": one.words,
        "differs_in": differences(one),
        "distance": round(one.distance, 4),
        "ttft_s": one.ttft_s,
        "tpot_s": one.tpot_s,
        "output_tokens_per_s": one.output_tokens_per_s,
    }


@lru_cache(maxsize=4)
def _places(table: Table) -> Mapping[tuple[str, ...], Sequence[int]]:
    """Rows by GPU, engine, format and placement."""
    found: dict[tuple[str, ...], list[int]] = {}
    names = ("gpu", "engine", "format", "gpus", "data_parallel", "experts")
    for place, key in enumerate(zip(*(table.columns[name] for name in names), strict=True)):
        found.setdefault(key, []).append(place)
    return found


def sweep(subject: Subject, *, table: Table) -> list[Mapping[str, str]]:
    """Rows of this very replica at these lengths, at any load, by concurrency.

    The same is: shape of the LLM, GPU, engine, format, layout and lengths; any version.
    """
    if subject.also:
        return []
    asked, layout = subject.configuration, subject.layout
    wanted = (
        asked.gpu,
        asked.engine,
        asked.format,
        f"{layout.gpus}",
        f"{layout.data_parallel}",
        f"{asked.experts:d}",
    )
    columns = table.columns
    rows = ({name: values[place] for name, values in columns.items()} for place in _places(table).get(wanted, ()))
    found = [
        row
        for row in rows
        if float(row["input_tokens"]) == subject.input_tokens
        and float(row["output_tokens"]) == subject.output_tokens
        and math.isclose(2.0 ** float(row["ranks"]), layout.stage_gpus)
        and np.allclose(asked.shape, table.meta["shape"][row["llm"]], atol=1e-4)
    ]
    return sorted(found, key=lambda row: float(row["concurrency"]))
