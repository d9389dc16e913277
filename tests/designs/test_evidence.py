"""Evidence and badges as every surface takes them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from planner.core.result import Answer, Beside, Column, Evidence, Metric, MetricDef, Result, Series
from planner.designs import badges, serial
from planner.designs.evidence import distance_words, evidence_view

COST = MetricDef("cost", "Cost", "USD/h")
FOUND = Evidence(
    id="run-00001",
    subject="decode unit",
    configuration="An LLM on 8 GPUs",
    differs=("GPU", "load"),
    distance=0.4321,
    figures=(Beside("tpot", "TPOT, mean", "s", 0.010, 0.012), Beside("ttft", "TTFT, mean", "s", 0.5, None)),
    source="a benchmark",
    source_url="https://example.org",
    said="The answer leans on it.",
    place={"gpu": "h100-sxm"},
    series="nearest",
)
TABLE = Series(
    "nearest",
    "Like it",
    (Column("what", "What", "", ["one", "two"]), Column("tpot_s", "TPOT", "s", [0.01, None])),
)


def result(*evidence: Evidence) -> Result:
    return Result(
        {"cost": Metric(COST, 1.0)}, Answer("cost", "It costs."), series={"nearest": TABLE}, evidence=evidence
    )


def test_a_measurement_is_shown_with_ours_beside_it() -> None:
    shown = evidence_view(result(FOUND))[0]
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert (shown["distance_text"], shown["distance_words"]) == ("0.43", "some way off")
    assert shown["differs_text"] == "GPU, load"
    first, second = shown["rows"]
    assert (first["measured"], first["estimate"], first["delta"]) == ("10\u00a0ms", "12\u00a0ms", "+20\u00a0%")
    assert (second["estimate"], second["delta"]) == ("—", "")
    assert [cell["text"] for cell in shown["table"]["rows"][1]] == ["two", "—"]
    assert [column["number"] for column in shown["table"]["header"]] == [False, True]


def test_without_its_series_or_without_tables_there_is_no_table() -> None:
    assert evidence_view(result(replace(FOUND, series="elsewhere")))[0]["table"] is None
    assert evidence_view(result(FOUND), tables=False)[0]["table"] is None
    assert evidence_view(result()) == []


def test_the_same_is_said_so() -> None:
    assert evidence_view(result(replace(FOUND, differs=(), distance=0.0)))[0]["differs_text"] == (
        "nothing that is stated"
    )


@pytest.mark.parametrize(("distance", "words"), [(0.0, "near"), (0.3, "near"), (0.31, "some way off"), (1.01, "far")])
def test_a_distance_has_a_word(distance: float, words: str) -> None:
    assert distance_words(distance) == words


def test_the_reply_of_the_api_carries_it_in_base_units() -> None:
    written = serial.result_json(result(FOUND))["evidence"][0]
    assert written["figures"][0] == {
        "name": "tpot",
        "label": "TPOT, mean",
        "unit": "s",
        "measured": 0.010,
        "estimate": 0.012,
    }
    assert written["distance"] == 0.4321
    assert written["differs"] == ["GPU", "load"]


def test_the_legend_holds_each_badge_that_occurs_once_the_surest_first() -> None:
    found = badges.legend(["extrapolated", "exact", "measured", "exact"])
    assert [row["basis"] for row in found] == ["exact", "measured", "extrapolated"]
    assert all(row["meaning"] for row in found)
    assert badges.words("extrapolated") == "extrapolated"
    assert (badges.words("estimate"), badges.meaning("estimate")) == ("estimate", "")
