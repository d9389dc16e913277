from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
import simpy

from sims.engine import run
from sims.engine.hooks import Cancelled, NoHooks


class Ticking:
    """A plane of one event a second of simulated time; each costs a millisecond of the fake wall clock."""

    def __init__(self, wall: Wall) -> None:
        self.wall, self.now_s, self.count, self.seen = wall, 0.0, 0, []

    def advance(self, until_s: float, most_events: int) -> int:
        for _ in range(most_events):
            if self.now_s + 1 > until_s:
                return run.REACHED
            self.now_s += 1
            self.count += 1
            self.wall.now_s += 0.001
        return run.LIMIT

    def is_done(self) -> bool:
        return False

    def simulated_s(self) -> float:
        return self.now_s

    def events(self) -> int:
        return self.count

    def fraction(self, now_s: float) -> float:
        return now_s / 1e5

    def partial(self) -> Mapping[str, Any]:
        return {"n": self.count}


class Wall:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Watching(NoHooks):
    def __init__(self, wall: Wall, cancel_at_s: float = float("inf")) -> None:
        self.wall, self.cancel_at_s, self.told = wall, cancel_at_s, []

    def progress(self, fraction: float, **facts: Any) -> None:
        self.told.append((self.wall.now_s, fraction, facts))

    def cancelled(self) -> bool:
        return self.wall.now_s >= self.cancel_at_s


def drive(plane: Ticking, hooks: NoHooks, wall: Wall, **options: Any) -> str:
    env = options.pop("env", simpy.Environment())
    return run.drive(plane, env=env, end_s=1e5, hooks=hooks, clock=wall, budget_s=options.pop("budget_s", 1e9))


def test_progress_is_told_at_most_twice_a_second_and_at_the_end() -> None:
    wall = Wall()
    hooks = Watching(wall)
    assert drive(Ticking(wall), hooks, wall) == run.COMPLETE
    times = [at_s for at_s, _, _ in hooks.told[:-1]]
    assert all(after - before >= 0.5 for before, after in itertools.pairwise(times))
    assert len(times) > 50
    assert hooks.told[-1][1] == pytest.approx(1.0)
    assert hooks.told[-1][2]["partial"]["n"] == 100_000


def test_a_cancelled_run_stops_within_a_second() -> None:
    wall = Wall()
    with pytest.raises(Cancelled):
        drive(Ticking(wall), Watching(wall, cancel_at_s=20.0), wall)
    assert wall.now_s < 21.0


def test_a_run_out_of_time_ends_with_what_is_known() -> None:
    wall = Wall()
    plane = Ticking(wall)
    assert drive(plane, NoHooks(), wall, budget_s=10.0) == run.BUDGET
    assert 9_000 < plane.count < 12_000


def test_control_events_see_the_plane_at_their_own_moment() -> None:
    wall, env, seen = Wall(), simpy.Environment(), []
    plane = Ticking(wall)

    def control():
        for _ in range(3):
            yield env.timeout(10.5)
            seen.append((env.now, plane.now_s))

    env.process(control())
    drive(plane, NoHooks(), wall, env=env)
    assert seen == [(10.5, 10.0), (21.0, 21.0), (31.5, 31.0)]
