from __future__ import annotations

import json

import pytest

from planner.charts import codec
from planner.designs import services, snapshot


@pytest.fixture
def view():
    return snapshot.view(services.estimate(kind="toy", spec={"unit_gpus": 64}, team=None), name="Fleet")


def test_the_picture_is_strict_json(view):
    assert json.loads(json.dumps(view, allow_nan=False)) == view


def test_inputs_are_grouped_shown_and_marked_where_changed(view):
    groups = {group["name"]: group for group in view["inputs"]["groups"]}
    assert list(groups) == ["Workload", "Fleet", "Objectives"]
    fields = {field["name"]: field for group in groups.values() for field in group["fields"]}
    assert [name for name, field in fields.items() if field["changed"]] == ["unit_gpus"]
    assert (view["inputs"]["changed"], view["inputs"]["total"]) == (1, 7)
    assert fields["layout"]["shown"] == "Disaggregated"
    assert (fields["gpu"]["shown"], fields["gpu"]["source"]) == ("Toy 1", "the toy maker")
    assert fields["ttft_slo_s"]["shown"] == "no objective"
    assert fields["unit_gpus"]["shown"].startswith("64")
    assert fields["unit_gpus"]["default_shown"].startswith("4")


def test_a_figure_that_does_not_exist_is_null_and_shown_as_a_dash(view):
    rows = {row["name"]: row for group in view["metrics"] for row in group["rows"]}
    assert (rows["margin"]["value"], rows["margin"]["text"]) == (None, "—")
    assert rows["gpus"]["value"] == 64


def test_metrics_come_in_the_groups_of_the_kind(view):
    assert [group["name"] for group in view["metrics"]] == ["Fleet", "Money", "Latency", "Load"]


def test_the_answer_card_carries_figure_severity_and_facts(view):
    answer = view["answer"]
    assert answer["figure"]["name"] == "cost_usd_per_m_requests"
    assert answer["figure"]["value"] == pytest.approx(64 * 2 / (95 * 3600) * 1e6)
    assert (answer["severity"], answer["ok"]) == ("error", False)
    assert [fact["name"] for fact in answer["facts"]] == ["gpus", "ttft_p99_s"]


@pytest.mark.parametrize(("slo", "verdict"), [(1.0, "error"), (2.0, "ok")])
def test_objectives_give_verdicts(slo, verdict):
    view = snapshot.view(services.estimate(kind="toy", spec={"ttft_slo_s": slo}, team=None), name="x")
    fact = next(fact for fact in view["answer"]["facts"] if fact["name"] == "ttft_p99_s")
    assert fact["verdict"] == verdict
    assert fact["objective_text"].startswith("≤")
    assert view["answer"]["ok"] is (verdict == "ok")


def test_a_finding_tells_what_its_change_would_cost(view):
    effect = view["findings"][0]["effect"]
    # units of 32: one carries 320 of 95 req/s, so half the bill of one unit of 64
    assert effect["cost"]["value"] == 64
    assert effect["cost"]["delta"]["absolute"] == -64
    assert (effect["cost"]["delta"]["relative"], effect["cost"]["delta"]["change"]) == (-0.5, "better")
    assert effect["ok"] is False
    assert [(change["label"], change["after"][:2]) for change in effect["changes"]] == [("Unit", "32")]


def test_variants_are_computed_and_those_that_cannot_be_say_why(view):
    good, nonsense, bare = view["variants"]
    assert good["figure"]["value"] == pytest.approx(10 * 2 / (95 * 3600) * 1e6)
    assert (good["ok"], good["error"], good["facts"][0]["value"]) == (True, "", 10)
    assert [row["name"] for row in good["moved"]] == ["gpus"]  # the margin is as unknown as before
    assert "moved" not in bare
    assert "greater than or equal to 1" in nonsense["error"]
    assert "toy-bare" in bare["error"]


def test_effects_can_be_left_out():
    view = snapshot.view(services.estimate(kind="toy", spec={}, team=None), name="x", effects=False)
    assert view["variants"][0] == {"label": "Units of 1", "change": {"unit_gpus": 1}}


def test_and_fetched_later(view):
    later = snapshot.effects_view(services.estimate(kind="toy", spec={"unit_gpus": 64}, team=None))
    assert later["variants"] == view["variants"]
    assert later["findings"] == [finding.get("effect") for finding in view["findings"]]


def test_charts_and_diagram_can_be_drawn_again(view):
    assert [codec.chart_from_dict(chart).name for chart in view["charts"]] == ["growth", "alone"]
    assert codec.diagram_from_dict(view["diagram"]).boxes[1].lines == ("64 GPUs",)


def test_the_five_steps_are_there(view):
    assert view["questions"][0]["state"] == "assumed"
    assert view["follow_ups"][0]["simulate"] == {"fail": True}
    assert view["simulator"]["options"][1]["name"] == "warm_up_s"


@pytest.mark.django_db
def test_a_saved_design_says_who_saved_which_revision(team, alice):
    design = services.design_create(team=team, user=alice, kind="toy", spec={}, name="Fleet", tags=["a"])
    head = snapshot.design_view(design)["design"]
    assert (head["name"], head["tags"], head["revision"], head["saved_by"]) == ("Fleet", ["a"], 1, "alice")
