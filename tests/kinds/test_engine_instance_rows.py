"""Every measured configuration gets an answer, typed as our reader has it or as its columns stand."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from typing import Any

from planner.catalog import files
from planner.catalog.files import DATA
from planner.core.result import Result
from planner.kinds import get
from tests.calibration.rows import MeasuredRow, read

KIND = get("engine_instance")
CATALOG = files.load()
SAMPLE = DATA / "measured" / "silicon_sample.csv"
ASKED = ("ttft_mean_s", "tpot_mean_s", "output_tokens_per_s", "e2e_mean_s", "running_requests")


def usable() -> Iterator[tuple[MeasuredRow, dict[str, str]]]:
    """Rows without a reason against them, and their columns."""
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        columns = {row["id"]: row for row in csv.DictReader(file)}
    for row in read(SAMPLE, catalog=CATALOG):
        if not row.reasons:
            yield row, columns[row.id]


def typed(row: MeasuredRow, columns: dict[str, str]) -> dict[str, Any]:
    """As somebody who copies the columns would type it; blanks and noughts included."""
    assert row.layout is not None
    return {
        "llm": columns["model_path"],
        "gpu": columns["system"],
        "gpus": str(row.layout.gpus),
        "engine": columns["backend"],
        "engine_version": columns["backend_version"],
        "weight_dtype": columns["precision"],
        "tensor_parallel": columns["tp_size"],
        "pipeline_parallel": columns["pp_size"],
        "data_parallel_attention": columns["attention_dp_size"],
        "expert_parallel": columns["moe_ep_size"],
        "input_tokens": columns["isl"],
        "output_tokens": columns["osl"],
        "concurrency": row.concurrency,
    }


def answered(spec: dict[str, Any]) -> Result:
    found = KIND.estimate(KIND.spec.model_validate(spec), CATALOG)
    for name in ASKED:
        value = found.value(name)
        assert value is not None, (spec, name, found.findings[0].message)
        assert math.isfinite(value), (spec, name)
        assert value > 0, (spec, name)
    return found


def test_every_measured_row_is_answered_as_read_or_as_written() -> None:
    found = list(usable())
    assert len(found) > 1900
    for index, (row, columns) in enumerate(found):
        match index % 3:
            case 0:
                answered(row.spec())
            case 1:
                answered(typed(row, columns))
            case _:
                answered({**row.spec(), "gpus": None})


def test_columns_mean_what_the_reader_makes_of_them() -> None:
    """Placements that a table writes in its own convention are the reader's, so that both get the same times."""
    seen = set()
    for row, columns in usable():
        spec = typed(row, columns)
        kind = tuple(
            columns[name] for name in ("backend", "tp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")
        )
        if kind in seen:
            continue
        seen.add(kind)
        mine, theirs = answered(spec), answered(row.spec())
        for name in ASKED:
            assert mine.value(name) == theirs.value(name), (kind, name)
    assert len(seen) > 40


def test_all_gpus_as_ranks_that_split_heads_are_timed_as_copies() -> None:
    """Rows of whole systems write every GPU as a tensor-parallel rank; no engine shares 128 heads by 72."""
    spec = {"llm": "deepseek-r1", "gpu": "gb200", "engine": "trtllm", "weight_dtype": "fp4", "concurrency": 2048}
    found = answered({**spec, "tensor_parallel": 72})
    assert found.value("fits") == 0
    assert found.findings[0].code == "tensor_parallel_splits_heads"
    assert any(each.code == "times_if_it_started" and "72 GPUs" in each.message for each in found.findings)
    assert found.findings[0].change is not None
    mended = answered({**spec, **found.findings[0].change})
    assert mended.value("fits") == 1
    for name in ASKED:
        assert found.value(name) == mended.value(name), name
    # Of an LLM without experts a copy is a replica of its own, not a way to run this one.
    dense = KIND.estimate(KIND.spec.model_validate({"llm": "llama-3.1-8b", "tensor_parallel": 3}), CATALOG)
    assert dense.findings[0].code == "tensor_parallel_splits_heads"
    assert dense.value("tpot_mean_s") is None
