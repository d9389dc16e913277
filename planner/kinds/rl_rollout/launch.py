"""What starts the rollout instances: an engine that takes new weights from training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Launch, Launcher, Refusal, Target
from planner.core.launching import engines
from planner.core.launching.options import Settled
from planner.core.launching.server import Server, model_asked, object_name
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.kinds.rl_rollout.spec import RlRolloutSpec

GPUS_OF_A_NODE = 8
_SYNC = _("Training sends new weights by the engine's own calls: pause, update, continue. They are no settings.")


def targets(_spec: RlRolloutSpec) -> tuple[Target, ...]:
    """Engines that document how training updates their weights."""
    return (engines.VLLM, engines.SGLANG)


def start(spec: RlRolloutSpec, result: Result, catalog: Catalog, target: Target) -> Launch:
    """All rollout instances of the design."""
    told = engines.tell(_server(spec, result, catalog, engine=target.slug), catalog)
    made = engines.launch(
        target, [told], catalog, also=Settled((), tuple(_too_long(spec, result, catalog, told.engine)))
    )
    return replace(made, notes=(*made.notes, _SYNC))


def _server(spec: RlRolloutSpec, result: Result, catalog: Catalog, *, engine: str) -> Server:
    llm = catalog.llm(spec.llm)
    instances = int(result.value("rollout_instances") or 0)
    return Server(
        engine=engine,
        name=object_name(f"{llm.slug}-rollout"),
        title=_("Rollout instances"),
        llm=llm,
        model=model_asked(llm, spec.llm, field="llm"),
        gpu=catalog.gpu(spec.gpu),
        gpus=spec.instance_gpus,
        gpus_per_node=min(spec.instance_gpus, GPUS_OF_A_NODE),
        ranks=Asked("ranks", spec.instance_gpus, _("tensor parallel over the GPUs of an instance"), "instance_gpus"),
        copies=Asked("copies", 1, _("one copy of attention")),
        stages=Asked("stages", 1, _("no pipeline")),
        units=Asked("units", instances, _("instances that keep up with training"), metric="rollout_instances"),
        asked=tuple(_asked(spec, result, engine=engine)),
    )


def _asked(spec: RlRolloutSpec, result: Result, *, engine: str) -> Iterator[Asked]:
    yield Asked("weights", spec.weight_dtype, _("number format of generation"), "weight_dtype")
    yield Asked("kv_dtype", spec.kv_dtype, _("number format of the KV cache"), "kv_dtype")
    longest = math.ceil(spec.prompt_tokens) + math.ceil(spec.max_output_tokens)
    yield Asked("max_model_len", longest, _("a prompt and the longest answer"), "max_output_tokens")
    yield Asked("memory_fraction", spec.memory_share, _("memory the engine may use"), "memory_share")
    if spec.running_cap is not None:
        yield Asked("max_num_seqs", spec.running_cap, _("answers that run at once"), "running_cap")
    elif (held := int(result.value("memory_answers") or 0)) >= 1:
        yield Asked("max_num_seqs", held, _("answers that memory holds"), metric="memory_answers")
    together = spec.mode == "colocated"
    if together:
        yield Asked("sleep", True, _("training takes the memory in turn"), "mode")
    if engine == engines.VLLM.slug:
        way = {"backend": "ipc" if together else "nccl"}
        yield Asked("weight_transfer", way, _("how new weights come in"), "mode" if together else "sync_method")
        yield Asked("developer_mode", 1, _("opens the calls that update weights"), "sync_method")


def _too_long(spec: RlRolloutSpec, result: Result, catalog: Catalog, told: Settled) -> Iterator[Refusal]:
    setting = next((each for each in told.settings if each.option.name == "max_model_len"), None)
    context = catalog.llm(spec.llm).max_context_tokens
    if setting is None:
        return
    if setting.value > context:
        reason = f"A prompt and the longest answer are {setting.value:,} tokens; the LLM takes {context:,}."
        yield Refusal(setting.flag, setting.text, reason, "Cap answers lower.", "max_output_tokens")
    held = result.value("memory_answers")
    if held is not None and held < 1:
        reason = "The KV memory of an instance holds not even one answer of mean length."
        yield Refusal(setting.flag, setting.text, reason, "Use more GPUs an instance.", "instance_gpus")


LAUNCHER = Launcher(targets, start)
