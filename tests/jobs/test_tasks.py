"""What a worker does at its start."""

from __future__ import annotations

from types import SimpleNamespace

from planner import kinds
from planner.jobs import tasks


def test_a_worker_warms_every_simulator_before_it_takes_work(monkeypatch):
    warmed = []

    class Simulating:
        def __init__(self, name):
            self.simulator = SimpleNamespace(warm=lambda: warmed.append(name))

    cold = SimpleNamespace(simulator=None)
    monkeypatch.setattr(kinds, "all_kinds", lambda: {"a": Simulating("a"), "cold": cold, "b": Simulating("b")})
    tasks.warm()
    assert warmed == ["a", "b"]
