"""What starts a fleet: its units on an engine, in llm-d or in Dynamo, each setting from the design."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Command, Launch, Launcher, Manifest, Refusal, Target
from planner.core.launching import dynamo, engines, fits, llm_d, routers, tensorrt_llm
from planner.core.launching.options import NOTHING, Settled
from planner.core.launching.server import Role, Server, model_asked, object_name
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.formulas import lengths
from planner.kinds.llm_serving.physics import Memory, Physics, physics
from planner.kinds.llm_serving.spec import LlmServingSpec
from planner.kinds.llm_serving.units import is_wide, redundant_experts

LONG = 0.99
"""Share of requests that the longest one allowed has to cover."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit of one role: its GPUs, its attention ranks, its memory, and the tokens a rank's pool holds."""

    role: Role
    title: str
    gpus: int
    gpu: str
    lanes: int
    memory: Memory
    pool_tokens: float
    units_metric: str
    size_field: str
    rank_field: str

    @property
    def rank_gpus(self) -> int:
        return max(1, self.gpus // self.lanes)


def targets(spec: LlmServingSpec) -> tuple[Target, ...]:
    """The engine of the design, the other engines, and what runs pools of them."""
    own = tuple(sorted(engines.ENGINES, key=lambda each: each.slug != spec.engine))
    return (*own, llm_d.LLM_D, dynamo.DYNAMO)


def start(spec: LlmServingSpec, result: Result, catalog: Catalog, target: Target) -> Launch:
    """All units of the design with a target."""
    engine = {llm_d.LLM_D: engines.VLLM.slug, dynamo.DYNAMO: spec.engine}.get(target, target.slug)
    facts = physics(spec, catalog=catalog)
    told, also = [], NOTHING
    for unit in _units(spec, facts):
        server = _server(spec, result, catalog, unit, engine=engine)
        told.append(engines.tell(server, catalog))
        also += Settled((), tuple(_too_long(spec, told[-1].engine, unit)))
    if not any(each.server.units.value for each in told):
        also += Settled((), (_nothing_to_start(),))
    made = _made(spec, target, told, catalog, also=also)
    if engine != spec.engine and spec.rate_mode == "assumed":
        made = replace(
            made,
            notes=(
                _assumed_for(catalog, spec.engine, engine),
                *made.notes,
            ),
        )
    return made


def _made(
    spec: LlmServingSpec, target: Target, told: Sequence[engines.Told], catalog: Catalog, *, also: Settled
) -> Launch:
    if target == llm_d.LLM_D:
        return llm_d.launch(target, told, catalog, also=also)
    if target == dynamo.DYNAMO:
        front_ends = Asked("front_ends", 1, _("one front end; the design counts no more"))
        mode = Asked(
            "router_mode",
            "kv" if spec.prefix_hit_rate else "round_robin",
            _("where prompts are cached"),
            "prefix_hit_rate",
        )
        return dynamo.launch(target, told, catalog, also=also, front_ends=front_ends, mode=mode)
    commands: tuple[Command, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    servers = [each.server for each in told]
    if len(told) > 1 and target == engines.SGLANG:
        router, settled = routers.between_pools(servers, catalog)
        commands, also = (router,), also + settled
    elif len(told) > 1 and target == engines.TENSORRT_LLM:
        router, pools, settled = tensorrt_llm.between_pools(servers, catalog)
        commands, manifests, also = (router,), (pools,), also + settled
    made = engines.launch(target, told, catalog, also=also, commands=commands, manifests=manifests)
    if len(told) > 1 and target == engines.VLLM:
        note = "Prefill and decode units meet behind a router that pairs them: llm-d or Dynamo bring one."
        made = replace(made, notes=(*made.notes, note))
    return made


def _assumed_for(catalog: Catalog, engine: str, other: str) -> str:
    return (
        f"The rates of the design are assumed for {catalog.engine(engine).name}, not for {catalog.engine(other).name}."
    )


def _nothing_to_start() -> Refusal:
    return Refusal("replicas", "0", "The design buys no units at this load.", "Give it a load.", "peak_rps")


def _units(spec: LlmServingSpec, facts: Physics) -> Iterator[_Unit]:
    whole = spec.is_aggregated
    if not whole:
        yield _Unit(
            "prefill",
            _("Prefill units"),
            facts.prefill_unit_gpus,
            spec.gpu,
            facts.prefill_lanes,
            facts.prefill_memory,
            facts.kv_tokens_per_prefill_unit / facts.prefill_lanes,
            "prefill_units",
            "prefill_unit_gpus",
            "prefill_rank_gpus",
        )
    yield _Unit(
        "" if whole else "decode",
        _("Replicas") if whole else _("Decode units"),
        facts.decode_unit_gpus,
        spec.decode_gpu or spec.gpu,
        facts.decode_lanes,
        facts.decode_memory,
        facts.kv_tokens_per_decode_unit / facts.decode_lanes,
        "decode_units",
        "decode_unit_gpus",
        "decode_rank_gpus",
    )


def _server(spec: LlmServingSpec, result: Result, catalog: Catalog, unit: _Unit, *, engine: str) -> Server:
    llm = catalog.llm(spec.llm)
    units = int(result.value(unit.units_metric) or 0)
    name = object_name(f"{llm.slug}-{unit.role}" if unit.role else llm.slug)
    return Server(
        engine=engine,
        name=name,
        title=unit.title,
        role=unit.role,
        llm=llm,
        model=model_asked(llm, spec.llm, field="llm"),
        gpu=catalog.gpu(unit.gpu),
        gpus=unit.gpus,
        gpus_per_node=spec.gpus_per_node,
        ranks=Asked("ranks", unit.rank_gpus, _("GPUs that share a sequence"), field=unit.rank_field),
        copies=Asked("copies", unit.lanes, _("ranks of attention in a unit"), field=unit.size_field),
        stages=Asked("stages", 1, _("no pipeline")),
        units=Asked("units", units, _("units bought for the peak"), metric=unit.units_metric),
        asked=tuple(_asked(spec, result, catalog, unit, engine=engine)),
    )


def _asked(spec: LlmServingSpec, result: Result, catalog: Catalog, unit: _Unit, *, engine: str) -> Iterator[Asked]:
    llm = catalog.llm(spec.llm)
    if llm.moe is not None:
        yield Asked(
            "experts", unit.lanes * unit.rank_gpus, _("experts lie on all GPUs of a unit"), field=unit.size_field
        )
    yield Asked("weights", spec.weight_dtype, _("number format of the weights"), field="weight_dtype")
    yield Asked("kv_dtype", spec.kv_dtype, _("number format of the KV cache"), field="kv_dtype")
    yield _longest(llm.max_context_tokens, unit)
    yield from _batch(spec, result, unit)
    yield _memory_share(unit.memory, engine=engine)
    if is_wide(spec, llm=llm, unit_gpus=unit.gpus):
        copies = redundant_experts(spec, llm=llm, unit_gpus=unit.gpus)
        yield Asked("redundant_experts", copies, _("copies of busy experts"), field="redundant_experts", needed=False)
        yield Asked("all_to_all", "deepep", _("experts on several nodes"), field=unit.size_field, needed=False)
        two = spec.overlap == "two_batch"
        yield Asked("overlap", two, _("the exchange hides behind computing"), field="overlap", needed=False)
    if spec.mtp == "on" and llm.mtp_layers and unit.role != "prefill":
        yield Asked("draft", 1, _("one token drafted a step"), field="mtp")
    if unit.role:
        yield Asked("handover", "nixl", _("KV caches go from prefill to decode"), field="topology")


def _longest(context_tokens: int, unit: _Unit) -> Asked:
    """As long as the LLM allows and a rank's pool holds."""
    if unit.pool_tokens >= context_tokens or unit.pool_tokens < 1:
        return Asked("max_model_len", context_tokens, _("the context of the LLM"), field="llm")
    return Asked("max_model_len", int(unit.pool_tokens), _("what the KV pool of a rank holds"), field="kv_memory_share")


def _batch(spec: LlmServingSpec, result: Result, unit: _Unit) -> Iterator[Asked]:
    step = max(1, spec.prefill_step_tokens // unit.lanes)
    if unit.role != "decode":
        why = _("a rank's part of the prefill step of a unit")
        yield Asked("max_num_batched_tokens", step, why, field="prefill_step_tokens")
    if unit.role == "prefill":
        yield Asked("max_num_seqs", step, _("a step holds no more prompts than tokens"), field="prefill_step_tokens")
        return
    places = int((result.value("decode_concurrency_per_gpu") or 0.0) * unit.rank_gpus)
    why = _("sequences of a rank at the TPOT objective")
    yield Asked("max_num_seqs", max(1, places), why, metric="decode_concurrency_per_gpu")


def _memory_share(memory: Memory, *, engine: str) -> Asked:
    """Each engine takes its share of something else."""
    pool, weights, visible = max(0.0, memory.kv_pool_bytes), memory.weights_bytes, memory.visible_bytes
    share, why = 1 - memory.outside_bytes / visible, _("memory the engine may use")
    if engine == engines.SGLANG.slug:
        share, why = (weights + pool) / visible, _("weights and KV pool, of the GPU's memory")
    elif engine == engines.TENSORRT_LLM.slug:
        share, why = pool / max(pool, pool + memory.outside_bytes), _("KV pool, of what weights and buffers leave")
    return Asked("memory_fraction", round(min(share, 1.0), 3), why, field="kv_memory_share")


def _too_long(spec: LlmServingSpec, told: Settled, unit: _Unit) -> Iterator[Refusal]:
    """Requests of the design that the longest one allowed would not cover."""
    yield from fits.longest(told, pool_tokens=unit.pool_tokens, field="kv_memory_share", role=unit.role)
    setting = next((each for each in told.settings if each.option.name == "max_model_len"), None)
    prompt = lengths.quantile(LONG, mean=spec.input_tokens, sigma=spec.input_sigma)
    answer = lengths.quantile(LONG, mean=spec.output_tokens, sigma=spec.output_sigma) if spec.output_tokens else 0.0
    if setting is not None and setting.value < prompt + answer:
        reason = (
            f"One request in a hundred has {prompt:,.0f} tokens and an answer of {answer:,.0f}: more than is allowed."
        )
        change = "Leave more memory to the KV pool, use larger ranks, or an LLM with a longer context."
        yield Refusal(setting.flag, setting.text, reason, change, "input_tokens", unit.role)


LAUNCHER = Launcher(targets, start)
