"""Job pages: the list, one that is followed until it ends, its results, cancelling and running again."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from types import SimpleNamespace

import pytest
from django.utils import timezone

from planner import kinds
from planner.catalog import services as catalogs
from planner.core.chart import Axis, Chart, Trace
from planner.core.result import Answer, Finding, Metric, Result
from planner.designs import services as designs
from planner.jobs import part_runner, runner, services, sweeps, warming
from planner.jobs.models import Job, State
from tests.web.library import TRACE, check_page, check_write, words
from tests.web.sample import COST, POWER, SAMPLE, estimate

pytestmark = pytest.mark.django_db

FRAGMENT = {"hx-request": "true", "hx-target": "job"}


def run(_spec, _catalog, request, hooks):
    """A simulation that finds twice the power, and fails on seed 13."""
    if request.seed == 13:
        raise ValueError("seed: thirteen is refused")
    hooks.progress(0.5, simulated_s=300, events=40)
    metrics = {"power_w": Metric(POWER, 2000.0, low=1900.0, high=2100.0, objective=2500.0, basis="simulated")}
    finding = Finding("hot", "warning", "It runs hot.")
    answer = Answer("power_w", "**It holds** for a while.")
    return Result(metrics, answer, findings=(finding,), provenance={"seed": request.seed, "interval": "95 %"})


def drawn(*_results):
    trace = Trace("Power", x=[0, 1], y=[1.0, 2.0])
    return [Chart("over-time", "Power over time?", "", "line", Axis("t", "s"), Axis("P", "W"), (trace,))]


class OfTwo:
    """Replications that all find the same."""

    def part(self, spec, catalog, request, hooks, *, place):
        return b"."

    def together(self, spec, catalog, request, *, parts):
        return run(spec, catalog, request, SimpleNamespace(progress=lambda *_, **__: None))


def install(monkeypatch, **simulator):
    """The sample kind with such a simulator; its estimates are its own, not those kept of another test's kind."""
    kind = dataclasses.replace(
        SAMPLE, estimate=functools.partial(estimate), simulator=dataclasses.replace(SAMPLE.simulator, **simulator)
    )
    monkeypatch.setattr(kinds, "all_kinds", lambda: {"sample": kind})
    return kind


@pytest.fixture(autouse=True)
def simulated_kind(monkeypatch):
    monkeypatch.setattr(services, "enqueue", lambda _job_id: None)
    monkeypatch.setattr(services.parts, "enqueue", lambda _job_id, **_: None)
    return install(monkeypatch, run=run, trial=OfTwo(), charts=drawn)


@pytest.fixture
def start(people, design):
    def started(**how):
        how = {"spec": design.spec, "design": design, "user": people.bob, **how}
        return services.simulation_start(team=people.team, kind="sample", **how)

    return started


@pytest.fixture
def finished(start):
    def done(**how):
        job = start(**how)
        runner.run(job.id, clock=timezone.now)
        return Job.objects.get(pk=job.pk)

    return done


def test_members_see_jobs_in_every_state(signed_in, start, finished):
    jobs = [start(seed=2), finished(), finished(seed=13)]
    for state in (State.RUNNING, State.CANCELLING, State.CANCELLED):
        job = start(seed=40 + len(jobs))
        Job.objects.filter(pk=job.pk).update(state=state, fraction=0.5, started_at=timezone.now())
        jobs.append(job)
    for job in jobs:
        check_page(signed_in, f"/jobs/{job.id}/")
    check_page(signed_in, "/jobs/")
    listed = words(signed_in("vera").get("/jobs/"))
    for words_of in ("Succeeded", "Failed", "Running", "Queued", "Cancelled", "Cancelling"):
        assert words_of in listed


def test_replications_are_counted_while_they_run_and_named_when_done(signed_in, start):
    job = start(replications=2)
    part_runner.run_part(job.id, place=0)
    assert "1 of 2 replications done" in words(signed_in("vera").get(f"/jobs/{job.id}/"))
    part_runner.run_part(job.id, place=1)
    done = words(signed_in("vera").get(f"/jobs/{job.id}/"))
    assert "2 replications" in done
    assert "replications done" not in done
    assert "intervals: 95 %" in done


def test_an_empty_list_says_what_to_do(signed_in):
    assert "No job yet." in words(signed_in("vera").get("/jobs/"))


def test_a_stranger_finds_nothing(signed_in, finished):
    job, client = finished(), signed_in("charlie")
    for ending in ("", "document/", "result.csv", "result.json"):
        assert client.get(f"/jobs/{job.id}/{ending}").status_code == 404
    for ending in ("cancel/", "again/"):
        assert client.post(f"/jobs/{job.id}/{ending}").status_code == 404
    assert "Twelve" not in words(client.get("/jobs/"))


@pytest.mark.parametrize("asked", [{"state": "\x00"}, {"state": "nonsense"}, {"purpose": "x"}, {"page": "99"}])
def test_odd_filters_are_answered(signed_in, start, asked):
    start()
    response = signed_in("vera").get("/jobs/", asked)
    assert response.status_code == 200
    assert "Twelve" in words(response)


def test_the_list_is_filtered(signed_in, finished, start):
    finished()
    waiting = start(seed=5)
    text = words(signed_in("vera").get("/jobs/", {"state": "active"}))
    assert text.count('<th scope="row">') == 1
    assert str(waiting.id) in text
    assert "No job like this." in words(signed_in("vera").get("/jobs/", {"purpose": "report"}))


def test_a_running_job_is_polled_until_it_ends(signed_in, start):
    job, client = start(), signed_in("vera")
    page = words(client.get(f"/jobs/{job.id}/"))
    assert f'hx-get="/jobs/{job.id}/" hx-trigger="every 1s" hx-swap="outerHTML"' in page
    Job.objects.filter(pk=job.pk).update(state=State.RUNNING, fraction=0.25, started_at=timezone.now())
    fragment = client.get(f"/jobs/{job.id}/", headers=FRAGMENT)
    text = words(fragment)
    assert "<html" not in text
    assert "<title>25 % · Twelve · Fleet planner</title>" in text
    assert '<progress class="big-progress" value="25" max="100"' in text
    assert 'hx-trigger="every 1s"' in text
    assert "HX-Request" in fragment["Vary"]
    Job.objects.filter(pk=job.pk).update(state=State.QUEUED)
    runner.run(job.id, clock=timezone.now)
    ended = words(client.get(f"/jobs/{job.id}/", headers=FRAGMENT))
    assert "hx-trigger" not in ended
    assert "<title>Twelve · Fleet planner</title>" in ended
    assert '<p hx-swap-oob="innerHTML:#status">Succeeded: Twelve</p>' in ended


def test_who_waits_for_simulators_to_get_ready_is_told(signed_in, start, monkeypatch):
    job, client = start(), signed_in("vera")
    assert "simulators ready" not in words(client.get(f"/jobs/{job.id}/"))

    def look():
        assert "waiting for a worker, which is getting its simulators ready" in words(client.get(f"/jobs/{job.id}/"))

    monkeypatch.setattr(warming, "warm_all", look)
    warming.warm_up()


def test_the_list_polls_only_while_something_runs(signed_in, start):
    job, client = start(), signed_in("vera")
    assert 'hx-trigger="every 2s"' in words(client.get("/jobs/"))
    runner.run(job.id, clock=timezone.now)
    rows = words(client.get("/jobs/", headers={"hx-request": "true", "hx-target": "rows"}))
    assert "hx-trigger" not in rows
    assert "<html" not in rows


def test_results_stand_beside_the_estimate(signed_in, finished):
    text = words(signed_in("vera").get(f"/jobs/{finished().id}/"))
    assert "<b>It holds</b> for a while." in text
    assert "It runs hot." in text
    assert "Power over time?" in text
    # 12 GPUs of 700 W were estimated
    row = re.search(r'<tr><th scope="row"[^>]*>Power</th>.*?</tr>', text).group(0)
    assert 'title="8400"' in row
    assert 'title="2000"' in row
    assert "1.90" in row
    assert "−76.2 %" in row
    assert "intervals: 95 %" in text
    assert "<dt>Events</dt><dd>40</dd>" in text
    assert "What was run" not in text  # it ran as designed


def test_results_come_as_csv_and_json(signed_in, finished):
    job, client = finished(), signed_in("vera")
    table = client.get(f"/jobs/{job.id}/result.csv").content.decode().splitlines()
    assert table == ["metric,label,unit,estimate,simulated,low,high", "power_w,Power,W,8400,2000,1900,2100"]
    result = json.loads(client.get(f"/jobs/{job.id}/result.json").content)
    assert result["metrics"]["power_w"]["value"] == 2000.0
    assert client.get(f"/jobs/{job.id}/result.xml").status_code == 404


def test_a_job_without_a_result_has_no_files(signed_in, start):
    job, client = start(), signed_in("vera")
    for ending in ("result.csv", "result.json", "document/"):
        assert client.get(f"/jobs/{job.id}/{ending}").status_code == 404


def test_a_failure_gives_reason_and_next_step(signed_in, finished):
    text = words(signed_in("bob").get(f"/jobs/{finished(seed=13).id}/"))
    assert "Seed: thirteen is refused." in text
    assert "Change the inputs or options" in text
    assert "Traceback" not in text
    assert "Run again" in text


def test_cancelling(signed_in, people, start):
    job = start()
    check_write(signed_in, people, f"/jobs/{job.id}/cancel/")
    assert "Cancel job" not in words(signed_in("vera").get(f"/jobs/{job.id}/"))
    client = signed_in("bob")
    assert "Cancel job" in words(client.get(f"/jobs/{job.id}/"))
    text = words(client.post(f"/jobs/{job.id}/cancel/", follow=True))
    assert "Cancelled. What was known by then" in text
    assert "hx-trigger" not in text
    job.refresh_from_db()
    assert job.state == State.CANCELLED
    assert client.post(f"/jobs/{job.id}/cancel/").url == f"/jobs/{job.id}/"  # again changes nothing


def test_a_running_job_is_asked_to_stop(signed_in, start):
    job = start()
    Job.objects.filter(pk=job.pk).update(state=State.RUNNING, started_at=timezone.now())
    text = words(signed_in("bob").post(f"/jobs/{job.id}/cancel/", follow=True))
    assert "stopping" in text
    assert 'hx-trigger="every 1s"' in text


def test_running_again(signed_in, people, start):
    job = start()
    services.job_cancel(job=job, user=people.bob)
    check_write(signed_in, people, f"/jobs/{job.id}/again/")
    response = signed_in("bob").post(f"/jobs/{job.id}/again/")
    again = Job.objects.exclude(pk=job.pk).get()
    assert response.url == f"/jobs/{again.id}/"
    assert (again.state, again.created_by) == (State.QUEUED, people.bob)


@pytest.mark.parametrize("why", ["finished", "kind", "spec", "workload", "design"])
def test_what_cannot_run_again_says_why(signed_in, people, start, finished, design, why):
    job = finished() if why == "finished" else start()
    said = "Only failed and cancelled jobs"
    if why != "finished":
        Job.objects.filter(pk=job.pk).update(state=State.FAILED)
    if why == "kind":
        Job.objects.filter(pk=job.pk).update(request={**job.request, "kind": "gone"})
        said = "no design kind"
    elif why == "spec":
        Job.objects.filter(pk=job.pk).update(request={**job.request, "spec": {"gone": 1}})
        said = "no longer fit"
    elif why == "workload":
        Job.objects.filter(pk=job.pk).update(request={**job.request, "workload": {"id": str(job.pk), "name": "x"}})
        said = "No such workload."
    elif why == "design":
        report = services.report_start(team=people.team, user=people.bob, design=design)
        Job.objects.filter(pk=report.pk).update(state=State.FAILED)
        designs.design_delete(design=design, user=people.bob)
        job, said = report, "has been deleted"
    before = Job.objects.count()
    response = signed_in("bob").post(f"/jobs/{job.id}/again/", follow=True)
    assert response.status_code == 200
    assert said in words(response)
    assert Job.objects.count() == before


def test_another_load_than_the_estimates_is_said(signed_in, people, finished):
    row = catalogs.workload_import(team=people.team, name="Our trace", data=TRACE, filename="ours.csv")
    job = finished(workload=row, options={"depth": 3})
    text = words(signed_in("vera").get(f"/jobs/{job.id}/"))
    assert "What was run" in text
    assert "not of the trace: a difference is one of load" in text
    assert '<th scope="row">Input, mean</th><td class="n">3,000 tokens</td><td class="n"><b>200 tokens</b></td>' in text
    assert "<dt>Depth</dt><dd>3</dd>" in text
    assert 'href="/workloads/our-trace/"' in text
    catalogs.workload_delete(workload=row, team=people.team)
    assert "has been deleted since" in words(signed_in("vera").get(f"/jobs/{job.id}/"))


def test_an_estimate_of_the_runs_own_load_is_said(signed_in, finished, monkeypatch):
    def expected(*_asked):
        return Result({"power_w": Metric(POWER, 1999.0), "cost_usd_per_h": Metric(COST, 1.0)}, Answer("power_w", ""))

    install(monkeypatch, run=run, charts=drawn, expected=expected)
    text = words(signed_in("vera").get(f"/jobs/{finished(options={'depth': 2}).id}/"))
    assert "of the load this run brought" in text
    assert 'title="1999"' in text


def test_a_report_opens_as_pdf(signed_in, people, design):
    job = services.report_start(team=people.team, user=people.bob, design=design)
    runner.run(job.id, clock=timezone.now)
    client = signed_in("vera")
    assert f'href="/jobs/{job.id}/document/"' in words(client.get(f"/jobs/{job.id}/"))
    response = client.get(f"/jobs/{job.id}/document/")
    assert response["Content-Type"] == "application/pdf"
    assert response["Content-Disposition"] == 'inline; filename="twelve.pdf"'
    assert response.content.startswith(b"%PDF-")


def test_following_a_job_takes_few_queries(signed_in, start, django_assert_max_num_queries):
    job, client = start(), signed_in("vera")
    client.get(f"/jobs/{job.id}/")
    with django_assert_max_num_queries(6):
        client.get(f"/jobs/{job.id}/", headers=FRAGMENT)


def test_a_finished_simulation_stands_beside_its_design(signed_in, design, finished):
    job = finished()
    text = words(signed_in("bob").get(f"/compare/?d={design.id}&d=s-{job.id}"))
    assert f'href="/jobs/{job.id}/"' in text
    assert "simulated, seed 1" in text
    assert f'value="s-{job.id}"' in words(signed_in("bob").get("/compare/"))
    assert f"d=s-{job.id}" in words(signed_in("bob").get(f"/jobs/{job.id}/"))
    for wrong in (f"s-{design.id}", "s-nonsense", "m-nonsense"):
        assert signed_in("bob").get(f"/compare/?d={design.id}&d={wrong}").status_code == 422


def test_a_sweep_is_followed_and_its_points_are_taken_along(signed_in, people, design):
    vary = [{"field": "gpus", "values": [1, 2, 4]}]
    job = sweeps.sweep_start(
        team=people.team, user=people.bob, kind="sample", spec=design.spec, design=design, vary=vary, against=""
    )
    Job.objects.filter(pk=job.pk).update(state=State.RUNNING, fraction=0.5, events=2, started_at=timezone.now())
    check_page(signed_in, f"/jobs/{job.id}/")
    assert "2 designs looked at" in words(signed_in("vera").get("/jobs/?purpose=sweep"))
    Job.objects.filter(pk=job.pk).update(state=State.QUEUED)
    runner.run(job.id, clock=timezone.now)
    page = signed_in("vera").get(f"/jobs/{job.id}/")
    assert "is the lowest of 3 designs" in words(page)
    rows = signed_in("vera").get(f"/jobs/{job.id}/result.csv").content.decode().splitlines()
    assert len(rows) == 4
    assert rows[1].startswith("0,1,2,700,ok,")
    assert signed_in("vera").get(f"/jobs/{job.id}/result.json").json()["best"] == 0
