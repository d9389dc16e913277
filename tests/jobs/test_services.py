from __future__ import annotations

import io
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError
from pydantic import ValidationError

from planner.catalog import selectors as catalog_selectors
from planner.catalog.models import Workload
from planner.core.catalog import MissingFigure
from planner.designs import services as designs
from planner.designs.services import InvalidField
from planner.jobs import requests, retrying, runner, selectors, services, tasks
from planner.jobs.models import Job, State
from tests.designs import toy

pytestmark = pytest.mark.django_db


def test_the_row_comes_first_and_is_queued_when_the_transaction_commits(
    team, alice, queue, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        job = services.simulation_start(team=team, user=alice, kind="toy", spec={})
        assert Job.objects.filter(id=job.id, state="queued").exists()
        assert queue == []
    assert queue == [job.id]


def test_the_request_is_complete_with_defaults_and_the_estimate(start):
    request = start(options={"warm_up_s": 5}).request
    assert request["spec"] == toy.ToySpec().model_dump(mode="json")
    assert request["options"] == {"trouble": "", "warm_up_s": 5.0, "replicas": 1, "strict": False}
    assert (request["duration_s"], request["seed"], request["workload"]) == (600.0, 1, None)
    assert request["estimate"]["gpus"]["value"] == 12


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": True}, "seed"),
        ({"duration_s": 0}, "duration_s"),
        ({"duration_s": float("nan")}, "duration_s"),
        ({"duration_s": float("inf")}, "duration_s"),
        ({"duration_s": "60"}, "duration_s"),
        ({"requests": 0}, "requests"),
        ({"requests": 1001}, "requests"),
        ({"workload": "no-such-trace"}, "workload"),
        ({"options": {"colour": 1}}, "options/colour"),
        ({"options": [1]}, "options"),
        ({"options": {"trouble": "unheard"}}, "options/trouble"),
        ({"options": {"trouble": ["bug"]}}, "options/trouble"),
        ({"options": {"warm_up_s": -1}}, "options/warm_up_s"),
        ({"options": {"warm_up_s": 3601}}, "options/warm_up_s"),
        ({"options": {"warm_up_s": "5"}}, "options/warm_up_s"),
        ({"options": {"replicas": 1.5}}, "options/replicas"),
        ({"options": {"strict": 1}}, "options/strict"),
    ],
)
def test_what_cannot_be_run_names_its_field_and_leaves_no_row(start, monkeypatch, how, field):
    def unknown(slug, *, team):
        raise Workload.DoesNotExist

    monkeypatch.setattr(catalog_selectors, "workload", unknown)
    with pytest.raises(InvalidField) as caught:
        start(**how)
    assert caught.value.field == field
    assert not Job.objects.exists()


def test_what_the_estimate_refuses_is_refused_at_once(start):
    with pytest.raises(ValidationError):
        start(spec={"rate_rps": -1})
    with pytest.raises(MissingFigure):
        start(spec={"gpu": "toy-bare"})
    assert not Job.objects.exists()


def test_a_kind_without_a_simulator_says_so(team, alice):
    with pytest.raises(InvalidField, match="kind"):
        services.simulation_start(team=team, user=alice, kind="other", spec={})


def test_a_profile_cannot_be_replayed(start, team):
    profile = Workload.objects.create(slug="p", name="P", form="profile", team=team)
    with pytest.raises(InvalidField, match="workload"):
        start(workload=profile)


@pytest.fixture
def done(start):
    job = start()
    runner.run(job.id)
    return Job.objects.get(id=job.id)


def test_a_run_names_the_revision_only_if_it_ran_what_was_saved(start, team, alice):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={}, name="Fleet")
    assert start(design=design).design_revision == 1
    draft = start(design=design, spec={"rate_rps": 96})
    assert (draft.design_id, draft.design_revision) == (design.id, None)


def test_the_same_inputs_give_the_stored_result_back(start, done, queue):
    queue.clear()
    again = start(spec={"rate_rps": 95.0}, options={"strict": False})
    assert (again.state, again.result, again.fraction) == ("succeeded", done.result, 1.0)
    assert again.id != done.id
    assert again.message
    assert queue == []


@pytest.mark.parametrize(
    "how",
    [{"seed": 2}, {"duration_s": 60}, {"requests": 5}, {"options": {"strict": True}}, {"spec": {"rate_rps": 96}}],
    ids=lambda how: next(iter(how)),
)
def test_any_other_input_is_another_run(start, done, how):
    assert start(**how).state == "queued"


def test_another_catalog_is_another_run(start, done, monkeypatch):
    monkeypatch.setattr(toy.ToyCatalog, "digest", "d2")
    assert start().state == "queued"


def test_another_code_version_is_another_run(start, done, settings):
    settings.VERSION = "99.0.0"
    assert start().state == "queued"


def test_other_sources_of_the_same_version_are_another_run(start, done, monkeypatch):
    assert start().state == "succeeded"
    monkeypatch.setattr(requests, "code_digest", lambda: "other sources")
    assert start().state == "queued"


def test_another_teams_result_is_not_given_away(start, done, stranger):
    assert start(of=stranger).state == "queued"


def test_asking_twice_while_waiting_gives_the_same_job(start, queue):
    assert start().id == start().id
    assert len(queue) == 1
    assert start(user=None).id != queue[0]


def trace(tokens: int) -> bytes:
    """Three requests of a trace as they are stored."""
    lengths = np.full(3, tokens)
    stored = io.BytesIO()
    np.savez_compressed(stored, arrival_s=np.arange(3.0), input_tokens=lengths, output_tokens=lengths)
    return stored.getvalue()


def test_the_trace_is_part_of_the_key(start, team, monkeypatch):
    one, two = (
        Workload.objects.create(slug=name, name=name, form="trace", team=team, columns=trace(tokens))
        for name, tokens in (("a", 10), ("b", 20))
    )
    keys = {start(workload=one).key, start(workload=two).key, start().key}
    Workload.objects.filter(id=one.id).update(columns=trace(30))
    one.refresh_from_db()
    assert len(keys | {start(workload=one).key}) == 4


def test_a_queued_job_is_cancelled_at_once_and_never_runs(start, alice):
    job = services.job_cancel(job=start(), user=alice)
    assert (job.state, bool(job.finished_at)) == ("cancelled", True)
    runner.run(job.id)
    assert Job.objects.get().state == "cancelled"


def test_a_running_job_is_asked_to_stop(start, alice):
    job = start()
    runner.claim(job.id, now=timezone.now())
    job = services.job_cancel(job=job, user=alice)
    assert (job.state, job.finished_at) == ("cancelling", None)
    assert job.cancel_requested_at is not None


@pytest.mark.parametrize("state", ["cancelling", "succeeded", "failed", "cancelled"])
def test_cancelling_again_or_too_late_changes_nothing(start, alice, state):
    job = start()
    Job.objects.update(state=state)
    after = services.job_cancel(job=job, user=alice)
    assert (after.state, after.cancel_requested_at) == (state, None)


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_job_that_did_not_succeed_can_be_tried_again(start, alice, queue, state, django_capture_on_commit_callbacks):
    job = start(seed=7, options={"strict": True}, requests=9)
    Job.objects.update(state=state)
    with django_capture_on_commit_callbacks(execute=True):
        again = retrying.job_retry(job=Job.objects.get(), user=alice)
    assert (again.state, again.key) == ("queued", job.key)
    assert queue == [job.id, again.id]


@pytest.mark.parametrize("state", ["queued", "running", "cancelling", "succeeded"])
def test_other_jobs_cannot(start, alice, state):
    start()
    Job.objects.update(state=state)
    with pytest.raises(retrying.NotRetryable):
        retrying.job_retry(job=Job.objects.get(), user=alice)


@pytest.fixture
def beat(django_capture_on_commit_callbacks):
    def tick(now):
        with django_capture_on_commit_callbacks(execute=True):
            return services.requeue_silent(now=now)

    return tick


def test_a_silent_job_is_queued_again_once_then_failed(start, queue, beat, settings):
    job, begun = start(), timezone.now()
    queue.clear()
    silence = timedelta(seconds=settings.JOB_SILENT_AFTER_S + 1)
    runner.claim(job.id, now=begun)
    assert beat(begun + timedelta(seconds=settings.JOB_SILENT_AFTER_S - 1)) == 0
    beat(begun + silence)
    assert (Job.objects.get().state, queue) == ("queued", [job.id])
    runner.claim(job.id, now=begun + silence)
    beat(begun + 2 * silence + timedelta(seconds=1))
    after = Job.objects.get()
    assert (after.state, after.attempts) == ("failed", 2)
    assert after.error["suggestion"]
    assert "failed" in [line.event for line in selectors.log_lines(after)]


def test_a_silent_job_that_was_to_stop_is_cancelled(start, alice, beat):
    job, begun = start(), timezone.now()
    runner.claim(job.id, now=begun)
    services.job_cancel(job=job, user=alice)
    beat(begun + timedelta(hours=1))
    assert Job.objects.get().state == "cancelled"


def test_a_restarted_worker_takes_back_what_it_ran(start, alice, queue, django_capture_on_commit_callbacks):
    mine, stopping, other = start(seed=1), start(seed=2), start(seed=3)
    for job, worker in ((mine, "w1"), (stopping, "w1"), (other, "w2")):
        runner.claim(job.id, now=timezone.now(), worker=worker)
    services.job_cancel(job=stopping, user=alice)
    queue.clear()
    with django_capture_on_commit_callbacks(execute=True):
        tasks.take_back(SimpleNamespace(hostname="w1"))
    assert [Job.objects.get(id=job.id).state for job in (mine, stopping, other)] == ["queued", "cancelled", "running"]
    assert queue == [mine.id]


def test_a_job_nobody_took_is_offered_again_at_growing_intervals(start, queue, beat):
    job = start()
    queue.clear()
    offered = [second for second in range(0, 600, 15) if beat(job.created_at + timedelta(seconds=second))]
    assert offered == [45, 90, 180, 360]
    assert queue == [job.id] * 4


def test_a_broker_that_is_down_leaves_the_job_to_beat(monkeypatch, team, alice, django_capture_on_commit_callbacks):
    def down(**_):
        raise OperationalError("connection refused")

    monkeypatch.setattr(tasks.run_job, "apply_async", down)
    with django_capture_on_commit_callbacks(execute=True):
        services.simulation_start(team=team, user=alice, kind="toy", spec={})
    assert Job.objects.get().state == "queued"


def test_a_report_is_of_one_thing_on_a_known_paper(team, alice):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={}, name="Fleet")
    with pytest.raises(ValueError, match="one"):
        services.report_start(team=team, user=alice)
    with pytest.raises(InvalidField, match="paper"):
        services.report_start(team=team, user=alice, design=design, paper="a5")


@pytest.fixture
def printed(monkeypatch):
    """Stands in for the report builder; what it was asked to print."""
    views = []

    def document(view, *, paper):
        views.append((view, paper))
        return b"%PDF"

    import planner.reports

    monkeypatch.setattr(
        planner.reports, "build", SimpleNamespace(document=document, comparison_document=document), raising=False
    )
    return views


def test_a_report_is_made_once_and_again_when_the_design_changes(team, alice, queue, printed):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={}, name="Fleet")
    job = services.report_start(team=team, user=alice, design=design)
    runner.run(job.id)
    job = selectors.job(team, job.id)
    assert (job.state, selectors.document(job)) == ("succeeded", b"%PDF")
    assert (job.result["filename"], job.result["bytes"]) == ("fleet.pdf", 4)
    assert services.report_start(team=team, user=alice, design=design).state == "succeeded"
    assert services.report_start(team=team, user=alice, design=design, paper="letter").state == "queued"
    design = designs.design_update(design=design, user=alice, expected_revision=1, name="Renamed")
    assert services.report_start(team=team, user=alice, design=design).state == "queued"


def test_a_report_shows_the_revision_it_was_asked_for(team, alice, queue, printed):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={"rate_rps": 50}, name="Fleet")
    job = services.report_start(team=team, user=alice, design=design)
    designs.design_update(design=design, user=alice, expected_revision=1, spec={"rate_rps": 500})
    runner.run(job.id)
    view, paper = printed[0]
    assert (view["spec"]["rate_rps"], view["design"]["revision"], paper) == (50, 1, "a4")


def test_a_comparison_is_reported_anew_when_one_of_its_designs_changes(team, alice, queue, printed):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={}, name="Fleet")
    items = [{"design": str(design.id)}, {"kind": "toy", "spec": {"unit_gpus": 8}}]
    comparison = designs.comparison_create(team=team, user=alice, items=items)
    job = services.report_start(team=team, user=alice, comparison=comparison)
    runner.run(job.id)
    assert Job.objects.get(id=job.id).state == "succeeded"
    assert services.report_start(team=team, user=alice, comparison=comparison).state == "succeeded"
    designs.design_update(design=design, user=alice, expected_revision=1, spec={"rate_rps": 500})
    assert services.report_start(team=team, user=alice, comparison=comparison).state == "queued"


def test_a_report_of_a_design_deleted_meanwhile_fails_with_a_reason(team, alice, queue, printed):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={}, name="Fleet")
    job = services.report_start(team=team, user=alice, design=design)
    designs.design_delete(design=design, user=alice)
    runner.run(job.id)
    job = Job.objects.get(id=job.id)
    assert (job.state, job.error["message"]) == (State.FAILED, "The design has been deleted.")


def test_purging_removes_designs_deleted_long_ago_but_keeps_their_jobs(team, alice, start):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={}, name="Fleet")
    job = start(design=design)
    type(design).objects.update(deleted_at=timezone.now() - timedelta(days=31))
    tasks.purge()
    job.refresh_from_db()
    assert job.design_id is None
