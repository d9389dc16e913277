"""A throw-away kind: small, and with a way into every outcome an estimate can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from planner.core.catalog import Catalog
from planner.core.chart import Axis, Chart, Trace
from planner.core.diagram import Box, Diagram, Flow
from planner.core.kind import DesignKind, FollowUp, Question, Spec, Variant, catalog_entry, choice, quantity, text
from planner.core.result import Answer, Column, Finding, Metric, MetricDef, Result, Series
from planner.core.simulation import Drill, DrillVariant, Hooks, OptionDef, SimulationRequest, Simulator

POWER = MetricDef(
    "power_w", "Power", "W", "lower", group="Power", help="Of all GPUs at full load", formula="gpus × TDP"
)
FP4 = MetricDef("fp4_flops_per_s", "FP4 peak", "FLOP/s", "higher", group="Speed")


class SampleSpec(Spec):
    gpu: str = catalog_entry("h100-sxm", label="GPU", group="Hardware", table="gpus")
    gpus: int = quantity(8, label="GPUs", group="Hardware", unit="GPUs", gt=0, le=10_000)
    load: float = quantity(1.0, label="Load", group="Workload", unit="ratio", ge=0, le=1)
    limit_w: float | None = quantity(None, label="Power limit", group="Workload", unit="W", gt=0)
    precision: Literal["bf16", "fp4"] = choice(
        "bf16", label="Precision", group="Hardware", labels={"bf16": "BF16", "fp4": "FP4"}
    )
    note: str = text("", label="Note", group="Workload")


def estimate(spec: SampleSpec, catalog: Catalog) -> Result:
    gpu = catalog.gpu(spec.gpu)
    power_w = spec.gpus * gpu.figure("tdp_w") * spec.load
    speed = gpu.figure("fp4_flops_per_s") if spec.precision == "fp4" else None
    if spec.note == "bug":
        raise ZeroDivisionError("a bug with the secret word swordfish")
    metrics = {"power_w": Metric(POWER, power_w, objective=spec.limit_w), "fp4_flops_per_s": Metric(FP4, speed)}
    over = spec.limit_w is not None and power_w > spec.limit_w
    finding = Finding(
        "power_over_limit", "error", "The GPUs draw more than the limit.", metric="power_w", change={"gpus": 1}
    )
    series = Series(
        "power",
        "Power against GPUs",
        (Column("gpus", "GPUs", "GPUs", [1, 2]), Column("power_w", "Power", "W", [power_w / spec.gpus, None])),
    )
    answer = Answer("power_w", "The GPUs draw **this much**.", facts=("power_w",), cost_metric=None)
    return Result(metrics, answer, findings=(finding,) if over else (), series={"power": series})


def charts(spec: SampleSpec, result: Result) -> Sequence[Chart]:
    trace = Trace("Power", x=["now"], y=[result.value("power_w")])
    return [Chart("power", "How much?", "W", "bars", Axis("", ""), Axis("Power", "W"), (trace,), summary="One bar.")]


def architecture(spec: SampleSpec, result: Result) -> Diagram:
    return Diagram("Sample", (Box("a", "A"), Box("b", "B", rank=1)), (Flow("a", "b"),))


class SampleAdvice:
    def questions(self, spec: Any, result: Result) -> Sequence[Question]:
        return [Question("How many?", "assumed", "8", "power", "gpus")]

    def variants(self, spec: Any, result: Result) -> Sequence[Variant]:
        return [Variant("One GPU", {"gpus": 1})]

    def follow_ups(self, spec: Any, result: Result) -> Sequence[FollowUp]:
        return []


def run(spec: SampleSpec, catalog: Catalog, request: SimulationRequest, hooks: Hooks) -> Result:
    hooks.progress(0.5, simulated_s=1.0, events=10)
    return estimate(spec, catalog)


class SampleTrial:
    def part(
        self, spec: SampleSpec, catalog: Catalog, request: SimulationRequest, hooks: Hooks, *, place: int
    ) -> bytes:
        return str(request.seed + place).encode()

    def together(
        self, spec: SampleSpec, catalog: Catalog, request: SimulationRequest, *, parts: Sequence[bytes]
    ) -> Result:
        return replace(estimate(spec, catalog), provenance={"seeds": [part.decode() for part in parts]})


SAMPLE = DesignKind(
    slug="sample",
    label="Sample",
    question="How much power?",
    spec=SampleSpec,
    metrics=(POWER, FP4),
    estimate=estimate,
    charts=charts,
    architecture=architecture,
    advice=SampleAdvice(),
    simulator=Simulator(
        run=run,
        trial=SampleTrial(),
        charts=lambda spec, _before, after: charts(spec, after),
        options=(OptionDef("depth", "Depth", 1, minimum=0),),
        drills=(
            Drill(
                name="halve",
                label="Halve it",
                question="Half of it is gone. Who notices?",
                how=lambda *_: {"duration_s": 60.0, "seed": 4, "options": {"depth": 2}},
                variants=lambda *_: (DrillVariant("As it is"), DrillVariant("One GPU more", {"gpus": 9})),
                answer=lambda drilled: f"**{len(drilled)}** of {drilled[1].spec.gpus} GPUs.",
            ),
        ),
    ),
)
