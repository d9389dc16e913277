"""The cheapest fleet for all adapters: GPUs, GPUs a replica, formats, memory for adapters, and where requests go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.core.catalog import Catalog, Gpu, MissingFigure
from planner.core.offers import Offer, offers
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.search import Candidate, Search, Space, grid, lacking, ranked
from planner.core.wording import counted
from planner.kinds.multi_lora.base import base_of
from planner.kinds.multi_lora.memory import memory_of
from planner.kinds.multi_lora.shapes import adapter_of
from planner.kinds.multi_lora.spec import MultiLoraSpec

REPLICA_GPUS = (1, 2, 4, 8)
SLOT_MEMORY = (0.5, 1.0, 2.0)
"""Memory for adapters over that of the design; more slots miss less and leave less for KV."""
FIELDS = (
    "gpu",
    "gpu_price_usd_per_h",
    "gpus_per_replica",
    "weight_dtype",
    "kv_dtype",
    "adapter_memory_bytes",
    "slots",
    "routing",
    "replicas",
    "spare_replicas",
)


def space(spec: MultiLoraSpec, result: Result, catalog: Catalog) -> Space:
    """Every GPU with a price, in replicas of up to a node."""
    del result
    prices, left_out = offers(catalog, own={spec.gpu: spec.gpu_price_usd_per_h})
    candidates: list[Candidate] = []
    for slug, offer in prices.items():
        candidates += _on(spec, catalog.gpu(slug), offer=offer, catalog=catalog)
    told = {gpu: offer.told() for gpu, offer in prices.items() if gpu not in left_out}
    return ranked(FIELDS, candidates, left_out=left_out, sources={"prices": told})


def _on(spec: MultiLoraSpec, gpu: Gpu, *, offer: Offer, catalog: Catalog) -> Iterator[Candidate]:
    formats: dict[str, list[Any]] = {
        "gpus_per_replica": [*REPLICA_GPUS, spec.gpus_per_replica],
        "weight_dtype": [spec.weight_dtype, *(["fp8"] if spec.weight_dtype == "bf16" else [])],
        "kv_dtype": [spec.kv_dtype, "fp8"],
    }
    for placed in grid(formats):
        fixed = {
            "gpu": gpu.slug,
            "gpu_price_usd_per_h": offer.usd_per_h,
            "replicas": None,
            "spare_replicas": spec.spare_replicas,
            **placed,
        }
        tight = _does_not_fit(spec.model_copy(update=fixed), gpu, catalog=catalog)
        least = offer.usd_per_h * placed["gpus_per_replica"] * (1 + spec.spare_replicas)
        if tight:
            yield Candidate(fixed, group=gpu.name, least=least, rejected=tight)
            continue
        for rest in grid({**_slots(spec), "routing": [spec.routing, "load_aware"]}):
            yield Candidate({**fixed, **rest}, group=gpu.name, least=least)


def _slots(spec: MultiLoraSpec) -> dict[str, list[Any]]:
    """Slots stated as a number, or as memory, are tried at half and twice of that."""
    if spec.slots is None:
        return {"adapter_memory_bytes": [factor * spec.adapter_memory_bytes for factor in SLOT_MEMORY], "slots": [None]}
    least = spec.pinned_adapters + 1
    return {"slots": [max(least, round(factor * spec.slots)) for factor in SLOT_MEMORY]}


def _does_not_fit(spec: MultiLoraSpec, gpu: Gpu, *, catalog: Catalog) -> str:
    """Weights that leave no memory at all; what slots leave is for the estimate to say."""
    llm = catalog.llm(spec.llm)
    try:
        memory = memory_of(spec, base=base_of(spec, llm=llm, gpu=gpu), adapter=adapter_of(spec, llm=llm))
    except MissingFigure as problem:
        return lacking(problem)
    if memory.pool_bytes > 0:
        return ""
    return (
        f"{spec.weight_dtype.upper()} weights take {show(memory.weight_bytes, 'bytes')} of each GPU of "
        f"{spec.gpus_per_replica} × {gpu.name}; the engine may use {show(memory.usable_bytes, 'bytes')}."
    )


def mend(spec: MultiLoraSpec, result: Result) -> Mapping[str, Any]:
    """Another replica where one lost, or the load, is too much for the others."""
    late = ("utilisation", "utilisation_one_lost", "ttft_p99_s", "tpot_s")
    if any(name in result.metrics and result.metrics[name].met is False for name in late):
        return {"spare_replicas": spec.spare_replicas + 1}
    return {}


def words(spec: MultiLoraSpec, result: Result, catalog: Catalog) -> str:
    """Replicas, their GPUs, formats and slots."""
    slots = result.value("gpu_slots")
    formats = f"{spec.weight_dtype.upper()} weights, {spec.kv_dtype.upper()} KV"
    held = "" if slots is None else f", {counted(slots, 'slot')} each"
    replicas = counted(result.value("replicas") or 0, "replica")
    return f"{replicas} of {spec.gpus_per_replica} × {catalog.gpu(spec.gpu).name}; {formats}{held}"


SEARCH = Search(objective="cost_usd_per_h", space=space, words=words, mends=("spare_replicas",), mend=mend)
