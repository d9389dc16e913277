"""The cheapest prefill fleet with its cache: GPUs, bytes of each tier, and what is evicted.

The memory that a GPU keeps for KV is the same share of it on every GPU as on that of the design. Nodes, links and
the drives' endurance, whose prices no field has, stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.core.catalog import Catalog, Gpu, MissingFigure
from planner.core.offers import Offer, offers
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.search import Candidate, Search, Space, grid, ranked
from planner.core.wording import counted
from planner.formulas import cost
from planner.kinds.kv_pool.money import new_units
from planner.kinds.kv_pool.plan import plan
from planner.kinds.kv_pool.serving import sized_units
from planner.kinds.kv_pool.spec import KvPoolSpec

SHARES = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Of the bytes of a tier."""
_GB = 1e9
FIELDS = (
    "gpu",
    "gpu_price_usd_per_h",
    "gpu_flops_per_s",
    "hbm_bytes_per_gpu",
    "prefill_units",
    "dram_bytes_per_node",
    "ssd_bytes_per_node",
    "eviction",
)


def space(spec: KvPoolSpec, result: Result, catalog: Catalog) -> Space:
    """Every GPU with a price, and every mix of tiers."""
    del result
    prices, left_out = offers(catalog, own={spec.gpu: spec.gpu_price_usd_per_h})
    candidates: list[Candidate] = []
    for slug, offer in prices.items():
        gpu = catalog.gpu(slug)
        try:
            candidates += _on(spec, gpu, offer=offer, catalog=catalog)
        except MissingFigure as problem:
            left_out[slug] = f"the catalog has no figure “{problem.figure}” of it"
    told = {gpu: offer.told() for gpu, offer in prices.items() if gpu not in left_out}
    return ranked(FIELDS, candidates, left_out=left_out, sources={"prices": told})


def _on(spec: KvPoolSpec, gpu: Gpu, *, offer: Offer, catalog: Catalog) -> Iterator[Candidate]:
    own = catalog.gpu(spec.gpu)
    fixed: dict[str, Any] = {"gpu": gpu.slug, "gpu_price_usd_per_h": offer.usd_per_h, "prefill_units": None}
    if gpu.slug != own.slug:
        share = gpu.figure("memory_bytes") / own.figure("memory_bytes")
        fixed |= {"gpu_flops_per_s": None, "hbm_bytes_per_gpu": spec.hbm_bytes_per_gpu * share}
    tiers: dict[str, list[Any]] = {
        "dram_bytes_per_node": [share * (spec.dram_bytes_per_node or 1e12) for share in SHARES],
        "ssd_bytes_per_node": [share * (spec.ssd_bytes_per_node or 10e12) for share in SHARES],
        "eviction": [spec.eviction, "lru" if spec.eviction == "value" else "value"],
    }
    # What nobody has asked before must be computed whatever is cached.
    new = new_units(plan(spec.model_copy(update=fixed), catalog=catalog))
    least = offer.usd_per_h * spec.prefill_gpus * sized_units(new, headroom=spec.headroom)
    for change in grid(tiers):
        yield Candidate({**fixed, **change}, group=gpu.name, least=least + _tiers_usd_per_h(spec, change))


def _tiers_usd_per_h(spec: KvPoolSpec, change: Mapping[str, float]) -> float:
    dram = 0.0 if spec.dram_paid == "in_rent" else spec.dram_usd_per_gb_month * change["dram_bytes_per_node"]
    ssd = spec.ssd_usd_per_gb_month * change["ssd_bytes_per_node"]
    return spec.nodes * (dram + ssd) / _GB / cost.HOURS_PER_MONTH


def words(spec: KvPoolSpec, result: Result, catalog: Catalog) -> str:
    """Prefill units and the tiers of a node."""
    units = counted(result.value("prefill_units") or 0, "prefill unit")
    dram, ssd = show(spec.dram_bytes_per_node, "bytes"), show(spec.ssd_bytes_per_node, "bytes")
    return f"{units} of {spec.prefill_gpus} × {catalog.gpu(spec.gpu).name} with {dram} of DRAM and {ssd} of SSD a node"


SEARCH = Search(objective="cost_usd_per_h", space=space, words=words)
