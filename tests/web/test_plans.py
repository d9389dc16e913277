"""Pages of fleet plans: joining, changing, reading, deleting."""

from __future__ import annotations

import pytest

from planner import kinds
from planner.core.planning import Planning
from planner.core.ports import Offer, Ports, Take
from planner.designs import plans, services
from planner.designs.models import FleetPlan
from tests.web.library import check_page, check_write, words

pytestmark = pytest.mark.django_db
PORTS = Ports(
    offers=(Offer("request_rate", lambda spec, _result: float(spec.gpus)),),
    takes=(Take("request_rate", lambda _spec, value: {"gpus": int(value)}),),
)


@pytest.fixture(autouse=True)
def joinable(monkeypatch):
    """The sample kind sends its number of GPUs on, so that joins can be seen without the kinds of the product."""
    monkeypatch.setattr(kinds, "planning", lambda _slug: Planning(ports=PORTS))


@pytest.fixture
def pair(people, design):
    other = services.design_create(
        team=people.team, user=people.alice, kind="sample", spec={"gpus": 16}, name="Sixteen"
    )
    return [str(design.id), str(other.id)]


@pytest.fixture
def saved(people, pair):
    return plans.plan_of(pair, name="Both", team=people.team, user=people.alice)


def form(saved, **changes):
    members = saved.body["members"]
    names = [member["name"] for member in members]
    joins = ["\x1f".join((join["from"], join["to"], join["via"])) for join in saved.body["joins"]]
    return {
        "name": saved.name,
        "keep": names,
        "member_was": names,
        "member_name": names,
        "member_design": [member["design"] for member in members],
        "join": joins,
        "hours": "8",
        "share": "30",
        "switch_s": "15",
        **changes,
    }


def test_members_see_plans(signed_in, saved):
    for address in ("/plans/", f"/plans/{saved.id}/"):
        check_page(signed_in, address)


def test_writes_are_for_editors(signed_in, people, saved):
    for ending in ("save/", "delete/"):
        check_write(signed_in, people, f"/plans/{saved.id}/{ending}")
    check_write(signed_in, people, "/plans/new/")


def test_designs_are_joined_without_a_ring(signed_in, pair):
    response = signed_in("bob").post("/plans/new/", {"d": pair, "name": "Two"})
    plan = FleetPlan.objects.get()
    assert response["Location"] == f"/plans/{plan.id}/"
    assert len(plan.body["joins"]) == 1
    text = words(signed_in("bob").get(f"/plans/{plan.id}/"))
    assert "held already" in text or "→" in text


def test_one_design_is_no_plan(signed_in, pair):
    response = signed_in("bob").post("/plans/new/", {"d": pair[:1]}, follow=True)
    assert "Choose 2 to 8 designs." in words(response)
    assert not FleetPlan.objects.exists()


def test_members_are_renamed_with_their_joins(signed_in, saved):
    names = [member["name"] for member in saved.body["members"]]
    response = signed_in("bob").post(f"/plans/{saved.id}/save/", form(saved, member_name=["first", names[1]]))
    assert response.status_code == 302
    body = FleetPlan.objects.get().body
    assert [member["name"] for member in body["members"]] == ["first", names[1]]
    assert "first" in (body["joins"][0]["from"], body["joins"][0]["to"])
    assert body["night"] == {"hours": 8.0, "share": 0.3, "switch_s": 900.0}


@pytest.mark.parametrize(
    ("changes", "said"), [({"hours": "x"}, "number"), ({"share": "130"}, "less than"), ({"keep": []}, "2")]
)
def test_a_bad_form_is_refused_and_nothing_changes(signed_in, saved, changes, said):
    response = signed_in("bob").post(f"/plans/{saved.id}/save/", form(saved, **changes))
    assert response.status_code == 422
    assert said in words(response)
    assert FleetPlan.objects.get().body == saved.body


def test_a_deleted_design_is_named_and_can_be_left_out(signed_in, people, saved, design):
    services.design_delete(design=design, user=people.alice)
    text = words(signed_in("bob").get(f"/plans/{saved.id}/"))
    assert "No answer." in text
    assert "untick it" in text


def test_a_plan_is_deleted_and_its_designs_stay(signed_in, saved, design):
    response = signed_in("bob").post(f"/plans/{saved.id}/delete/", follow=True)
    assert "Its designs stay." in words(response)
    assert not FleetPlan.objects.exists()
    assert signed_in("bob").get(f"/designs/{design.id}/").status_code == 200


def test_the_bill_as_csv(signed_in, saved):
    lines = signed_in("bob").get(f"/plans/{saved.id}/bill.csv").content.decode().splitlines()
    assert lines[0] == "member,name,label,usd_per_h"
    assert lines[-1].startswith("total,")
