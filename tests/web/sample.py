"""A throw-away kind with every sort of input, and a worked example of it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Literal

from pydantic import model_validator

from planner.core.chart import Axis, Chart, Trace
from planner.core.diagram import Box, Diagram, Flow
from planner.core.kind import DesignKind, FollowUp, Question, Spec, Variant, catalog_entry, choice, quantity, text
from planner.core.result import Answer, Finding, Metric, MetricDef, Result
from planner.core.simulation import OptionDef, Simulator
from planner.kinds import Example

COST = MetricDef("cost_usd_per_h", "Cost", "USD/h", "lower", group="Money", formula="GPUs × price")
POWER = MetricDef("power_w", "Power", "W", "lower", group="Site", help="All GPUs at full load.")
SECRET = "swordfish"


class SampleSpec(Spec):
    peak_rps: float = quantity(500.0, label="Peak rate", group="Workload", unit="req/s", ge=0, le=1e6)
    input_tokens: float = quantity(3000.0, label="Input, mean", group="Workload", unit="tokens", ge=1, le=1e7)
    gpu: str = catalog_entry("h100-sxm", label="GPU", group="Hardware", table="gpus")
    gpus: int = quantity(8, label="GPUs", group="Hardware", unit="GPUs", ge=1, le=10_000, help="Bought whole.")
    price_usd_per_h: float = quantity(2.0, label="GPU price", group="Hardware", unit="USD/h", ge=0)
    limit_w: float | None = quantity(None, label="Power limit", group="Site", unit="W", shown="kW", gt=0, empty="none")
    slo_s: float = quantity(0.05, label="TPOT, at most", group="Site", unit="s", shown="ms", gt=0, le=60)
    headroom: float = quantity(0.2, label="Headroom", group="Site", unit="ratio", ge=0, le=10)
    layout: Literal["split", "joint"] = choice(
        "split", label="Layout", group="Hardware", labels={"split": "Disaggregated", "joint": "Aggregated"}
    )
    spares: bool = choice(False, label="Spares", group="Hardware", labels={"true": "kept", "false": "not kept"})
    hours: tuple[float, ...] = quantity((1.0, 0.5), label="Demand by hour", group="Site", unit="ratio", advanced=True)
    note: str = text("", label="Note", group="Notes", advanced=True)

    @model_validator(mode="after")
    def _sense(self) -> SampleSpec:
        if self.layout == "joint" and self.gpus == 1:
            raise ValueError("one GPU cannot be joint")
        return self


def estimate(spec: SampleSpec, catalog: Any) -> Result:
    if spec.note == "bug":
        raise ZeroDivisionError(SECRET)
    gpu = catalog.gpu(spec.gpu)
    if spec.note == "missing":
        gpu.figure("fp2_flops_per_s")
    power_w = spec.gpus * gpu.figure("tdp_w")
    cost = Metric(COST, spec.gpus * spec.price_usd_per_h, working=f"{spec.gpus} × {spec.price_usd_per_h}")
    metrics = {"cost_usd_per_h": cost, "power_w": Metric(POWER, power_w, objective=spec.limit_w)}
    over = spec.limit_w is not None and power_w > spec.limit_w
    found = Finding("over", "error", "<b>More</b> power than the limit.", suggestion="One GPU.", change={"gpus": 1})
    answer = Answer("cost_usd_per_h", f"**{spec.gpus} GPUs** do it.", facts=("power_w",))
    return Result(metrics, answer, findings=(found,) if over else ())


def charts(spec: SampleSpec, result: Result) -> Sequence[Chart]:
    trace = Trace("Power", x=["now"], y=[result.value("power_w")])
    return [
        Chart("power", "How much power?", "W", "bars", Axis("", ""), Axis("Power", "W"), (trace,), summary="A bar.")
    ]


def architecture(spec: SampleSpec, result: Result) -> Diagram:
    return Diagram("Sample", (Box("a", "Users"), Box("b", "Fleet", rank=1)), (Flow("a", "b"),))


ADVICE = SimpleNamespace(
    questions=lambda *_: [Question("How many GPUs?", "assumed", "8", "the cost", "gpus")],
    variants=lambda *_: [Variant("Sixteen GPUs", {"gpus": 16}), Variant("No GPU", {"gpus": 0})],
    follow_ups=lambda *_: [FollowUp("A GPU dies?", "The rest **carry** it.", {"depth": 3})],
)


def run(*_args: Any) -> Result:
    raise AssertionError("no page may simulate by itself")


SIMULATOR = Simulator(
    run=run, charts=lambda *_: [], trial=object(), options=(OptionDef("depth", "Depth", 1, minimum=1, maximum=9),)
)
SAMPLE = DesignKind(
    "sample",
    "Sample fleet",
    "How many GPUs?",
    SampleSpec,
    (COST, POWER),
    estimate,
    charts,
    architecture,
    ADVICE,
    SIMULATOR,
)
EXAMPLE = Example("small", "A small fleet", "sample", {"gpus": 4}, description="Four GPUs.", tags=("reference",))
