"""Simulations and reports are asked for, followed, read and cancelled."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from planner.jobs import part_runner, runner
from planner.jobs.models import Job, State
from tests.api.caller import Caller, check_problem, strict

Save = Callable[..., dict[str, Any]]
URL = "/api/v1/simulations/"


pytestmark = pytest.mark.usefixtures("no_worker")


def started(caller: Caller, url: str = URL, **body: Any) -> dict[str, Any]:
    response = caller.post(url, body)
    assert response.status_code == 202, response.content
    assert response["Location"] == strict(response)["url"]
    return strict(response)


class TestStart:
    def test_a_spec_without_a_design(self, bob: Caller) -> None:
        job = started(bob, kind="sample", spec={"gpus": 2}, seed=5, duration_s=10, options={"depth": 3})
        assert (job["state"], job["purpose"], job["kind"], job["design"]) == ("queued", "simulation", "sample", None)
        assert (job["request"]["seed"], job["request"]["options"]) == (5, {"depth": 3})
        assert job["request"]["spec"]["gpus"] == 2
        assert job["result_url"] is None

    def test_a_saved_design(self, saved: Save, bob: Caller) -> None:
        design = saved(spec={"gpus": 3})
        job = started(bob, f"{design['url']}simulations/", seed=5)
        assert (job["design"], job["design_revision"]) == (design["id"], 1)
        assert started(bob, f"{design['url']}simulations/")["request"]["seed"] == 1

    def test_replications(self, saved: Save, bob: Caller) -> None:
        job = started(bob, kind="sample", seed=5, replications=3)
        assert job["request"]["replications"] == 3
        assert started(bob, kind="sample", seed=5)["request"]["replications"] == 1
        of_design = started(bob, f"{saved()['url']}simulations/", replications=64)
        assert of_design["request"]["replications"] == 64
        for place in range(3):
            part_runner.run_part(UUID(job["id"]), place=place)
        done = strict(bob.get(job["url"]))
        assert (done["state"], done["fraction"]) == ("succeeded", 1.0)
        made = strict(bob.get(done["result_url"]))["provenance"]
        assert (made["replications"], made["seeds"]) == (3, ["5", "6", "7"])

    def test_a_report(self, saved: Save, bob: Caller) -> None:
        assert started(bob, f"{saved()['url']}reports/", paper="letter")["purpose"] == "report"

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({"spec": {"gpus": 0}}, "/spec/gpus"),
            ({"kind": "nothing"}, "/kind"),
            ({"seed": -1}, "/seed"),
            ({"seed": "1"}, "/seed"),
            ({"replications": 0}, "/replications"),
            ({"replications": 65}, "/replications"),
            ({"replications": 1.5}, "/replications"),
            ({"replications": "3"}, "/replications"),
            ({"duration_s": 0}, "/duration_s"),
            ({"duration_s": 1e300}, "/duration_s"),
            ({"requests": 0}, "/requests"),
            ({"requests": 10**12}, "/requests"),
            ({"workload": "nothing"}, "/workload"),
            ({"options": {"depth": -1}}, "/options/depth"),
            ({"options": {"nope": 1}}, "/options/nope"),
            ({"sed": 1}, "/sed"),
        ],
    )
    def test_a_bad_field_is_named_and_no_job_is_left(self, bob: Caller, body: dict[str, Any], pointer: str) -> None:
        response = bob.post(URL, {"kind": "sample", **body})
        assert response.status_code == 422
        assert [error["pointer"] for error in check_problem(response)["errors"]] == [pointer]
        assert not Job.objects.exists()

    def test_a_missing_figure_is_a_409_before_the_job(self, bob: Caller) -> None:
        assert bob.post(URL, {"kind": "sample", "spec": {"precision": "fp4"}}).status_code == 409
        assert not Job.objects.exists()

    def test_the_same_key_starts_one_job(self, bob: Caller) -> None:
        first, again = (bob.post(URL, {"kind": "sample", "seed": 3}, Idempotency_Key="k") for _ in range(2))
        assert strict(first)["id"] == strict(again)["id"]
        assert Job.objects.count() == 1


class TestFollow:
    def test_from_queued_to_the_result(self, bob: Caller) -> None:
        job = started(bob, kind="sample", spec={"gpus": 2})
        waiting = bob.get(f"{job['url']}result/")
        assert waiting.status_code == 409
        assert "queued" in check_problem(waiting)["detail"]
        runner.run(job["id"])
        done = strict(bob.get(job["url"]))
        assert (done["state"], done["fraction"], done["error"]) == ("succeeded", 1.0, None)
        result = strict(bob.get(done["result_url"]))
        assert result["metrics"]["power_w"]["value"] == result["estimate"]["metrics"]["power_w"]["value"] == 1400
        assert result["provenance"]["seed"] == 1

    def test_tables_come_as_csv(self, bob: Caller) -> None:
        job = started(bob, kind="sample", spec={"gpus": 2})
        runner.run(job["id"])
        response = bob.get(f"{job['url']}result/?format=csv")
        assert response["Content-Type"].startswith("text/csv")
        assert response.content.decode().splitlines()[1].startswith("power_w,1400.0,W,")
        series = bob.get(f"{job['url']}result/?table=power", Accept="text/csv").content.decode()
        assert series == "gpus [GPUs],power_w [W]\r\n1,700.0\r\n2,\r\n"
        wrong = bob.get(f"{job['url']}result/?format=csv&table=nothing")
        assert wrong.status_code == 422
        assert "power" in check_problem(wrong)["errors"][0]["detail"]

    def test_progress_and_time_left(self, bob: Caller) -> None:
        job = started(bob, kind="sample")
        Job.objects.update(state=State.RUNNING, fraction=0.25, started_at=timezone.now() - timedelta(seconds=10))
        running = strict(bob.get(job["url"]))
        assert running["state"] == "running"
        assert running["eta_s"] == pytest.approx(30, abs=2)

    def test_a_failed_job_says_why(self, bob: Caller) -> None:
        job = started(bob, kind="sample")
        Job.objects.update(state=State.FAILED, error={"message": "It ran out of memory.", "suggestion": "Less."})
        assert strict(bob.get(job["url"]))["error"]["message"] == "It ran out of memory."
        assert "out of memory" in check_problem(bob.get(f"{job['url']}result/"))["detail"]

    def test_the_list_filters(self, saved: Save, bob: Caller) -> None:
        design = saved()
        started(bob, f"{design['url']}simulations/", seed=1)
        started(bob, f"{design['url']}reports/")
        started(bob, kind="sample", seed=2)

        def count(query: str) -> int:
            return strict(bob.get(f"/api/v1/jobs/?{query}"))["count"]

        assert [count(""), count("purpose=report"), count(f"design={design['id']}")] == [3, 1, 2]
        assert [count("state=queued"), count("state=active"), count("state=failed")] == [3, 3, 0]
        assert bob.get("/api/v1/jobs/?state=bored").status_code == 422

    def test_the_lists_do_not_load_results(self, bob: Caller, django_assert_max_num_queries: Any) -> None:
        for seed in range(5):
            started(bob, kind="sample", seed=seed)
        with django_assert_max_num_queries(4):
            bob.get("/api/v1/jobs/")


class TestEnd:
    def test_a_queued_job_is_cancelled_at_once(self, bob: Caller) -> None:
        job = started(bob, kind="sample")
        assert strict(bob.post(f"{job['url']}cancel/"))["state"] == "cancelled"
        assert strict(bob.post(f"{job['url']}cancel/"))["state"] == "cancelled"

    def test_a_running_job_is_asked_to_stop(self, bob: Caller) -> None:
        job = started(bob, kind="sample")
        Job.objects.update(state=State.RUNNING)
        assert strict(bob.post(f"{job['url']}cancel/"))["state"] == "cancelling"

    def test_a_cancelled_job_can_be_tried_again_a_queued_one_not(self, bob: Caller) -> None:
        job = started(bob, kind="sample")
        assert bob.post(f"{job['url']}retry/").status_code == 409
        bob.post(f"{job['url']}cancel/")
        again = bob.post(f"{job['url']}retry/")
        assert again.status_code == 202
        assert strict(again)["id"] != job["id"]

    def test_the_document_of_a_report(self, saved: Save, bob: Caller, quick_reports: None) -> None:
        job = started(bob, f"{saved(name='My plan')['url']}reports/", paper="letter")
        runner.run(job["id"])
        done = strict(bob.get(job["url"]))
        response = bob.get(done["document_url"], Accept="application/pdf")
        assert (response["Content-Type"], response.content) == ("application/pdf", b"%PDF-letter")
        assert 'filename="my-plan.pdf"' in response["Content-Disposition"]
        assert bob.get(f"{job['url']}result/").status_code == 409
