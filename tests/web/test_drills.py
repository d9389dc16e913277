"""The page of a drill: started from the editor, followed while it runs, read, shared and kept as a table."""

from __future__ import annotations

import dataclasses
import functools
import re

import pytest

from planner import kinds
from planner.core.kind import FollowUp
from planner.core.result import Answer, Column, Metric, Result, Series
from planner.core.simulation import Drill, DrillVariant
from planner.designs.models import Drill as Kept
from planner.jobs import drills, runner, services
from planner.jobs.models import Job, State
from tests.web.library import check_page, check_write, words
from tests.web.sample import ADVICE, POWER, SAMPLE, estimate

pytestmark = pytest.mark.django_db

FRAGMENT = {"hx-request": "true", "hx-target": "drill"}


def run(spec, _catalog, request, hooks):
    """A run in which something happens after half a minute; a limit of 13 W makes it fail."""
    if spec.limit_w == 13.0:
        raise ValueError("limit_w: thirteen is refused")
    hooks.progress(0.5, simulated_s=30, events=40, partial={"requests_arrived": 500, "queued": 3})
    columns = (
        Column("time_s", "t", "s", [20.0, 40.0, 60.0]),
        Column("queued", "queued", "requests", [1.0, 50.0 * spec.gpus, 2.0]),
    )
    series = {
        "timeline": Series("timeline", "", columns),
        "events": Series("events", "", (Column("at_s", "", "s", [30.0]), Column("what", "", "", ["<b>GPU</b> lost"]))),
        "phases": Series(
            "phases", "", (Column("phase", "phase", "", ["before", "after"]), Column("power_w", "Power", "W", [10, 20]))
        ),
    }
    metrics = {"power_w": Metric(POWER, 100.0 * spec.gpus, basis="simulated")}
    return Result(
        metrics, Answer("power_w", "Held."), series=series, provenance={"seed": request.seed, "warmup_s": 6.0}
    )


DRILL = Drill(
    name="lose",
    label="Lose a GPU",
    question="A GPU is lost. Who notices?",
    how=lambda *_: {"duration_s": 60.0},
    variants=lambda *_: (DrillVariant("As it is"), DrillVariant("More GPUs", {"gpus": 16})),
    answer=lambda drilled: f"**{drilled[0].spec.gpus} GPUs** notice, {drilled[1].spec.gpus} do not: <i>so</i>.",
)


@pytest.fixture(autouse=True)
def drilled_kind(monkeypatch):
    monkeypatch.setattr(services, "enqueue", lambda _job_id: None)
    simulator = dataclasses.replace(SAMPLE.simulator, run=run, charts=lambda *_: [], drills=(DRILL,))
    asks = type(ADVICE)(**{**vars(ADVICE), "follow_ups": lambda *_: [FollowUp("A GPU?", "Gone.", drill="lose")]})
    kind = dataclasses.replace(SAMPLE, estimate=functools.partial(estimate), simulator=simulator, advice=asks)
    monkeypatch.setattr(kinds, "all_kinds", lambda: {"sample": kind})


@pytest.fixture
def drill(people, design):
    return drills.drill_start(
        team=people.team, user=people.bob, kind="sample", spec=design.spec, name="lose", design=design
    )


def run_all(drill):
    for one in drill.runs:
        runner.run(Job.objects.filter(key=one["key"]).latest("created_at").id)


def fields_of(page):
    """What the form of an editor would send."""
    return dict(re.findall(r'name="(peak_rps|gpus|gpu)"[^>]*value="([^"]*)"', page))


def test_the_editor_offers_it_and_starting_it_leads_to_its_page(signed_in, design):
    client = signed_in("bob")
    page = words(client.get(f"/designs/{design.id}/"))
    assert page.count('name="drill" value="lose"') == 2
    assert "Run the drill" in page
    response = client.post("/designs/drill/sample/", {"drill": "lose", "design": str(design.id), "gpus": "6"})
    kept = Kept.objects.get()
    assert response.url == f"/drills/{kept.comparison_id}/"
    assert [item["spec"]["gpus"] for item in kept.comparison.items] == [6, 16]
    assert kept.design is None, "the form was changed: it is no longer the saved design"


def test_a_drill_that_is_none_says_so_above_the_form(signed_in, design):
    response = signed_in("bob").post("/designs/drill/sample/", {"drill": "meteor", "design": str(design.id)})
    assert response.status_code == 422
    assert "No such drill; there are lose." in words(response)


def test_while_it_runs_the_page_asks_again_and_shows_each_run(signed_in, drill):
    job = Job.objects.get(key=drill.runs[0]["key"])
    Job.objects.filter(pk=job.pk).update(state=State.RUNNING, fraction=0.5, simulated_s=30)
    address = f"/drills/{drill.comparison_id}/"
    check_page(signed_in, address)
    page = words(signed_in("vera").get(address, headers=FRAGMENT))
    assert 'hx-trigger="every 1s"' in page
    assert "simulated 30.0 s of 1.00 min" in page or "simulated 00:00:30 of 00:01:00" in page
    assert "waiting for a worker" in page
    assert "25 % ·" in page


def test_the_answer_stands_first_and_is_escaped(signed_in, drill):
    run_all(drill)
    address = f"/drills/{drill.comparison_id}/"
    check_page(signed_in, address)
    page = words(signed_in("vera").get(address))
    assert "hx-trigger" not in page
    assert "<b>12 GPUs</b> notice, 16 do not: &lt;i&gt;so&lt;/i&gt;." in page
    assert page.index("notice, 16 do not") < page.index("The runs") < page.index("Before, during, after")
    assert "&lt;b&gt;GPU&lt;/b&gt; lost" in page
    assert "<b>GPU</b> lost" not in page
    assert '<span class="v" title="1200 W">1.20</span> <span class="u">kW</span>' in page


def test_a_run_that_fails_says_why_and_both_can_be_run_again(signed_in, people, design):
    failing = {**design.spec, "limit_w": 13.0}
    drill = drills.drill_start(team=people.team, user=people.bob, kind="sample", spec=failing, name="lose")
    run_all(drill)
    address = f"/drills/{drill.comparison_id}/"
    page = words(signed_in("bob").get(address))
    assert "thirteen is refused" in page
    assert f'action="{address}again/"' in page
    check_write(signed_in, people, f"{address}again/")
    assert signed_in("bob").post(f"{address}again/").url == address
    assert 'hx-trigger="every 1s"' in words(signed_in("bob").get(address))


def test_its_table_has_figures_and_phases(signed_in, drill):
    address = f"/drills/{drill.comparison_id}/figures.csv"
    assert len(signed_in("vera").get(address).content.decode().splitlines()) == 1
    run_all(drill)
    rows = signed_in("vera").get(address).content.decode().split("\r\n")
    assert rows[0] == "group,name,label,unit,A As it is,B More GPUs"
    assert rows[1] == "Site,power_w,Power,W,1200,1600"
    assert "A As it is,before,10" in rows


def test_a_shared_drill_shows_the_answer_to_anyone(signed_in, client, people, drill):
    run_all(drill)
    response = signed_in("bob").post(f"/compare/{drill.comparison_id}/share/", {"days": "30"})
    assert response.url == f"/drills/{drill.comparison_id}/#share"
    link = re.search(r'value="[^"]*(/s/[^"]+)"', signed_in("bob").get(response.url).content.decode())[1]
    page = words(client.get(link))
    assert "<b>12 GPUs</b> notice" in page
    assert "Before, during, after" in page
    assert "/jobs/" not in page


def test_strangers_find_nothing(signed_in, drill):
    for ending in ("", "figures.csv"):
        assert signed_in("charlie").get(f"/drills/{drill.comparison_id}/{ending}").status_code == 404
    assert signed_in("charlie").post(f"/drills/{drill.comparison_id}/again/").status_code == 404


def test_a_job_page_shows_the_clock_and_what_there_is_now(signed_in, drill):
    job = Job.objects.get(key=drill.runs[0]["key"])
    told = {"requests_arrived": 1234, "queued": 3, "course": {"time_s": [0.0, 10.0], "queued": [0, 3]}}
    Job.objects.filter(pk=job.pk).update(state=State.RUNNING, fraction=0.5, simulated_s=30, partial=told)
    page = words(signed_in("vera").get(f"/jobs/{job.id}/"))
    assert "The run so far" in page
    assert re.search(r"<dt>Arrived</dt><dd>1,234</dd>", page)
    assert "data-board" not in page
    runner.run(Job.objects.get(key=drill.runs[1]["key"]).id)
    assert f'href="/drills/{drill.comparison_id}/">part of a drill' in page
    done = words(signed_in("vera").get(f"/jobs/{Job.objects.get(key=drill.runs[1]['key']).id}/"))
    assert "The run, moment by moment" in done
    assert 'id="board-at"' in done
