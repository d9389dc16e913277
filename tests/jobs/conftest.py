import pytest

from planner.jobs import services
from tests.designs.stage import alice, stranger, team, toy_world

__all__ = ["alice", "stranger", "team", "toy_world"]


@pytest.fixture
def queue(monkeypatch):
    """The ids put on the queue, in order."""
    ids = []
    monkeypatch.setattr(services, "enqueue", ids.append)
    return ids


@pytest.fixture
def start(team, alice, queue, django_capture_on_commit_callbacks):
    """Ask for a simulation of the toy and let the transaction commit."""

    def ask(*, spec=None, user=alice, of=team, **how):
        with django_capture_on_commit_callbacks(execute=True):
            return services.simulation_start(team=of, user=user, kind="toy", spec=spec or {}, **how)

    return ask
