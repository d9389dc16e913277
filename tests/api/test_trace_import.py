"""Traces over the API: bad rows told together or left out, and public traces at full length through a simulation."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner.catalog.models import Workload
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
