"""Measured rows in our words: layouts behind three conventions, copies, and what is set aside."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import replace

import pytest

from planner.core.catalog import Catalog
from planner.formulas.traffic import Layout
from tests.calibration import rows
from tests.calibration.rows import MeasuredRow
from tests.calibration.run import MEASURED

TAG = re.compile(r"_tp(\d+)(?:_0)?_ep(\d+)_")


def columns(*, tp: str, dp: str, slices: str, experts: str) -> dict[str, str]:
    return {"tp_size": tp, "attention_dp_size": dp, "moe_tp_size": slices, "moe_ep_size": experts}


def test_gpus_and_expert_ranks_are_those_of_the_tag_wherever_one_stands(read: list[MeasuredRow]) -> None:
    tagged = [(row, TAG.search(row.id)) for row in read if row.mode == "agg"]
    found = [(row, tag) for row, tag in tagged if tag is not None]
    assert len(found) > 1000
    for row, tag in found:
        assert row.layout is not None
        assert (row.layout.gpus, row.layout.expert_parallel) == (int(tag[1]), int(tag[2])), row.id


@pytest.mark.parametrize(
    ("tp", "dp", "slices", "experts", "expected"),
    [
        ("16", "1", "4", "4", Layout(gpus=4, tensor_parallel=4, expert_parallel=4)),  # product of expert ranks
        ("64", "1", "8", "8", Layout(gpus=8, tensor_parallel=8, expert_parallel=8)),
        ("1", "16", "4", "4", Layout(gpus=4, data_parallel=4, expert_parallel=4)),  # product of attention copies
        ("1", "64", "8", "8", Layout(gpus=8, data_parallel=8, expert_parallel=8)),
        ("4", "4", "1", "16", Layout(gpus=4, tensor_parallel=4, expert_parallel=4)),  # vLLM: t, t, t²
        ("2", "2", "1", "4", Layout(gpus=2, tensor_parallel=2, expert_parallel=2)),
        ("2", "", "4", "1", Layout(gpus=4, tensor_parallel=2, data_parallel=2)),  # blank copies: GPUs over ranks
        ("8", "", "1", "8", Layout(gpus=8, tensor_parallel=8, expert_parallel=8)),
        ("1", "", "1", "0", Layout(gpus=1)),  # no experts written as zero ranks
        ("1", "8", "1", "8", Layout(gpus=8, data_parallel=8, expert_parallel=8)),  # as it stands
        ("8", "1", "8", "1", Layout(gpus=8, tensor_parallel=8)),
    ],
)
def test_each_convention_is_read(tp: str, dp: str, slices: str, experts: str, expected: Layout) -> None:
    assert rows._placement(columns(tp=tp, dp=dp, slices=slices, experts=experts)) == expected


def test_zero_copies_are_no_layout(read: list[MeasuredRow]) -> None:
    assert rows._placement(columns(tp="2", dp="0", slices="0", experts="0")) is None
    without = [row for row in read if row.mode == "agg" and row.layout is None]
    assert len(without) == 14
    assert all("contradict" in row.reasons[0] for row in without)


def test_every_row_comes_back_and_none_is_dropped(read: list[MeasuredRow]) -> None:
    with MEASURED.open(encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [row.id for row in read]
    assert all(row.ttft_s > 0 and row.tpot_s > 0 for row in read)


def test_disaggregated_runs_and_those_labelled_aggregated_are_set_aside(read: list[MeasuredRow]) -> None:
    reasons = Counter(reason.split(":")[0] for row in read for reason in row.reasons)
    assert reasons["disaggregated"] == 1182
    assert reasons["a disaggregated run labelled aggregated"] == 50
    for row in read:
        if row.layout is not None and row.layout.gpus > 8:
            assert row.gpu == "gb200", row.id
            assert row.reasons


def test_repeated_figures_are_kept_once(read: list[MeasuredRow]) -> None:
    kept = [row for row in read if not row.reasons]
    figures = Counter(
        (row.gpu, row.engine, row.input_tokens, row.output_tokens, row.ttft_s, row.tpot_s) for row in kept
    )
    assert max(figures.values()) == 1
    by_id = {row.id: row for row in read}
    copies = [(row, reason) for row in read for reason in row.reasons if reason.startswith("repeats")]
    assert len(copies) > 400
    for row, reason in copies:
        first = by_id[reason.removeprefix("repeats the figures of ")]
        assert (row.concurrency, row.weight_dtype) == (first.concurrency, first.weight_dtype)
        if (row.ttft_s, row.tpot_s) == (first.ttft_s, first.tpot_s):  # one run, written by two conventions
            assert row.layout == first.layout
        assert not any(each.startswith("repeats") for each in first.reasons)


def test_a_copy_names_its_original() -> None:
    first = rows.MeasuredRow(
        id="first",
        source="",
        day="",
        llm="toy",
        gpu="h100-sxm",
        engine="vllm",
        version="1",
        weight_dtype="fp8",
        input_tokens=1000.0,
        output_tokens=1000.0,
        concurrency=4.0,
        layout=Layout(gpus=1),
        ttft_s=0.1,
        tpot_s=0.01,
        mode="agg",
    )
    other = replace(first, id="other", tpot_s=0.02)
    found = list(rows._without_copies([first, replace(first, id="second", llm="toy again"), other]))
    assert [row.reasons for row in found] == [(), ("repeats the figures of first",), ()]


def test_concurrency_is_the_stated_one_and_else_sequences_times_copies() -> None:
    row = {"batch_size": "8", "attention_dp_size": "4"}
    assert rows._concurrency(row, "dump; silicon_concurrency=64; measured=2026-01-01") == 64
    assert rows._concurrency(row, "dump") == 32
    assert rows._concurrency({"batch_size": "8", "attention_dp_size": ""}, "dump") == 8


def test_a_blank_format_is_sixteen_bits_and_fp4_of_a_native_mxfp4_llm_is_mxfp4(catalog: Catalog) -> None:
    assert rows._weight_dtype({"precision": ""}, catalog.llm("llama-3-1-8b")) == "bf16"
    assert rows._weight_dtype({"precision": "fp4"}, catalog.llm("gpt-oss-120b")) == "mxfp4"
    assert rows._weight_dtype({"precision": "fp4"}, catalog.llm("deepseek-r1")) == "nvfp4"


def test_requantised_copies_of_a_vendor_are_the_llm_they_copy(catalog: Catalog) -> None:
    assert rows._llm("nvidia/Llama-3.1-8B-Instruct-FP8", catalog=catalog)[0] == "llama-3-1-8b"
    assert rows._llm("nvidia/DeepSeek-R1-NVFP4", catalog=catalog)[0] == "deepseek-r1"
    assert rows._llm("nobody/Unheard-Of", catalog=catalog) == ("nobody/Unheard-Of", None)


def test_runs_with_hidden_drafts_are_told_by_release_and_day(read: list[MeasuredRow]) -> None:
    drafted = [row for row in read if row.has_drafts]
    assert {row.engine for row in drafted} == {"tensorrt_llm"}
    assert {row.version for row in drafted} == {"1.1.0rc2.post2", "1.2.0rc6.post3"}
    assert not any(row.day < "2026-01" for row in drafted if row.version == "1.1.0rc2.post2")


def test_a_row_is_a_spec_as_a_user_would_type_it(read: list[MeasuredRow]) -> None:
    row = next(row for row in read if row.layout == Layout(gpus=8, data_parallel=8, expert_parallel=8))
    spec = row.spec()
    assert (spec["gpus"], spec["tensor_parallel"], spec["data_parallel_attention"], spec["expert_parallel"]) == (
        8,
        1,
        8,
        8,
    )
    assert (spec["llm"], spec["concurrency"]) == (row.llm, row.concurrency)
