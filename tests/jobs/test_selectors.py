from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from planner.designs import services as designs
from planner.jobs import runner, selectors
from planner.jobs.models import Job

pytestmark = pytest.mark.django_db


def test_a_stranger_finds_no_job(start, stranger, team):
    job = start()
    assert list(selectors.jobs(team)) == [job]
    assert not selectors.jobs(stranger).exists()
    with pytest.raises(Job.DoesNotExist):
        selectors.job(stranger, job.id)
    with pytest.raises(Job.DoesNotExist):
        selectors.job(team, "nonsense")


def test_jobs_are_filtered_by_state_purpose_kind_and_design(start, team, alice):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={}, name="Fleet")
    queued, finished = start(seed=1), start(seed=2, design=design)
    runner.run(finished.id)
    assert list(selectors.jobs(team)) == [finished, queued]
    assert list(selectors.jobs(team, state="active")) == [queued]
    assert list(selectors.jobs(team, state="finished")) == [finished]
    assert list(selectors.jobs(team, state="succeeded")) == [finished]
    assert list(selectors.jobs(team, design=design)) == [finished]
    assert not selectors.jobs(team, purpose="report").exists()
    assert not selectors.jobs(team, kind="other").exists()


def running(start, *, fraction, partial=None):
    begun = timezone.now()
    job = runner.claim(start().id, now=begun)
    Job.objects.filter(id=job.id).update(fraction=fraction, partial=partial, simulated_s=120.0, events=3000)
    job.refresh_from_db()
    return job, begun


def test_the_time_left_follows_from_the_pace_so_far(start):
    job, begun = running(start, fraction=0.25)
    row = selectors.job_row(job, now=begun + timedelta(seconds=30))
    # a quarter in 30 s leaves three quarters in 90 s; 3,000 events in 30 s
    assert row["eta_s"] == pytest.approx(90)
    assert (row["elapsed_s"], row["events_per_s"], row["simulated_s_per_s"]) == pytest.approx((30, 100, 4))
    assert (row["percent"], row["is_active"], row["can_cancel"]) == (25, True, True)


@pytest.mark.parametrize("fraction", [0.0, 0.009])
def test_it_is_not_guessed_too_early(start, fraction):
    job, begun = running(start, fraction=fraction)
    assert selectors.job_row(job, now=begun + timedelta(seconds=30))["eta_s"] is None


def test_a_queued_job_has_no_times(start):
    row = selectors.job_row(start())
    assert (row["eta_s"], row["elapsed_s"], row["events_per_s"]) == (None, None, None)


@pytest.mark.parametrize("shape", [lambda told: told, lambda told: {"metrics": told}])
def test_partial_figures_stand_beside_the_estimate(start, shape):
    told = {"ttft_p99_s": 1.4, "goodput": {"value": 0.9}, "novel": 3.0, "gpus": "many", "utilisation": True}
    job, _begun = running(start, fraction=0.5, partial=shape(told))
    beside = {row["name"]: row for row in selectors.job_view(job)["beside"]}
    assert list(beside) == ["ttft_p99_s", "goodput"]
    row = beside["ttft_p99_s"]
    # the estimate at a load of 95/120
    assert row["estimate"]["value"] == pytest.approx(1 + 95 / 120)
    assert (row["simulated"]["value"], row["simulated"]["basis"]) == (1.4, "simulated")
    assert row["delta"]["change"] == "better"
    assert selectors.job_view(job)["metrics"] == []


def test_a_finished_job_shows_everything_as_strict_json(start):
    job = start()
    runner.run(job.id)
    view = selectors.job_view(Job.objects.get())
    assert json.loads(json.dumps(view, allow_nan=False)) == view
    assert [row["name"] for row in view["beside"]] == ["ttft_p99_s", "goodput"]
    assert [group["name"] for group in view["metrics"]] == ["Latency"]
    assert view["answer"]["figure"]["name"] == "ttft_p99_s"
    assert [chart["name"] for chart in view["charts"]] == ["growth"]
    assert [line["event"] for line in view["log"]] == ["queued", "started", "done"]
    assert (view["eta_s"], view["is_active"], view["document"]) == (None, False, None)


def test_lists_do_not_load_results(start, team, django_assert_num_queries):
    for seed in range(3):
        runner.run(start(seed=seed).id)
    with django_assert_num_queries(1) as captured:
        [selectors.job_row(job) for job in selectors.jobs(team)]
    assert '"jobs_job"."result"' not in captured[0]["sql"]
