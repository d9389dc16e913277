"""A drill: variants simulated alike, kept side by side, and an answer once all of them have ended well."""

from __future__ import annotations

import json

import pytest

from planner.core import quantities
from planner.designs import selectors as designs_of
from planner.designs import services as designs
from planner.designs.models import Drill
from planner.designs.texts import InvalidField
from planner.jobs import drills, retrying, runner, services
from planner.jobs.drilled import drill_view, found_of
from planner.jobs.models import Job, State

pytestmark = pytest.mark.django_db


@pytest.fixture
def play(team, alice, queue):
    """Start the toy's drill."""

    def started(*, spec=None, name="lose-unit", **more):
        return drills.drill_start(team=team, user=alice, kind="toy", spec=spec or {}, name=name, **more)

    return started


def run_all(drill):
    for run in drill.runs:
        job = Job.objects.filter(key=run["key"]).latest("created_at")
        runner.run(job.id)


def test_both_variants_meet_the_same_requests(play):
    drill = play()
    asked = [Job.objects.get(key=run["key"]).request for run in drill.runs]
    assert [one["spec"]["unit_gpus"] for one in asked] == [4, 2]
    assert [(one["seed"], one["duration_s"], one["options"]["replicas"]) for one in asked] == [(3, 60.0, 2)] * 2
    assert [item["name"] for item in drill.comparison.items] == ["As it is", "Half units"]


def test_until_both_have_ended_it_says_how_far_they_are(play):
    drill = play()
    view = drill_view(drill)
    assert (view["state"], view["is_active"], view["answer"], view["percent"]) == ("queued", True, None, 0)
    runner.run(Job.objects.get(key=drill.runs[0]["key"]).id)
    view = drill_view(drill)
    assert (view["is_active"], view["answer"], view["percent"]) == (True, None, 50)
    assert [run["job"]["state"] for run in view["runs"]] == ["succeeded", "queued"]


def test_the_answer_is_the_kinds_from_specs_estimates_and_results(play):
    drill = play(spec={"ttft_slo_s": 2.0})
    run_all(drill)
    view = drill_view(drill)
    # 95 req/s over units of 4 (40 req/s) buys 12 GPUs, over units of 2 (20 req/s) 10: 24 and 20 USD/h.
    assert view["answer"] == "**As it is: 6 s; Half units: 3 s**, 4 USD/h, objective 2.0"
    assert (view["state"], view["is_active"], view["percent"]) == ("succeeded", False, 100)
    assert json.loads(json.dumps(view, allow_nan=False)) == view


def test_what_was_found_stands_side_by_side(play):
    drill = play()
    run_all(drill)
    view = drill_view(drill)
    assert view["phases"]["columns"] == ["phase", "TTFT P99"]
    cells = [(row["run"], *row["cells"]) for row in view["phases"]["rows"]]
    assert cells[1] == ("A As it is", "during", quantities.show(6.0, "s"))
    assert cells[5] == ("B Half units", "after", "—")
    assert [chart["name"] for chart in view["charts"]] == ["growth"]
    assert [row["name"] for group in view["metrics"] for row in group["rows"]] == ["ttft_p99_s", "goodput"]
    (changes,) = [run["changes"] for run in view["runs"][1:]]
    assert changes == {"unit_gpus": 2}


def test_its_runs_are_read_off_along_one_time_with_what_happened(play):
    drill = play()
    run_all(drill)
    board = drill_view(drill)["board"]
    assert board["runs"] == ["A As it is", "B Half units"]
    assert [(moment["what"], moment["at_s"]) for moment in board["moments"]] == [("unit lost", 30.0), ("back", 40.0)]
    queued, up = board["data"]["texts"]
    assert [texts[2] for texts in queued] == [quantities.show(28.0, "requests"), quantities.show(14.0, "requests")]
    assert [texts[2] for texts in up] == [quantities.show(2.0, "units")] * 2
    assert len(board["data"]["x"]) == len(board["data"]["clock"]) == 6


def test_while_they_run_their_lines_grow_along_one_time(play):
    drill = play()
    first, second = (Job.objects.get(key=run["key"]) for run in drill.runs)
    assert drill_view(drill)["board"] is None
    told = {"queued": 3, "course": {"time_s": [0.0, 6.0], "queued": [0, 3]}}
    Job.objects.filter(id=second.id).update(state=State.RUNNING, fraction=0.1, simulated_s=6.0, partial=told)
    growing = drill_view(drill)["board"]
    assert growing["grows"]
    (queued,) = growing["strips"]
    assert queued["last"] == ["—", quantities.show(3.0, "requests")], "the second keeps its place and its hue"
    assert growing["data"]["x"] == [0.0, 100.0], "a tenth of the way"
    runner.run(first.id)
    strips = {strip["label"]: strip["last"] for strip in drill_view(drill)["board"]["strips"]}
    assert {label.lower() for label in strips} == {"queued", "units up"}
    assert all(last[0] != "—" for last in strips.values())


def test_what_happened_in_one_run_only_names_it(play):
    drill = play()
    run_all(drill)
    lost = Job.objects.get(key=drill.runs[1]["key"])
    lost.result["series"]["events"]["columns"][1]["values"] = ["unit lost", "late"]
    lost.save()
    whats = [moment["what"] for moment in drill_view(drill)["board"]["moments"]]
    assert whats == ["unit lost", "A: back", "B: late"]


def test_the_same_drill_is_kept_once_and_another_seed_is_another(play):
    drill = play()
    run_all(drill)
    assert play().comparison_id == drill.comparison_id
    assert play(seed=8).comparison_id != drill.comparison_id
    assert Drill.objects.count() == 2


def test_what_failed_is_run_again_under_the_same_address(play, alice):
    drill = play()
    first, second = (Job.objects.get(key=run["key"]) for run in drill.runs)
    runner.run(first.id)
    services.job_cancel(job=second, user=alice)
    assert drill_view(drill)["state"] == "cancelled"
    again = drills.drill_again(drill=drill, user=alice)
    assert again.comparison_id == drill.comparison_id
    assert drill_view(drill)["is_active"]
    run_all(drill)
    assert drill_view(drill)["answer"]


def test_a_job_that_was_run_again_from_its_own_page_counts(play, alice):
    drill = play()
    job = Job.objects.get(key=drill.runs[1]["key"])
    services.job_cancel(job=job, user=alice)
    job.refresh_from_db()
    retrying.job_retry(job=job, user=alice)
    run_all(drill)
    assert drill_view(drill)["answer"]


def test_deleted_jobs_leave_no_answer_and_can_be_run_again(play, alice):
    drill = play()
    run_all(drill)
    Job.objects.filter(key=drill.runs[0]["key"]).delete()
    view = drill_view(drill)
    assert (view["state"], view["answer"], view["runs"][0]["job"]) == (State.FAILED, None, None)
    run_all(drills.drill_again(drill=drill, user=alice))
    assert drill_view(drill)["answer"]


def test_of_a_saved_design_it_keeps_the_design_and_the_inputs_of_its_time(play, team, alice):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={"rate_rps": 50}, name="Fleet")
    drill = play(spec=design.spec, design=design)
    assert (drill.design, drill.design_revision) == (design, 1)
    designs.design_update(design=design, user=alice, expected_revision=1, spec={"rate_rps": 80})
    view = drill_view(drill)
    assert [run["spec"]["rate_rps"] for run in view["runs"]] == [50, 50]
    assert view["title"] == "Lose a unit: Fleet"


def test_a_name_that_no_drill_has_is_refused(play):
    with pytest.raises(InvalidField, match="lose-unit"):
        play(name="meteor")
    assert not Job.objects.exists()


def test_strangers_do_not_see_it(play, stranger):
    drill = play()
    with pytest.raises(Drill.DoesNotExist):
        designs_of.drill(stranger, drill.comparison_id)


def test_a_shared_drill_shows_its_answer_and_no_name_of_a_person(play, alice):
    drill = play()
    assert found_of(drill.comparison)["drill"] is None
    run_all(drill)
    found = found_of(drill.comparison)
    assert found["drill"]["answer"].startswith("**As it is")
    assert "alice" not in json.dumps(found)
