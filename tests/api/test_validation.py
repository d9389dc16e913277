"""`/validation/`: the errors by quantity, and its rows, filtered and paged."""

from __future__ import annotations

import pytest

from planner.catalog import validation
from planner.catalog.validation import Stored
from planner.core.validation import SEEN, UNSEEN, Row
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

ROWS = "/api/v1/validation/rows/"
TPOT = (
    Row(
        "tpot", "a", "someone", "https://example.org/a", "h100-sxm", "vllm", "x", "X", UNSEEN, 110.0, 100.0, 90.0, 130.0
    ),
    Row("tpot", "b", "someone", "", "h200-sxm", "vllm", "x", "X", UNSEEN, 140.0, 100.0, 120.0, 160.0),
    Row("tpot", "a", "someone", "", "h100-sxm", "vllm", "x", "X", SEEN, 102.0, 100.0),
    Row("tpot", "c", "someone", group=UNSEEN, measured=1.0, status="not expressible", reason="no such layout yet"),
)
OTHER = (Row("other", "z", "someone", predicted=1.0, measured=1.0),)


@pytest.fixture(autouse=True)
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Stored({"tpot": TPOT, "other": OTHER}, {"tpot": {"date": "2026-03-04", "catalog": "d", "rows": 4}})
    monkeypatch.setattr(validation, "stored", lambda: found)


@pytest.fixture
def vera(world: World) -> Caller:
    return world.caller("vera")


def test_the_errors_of_each_quantity_and_condition(vera: Caller) -> None:
    reply = strict(vera.get("/api/v1/validation/"))
    assert reply["as_of"] == "2026-03-04"
    tpot, other = reply["quantities"]
    unseen, seen = tpot["conditions"]
    assert (unseen["group"], unseen["n"], unseen["median"], unseen["p90"]) == (UNSEEN, 2, 25.0, 37.0)
    assert (unseen["coverage"], unseen["answered"], unseen["not_expressible"]) == (50.0, 66.6667, 1)
    assert {check["measure"]: check["met"] for check in unseen["checks"]} == {
        "median": False, "p90": False, "coverage": False, "answered": False,
    }  # fmt: skip
    assert (seen["n"], seen["median"], seen["coverage"]) == (1, 2.0, None)
    assert set(tpot["slices"]) >= {"all", "group:unseen", "group:seen", "gpu:h100-sxm", "engine:vllm", "family:X"}
    assert (other["quantity"], other["conditions"][0]["met"]) == ("other", None)
    assert strict(vera.get(tpot["rows_url"]))["count"] == 4


def test_rows_are_filtered_sorted_and_paged(vera: Caller) -> None:
    reply = strict(vera.get(f"{ROWS}?quantity=tpot&group=unseen+group&limit=1"))
    assert (reply["count"], reply["results"][0]["id"], reply["results"][0]["error_percent"]) == (3, "b", 40.0)
    assert reply["results"][0]["in_range"] is False
    found = strict(vera.get(f"{ROWS}?quantity=tpot&sort=error&gpu=h100-sxm"))["results"]
    assert [(row["id"], row["error_percent"]) for row in found] == [("a", 2.0), ("a", 10.0)]
    (left_out,) = strict(vera.get(f"{ROWS}?status=not+expressible"))["results"]
    assert (left_out["reason"], left_out["predicted"], left_out["error_percent"]) == ("no such layout yet", None, None)
    assert strict(vera.get(ROWS))["count"] == 5


@pytest.mark.parametrize(
    ("asked", "parameter"),
    [("quantity=speed", "quantity"), ("status=lost", "status"), ("sort=random", "sort"), ("colour=red", "colour")],
)
def test_a_question_that_makes_no_sense_is_told_why(vera: Caller, asked: str, parameter: str) -> None:
    response = vera.get(f"{ROWS}?{asked}")
    assert response.status_code == 422
    assert check_problem(response)["errors"][0]["parameter"] == parameter
