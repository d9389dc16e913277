"""GPUs that a GPU is at least as good as in every figure: its times may not be longer than theirs.

Measurements of different releases can make an answer that is carried over slower than that of a lesser GPU; the lesser
GPU's answer is then the bound. What was measured of the replica itself stands, slower or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.core.catalog import Catalog, Gpu, MissingFigure
from planner.formulas import calibration, roofline
from planner.kinds.engine_instance import sources
from planner.kinds.engine_instance.plan import Plan, resolve

_FIGURES = (
    "memory_bytes",
    "memory_bytes_per_s",
    "bf16_flops_per_s",
    "fp8_flops_per_s",
    "fp4_flops_per_s",
    "scaleup_bytes_per_s",
    "nic_bytes_per_s",
)


def is_at_least(gpu: Gpu, other: Gpu) -> bool:
    """Whether a GPU has every figure that another has, and none lower."""
    return all(gpu.has(name) and gpu.figure(name) >= other.figure(name) for name in _FIGURES if other.has(name))


def replicas(plan: Plan, catalog: Catalog, *, among: frozenset[str]) -> Iterator[tuple[Plan, roofline.Replica]]:
    """The replica on each measured GPU that its own is at least as good as; those without a needed figure left out."""
    table = catalog.calibration("roofline")
    for slug in sorted(among - {plan.gpu.slug}):
        gpu = catalog.gpu(slug)
        if not is_at_least(plan.gpu, gpu):
            continue
        coefficients = calibration.coefficients(table, gpu=gpu, engine=plan.spec.engine)
        lesser = replace(plan, gpu=gpu, coefficients=coefficients)
        try:
            yield lesser, sources.calibrated(lesser)
        except MissingFigure:
            continue


def on(plan: Plan, catalog: Catalog) -> Plan:
    """The plan of the same spec on the GPU of another plan, its memory included."""
    return resolve(plan.spec.model_copy(update={"gpu": plan.gpu.slug}), catalog)
