"""Step times of one replica from measured kernels: compiled once by the package, then evaluated at any shape."""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from planner.catalog.kernels import package
from planner.catalog.kernels.documents import document
from planner.catalog.kernels.formats import Formats, choices
from planner.core.catalog import Gpu, Llm
from planner.core.latency import KernelPass, KernelsUnavailable, KernelTimes, Ranks

_KEPT_ENGINES = 64
_KEPT_PASSES = 4096
_PROBE = {"sequences": 4, "context_tokens": 1024}
_MS = 1e-3
_LONGEST_REASON = 240
_MEASURED = ("silicon", "mixed")
_PARTS = (
    ("communication", ("_ar", "allreduce", "p2p", "dispatch", "all2all", "alltoall", "allgather")),
    ("other", ("norm", "act", "relu", "embedding", "merge", "gate_mul")),
    ("attention", ("attention", "mla", "dsa", "gdn_scan", "gdn_recurrence", "conv1d", "ssm", "kda", "bmm")),
    ("gemm", ("gemm", "moe", "router", "expert")),
)
_compiling = threading.Lock()
_found: OrderedDict[str, MeasuredKernels | KernelsUnavailable] = OrderedDict()

_Answer = TypeVar("_Answer")
Row = tuple[str, float, float, str]


def times(llm: Llm, gpu: Gpu, *, engine: str, ranks: Ranks, weight_dtype: str, kv_dtype: str) -> KernelTimes:
    """Measured kernels for a replica; raises `KernelsUnavailable` with the reason when there are none.

    The first call for a replica compiles it and reads the tables it needs; the last ones are kept, refusals too.
    """
    package.folder()
    key = repr((llm, gpu.slug, engine, ranks, weight_dtype, kv_dtype))
    with _compiling:
        found = _found.get(key)
        if found is None:
            found = _made(llm, gpu, engine=engine, ranks=ranks, weight_dtype=weight_dtype, kv_dtype=kv_dtype)
            while len(_found) >= _KEPT_ENGINES:
                _found.popitem(last=False)
        _found[key] = found
        _found.move_to_end(key)
    if isinstance(found, KernelsUnavailable):
        raise KernelsUnavailable(found.reason, installed=found.installed)
    return found


def _made(
    llm: Llm, gpu: Gpu, *, engine: str, ranks: Ranks, weight_dtype: str, kv_dtype: str
) -> MeasuredKernels | KernelsUnavailable:
    try:
        system, backend, version = _place(gpu, engine=engine)
        return _first_measured(
            document(llm, folder=package.folder()),
            where=(system, backend),
            cut=_cut(llm, ranks),
            formats=choices(llm, gpu, engine=engine, weight_dtype=weight_dtype, kv_dtype=kv_dtype),
            tables=f"{package.installed()}, {engine} {version} on {system}",
        )
    except KernelsUnavailable as problem:
        return problem


def _place(gpu: Gpu, *, engine: str) -> tuple[str, str, str]:
    """System, back end and engine version of the tables for a GPU and an engine."""
    system, backend = package.SYSTEMS.get(gpu.slug), package.BACKENDS.get(engine)
    known = package.versions().get(system, {}) if system else {}
    if system is None or not known:
        raise KernelsUnavailable(f"No kernels were measured on {gpu.name}.")
    if backend not in known:
        raise KernelsUnavailable(f"No kernels of {engine} were measured on {gpu.name}, only of {', '.join(known)}.")
    return system, backend, known[backend]


def _cut(llm: Llm, ranks: Ranks) -> dict[str, int]:
    """The package's words for the layout; what it cannot place is refused."""
    if ranks.context_parallel > 1:
        raise KernelsUnavailable("The measured kernels have no decode with a cache shared by context ranks.")
    cut = {"tp_size": ranks.tensor_parallel, "pp_size": ranks.pipeline_parallel}
    if not llm.moe:
        return cut
    stage = ranks.tensor_parallel * ranks.data_parallel
    if stage % ranks.expert_parallel:
        raise KernelsUnavailable(f"{ranks.expert_parallel} expert ranks do not divide {stage} GPUs.")
    return cut | {
        "attention_dp_size": ranks.data_parallel,
        "moe_ep_size": ranks.expert_parallel,
        "moe_tp_size": stage // ranks.expert_parallel,
    }


def _first_measured(
    described: dict[str, Any],
    *,
    where: tuple[str, str],
    cut: dict[str, int],
    formats: Iterable[Formats],
    tables: str,
) -> MeasuredKernels:
    """The first choice of kernels that the tables hold in both phases; the reason of the first when none is."""
    first: KernelsUnavailable | None = None
    for choice in formats:
        try:
            made = MeasuredKernels(
                _compiled(described, where=where, cut=cut, formats=choice), f"{tables}: {choice.words}"
            )
            made.decode(**_PROBE)
            made.prefill(new_tokens=1024, cached_tokens=0)
        except KernelsUnavailable as problem:
            first = first or problem
        else:
            return made
    raise first or KernelsUnavailable("The measured kernels hold none of these formats.")


def _compiled(described: dict[str, Any], *, where: tuple[str, str], cut: dict[str, int], formats: Formats) -> Any:
    """The package reads a description from a folder only; a name would make it ask the network."""
    engine = package.handle()
    with TemporaryDirectory(prefix="kernels-") as folder:
        (Path(folder) / "config.json").write_text(json.dumps(described), encoding="utf-8")
        return _asked(
            lambda: engine.compile(
                folder,
                *where,
                gemm_quant_mode=formats.gemm,
                moe_quant_mode=formats.experts,
                kvcache_quant_mode=formats.cache,
                fmha_quant_mode=formats.attention,
                **cut,
            )
        )


def _asked(question: Callable[[], _Answer]) -> _Answer:
    """What the package answers; all it can raise is a reason, a panic of its compiled part included."""
    try:
        return question()
    except Exception as problem:
        raise KernelsUnavailable(f"The measured kernels do not hold this: {_short(problem)}") from problem
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":
            raise
        raise KernelsUnavailable(f"The measured kernels cannot answer this: {_short(problem)}") from problem


def _short(problem: BaseException) -> str:
    """The first sentence of a message, without folders of this machine."""
    words = [word for word in str(problem).removeprefix("perf database error: ").split() if not word.startswith("/")]
    text = " ".join(words).removesuffix(" at").replace(" at available:", "; there are")
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"


class MeasuredKernels:
    """A compiled replica of the package; each shape is asked for once."""

    def __init__(self, compiled: Any, tables: str) -> None:
        self._compiled, self._tables = compiled, tables
        self._passes: dict[tuple[str, int, int], KernelPass] = {}

    @property
    def tables(self) -> str:
        return self._tables

    def decode(self, *, sequences: int, context_tokens: int) -> KernelPass:
        """One token for each sequence of an attention copy."""
        sequences, context_tokens = max(sequences, 1), max(context_tokens, 1)
        return self._pass("static_gen", batch_size=sequences, isl=context_tokens, osl=2, prefix=0)

    def prefill(self, *, new_tokens: int, cached_tokens: int) -> KernelPass:
        """One prompt of an attention copy, behind what its cache holds."""
        new_tokens, cached_tokens = max(new_tokens, 1), max(cached_tokens, 0)
        length = new_tokens + cached_tokens
        return self._pass("static_ctx", batch_size=1, isl=length, osl=1, prefix=cached_tokens)

    def _pass(self, mode: str, **shape: int) -> KernelPass:
        key = (mode, shape["batch_size"] if mode == "static_gen" else shape["prefix"], shape["isl"])
        if key not in self._passes:
            context, generation = _asked(lambda: self._compiled.run_static_per_op(mode=mode, **shape))
            if len(self._passes) >= _KEPT_PASSES:
                self._passes.clear()
            self._passes[key] = summed(context if mode == "static_ctx" else generation)
        return self._passes[key]


def summed(rows: Iterable[Row]) -> KernelPass:
    """Times by kind of kernel, from the package's rows of name, milliseconds, energy and origin."""
    parts = {"gemm": 0.0, "attention": 0.0, "communication": 0.0, "other": 0.0}
    measured_ms = 0.0
    for name, milliseconds, _energy, origin in rows:
        parts[part_of(name)] += milliseconds
        measured_ms += milliseconds if origin in _MEASURED else 0.0
    total_ms = sum(parts.values())
    if not (math.isfinite(total_ms) and total_ms > 0):
        raise KernelsUnavailable("The measured kernels answer no time for this shape.")
    return KernelPass(
        gemm_s=parts["gemm"] * _MS,
        attention_s=parts["attention"] * _MS,
        communication_s=parts["communication"] * _MS,
        other_s=parts["other"] * _MS,
        measured_share=measured_ms / total_ms,
    )


def part_of(name: str) -> str:
    """Which part of a step a kernel belongs to, by the package's names (``generation_qkv_gemm``)."""
    return next((part for part, marks in _PARTS if any(mark in name for mark in marks)), "other")
