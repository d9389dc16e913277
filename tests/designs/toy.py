"""A throw-away kind, its catalog and its simulator: enough to walk every surface without a real one."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Literal

from planner.core import kind as core
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.core.chart import Axis, Chart, Mark, Trace
from planner.core.diagram import Box, Diagram, Flow
from planner.core.kind import DesignKind, FollowUp, Question, Variant
from planner.core.result import Answer, Column, Finding, Metric, MetricDef, Result, Series
from planner.core.simulation import Cancelled, Drill, DrillVariant, OptionDef, SimulationRequest, Simulator

GPU_RATE = 10.0  # requests a second a GPU carries

METRICS = (
    MetricDef("gpus", "GPUs", "GPUs", "lower", "Fleet", whole=True),
    MetricDef("cost_usd_per_h", "Cost", "USD/h", "lower", "Money"),
    MetricDef("cost_usd_per_m_requests", "Cost, requests", "USD/M requests", "lower", "Money"),
    MetricDef("ttft_p50_s", "TTFT P50", "s", "lower", "Latency"),
    MetricDef("ttft_p99_s", "TTFT P99", "s", "lower", "Latency"),
    MetricDef("goodput", "Goodput", "ratio", "higher", "Latency"),
    MetricDef("margin", "Margin", "USD/h", "higher", "Money"),
    MetricDef("utilisation", "Utilisation", "ratio", "none", "Load"),
)
BY_NAME = {metric.name: metric for metric in METRICS}


class ToySpec(core.Spec):
    rate_rps: float = core.quantity(95.0, label="Peak rate", group="Workload", unit="req/s", gt=0, le=1e6)
    unit_gpus: int = core.quantity(4, label="Unit", group="Fleet", unit="GPUs", ge=1, le=4096)
    price_usd_per_h: float = core.quantity(2.0, label="GPU price", group="Fleet", unit="USD/h", ge=0)
    gpu: str = core.catalog_entry("toy-1", label="GPU", group="Fleet", table="gpus")
    layout: Literal["split", "joint"] = core.choice(
        "split", label="Layout", group="Fleet", labels={"split": "Disaggregated", "joint": "Aggregated"}
    )
    ttft_slo_s: float | None = core.quantity(
        None, label="TTFT P99, at most", group="Objectives", unit="s", empty="no objective", gt=0
    )
    note: str = core.text("", label="Note", group="Objectives", advanced=True)


class ToyCatalog:
    """Two GPUs; one has no price, another does not exist."""

    digest, as_of = "d1", "2026-11-24"

    def gpu(self, slug: str) -> Any:
        if slug not in ("toy-1", "toy-2", "toy-bare"):
            raise UnknownEntry(table="gpus", slug=slug)
        return SimpleNamespace(slug=slug, name=slug.replace("toy-", "Toy "), source="the toy maker", figures={})


def estimate(spec: ToySpec, catalog: ToyCatalog) -> Result:
    catalog.gpu(spec.gpu)
    if spec.gpu == "toy-bare":
        raise MissingFigure(table="gpus", slug=spec.gpu, figure="bf16_flops_per_s")
    units = math.ceil(spec.rate_rps / GPU_RATE / spec.unit_gpus)
    gpus = units * spec.unit_gpus
    cost = gpus * spec.price_usd_per_h
    load = spec.rate_rps / (gpus * GPU_RATE)
    values = {
        "gpus": gpus,
        "cost_usd_per_h": cost,
        "cost_usd_per_m_requests": cost / (spec.rate_rps * 3600) * 1e6,
        "ttft_p50_s": 0.5 + load / 2,
        "ttft_p99_s": 1.0 + load,
        "goodput": 1.0 - load / 10,
        "margin": None,
        "utilisation": load,
    }
    metrics = {
        name: Metric(
            BY_NAME[name],
            value,
            objective=spec.ttft_slo_s if name == "ttft_p99_s" else None,
            working=f"{name} = {value}",
        )
        for name, value in values.items()
    }
    findings = [Finding("note", "info", "The margin is not known.", metric="margin")]
    if units == 1:
        change = {"unit_gpus": max(1, spec.unit_gpus // 2)}
        findings.append(Finding("not_n_plus_1", "error", "One failed unit leaves nothing.", change=change))
    answer = Answer("cost_usd_per_m_requests", f"**{gpus} GPUs** carry it.", facts=("gpus", "ttft_p99_s"))
    series = Series("load", "Load", (Column("x", "x", "", [1, 2]), Column("y", "y", "ratio", [load, None])))
    return Result(metrics, answer, tuple(findings), {"load": series})


def charts(spec: ToySpec, result: Result) -> Sequence[Chart]:
    cost = result.value("cost_usd_per_h") or 0.0
    trace = Trace("cost", [0.0, spec.rate_rps], [0.0, cost])
    axes = {"x": Axis("rate", "req/s"), "y": Axis("cost", "USD/h")}
    mark = Mark(spec.rate_rps, cost, "here")
    return [
        Chart("growth", "What does growth cost?", "", "line", **axes, traces=(trace,), marks=(mark,), compare=True),
        Chart("alone", "Not compared", "", "line", **axes, traces=(trace,)),
    ]


def architecture(spec: ToySpec, result: Result) -> Diagram:
    boxes = (Box("in", "Users", form="source"), Box("fleet", "Fleet", (f"{result.value('gpus'):.0f} GPUs",), rank=1))
    return Diagram("Fleet", boxes, (Flow("in", "fleet", f"{spec.rate_rps} req/s"),))


def variants(spec: ToySpec, result: Result) -> Sequence[Variant]:
    return [
        Variant("Units of 1", {"unit_gpus": 1}, moves=("gpus", "margin")),
        Variant("Nonsense", {"unit_gpus": 0}),
        Variant("A GPU without figures", {"gpu": "toy-bare"}),
    ]


ADVICE = SimpleNamespace(
    questions=lambda *_: [Question("How many?", "assumed", "95 req/s", "the units", "rate_rps")],
    variants=variants,
    follow_ups=lambda *_: [FollowUp("A unit dies?", "See the finding.", {"fail": True})],
)


def run(spec: ToySpec, catalog: ToyCatalog, request: SimulationRequest, hooks: Any) -> Result:
    """Ten slices; ``options`` may ask it to misbehave at the fifth."""
    for done in range(1, 11):
        if hooks.cancelled():
            raise Cancelled
        hooks.progress(done / 10, simulated_s=done * 6.0, events=done * 100, partial={"ttft_p99_s": 1.4, "novel": 3.0})
        if done == 5:
            misbehave(request.options["trouble"])
    sample = {"ttft_p99_s": 1.5 + request.seed / 1000, "goodput": 0.97}
    metrics = {name: Metric(BY_NAME[name], value, basis="simulated") for name, value in sample.items()}
    return Result(metrics, Answer("ttft_p99_s", "Simulated.", facts=("goodput",)), series=over_time(spec))


def over_time(spec: ToySpec) -> dict[str, Series]:
    """A minute in which a unit is lost at half past and comes back ten seconds later."""
    time_s = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    timeline = (
        Column("time_s", "simulated time", "s", time_s),
        Column("queued", "queued", "requests", [0.0, 0.0, 7.0 * spec.unit_gpus, 3.0, 0.0, 0.0]),
        Column("units_up", "units up", "units", [3.0, 3.0, 2.0, 3.0, 3.0, 3.0]),
    )
    events = (Column("at_s", "at", "s", [30.0, 40.0]), Column("what", "what", "", ["unit lost", "back"]))
    phases = (
        Column("phase", "phase", "", ["before", "during", "after"]),
        Column("ttft_p99_s", "TTFT P99", "s", [1.0, 1.5 * spec.unit_gpus, None]),
    )
    named = {"timeline": timeline, "events": events, "phases": phases}
    return {name: Series(name, name, columns) for name, columns in named.items()}


def misbehave(trouble: str) -> None:
    if trouble == "bug":
        raise KeyError("secret internals")
    if trouble == "options":
        raise ValueError("the warm-up is longer than the run")
    if trouble == "memory":
        raise MemoryError
    if trouble == "time":
        raise TimeoutError


class ToyTrial:
    """Replications whose figure is the mean of theirs."""

    def part(self, spec, catalog, request, hooks, *, place):
        seeded = dataclasses.replace(request, seed=request.seed + place)
        return json.dumps(run(spec, catalog, seeded, hooks).value("ttft_p99_s")).encode()

    def together(self, spec, catalog, request, *, parts):
        found = run(spec, catalog, request, Deaf())
        ttft = sum(json.loads(part) for part in parts) / len(parts)
        metrics = {**found.metrics, "ttft_p99_s": dataclasses.replace(found.metrics["ttft_p99_s"], value=ttft)}
        return dataclasses.replace(found, metrics=metrics)


class Deaf:
    def progress(self, *_, **__):
        pass

    def cancelled(self):
        return False


def told(drilled: Sequence[Any]) -> str:
    waits = [f"{one.label}: {one.simulated.series['phases'].column('ttft_p99_s').values[1]:g} s" for one in drilled]
    saved = drilled[0].estimate.value("cost_usd_per_h") - drilled[-1].estimate.value("cost_usd_per_h")
    return f"**{'; '.join(waits)}**, {saved:g} USD/h, objective {drilled[0].spec.ttft_slo_s}"


DRILL = Drill(
    name="lose-unit",
    label="Lose a unit",
    question="A unit is lost. Who notices?",
    how=lambda *_: {"duration_s": 60.0, "seed": 3, "options": {"replicas": 2}},
    variants=lambda *_: (DrillVariant("As it is"), DrillVariant("Half units", {"unit_gpus": 2})),
    answer=told,
)

SIMULATOR = Simulator(
    run=run,
    drills=(DRILL,),
    trial=ToyTrial(),
    charts=lambda spec, estimated, _: charts(spec, estimated)[:1],
    options=(
        OptionDef("trouble", "Trouble", "", choices=("", "bug", "options", "memory", "time")),
        OptionDef("warm_up_s", "Warm-up", 60.0, "s", minimum=0, maximum=3600),
        OptionDef("replicas", "Replicas", 1, minimum=1),
        OptionDef("strict", "Strict", False),
    ),
    max_requests=1000,
)

TOY = DesignKind(
    "toy", "Toy fleet", "How many toys?", ToySpec, METRICS, estimate, charts, architecture, ADVICE, SIMULATOR
)


class OtherSpec(core.Spec):
    rate_rps: float = core.quantity(95.0, label="Peak rate", group="Workload", unit="req/s", gt=0)
    depth: int = core.quantity(3, label="Depth", group="Other", ge=1)


def other_estimate(spec: OtherSpec, catalog: ToyCatalog) -> Result:
    metrics = {
        "cost_usd_per_h": Metric(BY_NAME["cost_usd_per_h"], 11.0 * spec.depth),
        "gpus": Metric(MetricDef("gpus", "GPU share", "ratio", "lower", "Fleet"), 0.5),
        "depth": Metric(MetricDef("depth", "Depth", "", "none", "Other"), float(spec.depth)),
    }
    return Result(metrics, Answer("cost_usd_per_h", "It costs."))


OTHER = DesignKind(
    "other",
    "Other fleet",
    "How deep?",
    OtherSpec,
    (),
    other_estimate,
    lambda *_: [],
    lambda *_: Diagram("Other", (), ()),
    SimpleNamespace(questions=lambda *_: [], variants=lambda *_: [], follow_ups=lambda *_: []),
)
