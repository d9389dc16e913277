"""`/estimates/`: answers, and each sort of wrong input."""

from __future__ import annotations

import time
from typing import Any

import pytest

from planner.api.views.estimates import LARGEST_BATCH
from tests.api.caller import Caller, check_problem, strict

URL = "/api/v1/estimates/"
BATCH = "/api/v1/estimates/batch/"
H100_TDP_W = 700.0  # NVIDIA H100 datasheet, SXM


def pointers(response: Any) -> dict[str, str]:
    return {error["pointer"]: error["detail"] for error in check_problem(response)["errors"]}


class TestOne:
    def test_defaults_answer_with_the_complete_spec(self, alice: Caller) -> None:
        response = alice.post(URL, {"kind": "sample", "spec": {}})
        assert response.status_code == 200
        found = strict(response)
        assert found["spec"] == {
            "gpu": "h100-sxm", "gpus": 8, "load": 1.0, "limit_w": None, "precision": "bf16", "note": "",
        }  # fmt: skip
        power = found["metrics"]["power_w"]
        assert (power["value"], power["unit"], power["direction"]) == (8 * H100_TDP_W, "W", "lower")
        assert found["metrics"]["fp4_flops_per_s"]["value"] is None
        assert found["findings"] == []
        assert found["provenance"]["kind"] == "sample"
        assert found["provenance"]["catalog_digest"]

    def test_the_spec_may_be_left_out(self, alice: Caller) -> None:
        assert alice.post(URL, {"kind": "sample"}).status_code == 200

    def test_an_infeasible_design_is_an_answer(self, alice: Caller) -> None:
        found = strict(alice.post(URL, {"kind": "sample", "spec": {"limit_w": 100}}))
        assert [(row["code"], row["severity"]) for row in found["findings"]] == [("power_over_limit", "error")]
        assert found["metrics"]["power_w"]["met"] is False
        assert found["answer"]["severity"] == "error"

    def test_a_series_has_nulls_where_there_is_no_figure(self, alice: Caller) -> None:
        columns = strict(alice.post(URL, {"kind": "sample"}))["series"]["power"]["columns"]
        assert columns[1]["values"] == [H100_TDP_W, None]

    def test_of_a_great_many_unknown_fields_the_first_are_named(self, alice: Caller) -> None:
        """Only those: looking up the nearest name of each took a minute."""
        started = time.process_time()
        response = alice.post(URL, {"kind": "sample", "spec": {f"field{place}": 1 for place in range(50_000)}})
        assert len(pointers(response)) == 50
        assert time.process_time() - started < 4

    def test_integral_floats_pass_for_whole_numbers(self, alice: Caller) -> None:
        assert strict(alice.post(URL, {"kind": "sample", "spec": {"gpus": 4.0}}))["spec"]["gpus"] == 4

    @pytest.mark.parametrize(
        ("spec", "pointer", "word"),
        [
            ({"gpus": 0}, "/spec/gpus", "greater than 0"),
            ({"gpus": 10_001}, "/spec/gpus", "less than"),
            ({"gpus": 2.5}, "/spec/gpus", "integer"),
            ({"gpus": "8"}, "/spec/gpus", "integer"),
            ({"gpus": None}, "/spec/gpus", "integer"),
            ({"gpus": True}, "/spec/gpus", "integer"),
            ({"load": [1]}, "/spec/load", "number"),
            ({"limit_w": -1}, "/spec/limit_w", "greater than 0"),
            ({"precision": "fp3"}, "/spec/precision", "bf16"),
            ({"gppus": 1}, "/spec/gppus", "did you mean “gpus”"),
            ({"zzz": 1}, "/spec/zzz", "No such field"),
            ({"a/b~c": 1}, "/spec/a~1b~0c", "No such field"),
            ({"note": "x" * 201}, "/spec/note", "200"),
            ({"gpu": "h100-sxmm"}, "/spec/gpu", "h100-sxm"),
        ],
    )
    def test_a_bad_field_is_named_by_its_pointer(self, alice: Caller, spec: Any, pointer: str, word: str) -> None:
        response = alice.post(URL, {"kind": "sample", "spec": spec})
        assert response.status_code == 422
        found = pointers(response)
        assert set(found) == {pointer}
        assert word in found[pointer]

    def test_every_bad_field_is_named_at_once(self, alice: Caller) -> None:
        response = alice.post(URL, {"kind": "sample", "spec": {"gpus": 0, "load": 2, "x": 1}})
        assert set(pointers(response)) == {"/spec/gpus", "/spec/load", "/spec/x"}

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({}, "/kind"),
            ({"kind": 3}, "/kind"),
            ({"kind": "nothing"}, "/kind"),
            ({"kind": "sample", "spec": []}, "/spec"),
            ({"kind": "sample", "spec": None}, "/spec"),
            ({"kind": "sample", "specs": {}}, "/specs"),
            ([], ""),
            ("text", ""),
        ],
    )
    def test_a_bad_body_is_named_by_its_pointer(self, alice: Caller, body: Any, pointer: str) -> None:
        response = alice.post(URL, body)
        assert response.status_code == 422
        assert list(pointers(response)) == [pointer]

    def test_an_unknown_kind_is_told_which_there_are(self, alice: Caller) -> None:
        assert "sample" in pointers(alice.post(URL, {"kind": "nothing"}))["/kind"]

    def test_a_missing_figure_is_a_409_that_names_it(self, alice: Caller) -> None:
        response = alice.post(URL, {"kind": "sample", "spec": {"precision": "fp4"}})
        assert response.status_code == 409
        problem = check_problem(response)
        assert (problem["table"], problem["slug"], problem["figure"]) == ("gpus", "h100-sxm", "fp4_flops_per_s")
        assert problem["errors"][0]["pointer"] == "/spec/gpu"
        assert "fp4_flops_per_s" in problem["detail"]

    @pytest.mark.parametrize(
        "raw", [b"", b"{", b'{"kind": NaN}', b'{"kind": "sample", "spec": {"load": Infinity}}', b"\xff"]
    )
    def test_what_is_no_json_is_a_400(self, alice: Caller, raw: bytes) -> None:
        response = alice.post(URL, raw=raw)
        assert response.status_code == (422 if raw == b"" else 400)

    def test_another_content_type_is_a_415(self, alice: Caller) -> None:
        assert alice.post(URL, raw=b"kind=sample", Content_Type="text/plain").status_code == 415

    def test_a_body_too_large_is_a_413(self, alice: Caller) -> None:
        assert alice.post(URL, raw=b'{"kind": "' + b"x" * (9 * 2**20) + b'"}').status_code == 413

    def test_another_method_is_a_405_that_names_the_allowed(self, alice: Caller) -> None:
        response = alice.get(URL)
        assert response.status_code == 405
        assert "POST" in response["Allow"]

    def test_a_bug_is_a_500_logged_once_and_never_shown(self, alice: Caller, caplog: pytest.LogCaptureFixture) -> None:
        response = alice.post(URL, {"kind": "sample", "spec": {"note": "bug"}})
        assert response.status_code == 500
        assert b"swordfish" not in response.content
        assert b"ZeroDivision" not in response.content
        assert sum("swordfish" in str(record.exc_info) + record.getMessage() for record in caplog.records) == 1


class TestBatch:
    def test_each_spec_is_answered_in_order_by_an_estimate_or_a_problem(self, alice: Caller) -> None:
        specs = [{"gpus": 1}, {"gpus": 0}, {"precision": "fp4"}, 7, {"note": "bug"}, {"gpus": 2}]
        response = alice.post(BATCH, {"kind": "sample", "specs": specs})
        assert response.status_code == 200
        results = strict(response)["results"]
        assert [row.get("status", 200) for row in results] == [200, 422, 409, 422, 500, 200]
        assert [results[place]["metrics"]["power_w"]["value"] for place in (0, 5)] == [H100_TDP_W, 2 * H100_TDP_W]
        assert results[1]["errors"][0]["pointer"] == "/specs/1/gpus"
        assert results[2]["errors"][0]["pointer"] == "/specs/2/gpu"
        assert results[3]["errors"][0]["pointer"] == "/specs/3"

    @pytest.mark.parametrize("specs", [[], [{}] * (LARGEST_BATCH + 1), "x", None])
    def test_none_too_many_or_no_list_is_a_422(self, alice: Caller, specs: Any) -> None:
        response = alice.post(BATCH, {"kind": "sample", "specs": specs})
        assert response.status_code == 422
        assert list(pointers(response)) == ["/specs"]

    def test_a_thousand_are_answered(self, alice: Caller) -> None:
        response = alice.post(
            BATCH, {"kind": "sample", "specs": [{"gpus": 1 + place} for place in range(LARGEST_BATCH)]}
        )
        assert [row["spec"]["gpus"] for row in strict(response)["results"]] == list(range(1, LARGEST_BATCH + 1))


class TestKinds:
    def test_the_list_names_each_kind(self, alice: Caller) -> None:
        found = strict(alice.get("/api/v1/kinds/"))
        assert [row["kind"] for row in found["results"]] == ["sample"]

    def test_the_detail_says_what_a_spec_may_hold(self, alice: Caller) -> None:
        found = strict(alice.get("/api/v1/kinds/sample/"))
        assert found["spec_schema"]["properties"]["gpus"]["unit"] == "GPUs"
        assert found["spec_schema"]["additionalProperties"] is False
        assert found["defaults"]["gpus"] == 8
        assert {row["name"]: row["unit"] for row in found["metrics"]} == {"power_w": "W", "fp4_flops_per_s": "FLOP/s"}
        assert found["simulation_options"][0]["name"] == "depth"
        assert found["examples"][0]["spec"] == {"gpus": 2}

    def test_an_unknown_kind_is_a_404(self, alice: Caller) -> None:
        assert alice.get("/api/v1/kinds/nothing/").status_code == 404
