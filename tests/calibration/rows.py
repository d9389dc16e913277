"""Measured configurations of aggregated serving, read from ``measured/silicon_sample.csv`` in our words.

The columns mix conventions: `_placement` says which, and the reasons of a row why it is not fitted. Nothing is dropped
silently: every row comes back, with the reasons that keep it out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner.core.catalog import Catalog, Llm, UnknownEntry
from planner.formulas.traffic import Layout

_ENGINES = {"trtllm": "tensorrt_llm", "sglang": "sglang", "vllm": "vllm"}
_DTYPES = {"fp8": "fp8", "fp4": "nvfp4", "int4": "int4", "bf16": "bf16", "": "bf16"}
_ROUNDED_S = 0.6e-5
_MOST_GPUS = 8
"""GPUs of the largest replica that an aggregated run of these sources can have had."""


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One configuration with its TTFT and TPOT. ``layout`` is None when the columns contradict each other."""

    id: str
    source: str
    day: str
    llm: str
    gpu: str
    engine: str
    version: str
    weight_dtype: str
    input_tokens: float
    output_tokens: float
    concurrency: float
    layout: Layout | None
    ttft_s: float
    tpot_s: float
    mode: str
    reasons: tuple[str, ...] = field(default=())
    """Why the row is not fitted; empty when it is."""

    @property
    def has_drafts(self) -> bool:
        """Releases whose runs of DeepSeek drafted tokens without saying so, told by twins without: see METHOD.md."""
        if not self.llm.startswith("deepseek") or self.engine != "tensorrt_llm":
            return False
        early = self.version == "1.1.0rc2.post2" and self.day >= "2026-01"
        return early or self.version.startswith("1.2.0rc6.post3")

    def spec(self) -> dict[str, object]:
        """The row as a user would type it."""
        assert self.layout is not None
        return {
            "llm": self.llm,
            "gpu": self.gpu,
            "engine": self.engine,
            "engine_version": self.version or None,
            "weight_dtype": self.weight_dtype,
            "gpus": self.layout.gpus,
            "tensor_parallel": self.layout.tensor_parallel,
            "data_parallel_attention": self.layout.data_parallel,
            "expert_parallel": self.layout.expert_parallel,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "concurrency": self.concurrency,
        }


def read(path: Path, *, catalog: Catalog) -> list[MeasuredRow]:
    """All rows of the file, each with the reasons that keep it out of a fit.

    Parameters
    ----------
    path : ``silicon_sample.csv``
    catalog : names LLMs and GPUs; an LLM or GPU it does not know is a reason, no error
    """
    with path.open(encoding="utf-8", newline="") as file:
        found = [_row(row, catalog=catalog) for row in csv.DictReader(file)]
    return list(_without_copies(found))


def _row(row: Mapping[str, str], *, catalog: Catalog) -> MeasuredRow:
    note = row["silicon_data_source"]
    llm, known_llm = _llm(row["model_path"], catalog=catalog)
    gpu, known_gpu = _gpu(row["system"], catalog=catalog)
    layout = _placement(row) if row["mode"] == "agg" else None
    concurrency = _concurrency(row, note)
    reasons = []
    if row["mode"] != "agg":
        reasons.append("disaggregated: two pools, not one replica")
    if known_llm is None or known_gpu is None:
        reasons.append("the catalog does not know the LLM or the GPU")
    if row["mode"] == "agg" and layout is None:
        reasons.append("the columns of its layout contradict each other")
    if concurrency <= 0 and row["mode"] == "agg":
        reasons.append("no concurrency is stated")
    if layout is not None and layout.gpus > _MOST_GPUS:
        reasons.append("a disaggregated run labelled aggregated: no replica of this size could be this fast")
    return MeasuredRow(
        id=row["id"],
        source=note,
        day=_day(note),
        llm=llm,
        gpu=gpu,
        engine=_ENGINES[row["backend"]],
        version=row["backend_version"],
        weight_dtype=_weight_dtype(row, known_llm),
        input_tokens=float(row["isl"]),
        output_tokens=float(row["osl"]),
        concurrency=concurrency,
        layout=layout,
        ttft_s=float(row["silicon_ttft_ms"] or 0) / 1e3,
        tpot_s=float(row["silicon_tpot_ms"] or 0) / 1e3,
        mode=row["mode"],
        reasons=tuple(reasons),
    )


def _llm(name: str, *, catalog: Catalog) -> tuple[str, Llm | None]:
    try:
        found = catalog.llm(name)
    except UnknownEntry:
        return name, None
    return found.slug, found


def _gpu(name: str, *, catalog: Catalog) -> tuple[str, object | None]:
    try:
        found = catalog.gpu(name)
    except UnknownEntry:
        return name, None
    return found.slug, found


def _weight_dtype(row: Mapping[str, str], llm: Llm | None) -> str:
    """A blank format is 16 bits: eight-bit weights could not be read in the times measured."""
    named = _DTYPES[row["precision"]]
    native = llm.native_dtype if llm is not None else ""
    return native if named == "nvfp4" and native == "mxfp4" else named


def _concurrency(row: Mapping[str, str], note: str) -> float:
    """Stated in the note; the column holds it divided by a number of copies that may be wrong."""
    stated = re.search(r"silicon_concurrency=(\d+)", note)
    if stated:
        return float(stated.group(1))
    return float(row["batch_size"] or 0) * float(row["attention_dp_size"] or 1)


def _day(note: str) -> str:
    found = re.search(r"measured=(\d{4}-\d\d-\d\d)", note)
    return found.group(1) if found else ""


def _placement(row: Mapping[str, str]) -> Layout | None:
    """GPUs, attention ranks and copies, expert ranks; the tag ``tpN_epM`` of the id is the truth where it stands.

    Three conventions meet: expert ranks written as a product (TP 64 with experts 8 × 8 are 8 GPUs), attention copies
    written as that product, and vLLM's TP = DP = t with t² expert ranks, which are t tensor and expert ranks on t GPUs:
    fourteen such runs of Kimi-K2.5 stand in another snapshot as TP 4, DP 1, EP 4 with the same figures.
    """
    ranks, copies = int(row["tp_size"]), row["attention_dp_size"]
    expert_slices, expert_ranks = int(row["moe_tp_size"] or 1), int(row["moe_ep_size"] or 1)
    if copies == "0":
        return None
    if not copies:
        gpus = max(ranks, expert_slices * max(expert_ranks, 1))
        return Layout(
            gpus=gpus, tensor_parallel=ranks, data_parallel=gpus // ranks, expert_parallel=max(expert_ranks, 1)
        )
    data = int(copies)
    if ranks == data > 1 and expert_ranks == ranks * ranks:
        return Layout(gpus=ranks, tensor_parallel=ranks, expert_parallel=ranks)
    if expert_slices == expert_ranks > 1 and ranks * data == expert_slices * expert_ranks:
        gpus = expert_ranks
        if ranks > 1:
            return Layout(gpus=gpus, tensor_parallel=gpus, expert_parallel=gpus)
        return Layout(gpus=gpus, tensor_parallel=1, data_parallel=gpus, expert_parallel=gpus)
    return Layout(gpus=ranks * data, tensor_parallel=ranks, data_parallel=data, expert_parallel=expert_ranks)


def _without_copies(rows: Sequence[MeasuredRow]) -> Iterator[MeasuredRow]:
    """A run that repeats another's figures is a copy from another snapshot, some of which round to 0.01 ms."""
    kept: dict[tuple[object, ...], list[MeasuredRow]] = {}
    for row in rows:
        same = kept.setdefault((row.gpu, row.engine, row.input_tokens, row.output_tokens, row.mode), [])
        first = next((each for each in same if _repeats(row, each)), None)
        if first is None:
            same.append(row)
        yield row if first is None else with_reason(row, f"repeats the figures of {first.id}")


def _repeats(row: MeasuredRow, other: MeasuredRow) -> bool:
    return abs(row.tpot_s - other.tpot_s) < _ROUNDED_S and abs(row.ttft_s - other.ttft_s) < _ROUNDED_S


def with_reason(row: MeasuredRow, reason: str) -> MeasuredRow:
    """The row with one more reason to keep it out of a fit."""
    return replace(row, reasons=(*row.reasons, reason))
