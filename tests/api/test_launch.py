"""`/launch/`: commands and manifests of a spec and of a saved design; what is refused is an answer."""

from __future__ import annotations

from typing import Any

import pytest

from planner import kinds
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

pytestmark = pytest.mark.usefixtures("real_kinds")
URL = "/api/v1/launch/"
KIND = next(slug for slug in kinds.all_kinds() if "tensor_parallel" in kinds.get(slug).spec.model_fields)
SPEC: dict[str, Any] = {"llm": "llama-3-1-8b", "gpu": "h100-sxm", "gpus": 1, "max_model_len": 8192}


def test_a_spec_is_answered_with_its_command_and_where_each_setting_comes_from(alice: Caller) -> None:
    found = strict(alice.post(URL, {"kind": KIND, "spec": SPEC}))
    assert found["offered"] is True
    assert found["target"] == "vllm"
    assert found["commands"][0]["text"].startswith("vllm serve ")
    longest = next(row for row in found["settings"] if row["flag"] == "--max-model-len")
    assert (longest["value"], longest["field"]) == (8192, "max_model_len")
    assert longest["documented"]["url"].startswith("https://docs.vllm.ai/")


def test_a_setting_that_does_not_fit_is_an_answer(alice: Caller) -> None:
    response = alice.post(URL, {"kind": KIND, "spec": {**SPEC, "max_model_len": 5_000_000}})
    assert response.status_code == 200
    found = strict(response)
    assert found["offered"] is False
    assert found["commands"] == found["manifests"] == []
    refusal = next(row for row in found["refusals"] if row["flag"] == "--max-model-len")
    assert refusal["field"] == "max_model_len"
    assert "KV pool" in refusal["reason"]


def test_a_saved_design_is_started_with_another_engine(alice: Caller) -> None:
    design = strict(alice.post("/api/v1/designs/", {"kind": KIND, "name": "one", "spec": SPEC}))
    url = f"/api/v1/designs/{design['id']}/launch/"
    assert strict(alice.get(f"{url}?target=sglang"))["target"] == "sglang"
    assert check_problem(alice.get(f"{url}?target=odd"))["errors"][0]["parameter"] == "target"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"kind": "odd"}, "/kind"),
        ({"kind": KIND, "spec": {"llm": "nobody-knows"}}, "/spec/llm"),
        ({"kind": KIND, "spec": {"gpus": 0}}, "/spec/gpus"),
        ({"kind": KIND, "target": "odd"}, "/target"),
        ({"kind": KIND, "more": 1}, "/more"),
    ],
)
def test_bad_input_is_named(alice: Caller, body: dict[str, Any], pointer: str) -> None:
    response = alice.post(URL, body)
    assert response.status_code == 422
    assert [row["pointer"] for row in check_problem(response)["errors"]] == [pointer]


def test_a_strangers_design_is_not_there(alice: Caller, world: World) -> None:
    design = strict(alice.post("/api/v1/designs/", {"kind": KIND, "name": "one", "spec": SPEC}))
    assert Caller(token=world.token(world.charlie)).get(f"/api/v1/designs/{design['id']}/launch/").status_code == 404
