"""The measurements a replica leans on: what they add to the calibrated roofline, and the nearest of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from planner.core.catalog import Catalog, Table
from planner.formulas import neighbours
from planner.kinds.engine_instance.plan import Plan

TABLE = "step_time"


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """All measurements, read once for each table."""

    table: Table
    measured: neighbours.Measurements
    columns: Mapping[str, Any]
    kernels: tuple[neighbours.Kernel, neighbours.Kernel]


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
    return Library(table=table, measured=measured, columns=measured.columns, kernels=(tpot, ttft))


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


def configuration(plan: Plan) -> neighbours.Configuration:
    """The replica and its lengths, as far as likeness asks."""
    spec = plan.spec
    return neighbours.configuration(
        plan.llm,
        plan.gpu,
        engine=spec.engine,
        version=spec.engine_version,
        weight_dtype=plan.weight_dtype,
        layout=plan.layout,
        input_tokens=spec.input_tokens * (1.0 - spec.prefix_hit_rate),
        output_tokens=spec.output_tokens,
    )


def lean(plan: Plan, catalog: Catalog) -> neighbours.Lean:
    """The measurements seen from a replica."""
    found = library(catalog.table(TABLE))
    return neighbours.Lean(found.measured, columns=found.columns, asked=configuration(plan), kernels=found.kernels)
