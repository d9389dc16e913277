"""What starts replicas with adapters: slots, ranks and host memory of the design, on an engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.core.catalog import Catalog, Llm
from planner.core.launch import Asked, Launch, Launcher, Refusal, Target
from planner.core.launching import engines, fits
from planner.core.launching.options import Settled
from planner.core.launching.server import Server, model_asked, object_name
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.kinds.multi_lora.spec import MultiLoraSpec

GPUS_OF_A_NODE = 8
_PROJECTIONS = {
    "qv": ("q_proj", "v_proj"),
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "linear": ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    "experts": ("all",),
}


def targets(spec: MultiLoraSpec) -> tuple[Target, ...]:
    """The engine of the design first, where it is one of them."""
    known = (engines.VLLM, engines.SGLANG)
    return tuple(sorted(known, key=lambda each: each.slug != spec.engine))


def start(spec: MultiLoraSpec, result: Result, catalog: Catalog, target: Target) -> Launch:
    """All replicas of the design with their slots."""
    server = _server(spec, result, catalog, engine=target.slug)
    told = engines.tell(server, catalog)
    pool = result.value("kv_tokens")
    found = (*fits.longest(told.engine, pool_tokens=pool, field="memory_share"), *_adapters(spec, result, told.engine))
    made = engines.launch(target, [told], catalog, also=Settled((), found))
    if spec.engine not in (target.slug, engines.VLLM.slug, engines.SGLANG.slug):
        note = "The design is for an engine that is not among the targets: slots and kernels differ there."
        made = replace(made, notes=(note, *made.notes))
    return made


def _server(spec: MultiLoraSpec, result: Result, catalog: Catalog, *, engine: str) -> Server:
    llm = catalog.llm(spec.llm)
    return Server(
        engine=engine,
        name=object_name(f"{llm.slug}-adapters"),
        title=_("Replicas"),
        llm=llm,
        model=model_asked(llm, spec.llm, field="llm"),
        gpu=catalog.gpu(spec.gpu),
        gpus=spec.gpus_per_replica,
        gpus_per_node=min(spec.gpus_per_replica, GPUS_OF_A_NODE),
        ranks=Asked(
            "ranks", spec.gpus_per_replica, _("tensor parallel over the GPUs of a replica"), "gpus_per_replica"
        ),
        copies=Asked("copies", 1, _("one copy of attention")),
        stages=Asked("stages", 1, _("no pipeline")),
        units=Asked("units", int(result.value("replicas") or 0), _("replicas for the peak"), metric="replicas"),
        asked=tuple(_asked(spec, result, llm, engine=engine)),
    )


def _asked(spec: MultiLoraSpec, result: Result, llm: Llm, *, engine: str) -> Iterator[Asked]:
    slots, rank = int(result.value("gpu_slots") or 0), spec.max_rank or spec.rank
    yield Asked("weights", spec.weight_dtype, _("number format of the base"), "weight_dtype")
    yield Asked("kv_dtype", spec.kv_dtype, _("number format of the KV cache"), "kv_dtype")
    pool = result.value("kv_tokens") or 0.0
    if pool < llm.max_context_tokens and pool >= 1:
        yield Asked("max_model_len", int(pool), _("what the KV cache of a replica holds"), metric="kv_tokens")
    else:
        yield Asked("max_model_len", llm.max_context_tokens, _("the context of the base"), "llm")
    yield Asked("max_num_seqs", spec.max_batch, _("running requests, at most"), "max_batch")
    yield Asked("memory_fraction", spec.memory_share, _("memory the engine may use"), "memory_share")
    yield Asked("lora", True, _("requests name an adapter"), "adapters")
    yield Asked("lora_slots", slots, _("adapters in GPU memory at once"), metric="gpu_slots")
    yield Asked("lora_rank", _allowed(rank, engine), _("the least rank allowed that holds the adapters"), "rank")
    host = max(slots, int(result.value("host_adapters") or 0))
    yield Asked("lora_host", host, _("adapters in host memory"), metric="host_adapters")
    if engine == engines.SGLANG.slug:
        words = _PROJECTIONS[spec.enabled_targets or spec.targets]
        yield Asked("lora_targets", words, _("matrices that adapters change"), "targets")
    elif spec.sharding == "full":
        yield Asked("adapters_sharded", True, _("both halves of a pair are split"), "sharding")


def _allowed(rank: int, engine: str) -> int:
    """vLLM takes certain ranks only; a slot is as large as the one that is configured."""
    if engine != engines.VLLM.slug:
        return rank
    return next((each for each in (1, 8, 16, 32, 64, 128, 256, 320, 512) if each >= rank), rank)


def _adapters(spec: MultiLoraSpec, result: Result, told: Settled) -> Iterator[Refusal]:
    slots = told.value("lora_slots")
    setting = next((each for each in told.settings if each.option.name == "lora_slots"), None)
    if setting is not None and not slots:
        reason = "No slot fits: the GPU memory for adapters is smaller than one of them."
        yield Refusal(setting.flag, "0", reason, "Give adapters more GPU memory.", "adapter_memory_bytes")
    if spec.pinned_adapters and slots and spec.pinned_adapters >= slots:
        reason = f"{spec.pinned_adapters} pinned adapters leave none of {slots} slots to the others."
        yield Refusal("pinned", str(spec.pinned_adapters), reason, "Pin fewer.", "pinned_adapters")
    del result


LAUNCHER = Launcher(targets, start)
