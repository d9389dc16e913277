from __future__ import annotations

import json
import logging
from datetime import timedelta
from time import sleep
from uuid import uuid4

import pytest
from django.utils import timezone

from planner.charts import codec
from planner.core.simulation import Cancelled
from planner.jobs import hooks, runner, selectors, services
from planner.jobs.models import Job, State
from tests.designs import toy

pytestmark = pytest.mark.django_db


def run(job, **how):
    runner.run(job.id, **how)
    return Job.objects.get(id=job.id)


def events(job):
    return [line.event for line in selectors.log_lines(job)]


def test_a_run_stores_the_result_beside_the_estimate(start):
    job = run(start(seed=3), worker="w1")
    assert (job.state, job.fraction, job.worker, job.attempts) == ("succeeded", 1.0, "w1", 1)
    assert (job.simulated_s, job.events) == (60.0, 1000)
    assert job.result["metrics"]["ttft_p99_s"]["value"] == 1.503
    assert job.result["estimate"]["metrics"]["gpus"]["value"] == 12
    assert codec.chart_from_dict(job.result["charts"][0]).name == "growth"
    assert events(job) == ["queued", "started", "done"]


def test_the_result_names_everything_that_made_it(start, settings):
    made = run(start(seed=3)).result["provenance"]
    assert made == {
        "kind": "toy",
        "spec_version": 1,
        "catalog_digest": "d1",
        "catalog_as_of": "2026-11-24",
        "code_version": settings.VERSION,
        "seed": 3,
        "duration_s": 600.0,
        "requests": None,
        "workload": None,
        "replications": 1,
        "options": {"trouble": "", "warm_up_s": 60.0, "replicas": 1, "strict": False},
    }


def test_the_same_request_gives_the_same_bytes(start, stranger):
    first, second = run(start()), run(start(of=stranger))
    assert json.dumps(first.result, sort_keys=True) == json.dumps(second.result, sort_keys=True)


def test_a_second_delivery_does_nothing(start):
    job = run(start())
    assert run(job).finished_at == job.finished_at
    assert events(job) == ["queued", "started", "done"]


def test_a_second_delivery_while_running_does_nothing(start):
    job, now = start(), timezone.now()
    assert runner.claim(job.id, now=now) is not None
    assert runner.claim(job.id, now=now + timedelta(seconds=1)) is None


def test_a_delivery_after_the_worker_went_silent_takes_over_once(start, settings):
    job, now = start(), timezone.now()
    silence = timedelta(seconds=settings.JOB_SILENT_AFTER_S + 1)
    runner.claim(job.id, now=now)
    assert runner.claim(job.id, now=now + silence).attempts == 2
    assert runner.claim(job.id, now=now + 2 * silence) is None


def test_an_unknown_job_is_ignored():
    runner.run(uuid4())
    assert not Job.objects.exists()


@pytest.fixture
def at_slice(monkeypatch):
    """Do something in the middle of a run, as the user or another worker would."""

    def arrange(action):
        monkeypatch.setattr(hooks, "WRITE_EVERY_S", 0.0)
        monkeypatch.setattr(hooks, "LOOK_EVERY_S", 0.0)
        monkeypatch.setattr(toy, "misbehave", lambda _trouble: action())

    return arrange


def test_cancelling_stops_at_the_next_slice_and_keeps_what_is_known(start, alice, at_slice):
    job = start()
    at_slice(lambda: services.job_cancel(job=job, user=alice))
    after = run(job)
    assert (after.state, after.fraction, after.result) == ("cancelled", 0.5, None)
    assert {name: after.partial[name] for name in ("ttft_p99_s", "novel")} == {"ttft_p99_s": 1.4, "novel": 3.0}
    assert events(after) == ["queued", "started", "cancelling", "cancelled"]


def test_cancelling_in_the_last_moment_is_still_cancelled(start, alice, monkeypatch):
    job = start()
    monkeypatch.setattr(hooks.JobHooks, "cancelled", lambda _self: False)
    monkeypatch.setattr(toy, "misbehave", lambda _trouble: services.job_cancel(job=job, user=alice))
    after = run(job)
    assert (after.state, after.result) == ("cancelled", None)


def test_a_run_that_was_given_away_drops_what_it_finds(start, at_slice):
    job = start()
    at_slice(lambda: Job.objects.update(attempts=2))
    after = run(job)
    assert (after.state, after.attempts, after.result) == ("running", 2, None)


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ("options", "The warm-up is longer than the run."),
        ("memory", "It ran out of memory."),
        ("time", "It took longer than the limit"),
        ("bug", "Something went wrong in our program"),
    ],
)
def test_a_failure_gives_a_reason_and_a_next_step_and_no_traceback(start, trouble, says):
    job = run(start(options={"trouble": trouble}), time_limits=(TimeoutError,))
    assert (job.state, job.result) == ("failed", None)
    assert job.error["message"].startswith(says)
    assert job.error["suggestion"]
    shown = json.dumps([job.error, [line.text for line in selectors.log_lines(job)]])
    assert "secret internals" not in shown
    assert "Traceback" not in shown
    assert events(job) == ["queued", "started", "failed"]


def test_a_bug_is_logged_once_with_its_traceback(start, caplog):
    with caplog.at_level(logging.ERROR):
        run(start(options={"trouble": "bug"}))
    assert len(caplog.records) == 1
    assert "secret internals" in caplog.text


def test_a_figure_that_went_missing_meanwhile_fails_with_its_name(start, monkeypatch):
    job = start(spec={"gpu": "toy-2"})

    def gone(self, slug):
        raise toy.UnknownEntry(table="gpus", slug=slug)

    monkeypatch.setattr(toy.ToyCatalog, "gpu", gone)
    monkeypatch.setattr(toy.ToyCatalog, "digest", "d3")
    after = run(job)
    assert after.state == "failed"
    assert "toy-2" in after.error["message"]


@pytest.fixture
def ticking(monkeypatch):
    """A clock of the hooks that the test moves."""
    time = {"now": 100.0}
    monkeypatch.setattr(hooks, "monotonic", lambda: time["now"])
    return time


@pytest.fixture
def running(start):
    return runner.claim(start().id, now=timezone.now())


def test_progress_is_written_at_most_twice_a_second(running, ticking, django_assert_num_queries):
    speaking = hooks.JobHooks(running, clock=timezone.now)
    with django_assert_num_queries(3):
        for _ in range(100):  # 1 s in steps of 10 ms
            speaking.progress(0.5, simulated_s=1.0, events=1)
            ticking["now"] += 0.01
        speaking.progress(0.6, simulated_s=1.0, events=1)


def test_the_row_is_looked_at_for_cancellation_within_a_second(running, ticking, alice, django_assert_num_queries):
    speaking = hooks.JobHooks(running, clock=timezone.now)
    assert not speaking.cancelled()
    services.job_cancel(job=running, user=alice)
    with django_assert_num_queries(0):
        assert not speaking.cancelled()
    ticking["now"] += 0.5
    assert speaking.cancelled()


def test_progress_is_clean_whatever_the_simulator_says(running, ticking):
    speaking = hooks.JobHooks(running, clock=timezone.now)
    speaking.progress(1.7, simulated_s=2, events=3, partial={"ttft_p99_s": float("nan")})
    running.refresh_from_db()
    assert (running.fraction, running.partial) == (1.0, {"ttft_p99_s": None})


def test_progress_shows_a_sign_of_life(running, ticking):
    later = running.heartbeat_at + timedelta(seconds=9)
    hooks.JobHooks(running, clock=lambda: later).progress(0.1, simulated_s=0, events=0)
    running.refresh_from_db()
    assert running.heartbeat_at == later


def test_hooks_of_a_superseded_run_stop_it(running, ticking):
    speaking = hooks.JobHooks(running, clock=timezone.now)
    Job.objects.update(attempts=2)
    with pytest.raises(hooks.Superseded):
        speaking.progress(0.1, simulated_s=0, events=0)
    with pytest.raises(hooks.Superseded):
        speaking.cancelled()


def test_the_state_cancelled_raised_without_being_asked_does_not_end_the_job_as_cancelled(start, monkeypatch):
    def stop(trouble):
        raise Cancelled

    monkeypatch.setattr(toy, "misbehave", stop)
    assert run(start()).state == State.FAILED


@pytest.mark.django_db(transaction=True)
def test_a_run_too_busy_for_its_hooks_keeps_its_heartbeat(start, monkeypatch):
    job = runner.claim(start().id, now=timezone.now() - timedelta(minutes=5))
    monkeypatch.setattr(hooks, "BEAT_EVERY_S", 0.01)
    with hooks.beating(job):
        for _ in range(200):
            sleep(0.02)
            if Job.objects.get().heartbeat_at > job.heartbeat_at + timedelta(minutes=4):
                return
    pytest.fail("no heartbeat within four seconds")
