"""Sweeps as jobs: asked for, worked out in parts by whoever is free, lost, run again, stopped, and verified."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import permutations

import pytest
from django.utils import timezone

from planner import kinds
from planner.core.batch import one_by_one
from planner.core.planning import Planning
from planner.core.search import Candidate, Search, Space
from planner.designs.texts import InvalidField
from planner.jobs import hooks, part_runner, parts, retrying, runner, selectors, services, sweeps, swept, verification
from planner.jobs.models import Job, JobPart, Purpose, State
from tests.designs import toy

pytestmark = pytest.mark.django_db

UNITS = {"field": "unit_gpus", "values": [1, 2, 3, 4, 6, 8, 12, 16, 32]}
RATES = {"field": "rate_rps", "start": 35, "stop": 95, "step": 20}
"""9 × 4 = 36 points."""


@pytest.fixture
def offered(monkeypatch):
    found = []
    monkeypatch.setattr(parts, "enqueue", lambda job_id, *, places: found.extend((job_id, place) for place in places))
    return found


@pytest.fixture
def ask(team, alice, queue, offered, django_capture_on_commit_callbacks):
    def start(*vary, of=team, spec=None, **how):
        with django_capture_on_commit_callbacks(execute=True):
            return sweeps.sweep_start(team=of, user=alice, kind="toy", spec=spec or {}, vary=vary, **how)

    return start


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(swept, "POINTS_A_PART", 10)


@pytest.fixture
def work(django_capture_on_commit_callbacks):
    def take(job, place, *, worker="w1"):
        with django_capture_on_commit_callbacks(execute=True):
            part_runner.run_part(job.id, place=place, worker=worker)
        return Job.objects.get(id=job.id)

    return take


@pytest.fixture
def run(django_capture_on_commit_callbacks):
    def finish(job):
        with django_capture_on_commit_callbacks(execute=True):
            runner.run(job.id)
        return Job.objects.get(id=job.id)

    return finish


def points(job):
    return {name: job.result[name] for name in ("points", "best", "front", "runners_up", "answer")}


def test_a_small_sweep_runs_at_once_and_stores_its_columns(ask, queue, offered, run):
    job = ask(UNITS, RATES, constraints=[{"metric": "gpus", "at_most": 12}])
    assert (job.purpose, queue, offered) == (Purpose.SWEEP, [job.id], [])
    done = run(job)
    result = done.result
    assert (done.state, done.fraction, done.events, result["count"]) == ("succeeded", 1.0, 36, 36)
    assert [field["name"] for field in result["fields"]] == ["unit_gpus", "rate_rps"]
    assert result["points"]["values"]["rate_rps"][:4] == [35, 55, 75, 95]
    best = result["best"]
    cost = result["points"]["figures"]["cost_usd_per_m_requests"]
    fine = [place for place, status in enumerate(result["points"]["status"]) if status == "ok"]
    assert cost[best] == min(cost[place] for place in fine)
    assert result["answer"]["sentence"].startswith("**Cost, requests: $")
    assert result["answer"]["value"] == cost[best]
    assert result["provenance"]["catalog_digest"] == "d1"
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_the_request_has_every_value_of_a_range(ask):
    assert ask(RATES).request["vary"] == [{"field": "rate_rps", "values": [35.0, 55.0, 75.0, 95.0]}]


def test_parts_and_their_order_do_not_change_the_result(ask, run, work, stranger, monkeypatch):
    whole = run(ask(UNITS, RATES))
    monkeypatch.setattr(swept, "POINTS_A_PART", 13)
    for place, order in enumerate(permutations(range(3))):
        Job.objects.filter(team=stranger).delete()
        job = ask(UNITS, RATES, of=stranger)
        for part in order:
            done = work(job, part, worker=f"w{place}")
        assert (done.state, done.events) == ("succeeded", 36)
        assert points(done) == points(whole)


def test_the_front_so_far_is_shown_while_other_parts_run(ask, small_parts, work):
    job = ask(UNITS, RATES)
    assert job.parts.count() == 4
    told = work(job, 2).partial
    assert (told["done"], told["of"]) == (10, 36)
    assert all(20 <= place < 30 for place in told["places"])
    assert told["points"]["count"] == len(told["places"]) == len(told["points"]["status"])
    running = work(job, 0)
    assert running.fraction == pytest.approx(0.5)
    assert (running.partial["done"], running.events) == (20, 20)
    work(job, 1)
    done = work(job, 3)
    assert done.partial is None
    # What was shown as the best of 30 points was the best of those.
    cost = done.result["points"]["figures"]["cost_usd_per_m_requests"]
    fine = [place for place in [*range(10), *range(20, 30)] if done.result["points"]["status"][place] == "ok"]
    assert running.partial["answer"]["value"] == min(cost[place] for place in fine)


def test_a_worker_that_dies_loses_its_part_only(ask, small_parts, work, settings, django_capture_on_commit_callbacks):
    job = ask(UNITS, RATES)
    work(job, 0)
    assert parts.claim(job.id, place=1, now=timezone.now(), worker="dies") is not None
    with django_capture_on_commit_callbacks(execute=True):
        services.requeue_silent(now=timezone.now() + timedelta(seconds=settings.JOB_SILENT_AFTER_S + 1))
    for place in (1, 2, 3):
        done = work(job, place)
    assert done.state == "succeeded"
    assert [part.attempts for part in JobPart.objects.order_by("place")] == [1, 2, 1, 1]
    assert done.result["count"] == 36


def test_a_worker_that_dies_over_the_end_is_replaced_and_simulates_nothing_twice(
    ask, small_parts, work, run, monkeypatch, settings, django_capture_on_commit_callbacks
):
    job = ask(UNITS, RATES, verify=2)
    for place in (0, 1, 2):
        work(job, place)
    with monkeypatch.context() as dying:
        dying.setattr(runner, "_succeeded", lambda *_, **__: None)
        assert work(job, 3).state == "running"
    assert Job.objects.filter(purpose=Purpose.SIMULATION).count() == 2
    with django_capture_on_commit_callbacks(execute=True):
        services.requeue_silent(now=timezone.now() + timedelta(seconds=settings.JOB_SILENT_AFTER_S + 1))
    assert run(job).state == "succeeded"
    assert Job.objects.filter(purpose=Purpose.SIMULATION).count() == 2


def test_cancelling_stops_at_the_next_slice_and_keeps_the_front(ask, alice, run, monkeypatch):
    monkeypatch.setattr(hooks, "WRITE_EVERY_S", 0.0)
    monkeypatch.setattr(hooks, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(swept, "TELL_EVERY_S", 0.0)
    job = ask(UNITS, RATES)
    seen = []

    def estimate(spec, catalog):
        seen.append(spec)
        if len(seen) == 5:
            services.job_cancel(job=job, user=alice)
        return toy.estimate(spec, catalog)

    monkeypatch.setattr(
        kinds, "all_kinds", lambda: {"toy": toy.TOY.__class__(**{**fields(toy.TOY), "estimate": estimate})}
    )
    after = run(job)
    assert (after.state, after.result) == ("cancelled", None)
    assert len(seen) < 36
    assert 0 < after.partial["done"] < 36
    assert after.partial["points"]["count"] >= 1


def fields(kind):
    return {name: getattr(kind, name) for name in kind.__dataclass_fields__}


def test_a_kinds_own_batch_is_used_and_its_parts_are_larger(ask, run, monkeypatch):
    asked = []

    def batch(base, columns, catalog):
        asked.append(len(columns["unit_gpus"]))
        return one_by_one(toy.TOY, base=base, columns=columns, catalog=catalog)

    plain = run(ask(UNITS, RATES))
    Job.objects.all().delete()
    monkeypatch.setattr(kinds, "planning", lambda _slug: Planning(batch=batch))
    monkeypatch.setattr(swept, "POINTS_A_PART", 10)
    assert points(run(ask(UNITS, RATES))) == points(plain)
    assert sum(asked) == 36


def test_the_same_sweep_again_is_the_stored_result(ask, run, stranger):
    first = run(ask(UNITS, RATES))
    again = ask(UNITS, RATES)
    assert (again.state, again.message, again.result) == ("succeeded", "Same inputs: stored result.", first.result)
    assert ask(UNITS).state == "queued"
    assert ask(UNITS, RATES, of=stranger).state == "queued"
    assert ask(UNITS, RATES, objective="goodput").state == "queued"


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_it_can_be_tried_again(ask, alice, small_parts, state):
    job = ask(UNITS, RATES, against="", constraints=[{"metric": "gpus", "at_most": 9}], verify=1)
    Job.objects.update(state=state)
    again = retrying.job_retry(job=Job.objects.get(), user=alice)
    assert (again.key, again.parts.count(), again.id != job.id) == (job.key, 4, True)


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"vary": [{"field": "unit_gpus", "values": [0]}]}, "vary/0/values/0"),
        ({"vary": [UNITS], "verify": 9}, "verify"),
        ({"vary": [UNITS], "verify": True}, "verify"),
        ({"vary": [UNITS], "preset": "nothing"}, "preset"),
        ({"vary": [UNITS], "preset": "cheapest_within_slo"}, "vary"),
        ({"vary": [], "preset": "cheapest_within_slo"}, "preset"),
        ({"vary": [UNITS], "objective": "utilisation"}, "objective"),
    ],
)
def test_what_cannot_be_swept_is_named_and_no_job_is_left(team, alice, how, field):
    with pytest.raises(InvalidField) as caught:
        sweeps.sweep_start(team=team, user=alice, kind="toy", spec={}, **how)
    assert caught.value.field == field
    assert not Job.objects.exists()


class TestPreset:
    """A search over GPUs a unit; 35 req/s need 4 GPUs of 10 req/s, and one unit alone is an error."""

    @pytest.fixture
    def searchable(self, monkeypatch):
        candidates = [Candidate({"unit_gpus": size}, group=f"units of {size}") for size in (1, 2, 4)]
        search = Search(
            objective="cost_usd_per_h",
            space=lambda *_: Space(("unit_gpus",), candidates, count=3, sources={"prices": "the toy maker"}),
            words=lambda spec, *_: f"Units of {spec.unit_gpus}",
        )
        monkeypatch.setattr(kinds, "planning", lambda _slug: Planning(search=search))

    def test_it_chooses_what_to_vary_and_verifies_three(self, searchable, ask, run):
        job = ask(preset="cheapest_within_slo", spec={"rate_rps": 35, "unit_gpus": 8})
        assert (job.request["objective"], job.request["verify"], job.request["vary"]) == ("cost_usd_per_h", 3, [])
        result = run(job).result
        assert result["preset"] == "cheapest_within_slo"
        assert result["points"]["figures"]["gpus"][result["best"]] == 4
        assert len(result["changes"]) == result["points"]["count"] == result["count"]
        assert result["changes"][result["best"]] == {"unit_gpus": 1}
        assert result["answer"]["sentence"].startswith("**Units of 1**")
        assert result["provenance"]["prices"] == "the toy maker"
        (row, *_) = selectors.result(Job.objects.get(id=job.id))["verified"]
        simulation = Job.objects.get(id=row["job"])
        assert simulation.request["spec"] == {**job.request["spec"], **result["changes"][row["place"]]}

    def test_it_is_cancelled_between_estimates(self, searchable, ask, alice, run, monkeypatch):
        monkeypatch.setattr(hooks, "LOOK_EVERY_S", 0.0)
        monkeypatch.setattr(hooks, "WRITE_EVERY_S", 0.0)
        job = ask(preset="cheapest_within_slo")
        monkeypatch.setattr(hooks.JobHooks, "progress", lambda *_, **__: services.job_cancel(job=job, user=alice))
        assert run(job).state == "cancelled"

    def test_it_can_be_tried_again(self, searchable, ask, alice):
        job = ask(preset="cheapest_within_slo")
        Job.objects.update(state="failed")
        assert retrying.job_retry(job=Job.objects.get(), user=alice).key == job.key


class TestVerified:
    """TTFT P99 is 1.501 s in the toy's simulation with the seed 1."""

    def test_the_best_is_simulated_with_its_own_spec_and_the_one_seed(self, ask, run, team):
        done = run(ask(UNITS, RATES, verify=3))
        told = selectors.result(done)["verified"]
        assert [row["state"] for row in told] == ["queued"] * 3
        assert told[0]["place"] == done.result["best"]
        assert {row["place"] for row in told} <= set(done.result["front"])
        for row in told:
            run(Job.objects.get(id=row["job"]))
        told = selectors.result(Job.objects.get(id=done.id))["verified"]
        assert [row["state"] for row in told] == ["succeeded"] * 3
        for row in told:
            simulation = Job.objects.get(id=row["job"])
            values = done.result["points"]["values"]
            change = {name: column[row["place"]] for name, column in values.items()}
            assert simulation.result["spec"] == {**done.request["spec"], **change}
            assert simulation.result["provenance"]["seed"] == row["seed"] == verification.SEED
            assert row["figures"]["ttft_p99_s"]["simulated"] == 1.501
            place = row["place"]
            assert row["figures"]["ttft_p99_s"]["estimate"] == done.result["points"]["figures"]["ttft_p99_s"][place]

    @pytest.mark.parametrize(("limit", "meets"), [(1.6, True), (1.5, False)])
    def test_a_limit_is_held_against_what_was_simulated(self, ask, run, limit, meets):
        done = run(ask(UNITS, spec={"rate_rps": 35}, constraints=[{"metric": "ttft_p99_s", "at_most": 1.9}], verify=1))
        told = selectors.result(done)["verified"]
        run(Job.objects.get(id=told[0]["job"]))
        Job.objects.filter(id=done.id).update(result=_tightened(done.result, limit))
        (row,) = selectors.result(Job.objects.get(id=done.id))["verified"]
        assert row["meets"] is meets
        assert (row["reason"] is None) is meets
        answer = selectors.result(Job.objects.get(id=done.id))["answer"]
        assert answer["verified_best"] == (row["place"] if meets else None)
        assert ("misses" in answer["simulated"]) is not meets

    def test_where_the_simulation_contradicts_the_best_the_next_that_holds_is_named(self):
        figures = {"cost": [1.0, 2.0, 3.0], "other": [9.0, 9.0, 9.0]}
        objective = {"metric": "cost", "unit": "USD/h", "direction": "lower"}
        answer = {"sentence": "The cheapest.", "metric": "cost", "value": 1.0}
        result = {"points": {"figures": figures}, "objective": objective, "best": 0, "answer": answer}
        rows = [
            {"place": 0, "state": "succeeded", "meets": False, "reason": "TPOT P99: 52 ms."},
            {"place": 2, "state": "succeeded", "meets": True, "reason": None},
            {"place": 1, "state": "running", "meets": None, "reason": None},
        ]
        told = verification.answered(result, rows)
        assert told["verified_best"] == 2
        assert told["simulated"].endswith("TPOT P99: 52 ms. Point #3 at $3.00/h holds in simulation.")
        rows[2] |= {"state": "succeeded", "meets": True}
        assert verification.answered(result, rows)["verified_best"] == 1
        unheld = [rows[0], {**rows[1], "meets": False}]
        assert verification.answered(result, unheld)["simulated"].count("None of the points simulated") == 1

    def test_what_cannot_be_said_is_not_said(self, ask, run):
        done = run(ask(UNITS, constraints=[{"metric": "gpus", "at_most": 99}], verify=1))
        (row,) = selectors.result(done)["verified"]
        assert (row["meets"], row["figures"]) == (None, {})
        simulation = run(Job.objects.get(id=row["job"]))
        (row,) = selectors.result(done)["verified"]
        assert row["meets"] is None
        assert row["reason"].startswith("None of the limits")
        low_high = {
            "ttft_p99_s": {**simulation.result["metrics"]["ttft_p99_s"], "low": 1.4, "high": 1.6, "objective": 1.5}
        }
        Job.objects.filter(id=simulation.id).update(result={**simulation.result, "metrics": low_high})
        (row,) = selectors.result(done)["verified"]
        assert (row["meets"], "simulate longer" in row["reason"]) == (None, True)
        unsteady = {"code": "not_steady", "severity": "warning", "message": "Still growing."}
        sure = {"ttft_p99_s": {**simulation.result["metrics"]["ttft_p99_s"], "objective": 2.0}}
        Job.objects.filter(id=simulation.id).update(
            result={**simulation.result, "metrics": sure, "findings": [unsteady]}
        )
        (row,) = selectors.result(done)["verified"]
        assert (row["meets"], row["reason"]) == (None, "Still growing.")

    def test_a_simulation_that_fails_or_is_gone_says_so(self, ask, run):
        done = run(ask(UNITS, verify=1))
        (row,) = selectors.result(done)["verified"]
        Job.objects.filter(id=row["job"]).update(state=State.FAILED, error={"message": "Out of memory."})
        (row,) = selectors.result(done)["verified"]
        assert (row["state"], row["reason"]) == ("failed", "Out of memory.")
        Job.objects.filter(id=row["job"]).delete()
        (row,) = selectors.result(done)["verified"]
        assert row["state"] == "deleted"

    def test_a_kind_without_a_simulator_says_so(self, ask, run, monkeypatch):
        still = toy.TOY.__class__(**{**fields(toy.TOY), "simulator": None})
        monkeypatch.setattr(kinds, "all_kinds", lambda: {"toy": still})
        done = run(ask(UNITS, verify=2, spec={"note": "never estimated before"}))
        assert done.state == "succeeded"
        rows = selectors.result(done)["verified"]
        assert [(row["state"], row["job"]) for row in rows] == [("impossible", None)] * 2
        assert rows[0]["reason"] == "Designs of this kind cannot be simulated yet."


def _tightened(result, limit):
    (own,) = result["constraints"]
    return {**result, "constraints": [{**own, "at_most": limit}]}
