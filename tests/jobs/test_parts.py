"""Replications of a job: fanned out, lost, run again, stopped, and put together by whoever finishes the last."""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from planner.core.simulation import Cancelled
from planner.designs.services import InvalidField
from planner.jobs import hooks, part_runner, parts, retrying, runner, selectors, services, tasks
from planner.jobs import requests as asked
from planner.jobs.models import Job, JobPart, State
from tests.designs import toy

pytestmark = pytest.mark.django_db


@pytest.fixture
def offered(monkeypatch):
    """The (job, place) pairs put on the queue, in order."""
    found = []
    monkeypatch.setattr(parts, "enqueue", lambda job_id, *, places: found.extend((job_id, place) for place in places))
    return found


@pytest.fixture
def three(start, offered):
    return start(seed=5, replications=3)


@pytest.fixture
def work(django_capture_on_commit_callbacks):
    """Let a worker take a part, as Celery would."""

    def take(job, place, *, worker="w1", **how):
        with django_capture_on_commit_callbacks(execute=True):
            part_runner.run_part(job.id, place=place, worker=worker, **how)
        return Job.objects.get(id=job.id)

    return take


def events(job):
    return [line.event for line in selectors.log_lines(job)]


def test_a_job_in_parts_is_offered_part_by_part(three, offered, queue):
    assert offered == [(three.id, 0), (three.id, 1), (three.id, 2)]
    assert queue == []
    assert three.request["replications"] == 3


def test_the_worker_of_the_last_part_finishes_the_job(three, work):
    assert work(three, 0).state == "running"
    assert work(three, 2, worker="w2").state == "running"
    done = work(three, 1)
    assert (done.state, done.fraction, done.events, done.simulated_s) == ("succeeded", 1.0, 3000, 60.0)
    assert done.result["metrics"]["ttft_p99_s"]["value"] == pytest.approx(1.506)
    assert done.result["provenance"]["replications"] == 3
    assert events(done) == ["queued", "started", "part", "part", "part", "started", "done"]


def test_what_parts_have_found_is_dropped_with_the_end_of_the_job(three, work):
    work(three, 0)
    assert JobPart.objects.filter(observed__isnull=False).count() == 1
    work(three, 1), work(three, 2)
    assert not JobPart.objects.filter(observed__isnull=False).exists()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_the_order_of_finishing_does_not_change_a_byte(start, offered, work, stranger, order):
    one, other = start(replications=3), start(replications=3, of=stranger)
    for place in (0, 1, 2):
        work(one, place)
    for place in order:
        work(other, place, worker=f"w{place}")
    results = [json.dumps(Job.objects.get(id=job.id).result, sort_keys=True) for job in (one, other)]
    assert results[0] == results[1]


def test_one_replication_is_a_job_as_ever(start, offered, queue):
    job = start(replications=1)
    assert (queue, offered) == ([job.id], [])
    assert not job.parts.exists()


def test_progress_is_that_of_all_parts_and_figures_are_of_the_finished(three, work):
    running = work(three, 0)
    assert running.fraction == pytest.approx(1 / 3)
    assert running.partial == {"ttft_p99_s": 1.505, "goodput": 0.97, "replications": 1}
    assert work(three, 1).partial["ttft_p99_s"] == pytest.approx(1.5055)


def test_before_one_is_finished_the_first_speaks_for_all(three, monkeypatch, work):
    monkeypatch.setattr(hooks, "WRITE_EVERY_S", 0.0)
    seen = []
    monkeypatch.setattr(toy, "misbehave", lambda _trouble: seen.append(Job.objects.get().partial))
    work(three, 0)
    assert {name: seen[0][name] for name in ("ttft_p99_s", "novel")} == {"ttft_p99_s": 1.4, "novel": 3.0}


def test_only_so_many_parts_are_under_way_at_once(start, offered, work):
    job = start(replications=parts.AT_ONCE + 3)
    assert [place for _, place in offered] == list(range(parts.AT_ONCE))
    work(job, 0)
    assert offered[-1] == (job.id, parts.AT_ONCE)
    for place in range(1, parts.AT_ONCE + 3):
        after = work(job, place)
    assert after.state == "succeeded"
    assert len(offered) == parts.AT_ONCE + 3


def test_a_second_delivery_of_a_part_does_nothing(three, work):
    work(three, 0)
    work(three, 0)
    assert JobPart.objects.get(place=0).attempts == 1


def test_a_delivery_of_the_whole_waits_for_its_parts(three):
    runner.run(three.id)
    assert Job.objects.get().state == "queued"


@pytest.fixture
def at_slice(monkeypatch):
    def arrange(action):
        monkeypatch.setattr(hooks, "WRITE_EVERY_S", 0.0)
        monkeypatch.setattr(hooks, "LOOK_EVERY_S", 0.0)
        monkeypatch.setattr(toy, "misbehave", lambda _trouble: action())

    return arrange


def test_cancelling_stops_the_part_at_work_and_no_other_begins(three, alice, at_slice, work):
    at_slice(lambda: services.job_cancel(job=three, user=alice))
    after = work(three, 0)
    assert (after.state, after.result) == ("cancelled", None)
    assert after.finished_at is not None
    assert work(three, 1).state == "cancelled"
    assert JobPart.objects.get(place=1).attempts == 0


def test_the_last_part_at_work_ends_a_job_that_is_to_stop(three, alice, at_slice, work):
    other = parts.claim(three.id, place=2, now=timezone.now(), worker="w2")
    at_slice(lambda: services.job_cancel(job=three, user=alice))
    assert work(three, 0).state == "cancelling"
    assert hooks.PartHooks(other, clock=timezone.now).cancelled()
    part_runner._stopped(other, error=Cancelled(), clock=timezone.now, time_limits=())
    assert Job.objects.get().state == "cancelled"


def test_a_job_between_two_parts_is_cancelled_at_once(three, alice, work):
    work(three, 0)
    assert services.job_cancel(job=Job.objects.get(), user=alice).state == "cancelled"
    assert not JobPart.objects.filter(observed__isnull=False).exists()


def test_a_job_none_of_whose_parts_has_begun_is_cancelled_at_once(three, alice, work):
    assert services.job_cancel(job=three, user=alice).state == "cancelled"
    assert work(three, 0).state == "cancelled"


def test_a_part_that_fails_ends_the_job_with_its_reason_and_the_others_stop(start, offered, work):
    job = start(replications=2, options={"trouble": "options"})
    other = parts.claim(job.id, place=1, now=timezone.now(), worker="w2")
    after = work(job, 0)
    assert (after.state, after.error["message"]) == ("failed", "The warm-up is longer than the run.")
    with pytest.raises(hooks.Superseded):
        hooks.PartHooks(other, clock=timezone.now).cancelled()


def test_a_time_limit_in_a_part_is_said(start, offered, work):
    job = start(replications=2, options={"trouble": "time"})
    after = work(job, 0, time_limits=(TimeoutError,))
    assert after.error["message"].startswith("It took longer than the limit")


@pytest.fixture
def beat(django_capture_on_commit_callbacks):
    def tick(now):
        with django_capture_on_commit_callbacks(execute=True):
            return services.requeue_silent(now=now)

    return tick


def test_a_lost_part_is_run_again_and_a_finished_one_is_kept(three, offered, beat, work, settings):
    work(three, 0)
    parts.claim(three.id, place=1, now=timezone.now(), worker="dies")
    offered.clear()
    beat(timezone.now() + timedelta(seconds=settings.JOB_SILENT_AFTER_S + 1))
    assert (three.id, 1) in offered
    assert (three.id, 0) not in offered
    work(three, 1)
    assert work(three, 2).state == "succeeded"
    assert [part.attempts for part in JobPart.objects.order_by("place")] == [1, 2, 1]
    assert "requeued" in events(three)


def test_a_part_lost_twice_fails_the_job(three, beat, settings):
    silence = timedelta(seconds=settings.JOB_SILENT_AFTER_S + 1)
    now = timezone.now()
    for _ in range(2):
        assert parts.claim(three.id, place=1, now=now, worker="dies") is not None
        now += silence
        beat(now)
    after = Job.objects.get()
    assert (after.state, after.error["message"]) == ("failed", "The worker stopped twice without finishing.")


def test_a_delivery_after_silence_takes_over(three, settings):
    now = timezone.now()
    parts.claim(three.id, place=1, now=now)
    assert parts.claim(three.id, place=1, now=now + timedelta(seconds=1)) is None
    later = now + timedelta(seconds=settings.JOB_SILENT_AFTER_S + 1)
    assert parts.claim(three.id, place=1, now=later).attempts == 2


def test_a_job_whose_parts_wait_for_workers_is_not_called_silent(three, beat, work):
    work(three, 0)
    beat(timezone.now() + timedelta(hours=1))
    assert Job.objects.get().state == "running"


def test_a_worker_that_dies_before_it_puts_the_parts_together_is_replaced(three, queue, beat, work, monkeypatch):
    work(three, 0), work(three, 1)
    with monkeypatch.context() as dying:
        dying.setattr(part_runner.states, "move", lambda *_, **__: False)
        assert work(three, 2).state == "running"
    beat(timezone.now() + timedelta(minutes=5))
    assert Job.objects.get().state == "queued"
    runner.run(three.id)
    assert Job.objects.get().state == "succeeded"


def test_a_restarted_worker_takes_back_its_parts(three, alice, offered, django_capture_on_commit_callbacks):
    parts.claim(three.id, place=0, now=timezone.now(), worker="w1")
    parts.claim(three.id, place=1, now=timezone.now(), worker="w2")
    offered.clear()
    with django_capture_on_commit_callbacks(execute=True):
        tasks.take_back(SimpleNamespace(hostname="w1"))
    assert offered == [(three.id, 0)]
    services.job_cancel(job=Job.objects.get(), user=alice)
    tasks.take_back(SimpleNamespace(hostname="w2"))
    assert Job.objects.get().state == "cancelled"


def test_parts_nobody_took_are_offered_again_at_growing_intervals(three, offered, beat):
    offered.clear()
    seconds = [second for second in range(0, 600, 15) if beat(three.created_at + timedelta(seconds=second))]
    assert seconds == [45, 90, 180, 360]
    assert len(offered) == 12


def test_parts_never_offered_are_offered_by_beat(start, offered, beat):
    job = start(replications=parts.AT_ONCE + 1)
    now = timezone.now()
    for place in range(parts.AT_ONCE):
        # Finished by workers that died before they offered the next.
        parts.keep(parts.claim(job.id, place=place, now=now), now=now, observed=b"1.5")
    beat(now)
    assert offered[-1] == (job.id, parts.AT_ONCE)


@pytest.mark.parametrize("count", [0, 65, 1.5, True, "3"])
def test_an_impossible_count_names_its_field(start, count):
    with pytest.raises(InvalidField) as caught:
        start(replications=count)
    assert caught.value.field == "replications"


def test_a_kind_that_runs_once_only_says_so():
    once = dataclasses.replace(toy.SIMULATOR, trial=None)
    with pytest.raises(InvalidField, match="replications"):
        asked.trial_of(once)


def test_more_replications_are_another_run(start, offered, work):
    one, more = start(), start(replications=2)
    assert one.key != more.key
    assert start(replications=2).id == more.id


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_it_can_be_tried_again(three, alice, offered, state, django_capture_on_commit_callbacks):
    Job.objects.update(state=state)
    with django_capture_on_commit_callbacks(execute=True):
        again = retrying.job_retry(job=Job.objects.get(), user=alice)
    assert (again.key, again.parts.count()) == (three.key, 3)


def test_parts_are_put_on_the_queue_as_one_group(monkeypatch, start):
    sent = []
    monkeypatch.setattr(tasks.run_part, "apply_async", lambda _args, kwargs, **options: sent.append((kwargs, options)))
    job = start(replications=3)
    assert [kwargs for kwargs, _ in sent] == [{"job_id": str(job.id), "place": place} for place in range(3)]
    assert {options["queue"] for _, options in sent} == {parts.QUEUE}
    assert len({options["group_id"] for _, options in sent}) == 1


def test_a_broker_that_is_down_leaves_the_parts_to_beat(monkeypatch, start):
    def down(*_, **__):
        raise parts.OperationalError("connection refused")

    monkeypatch.setattr(tasks.run_part, "apply_async", down)
    job = start(replications=2)
    assert [part.state for part in job.parts.all()] == [State.QUEUED, State.QUEUED]
