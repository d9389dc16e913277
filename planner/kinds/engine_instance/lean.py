"""The measurements a replica leans on: what they add to the calibrated roofline, and the nearest of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.core.catalog import Catalog
from planner.core.quantities import show
from planner.core.result import Basis, Column, Evidence, Finding, Series
from planner.formulas import measurements, neighbours, serving
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import load, rivals, sources
from planner.kinds.engine_instance.plan import Plan

NEAR = 1.3
"""A lesser GPU this much slower with one request stays slower at any load."""


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
    found = measurements.library(catalog.table(measurements.TABLE))
    own = load.operation(
        plan,
        capacity=load.places(plan, fitted),
        times=sources.calibrated(plan),
        lean=found.seen_from(configuration(plan)),
    )
    return replace(own, lesser=tuple(_lesser(own, catalog, found)))


def _lesser(own: load.Operation, catalog: Catalog, found: measurements.Library) -> Iterator[load.Operation]:
    """The replica on lesser GPUs that come near it when nothing else runs: only those can bound it anywhere."""
    alone = own.at(1.0)
    for plan, times in rivals.replicas(own.plan, catalog, among=found.gpus):
        other = replace(own, plan=plan, times=times, lean=found.seen_from(configuration(plan)))
        bound = other.at(1.0)
        if min(bound.e2e_s / alone.e2e_s, bound.ttft_s / alone.ttft_s) < NEAR:
            whole = rivals.on(plan, catalog)
            yield replace(other, capacity=max(load.places(whole, fits.fit(whole)), 1.0))


@dataclass(frozen=True, slots=True)
class Trust:
    """How times are founded: badge, half-widths of the 80 % interval as factors, and the nearest measurement."""

    basis: Basis
    tpot: float
    ttft: float
    throughput: float
    rows: int = 0
    nearest: measurements.Nearest | None = None


def trust(plan: Plan, catalog: Catalog, ready: load.Operation | None, point: serving.Point | None) -> Trust:
    """What stands behind the times of a design."""
    if ready is None or ready.lean is None:
        wide = plan.trust
        return Trust(
            basis="calibrated" if wide.calibrated else "extrapolated",
            tpot=wide.tpot,
            ttft=wide.ttft,
            throughput=wide.throughput,
        )
    asked = _subject(plan, ready, point)
    # Drafts were not measured: what stands behind their times is the same replica without them.
    rows = 0 if plan.spec.draft else ready.lean.seen
    near = measurements.nearest(asked, lean=ready.lean, catalog=catalog, count=1)
    basis = measurements.badge(near[0] if near else None, seen=rows)
    tpot, ttft, throughput = _widths(ready, basis=basis, concurrency=asked.concurrency, catalog=catalog)
    return Trust(
        basis=basis,
        tpot=tpot,
        ttft=ttft,
        throughput=throughput,
        rows=rows,
        nearest=near[0] if near else None,
    )


def _widths(ready: load.Operation, *, basis: Basis, concurrency: float, catalog: Catalog) -> tuple[float, float, float]:
    """Half-widths of the 80 % interval at a load, as factors: of TPOT, TTFT and throughput."""
    interval = catalog.table(measurements.TABLE).meta["interval"]
    scale = interval["unseen" if basis == "extrapolated" else "seen"]
    spread = ready.correction(concurrency)
    return (
        math.exp(scale["tpot"] * spread.tpot_sd),
        math.exp(scale["ttft"] * spread.ttft_sd),
        math.exp(scale["throughput"] * spread.tpot_sd),
    )


def bands(found: Trust, ready: load.Operation, curve: Series, catalog: Catalog) -> Series:
    """The curve with the half-widths of its 80 % interval at each load, as factors."""
    loads = [float(at) for at in curve.column("concurrency").values if at is not None]
    if ready.lean is None:
        widths = [(found.tpot, found.ttft, found.throughput)] * len(loads)
    else:
        widths = [_widths(ready, basis=found.basis, concurrency=at, catalog=catalog) for at in loads]
    columns = [
        Column(f"{name}_band", f"80 % range of {label}, factor", "×", [width[place] for width in widths])
        for place, (name, label) in enumerate((("tpot", "TPOT"), ("ttft", "TTFT"), ("throughput", "throughput")))
    ]
    return replace(curve, columns=(*curve.columns, *columns))


def _subject(plan: Plan, ready: load.Operation, point: serving.Point | None) -> measurements.Subject:
    """The replica at its load; where requests come faster than it serves, with all places taken."""
    spec = plan.spec
    held = plan.concurrency if spec.rate_rps is None else None
    open_loop = max(ready.capacity if point is None else point.concurrency, 1.0)
    return measurements.Subject(
        configuration=configuration(plan),
        layout=plan.layout,
        input_tokens=spec.input_tokens,
        output_tokens=spec.output_tokens,
        concurrency=open_loop if held is None else max(held, 1.0),
        capacity=ready.capacity,
        held=held is not None,
        also=tuple(_unusual(plan)),
    )


def _unusual(plan: Plan) -> Iterator[str]:
    """What none of the measurements has."""
    spec, layout = plan.spec, plan.layout
    found = (
        ("prefix cache", spec.prefix_hit_rate > 0),
        ("drafts", spec.draft > 0),
        ("adapters", spec.adapters > 0),
        ("steps without captured graphs", not plan.graph_capture),
        ("pipeline stages", layout.pipeline_parallel > 1),
        ("context ranks", layout.context_parallel > 1),
        ("redundant experts", plan.llm.moe is not None and layout.redundant_experts > 0),
    )
    yield from (words for words, has in found if has)


def remarks(plan: Plan, found: Trust, ready: load.Operation | None) -> Iterator[Finding]:
    """What stands behind the times, in sentences."""
    if ready is None or ready.lean is None:
        return
    if found.basis == "extrapolated":
        yield Finding(
            code="extrapolated",
            severity="info",
            message=(
                f"{_unmeasured(plan, found)} Times are carried over from other replicas: in four of five cases TPOT is "
                f"within a factor of {found.tpot:.2f} and TTFT within {found.ttft:.2f}."
            ),
            metric="tpot_mean_s",
        )
    if found.nearest is not None:
        one = found.nearest
        yield Finding(
            code="nearest_measurement",
            severity="info",
            message=(
                f"The nearest published measurement is {one.words}. Its distance is {one.distance:.2f} (0: the same); "
                f"it differs in {measurements.differences(one)}. {_said(found)}"
            ),
            metric="tpot_mean_s",
        )


def _unmeasured(plan: Plan, found: Trust) -> str:
    replica = f"{plan.llm.name} was"
    if found.rows and found.nearest is not None:
        return f"{replica} measured on {plan.gpu.name} with {plan.engine_name}, but far from this placement or load."
    drafts = " with drafts" if plan.spec.draft else ""
    return f"{replica} not measured{drafts} on {plan.gpu.name} with {plan.engine_name} in this precision."


def _said(found: Trust) -> str:
    leans = "The answer leans on it and its like"
    if not found.rows:
        return f"{leans}."
    many = "1 measurement" if found.rows == 1 else f"{found.rows} measurements"
    verb = "stands" if found.rows == 1 else "stand"
    return f"{leans}; {many} of this LLM, GPU and engine {verb} behind it."


def evidence(plan: Plan, catalog: Catalog, found: Trust, point: serving.Point | None) -> tuple[Evidence, ...]:
    """The nearest measurement with our figures beside it."""
    if found.nearest is None:
        return ()
    return (
        measurements.evidence(
            found.nearest,
            table=catalog.table(measurements.TABLE),
            said=_said(found),
            tpot_s=None if point is None else point.tpot_s,
            ttft_s=None if point is None else point.ttft_s,
            output_per_gpu=None if point is None else _output_per_gpu(plan, point),
        ),
    )


def width_of_cache(plan: Plan, fitted: fits.Fit, ready: load.Operation | None) -> Iterator[Finding]:
    """Times that take an FP8 cache where the spec leaves its width out: a warning where requests would wait without."""
    if ready is None or load.as_served(plan) is plan:
        return
    places = fits.capacity(plan, fitted.tight.pool)
    waits = plan.spec.rate_rps is None and places < min(plan.concurrency, ready.capacity)
    yield Finding(
        code="cache_width_assumed",
        severity="warning" if waits else "info",
        message=f"Times assume an FP8 cache, as quantised LLMs are mostly served; memory figures are those of "
        f"{plan.kv_dtype.upper()}."
        + (
            f" {show(ready.capacity, 'requests')} run at once; in {plan.kv_dtype.upper()} "
            f"{show(max(places, 0.0), 'requests')} would, and of {show(plan.concurrency)} in the system the others "
            "would wait."
            if waits
            else ""
        ),
        metric="ttft_mean_s" if waits else "tpot_mean_s",
        suggestion="State the width of the cache.",
        change={"kv_dtype": "fp8"},
    )


def _output_per_gpu(plan: Plan, point: serving.Point) -> float:
    return point.request_rate_rps * plan.spec.output_tokens / plan.layout.gpus


def provenance(found: Trust, catalog: Catalog) -> dict[str, Any]:
    """The nearest measurement, for scripts."""
    if found.nearest is None:
        return {}
    one = measurements.provenance(found.nearest, table=catalog.table(measurements.TABLE))
    return {"nearest_measurement": one, "measurements_behind": found.rows}


def series(plan: Plan, ready: load.Operation, catalog: Catalog) -> dict[str, Series]:
    """The measurements most like the design, and those of this very replica at any load."""
    if ready.lean is None:
        return {}
    asked = _subject(plan, ready, ready.at_design())
    near = measurements.nearest(asked, lean=ready.lean, catalog=catalog)
    rows = measurements.sweep(asked, table=catalog.table(measurements.TABLE))
    found = {}
    if near:
        found[measurements.SERIES] = measurements.series(near)
    if rows:
        found["measured"] = _measured(rows)
    return found


def _measured(rows: Sequence[Mapping[str, str]]) -> Series:
    """What was measured of this replica, against concurrency."""
    near = [measurements.Nearest(row=row, words="", differs=(), distance=0.0) for row in rows]
    columns = (
        Column("concurrency", "Requests in the system", "requests", [one.concurrency for one in near]),
        Column("version", "Engine version", "", [row["version"] or "not stated" for row in rows]),
        Column("tpot_mean_s", "TPOT, mean", "s", [one.tpot_s for one in near]),
        Column("ttft_mean_s", "TTFT, mean", "s", [one.ttft_s for one in near]),
        Column(
            "output_tokens_per_s_per_gpu",
            "Output tokens a GPU",
            "tok/s/GPU",
            [one.output_tokens_per_s_per_gpu for one in near],
        ),
    )
    return Series(name="measured", label="Published measurements of this replica", columns=columns)
