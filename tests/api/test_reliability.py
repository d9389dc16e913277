"""`/reliability/` and `/designs/{id}/reliability/`: a plan by the terms given, and each wrong term by its place."""

from __future__ import annotations

import pytest

from planner import kinds
from planner.api.shapes_reliability import ReliabilityAnswer
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

pytestmark = pytest.mark.usefixtures("real_kinds")
URL = "/api/v1/reliability/"
KIND = next(iter(kinds.all_kinds()))


def test_a_plan_has_its_shape_and_the_terms_it_was_made_with(alice: Caller) -> None:
    found = strict(alice.post(URL, {"kind": KIND, "terms": {"zones": 2.0, "availability": 0.95}}))
    ReliabilityAnswer.model_validate(found)
    assert (found["terms"]["zones"], found["zones"], found["target"]) == (2, 2, 0.95)
    assert found["terms"]["nodes_per_rack"] == 4
    assert {level["spares"] for level in found["pools"][0]["levels"]} >= {0, 1, 2, 3}
    assert found["rates"]["zone"]["source"]


def test_a_saved_design_is_planned_the_same_and_not_for_strangers(alice: Caller, world: World) -> None:
    made = strict(alice.post("/api/v1/designs/", {"kind": KIND, "name": "One"}))
    url = f"{made['url']}reliability/"
    assert strict(alice.post(url, {})) == strict(alice.post(URL, {"kind": KIND}))
    assert check_problem(world.caller("charlie").post(url, {}))["status"] == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"kind": KIND, "terms": {"zones": 0}}, "/terms/zones"),
        ({"kind": KIND, "terms": {"zone": 1}}, "/terms/zone"),
        ({"kind": KIND, "terms": {"availability": 1}}, "/terms/availability"),
        ({"kind": KIND, "terms": []}, "/terms"),
        ({"kind": KIND, "spec": {"no": 1}}, "/spec/no"),
        ({"kind": "none"}, "/kind"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(alice: Caller, body: dict[str, object], pointer: str) -> None:
    assert [error["pointer"] for error in check_problem(alice.post(URL, body))["errors"]] == [pointer]
