from __future__ import annotations

import itertools

import pytest

from planner.jobs import states
from planner.jobs.models import Job, State

pytestmark = pytest.mark.django_db

LEGAL = {
    ("queued", "running"),
    ("queued", "cancelled"),
    ("running", "succeeded"),
    ("running", "failed"),
    ("running", "cancelling"),
    ("running", "queued"),
    ("cancelling", "cancelled"),
    ("cancelling", "failed"),
}


@pytest.fixture
def job(team):
    return Job.objects.create(team=team, purpose="simulation", title="t", kind="toy", request={}, key="k", attempts=1)


@pytest.mark.parametrize(("source", "target"), list(itertools.product(State.values, State.values)))
def test_only_the_ways_of_the_table_can_be_taken(job, source, target):
    Job.objects.update(state=source)
    if (source, target) in LEGAL:
        assert states.move(job.id, source=State(source), target=State(target), message="moved")
        job.refresh_from_db()
        assert (job.state, job.message) == (target, "moved")
    else:
        with pytest.raises(states.IllegalTransition):
            states.move(job.id, source=State(source), target=State(target))
        job.refresh_from_db()
        assert job.state == source


def test_a_job_that_is_elsewhere_does_not_move(job):
    assert not states.move(job.id, source=State.RUNNING, target=State.SUCCEEDED, fraction=1.0)
    job.refresh_from_db()
    assert (job.state, job.fraction) == ("queued", 0.0)


def test_of_two_movers_one_wins(job):
    moves = [states.move(job.id, source=State.QUEUED, target=State.RUNNING) for _ in range(2)]
    assert moves == [True, False]


def test_a_run_that_was_superseded_cannot_move_the_job(job):
    Job.objects.update(state=State.RUNNING, attempts=2)
    assert not states.move(job.id, source=State.RUNNING, target=State.SUCCEEDED, attempt=1)
    assert states.move(job.id, source=State.RUNNING, target=State.SUCCEEDED, attempt=2)


def test_finished_states_are_those_without_a_way_out():
    assert set(states.FINISHED) == {State.SUCCEEDED, State.FAILED, State.CANCELLED}
    assert set(states.ACTIVE) | set(states.FINISHED) == set(State)
