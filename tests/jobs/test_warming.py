"""Simulators are ready when a worker starts; those that must be compiled are compiled side by side."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery.signals import worker_init

from planner.jobs import tasks, warming


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three kinds with simulators that say when they are asked, and one without."""
    asked: list[str] = []
    made: dict[str, Any] = {
        name: SimpleNamespace(simulator=SimpleNamespace(warm=lambda name=name: asked.append(name)))
        for name in ("a", "b", "c")
    }
    made["d"] = SimpleNamespace(simulator=None)
    monkeypatch.setattr(warming.kinds, "all_kinds", lambda: made)
    return asked


def test_kept_code_is_loaded_here_one_after_the_other(three: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "compile_apart", lambda *_, **__: three.append("apart"))
    warming.warm_all()
    assert three == ["a", "b", "c"]


def test_what_must_be_compiled_is_compiled_apart_before_it_is_loaded(
    three: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warming, "COMPILED_S", -1.0)
    monkeypatch.setattr(warming, "compile_apart", lambda slugs, **_: three.append(f"apart: {' '.join(slugs)}"))
    warming.warm_all()
    assert three == ["a", "apart: b c", "b", "c"]


def test_no_more_run_at_once_than_asked_and_a_failure_stops_nothing(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, time; folder = pathlib.Path(sys.argv[1]); mine = folder / sys.argv[2]; mine.touch();"
        "(folder / 'most').open('a').write(f\"{len(list(folder.glob('run*')))} \"); time.sleep(0.2); mine.unlink();"
        "sys.exit(sys.argv[2] == 'run1')"
    )
    begun = time.monotonic()
    warming.compile_apart(
        [f"run{place}" for place in range(4)], at_once=2, command=(sys.executable, "-c", code, str(tmp_path))
    )
    counts = [int(count) for count in (tmp_path / "most").read_text().split()]
    assert len(counts) == 4
    assert max(counts) <= 2
    assert time.monotonic() - begun > 0.39


def test_a_worker_warms_up_before_its_pool_forks() -> None:
    assert tasks.warm in [listener() for _, listener in worker_init.receivers]
    with pytest.MonkeyPatch.context() as patch:
        told: list[bool] = []
        patch.setattr(warming, "warm_all", lambda: told.append(warming.is_under_way()))
        tasks.warm()
    assert told == [True]
    assert not warming.is_under_way()


def test_nobody_waits_for_a_cache_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise redis.ConnectionError

    monkeypatch.setattr(warming, "cache", SimpleNamespace(get=away, set=away, delete=away))
    told: list[str] = []
    monkeypatch.setattr(warming, "warm_all", lambda: told.append("warm"))
    warming.warm_up()
    assert told == ["warm"]
    assert not warming.is_under_way()
