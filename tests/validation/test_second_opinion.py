"""The rows of the second opinion: every point is one, doubtful ones are set aside, batches are those of a copy."""

from __future__ import annotations

import csv

import pytest

from tests.validation import second_opinion


def point(**wanted: str) -> dict[str, str]:
    with second_opinion.POINTS.open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if all(row[name] == value for name, value in wanted.items()))


def test_every_point_is_a_row_and_doubtful_ones_say_why() -> None:
    rows = list(second_opinion.second_opinion())
    with second_opinion.POINTS.open(encoding="utf-8", newline="") as file:
        noted = [row for row in csv.DictReader(file) if row["note"]]
    aside = [row for row in rows if row.status == "set aside"]
    assert len(rows) == 363
    assert len(aside) == len(noted) == 15
    assert all(row.reason for row in aside)
    assert {row.unit for row in rows} == {"s"}


def test_prompts_of_a_batch_are_prefilled_one_by_one() -> None:
    llama = {"model": "meta-llama/Meta-Llama-3.1-8B", "gpu": "h100_sxm", "engine": "vllm", "phase": "prefill"}
    one, four = (point(**llama, batch=batch, isl_or_context="1024") for batch in ("1", "4"))
    layout = second_opinion._layout(one)
    assert second_opinion._predicted_s(four, layout=layout) == pytest.approx(
        4 * second_opinion._predicted_s(one, layout=layout)
    )


def test_batches_of_attention_copies_are_those_of_one_copy() -> None:
    # Eight copies of one sequence each touch more experts than one sequence on eight ranks does.
    deepseek = {"model": "deepseek-ai/DeepSeek-V3", "gpu": "h200_sxm", "engine": "sglang", "phase": "decode"}
    spread = point(**deepseek, attention_dp="8", batch="1")
    layout = second_opinion._layout(spread)
    assert (layout.data_parallel, layout.gpus, layout.expert_parallel) == (8, 8, 8)
    shared = point(**deepseek, attention_dp="1", batch="1", isl_or_context=spread["isl_or_context"])
    assert second_opinion._predicted_s(spread, layout=layout) > second_opinion._predicted_s(
        shared, layout=second_opinion._layout(shared)
    )
