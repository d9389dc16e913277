"""Searches around a design: GPUs that would do, and the largest load inside the objectives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.core.catalog import Catalog, Gpu, MissingFigure
from planner.formulas import memory, roofline, serving
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import sizes
from planner.kinds.engine_instance.load import Operation
from planner.kinds.engine_instance.plan import Plan

_SIZES = (1, 2, 4, 8, 16, 32, 64)
_STEPS = 12
_WITHIN = 0.02
"""Of a load that is searched for: how near to the limit it has to come."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """GPUs of one kind on which the engine starts, by tensor parallelism alone."""

    gpu: Gpu
    gpus: int
    usd_per_h: float | None


def smallest(plan: Plan, *, gpu: Gpu | None = None) -> int | None:
    """The fewest GPUs of a kind, by tensor parallelism alone, on which the engine starts; None when 64 do not do."""
    kind = gpu or plan.gpu
    on_it = _on(plan, kind)
    visible = on_it.visible_bytes
    weights = plan.spec.checkpoint_bytes or memory.weight_bytes(plan.llm, dtype=plan.weight_dtype)
    for ranks in _SIZES:
        if weights > visible * ranks or plan.llm.heads % ranks:
            continue
        layout = roofline.Layout(gpus=ranks, tensor_parallel=ranks)
        # What a log measured of the buffers holds for the layout it was taken on.
        known = plan.measured if layout == plan.layout and kind is plan.gpu else None
        if fits.fit(replace(on_it, layout=layout, measured=known)).starts:
            return ranks
    return None


def _on(plan: Plan, gpu: Gpu) -> Plan:
    """The plan on another kind of GPU, with the sizes it was given or took."""
    if gpu is plan.gpu:
        return plan
    spec = plan.spec.model_copy(update={"visible_memory_bytes": None})
    visible = sizes.visible_memory(spec, gpu, rules=plan.memory_rules)
    return replace(plan, gpu=gpu, visible=visible, gpu_class=sizes.gpu_class(gpu, rules=plan.memory_rules))


def cheapest(plan: Plan, catalog: Catalog) -> Alternative | None:
    """The cheapest GPUs by the hour on which the engine starts, among those with a price."""
    best: Alternative | None = None
    for gpu in catalog.gpus():
        price = catalog.price(gpu.slug)
        if price is None or not runs(plan, gpu) or (best and best.usd_per_h and price.usd_per_h >= best.usd_per_h):
            continue
        try:
            gpus = smallest(plan, gpu=gpu)
        except MissingFigure:
            continue
        if gpus is None:
            continue
        cost = gpus * price.usd_per_h
        if best is None or best.usd_per_h is None or cost < best.usd_per_h:
            best = Alternative(gpu=gpu, gpus=gpus, usd_per_h=cost)
    return best


def runs(plan: Plan, gpu: Gpu) -> bool:
    """Whether the engine has a back end for the GPU: TensorRT-LLM knows NVIDIA's only, the others AMD's too."""
    return gpu.vendor == "NVIDIA" or (gpu.vendor == "AMD" and plan.spec.engine != "tensorrt_llm")


def largest_concurrency(ready: Operation, *, below: float, meets: Callable[[serving.Point], bool]) -> int | None:
    """The most requests at once that meet a condition, up to what runs at once; None when one alone does not.

    ``below``: requests at once that do not meet it.
    """
    if below <= 1.0 or not meets(ready.at(1.0)):
        return None
    full = max(int(ready.capacity), 1)
    low, high = 1, min(full, math.ceil(below))
    if full < below and meets(ready.at(float(full))):
        return full
    while high - low > max(1, _WITHIN * low):
        middle = (low + high) // 2
        low, high = (middle, high) if meets(ready.at(float(middle))) else (low, middle)
    return low


def largest_rate_rps(ready: Operation, *, below: float, meets: Callable[[serving.Point], bool]) -> float | None:
    """The highest arrival rate that meets a condition, as one would type it [1/s]; None when not even an idle
    replica does. ``below``: a rate that does not meet it.
    """

    def good(rate: float) -> bool:
        point = ready.at_rate(rate)
        return point is not None and meets(point)

    if not good(0.0):
        return None
    low, high = 0.0, min(below, ready.max_rate_rps)
    for _ in range(_STEPS):
        if high - low <= _WITHIN * low:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return typed(low)


def typed(rate: float) -> float:
    """A rate cut to four digits, never above what was found."""
    if rate <= 0:
        return 0.0
    grain = 10.0 ** (math.floor(math.log10(rate)) - 3)
    return float(f"{math.floor(rate / grain) * grain:.4g}")
