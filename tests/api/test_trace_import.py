"""Traces over the API: bad rows told together or left out, and public traces at full length through a simulation."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner.catalog import loading, selectors
from planner.catalog.models import Workload
from planner.jobs import runner, services
from tests.api.caller import Caller, check_problem, strict

URL = "/api/v1/workloads/import/"
GOOD = "arrival_s,input_tokens,output_tokens\n0,10,5\n1,20,6\n"
BAD = GOOD + "soon,1,1\n2,x,1\n3,1,1.5\n4,30,7\n"


def upload(caller: Caller, text: str | bytes, **form: Any) -> Any:
    content = text if isinstance(text, bytes) else text.encode()
    return caller.upload(URL, file=SimpleUploadedFile("ours.csv", content), name="Ours", **form)


@pytest.mark.django_db
def test_bad_rows_are_told_with_line_and_column_and_nothing_is_kept(bob: Caller) -> None:
    response = upload(bob, BAD)
    assert response.status_code == 422
    errors = check_problem(response)["errors"]
    assert [(row["line"], row["field"]) for row in errors[:-1]] == [
        (4, "arrival_s"),
        (5, "input_tokens"),
        (6, "output_tokens"),
    ]
    assert {row["pointer"] for row in errors} == {"/file"}
    assert "3 rows cannot be read" in errors[-1]["detail"]
    assert not Workload.objects.exists()


@pytest.mark.django_db
def test_bad_rows_are_left_out_when_asked_for(bob: Caller) -> None:
    response = upload(bob, gzip.compress(BAD.encode()), skip_bad_rows="true")
    assert response.status_code == 201
    facts = strict(response)["facts"]
    assert (facts["requests"], facts["rows"], facts["skipped_rows"]) == (3, 3, 3)
    assert facts["skipped"][0] == {
        "line": 4,
        "field": "arrival_s",
        "message": "“soon” is neither a number nor a date and time",
    }


@pytest.mark.django_db
def test_a_flag_is_true_or_false(bob: Caller) -> None:
    response = upload(bob, GOOD, skip_bad_rows="perhaps")
    assert check_problem(response)["errors"][0]["pointer"] == "/skip_bad_rows"
    assert upload(bob, GOOD, skip_bad_rows="false").status_code == 201


SHIPPED = Path(__file__).resolve().parents[2] / "planner" / "catalog" / "data" / "workloads"
PUBLISHED = {
    "azure-2023-code": (8_819, 2047.8, 27.9, None),
    "azure-2023-conversation": (19_366, 1154.7, 211.1, None),
    "mooncake-conversation": (12_031, 12_035, 343, 0.366),
    "mooncake-synthetic": (3_993, 15_325, 149, 0.640),
}
"""Rows, mean input and output, and the share of blocks that a cache without limit finds."""


@pytest.mark.django_db
@pytest.mark.parametrize("name", PUBLISHED)
def test_public_traces_are_imported_at_full_length(bob: Caller, name: str) -> None:
    response = upload(bob, (SHIPPED / f"{name}.csv.gz").read_bytes())
    assert response.status_code == 201, response.content
    facts, (rows, inputs, outputs, hits) = strict(response)["facts"], PUBLISHED[name]
    assert (facts["rows"], facts["requests"]) == (rows, rows)
    assert facts["input_tokens"] == pytest.approx(inputs, abs=0.5)
    assert facts["output_tokens"] == pytest.approx(outputs, abs=0.5)
    if hits is not None:
        # Of tokens here, of blocks there: the last block of a prompt is rarely full.
        assert facts["prefix_hit_rate"] == pytest.approx(hits, abs=0.02)
        assert facts["block_tokens"] == 512


@pytest.mark.usefixtures("real_kinds")
@pytest.mark.django_db
def test_an_imported_trace_is_stretched_and_simulated_whole(bob: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half its length at its own rate: half of its requests arrive, and all of them are answered."""
    loading.load_entries(selectors.shipped())
    monkeypatch.setattr(services, "enqueue", lambda _job_id: None)
    assert upload(bob, (SHIPPED / "azure-2023-conversation.csv.gz").read_bytes()).status_code == 201
    options = {"warp_to_s": 1800.0, "warp_keeps": "rate"}
    asked = {"kind": "llm_serving", "spec": {}, "workload": "ours", "options": options}
    job = strict(bob.post("/api/v1/simulations/", asked))
    runner.run(job["id"])
    result = strict(bob.get(strict(bob.get(job["url"]))["result_url"]))
    counts = {name: result["metrics"][f"requests_{name}"]["value"] for name in ("arrived", "finished", "in_flight")}
    assert counts["arrived"] == pytest.approx(19_366 / 2, rel=0.03)
    assert (counts["finished"], counts["in_flight"]) == (counts["arrived"], 0)
