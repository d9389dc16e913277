"""Sizes an engine starts with, by version, GPU and context, where the spec leaves them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.catalog import Gpu, Llm
from planner.formulas import engine_memory, memory
from planner.formulas.memory_terms import Spread
from planner.kinds.engine_instance.spec import EngineInstanceSpec


def settings_of(spec: EngineInstanceSpec, settings: Mapping[str, Any], *, gpu: Gpu) -> Mapping[str, Any]:
    """The engine's settings of the version; a GPU that a core does not run on falls back to the one before."""
    core = spec.engine_core.upper() if spec.engine_core else None
    if core is None and gpu.architecture in settings.get("old_core_architectures", ()):
        core = "V0"
    return engine_memory.version_row(settings, version=spec.engine_version, generation=core)


def visible_memory(spec: EngineInstanceSpec, gpu: Gpu, *, rules: Mapping[str, Any]) -> Spread:
    """What the runtime sees of a GPU's memory, with its spread between hosts [bytes]."""
    if spec.visible_memory_bytes is not None:
        return Spread.exact(spec.visible_memory_bytes)
    size = gpu.figure("visible_memory_bytes" if gpu.has("visible_memory_bytes") else "memory_bytes")
    return Spread(size, size - rules["visible"]["spread"], size + rules["visible"]["spread"])


def gpu_class(gpu: Gpu, *, rules: Mapping[str, Any]) -> str:
    """How GPUs of a replica talk, as the tables of the engines have it."""
    if gpu.vendor == "AMD":
        return "rocm"
    fast = gpu.has("scaleup_bytes_per_s") and gpu.figure("scaleup_bytes_per_s") >= rules["gpu_class"]["nvlink_from"]
    return "nvlink" if fast else "pcie"


def step_tokens(settings: Mapping[str, Any], *, llm: Llm, max_model_len: int, by_gpu: Mapping[str, Any]) -> int:
    """Tokens of the largest step: a budget by GPU, or in old engines a whole request.

    Old engines prefill a request in one step and round the step up to a least size; contexts beyond a limit are cut
    into chunks, but not those of LLMs that read images.
    """
    if settings["step_rule"] == "budget":
        return int(by_gpu["max_num_batched_tokens"])
    vision = memory.parameters(llm).get("vision", 0.0) > 0
    if max_model_len > settings["long_context_from"] and not vision:
        return int(settings["long_context_chunk"])
    return int(max(max_model_len, settings["least_step_vision" if vision else "least_step"]))


def sequences(settings: Mapping[str, Any], *, by_gpu: Mapping[str, Any], rules: Mapping[str, Any]) -> int:
    """Requests that run at once at most."""
    return int(settings.get("max_num_seqs") or by_gpu.get("max_num_seqs") or rules["unstated"]["sequences"])
