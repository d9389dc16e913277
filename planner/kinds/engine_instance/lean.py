"""The measurements a replica leans on: what they add to the calibrated roofline, and the nearest of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from planner.core.catalog import Catalog, Table
from planner.core.quantities import show
from planner.core.result import Basis, Column, Finding, Series
from planner.formulas import neighbours, serving
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import load, rivals, sources
from planner.kinds.engine_instance.plan import Plan
from planner.kinds.engine_instance.spec_engine import ENGINES

TABLE = "step_time"
_SAME = 0.03
"""Distance up to which a measurement counts as one of this very replica at this load."""
_SHOWN = 6
_NEAR = 1.3
"""A lesser GPU this much slower with one request stays slower at any load."""


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """All measurements, read once for each table."""

    table: Table
    measured: neighbours.Measurements
    columns: neighbours.Columns
    kernels: tuple[neighbours.Kernel, neighbours.Kernel]
    gpus: frozenset[str]

    def seen_from(self, asked: neighbours.Configuration) -> neighbours.Lean:
        """The measurements from one configuration."""
        return neighbours.Lean(self.measured, columns=self.columns, asked=asked, kernels=self.kernels)


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


def operation(plan: Plan, fitted: fits.Fit, catalog: Catalog) -> load.Operation:
    """The replica in the calibrated roofline, leaning on measurements and bounded by lesser GPUs."""
    found = library(catalog.table(TABLE))
    own = load.operation(
        plan,
        capacity=load.places(plan, fitted),
        times=sources.calibrated(plan),
        lean=found.seen_from(configuration(plan)),
    )
    return replace(own, lesser=tuple(_lesser(own, catalog, found)))


def _lesser(own: load.Operation, catalog: Catalog, found: Library) -> Iterator[load.Operation]:
    """The replica on lesser GPUs that come near it when nothing else runs: only those can bound it anywhere."""
    alone = own.at(1.0)
    for plan, times in rivals.replicas(own.plan, catalog, among=found.gpus):
        other = replace(own, plan=plan, times=times, lean=found.seen_from(configuration(plan)))
        bound = other.at(1.0)
        if min(bound.e2e_s / alone.e2e_s, bound.ttft_s / alone.ttft_s) < _NEAR:
            whole = rivals.on(plan, catalog)
            yield replace(other, capacity=max(load.places(whole, fits.fit(whole)), 1.0))


@dataclass(frozen=True, slots=True)
class Nearest:
    """The published measurement most like the design. ``distance`` 0: the same configuration; 1: a likeness of 1/e."""

    id: str
    source: str
    words: str
    differs: str
    distance: float
    concurrency: float
    ttft_s: float
    tpot_s: float
    output_tokens_per_s: float


@dataclass(frozen=True, slots=True)
class Trust:
    """How times are founded: badge, half-widths of the 80 % interval as factors, and the nearest measurement."""

    basis: Basis
    tpot: float
    ttft: float
    throughput: float
    rows: int = 0
    nearest: Nearest | None = None


def trust(plan: Plan, catalog: Catalog, ready: load.Operation | None, point: serving.Point | None) -> Trust:
    """What stands behind the times of a design."""
    if ready is None or ready.lean is None or point is None:
        wide = plan.trust
        return Trust(
            basis="calibrated" if wide.calibrated else "extrapolated",
            tpot=wide.tpot,
            ttft=wide.ttft,
            throughput=wide.throughput,
        )
    table = catalog.table(TABLE)
    concurrency = max(point.concurrency, 1.0)
    correction, rows = ready.correction(concurrency), ready.lean.seen
    found = ready.lean.nearest(concurrency=concurrency, capacity=ready.capacity)
    nearest = None if found is None else _nearest(plan, catalog, row=found[0], distance=found[1])
    drafts = plan.spec.draft > 0
    seen = rows > 0 and not drafts
    width = table.meta["interval"]["seen" if seen else "unseen"]
    same = nearest is not None and not drafts and nearest.distance <= _SAME
    return Trust(
        basis="measured" if same and seen else ("calibrated" if seen else "extrapolated"),
        tpot=math.exp(width["tpot"] * correction.tpot_sd),
        ttft=math.exp(width["ttft"] * correction.ttft_sd),
        throughput=math.exp(width["throughput"] * correction.tpot_sd),
        rows=rows if seen else 0,
        nearest=nearest,
    )


def _nearest(plan: Plan, catalog: Catalog, *, row: int, distance: float) -> Nearest:
    table = catalog.table(TABLE)
    one = {name: values[row] for name, values in table.columns.items()}
    concurrency, output = float(one["concurrency"]), float(one["output_tokens"])
    ttft_s, tpot_s = float(one["ttft_s"]), float(one["tpot_s"])
    version = f" {one['version']}" if one["version"] else ""
    lengths = f"{float(one['input_tokens']):,.0f} in, {output:,.0f} out"
    return Nearest(
        id=one["id"],
        source=f"{table.meta['source']}, {table.meta['source_url']}",
        words=(
            f"{catalog.llm(one['llm']).name} in {one['format'].upper()} on {one['gpus']} × "
            f"{catalog.gpu(one['gpu']).name}, "
            f"{ENGINES[one['engine']]}{version}, {lengths}, {show(concurrency, 'requests')} at once"
        ),
        differs=", ".join(_differences(plan, table, one)) or "nothing that is stated",
        distance=distance,
        concurrency=concurrency,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        output_tokens_per_s=concurrency * output / (ttft_s + (output - 1.0) * tpot_s),
    )


def _differences(plan: Plan, table: Table, one: Mapping[str, str]) -> Iterator[str]:
    asked, spec = configuration(plan), plan.spec
    if not np.allclose(asked.shape, table.meta["shape"][one["llm"]], atol=1e-4):
        yield "LLM"
    pairs = (
        ("GPU", asked.gpu, one["gpu"]),
        ("engine", asked.engine, one["engine"]),
        ("precision", asked.format, one["format"]),
        ("GPUs", f"{plan.layout.gpus}", one["gpus"]),
        ("attention copies", f"{plan.layout.data_parallel}", one["data_parallel"]),
        ("expert ranks", f"{asked.experts:d}", one["experts"]),
    )
    yield from (name for name, mine, theirs in pairs if mine != theirs)
    if (spec.engine_version or "") != one["version"]:
        yield "version"
    if spec.input_tokens != float(one["input_tokens"]) or spec.output_tokens != float(one["output_tokens"]):
        yield "lengths"
    if spec.rate_rps is not None or plan.concurrency != float(one["concurrency"]):
        yield "load"


def remarks(plan: Plan, found: Trust, point: serving.Point | None) -> Iterator[Finding]:
    """What stands behind the times, in sentences."""
    if point is None or plan.spec.latency_source != "roofline":
        return
    if found.basis == "extrapolated":
        yield Finding(
            code="extrapolated",
            severity="info",
            message=(
                f"{plan.llm.name} was not measured on {plan.gpu.name} with {plan.engine_name} in this precision. Times "
                f"are carried over from other replicas: in four of five cases TPOT is within a factor of "
                f"{found.tpot:.2f} and TTFT within {found.ttft:.2f}."
            ),
        )
    if found.nearest is None:
        return
    one = found.nearest
    leans = f"; {found.rows} measurements of this LLM, GPU and engine stand behind it" if found.rows else ""
    yield Finding(
        code="nearest_measurement",
        severity="info",
        message=(
            f"The nearest published measurement is {one.words}: TPOT {show(one.tpot_s, 's')}, TTFT "
            f"{show(one.ttft_s, 's')}. Its distance is {one.distance:.2f} (0: the same); it differs in "
            f"{one.differs}. The answer leans on it and its like{leans}."
        ),
        metric="tpot_mean_s",
    )


def width_of_cache(plan: Plan, fitted: fits.Fit, ready: load.Operation | None) -> Iterator[Finding]:
    """Times that take an FP8 cache where the spec leaves its width out: said where it makes requests wait or not."""
    if ready is None or plan.spec.kv_dtype is not None or plan.spec.rate_rps is not None:
        return
    stated = fits.capacity(plan, fitted.tight.pool)
    if stated >= plan.concurrency or ready.capacity <= stated:
        return
    yield Finding(
        code="cache_width_assumed",
        severity="warning",
        message=(
            f"Times assume an FP8 cache, as quantised LLMs are mostly served: {show(ready.capacity, 'requests')} run "
            f"at once. In {plan.kv_dtype.upper()}, which the memory figures show, {show(max(stated, 0.0), 'requests')} "
            f"would, and of {show(plan.concurrency)} in the system the others would wait."
        ),
        metric="ttft_mean_s",
        suggestion="State the width of the cache.",
        change={"kv_dtype": "fp8"},
    )


def provenance(found: Trust) -> dict[str, Any]:
    """The nearest measurement, for scripts."""
    if found.nearest is None:
        return {}
    one = found.nearest
    return {
        "nearest_measurement": {
            "id": one.id,
            "source": one.source,
            "configuration": one.words,
            "differs_in": one.differs,
            "distance": round(one.distance, 4),
            "ttft_s": one.ttft_s,
            "tpot_s": one.tpot_s,
            "output_tokens_per_s": one.output_tokens_per_s,
        },
        "measurements_behind": found.rows,
    }


def series(plan: Plan, ready: load.Operation, catalog: Catalog) -> dict[str, Series]:
    """The measurements most like the design, beside what the estimate gives at their load."""
    if ready.lean is None:
        return {}
    point = ready.at_design()
    concurrency = ready.capacity if point is None else max(point.concurrency, 1.0)
    rows = ready.lean.nearest_few(concurrency=concurrency, capacity=ready.capacity, count=_SHOWN)
    if not rows:
        return {}
    near = [_nearest(plan, catalog, row=row, distance=distance) for row, distance in rows]
    columns = (
        Column("measurement", "Measured", "", [one.words for one in near]),
        Column("distance", "Distance", "1", [one.distance for one in near]),
        Column("differs_in", "Differs in", "", [one.differs for one in near]),
        Column("tpot_s", "TPOT, mean", "s", [one.tpot_s for one in near]),
        Column("ttft_s", "TTFT, mean", "s", [one.ttft_s for one in near]),
        Column("output_tokens_per_s", "Output tokens", "tok/s", [one.output_tokens_per_s for one in near]),
    )
    return {"nearest": Series(name="nearest", label="Nearest published measurements", columns=columns)}
