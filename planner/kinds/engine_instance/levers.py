"""The cheapest replica that meets its objectives: GPUs, how they share the LLM, formats, and how much it is given.

Without a stated rate the load is a lever too: the most requests at once that the objectives allow make the cheapest
tokens. A start-up log and what was measured of the base hold for its own GPU only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.catalog import Catalog, Gpu, MissingFigure
from planner.core.offers import Offer, offers
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.search import Candidate, Search, Space, lacking, ranked
from planner.formulas import memory
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import lean, load, search
from planner.kinds.engine_instance.estimate import estimate
from planner.kinds.engine_instance.load_findings import meets
from planner.kinds.engine_instance.measured import plan_of
from planner.kinds.engine_instance.plan import Plan
from planner.kinds.engine_instance.spec import EngineInstanceSpec

RANKS = (1, 2, 4, 8)
_NO_LIMIT = 65_536.0
_FEWER = (2, 4, 8)
_OF_ONE_GPU = (
    "visible_memory_bytes",
    "startup_log",
    "measured_weights_bytes",
    "measured_kv_pool_bytes",
    "measured_non_kv_bytes",
    "measured_free_before_load_bytes",
    "measured_kv_tokens",
    "measured_memory_fraction",
)
_LAYOUT = ("gpus", "tensor_parallel", "pipeline_parallel", "data_parallel_attention", "expert_parallel")
FIELDS = ("gpu", "gpu_price_usd_per_h", *_LAYOUT, "weight_dtype", "kv_dtype", "concurrency")
_NARROWER = 9.0
"""Bits of a number, scales included: wider ones may be cut to 8."""


def space(spec: EngineInstanceSpec, result: Result, catalog: Catalog) -> Space:
    """Every GPU with a price that the engine runs on, up to a node of it, or as many as the design has."""
    del result
    prices, left_out = offers(catalog, own={spec.gpu: spec.gpu_price_usd_per_h})
    found = _Replicas(spec, catalog, prices, left_out)
    candidates = list(found.all())
    sources = {"prices": {gpu: offer.told() for gpu, offer in prices.items() if gpu not in left_out}}
    return ranked(FIELDS, candidates, left_out=left_out, sources=sources)


@dataclass(frozen=True, slots=True)
class _Replicas:
    spec: EngineInstanceSpec
    catalog: Catalog
    prices: Mapping[str, Offer]
    left_out: dict[str, str]

    def all(self) -> Iterator[Candidate]:
        plan, _ = plan_of(self.spec, self.catalog)
        for slug, offer in self.prices.items():
            gpu = self.catalog.gpu(slug)
            if not search.runs(plan, gpu):
                self.left_out[slug] = "the engine does not run on it"
                continue
            yield from self._on(gpu, offer, plan=plan)

    def _on(self, gpu: Gpu, offer: Offer, *, plan: Plan) -> Iterator[Candidate]:
        is_own = gpu.slug == plan.gpu.slug
        fixed: dict[str, Any] = {"gpu": gpu.slug, "gpu_price_usd_per_h": offer.usd_per_h}
        if not is_own:
            fixed |= {name: None for name in _OF_ONE_GPU if getattr(self.spec, name) is not None}
        for layout in _layouts(self.spec, plan=plan):
            for formats in _formats(self.spec, plan=plan, gpu=gpu):
                change = {**fixed, **layout, **formats}
                try:
                    yield self._candidate(change, group=gpu.name)
                except MissingFigure as problem:
                    yield Candidate(change, group=gpu.name, rejected=lacking(problem))

    def _candidate(self, change: dict[str, Any], *, group: str) -> Candidate:
        spec = self.spec.model_copy(update=change)
        plan, _ = plan_of(spec, self.catalog)
        fitted = fits.fit(plan)
        timed, held = load.with_copies(plan, fitted)
        if not fitted.starts or not load.is_served(timed, held):
            answer = estimate(spec, self.catalog)
            said = [finding.message for finding in answer.findings if finding.severity == "error"]
            return Candidate(change, group=group, rejected=said[0]) if said else Candidate(change, group=group)
        if spec.latency_source != "roofline":
            return Candidate(change, group=group)
        ready = lean.operation(timed, held, self.catalog)
        if spec.rate_rps is not None:
            point = ready.at_design()
        else:
            most = search.largest_concurrency(ready, below=_NO_LIMIT, meets=lambda one: meets(timed, one)) or 1
            change = {**change, "concurrency": float(most)}
            point = ready.at(float(most))
        price = load.figures(timed, point)["cost_usd_per_m_output_tokens"] if point else None
        return Candidate(change, group=group, least=0.0 if price is None else price * (1 - 1e-6))


def _layouts(spec: EngineInstanceSpec, *, plan: Plan) -> Iterator[dict[str, Any]]:
    """As the design has it, tensor-parallel ranks, and copies of attention with experts on all GPUs."""
    yield {name: getattr(spec, name) for name in _LAYOUT}
    for ranks in RANKS:
        none: dict[str, Any] = dict.fromkeys(_LAYOUT)
        if plan.llm.heads % ranks == 0:
            yield {**none, "tensor_parallel": ranks}
        if plan.llm.moe and ranks > 1:
            yield {
                **none,
                "gpus": ranks,
                "tensor_parallel": 1,
                "data_parallel_attention": ranks,
                "expert_parallel": ranks,
            }


def _formats(spec: EngineInstanceSpec, *, plan: Plan, gpu: Gpu) -> Iterator[dict[str, Any]]:
    """Those of the design, and 8 bits where it has more: integers on GPUs that compute in them and not in FP8."""
    weights: list[str | None] = [spec.weight_dtype]
    if memory.BITS_PER_PARAMETER[plan.weight_dtype] > _NARROWER:
        is_old = gpu.has("int8_ops_per_s") and not gpu.has("fp8_flops_per_s")
        weights.append("int8" if is_old else "fp8")
    caches: list[str | None] = [spec.kv_dtype]
    if 8 * plan.kv_dtype_bytes > _NARROWER:
        caches.append("fp8")
    yield from ({"weight_dtype": weight, "kv_dtype": cache} for weight in weights for cache in caches)


def around(spec: EngineInstanceSpec) -> Iterable[Mapping[str, Any]]:
    """Fewer requests at once: quicker for each, dearer for all."""
    if spec.rate_rps is not None or spec.concurrency is None:
        return ()
    return [{"concurrency": float(int(spec.concurrency / few))} for few in _FEWER if spec.concurrency >= few]


def words(spec: EngineInstanceSpec, result: Result, catalog: Catalog) -> str:
    """GPUs, formats and the load."""
    plan, _ = plan_of(spec, catalog)
    concurrency = result.value("concurrency")
    at = f" at {show(concurrency, 'requests')} at once" if concurrency else ""
    formats = f"{plan.weight_dtype.upper()} weights, {plan.kv_dtype.upper()} KV"
    return f"{plan.layout.gpus} × {plan.gpu.name} with {formats}{at}"


SEARCH = Search(objective="cost_usd_per_m_output_tokens", space=space, words=words, around=around)
