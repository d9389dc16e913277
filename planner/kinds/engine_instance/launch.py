"""What starts one replica on an engine: each setting from an input, or from a default that the answer rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Launch, Launcher, Refusal, Target
from planner.core.launching import engines, fits
from planner.core.launching.options import Settled
from planner.core.launching.server import Server, model_asked, object_name
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.kinds.engine_instance.estimate import estimate
from planner.kinds.engine_instance.plan import Plan, resolve
from planner.kinds.engine_instance.spec import EngineInstanceSpec

GPUS_OF_A_NODE = 8
"""Of a host, where the design does not say; no more than the replica has."""
LORA_RANK = 16
"""Of the resident adapters that the design counts."""


def targets(spec: EngineInstanceSpec) -> tuple[Target, ...]:
    """The engine of the design, then the others."""
    return tuple(sorted(engines.ENGINES, key=lambda each: each.slug != spec.engine))


def start(spec: EngineInstanceSpec, result: Result, catalog: Catalog, target: Target) -> Launch:
    """The replica on an engine; on another one than the design's it is worked out anew for that engine."""
    notes: tuple[str, ...] = ()
    if target.slug != spec.engine:
        spec = spec.model_copy(update={"engine": target.slug, "engine_version": None, "engine_core": None})
        result = estimate(spec, catalog)
        notes = (f"The design is for another engine: memory and pool are worked out anew for {target.label}.",)
    plan = resolve(spec, catalog)
    told = engines.tell(_server(plan), catalog)
    # Where there is a pool, the length that it does not hold is the reason; else the answer says why there is none.
    found = tuple(_longest(result, told.engine)) if result.value("kv_pool_tokens") else ()
    found = found or tuple(_does_not_fit(result))
    made = engines.launch(target, [told], catalog, also=Settled((), found))
    return replace(made, notes=(*notes, *made.notes))


def _server(plan: Plan) -> Server:
    spec, layout = plan.spec, plan.layout
    return Server(
        engine=spec.engine,
        name=object_name(plan.llm.slug),
        title=_("One replica"),
        llm=plan.llm,
        model=model_asked(plan.llm, spec.llm, field="llm"),
        gpu=plan.gpu,
        gpus=layout.gpus,
        gpus_per_node=min(layout.gpus, GPUS_OF_A_NODE),
        ranks=Asked("ranks", layout.tensor_parallel, _("tensor-parallel ranks"), field="tensor_parallel"),
        copies=Asked("copies", layout.data_parallel, _("copies of attention"), field="data_parallel_attention"),
        stages=Asked("stages", layout.pipeline_parallel, _("pipeline stages"), field="pipeline_parallel"),
        units=Asked("units", 1, _("one replica")),
        version=spec.engine_version or "",
        asked=tuple(_asked(plan)),
    )


def _asked(plan: Plan) -> Iterator[Asked]:
    spec = plan.spec
    yield Asked("experts", plan.layout.expert_parallel, _("GPUs that share the experts"), field="expert_parallel")
    yield Asked("weights", plan.weight_dtype, _("number format of the weights"), field="weight_dtype")
    yield Asked("kv_dtype", plan.kv_dtype, _("number format of the KV cache"), field="kv_dtype")
    yield Asked("max_model_len", plan.max_model_len, _("longest request, prompt and answer"), field="max_model_len")
    yield from _stated(spec)
    yield Asked(
        "redundant_experts",
        spec.redundant_experts,
        _("copies of busy experts"),
        field="redundant_experts",
        needed=False,
    )
    yield Asked("all_to_all", spec.all_to_all, _("how experts exchange tokens"), field="all_to_all")
    yield Asked("draft", spec.draft, _("tokens drafted a step"), field="draft")
    yield Asked("adapters", spec.adapters, _("adapters resident at once"), field="adapters")
    if spec.adapters:
        yield Asked("lora_rank", LORA_RANK, _("the rank that the design counts"), field="adapters")
    if plan.layout.context_parallel > 1:
        yield Asked(
            "context_parallel",
            plan.layout.context_parallel,
            _("ranks that share a cache by tokens"),
            field="context_parallel",
        )


def _stated(spec: EngineInstanceSpec) -> Iterator[Asked]:
    """Settings that the design states; the rest is the engine's own default."""
    rows = (
        ("memory_fraction", spec.memory_fraction, _("share of the GPU memory"), True),
        ("max_num_seqs", spec.max_num_seqs, _("requests that run at once, at most"), True),
        ("max_num_batched_tokens", spec.max_num_batched_tokens, _("largest step, and the prefill chunk"), True),
        ("block_size", spec.block_size, _("tokens of a block"), True),
        ("max_total_tokens", spec.max_total_tokens, _("limit of the KV pool"), False),
    )
    for name, value, why, needed in rows:
        if value is not None:
            yield Asked(name, value, why, field=name, needed=needed)
    if spec.graph_capture is not None:
        yield Asked("graphs", spec.graph_capture, _("whether graphs are captured"), field="graph_capture", needed=False)
    if spec.hybrid_cache == "unified_pages":
        yield Asked("one_page_size", True, _("one page for all layers"), field="hybrid_cache", needed=False)
    if spec.engine_core is not None:
        yield Asked(
            "first_core", int(spec.engine_core == "v1"), _("the core of vLLM"), field="engine_core", needed=False
        )


def _does_not_fit(result: Result) -> Iterator[Refusal]:
    """A replica that does not start, in the words of the answer."""
    if result.value("fits"):
        return
    finding = next((each for each in result.findings if each.severity == "error"), None)
    reason = finding.message if finding else "The LLM does not fit on these GPUs."
    change = (finding.suggestion if finding else None) or "Use more GPUs, or fewer bits."
    yield Refusal("fits", "0", reason, change, "gpus")


def _longest(result: Result, told: Settled) -> Iterator[Refusal]:
    pool = result.value("longest_request_tokens") or result.value("kv_pool_tokens")
    yield from fits.longest(told, pool_tokens=pool, field="max_model_len")


LAUNCHER = Launcher(targets, start)
