"""Kernels of all simulators, ready before the first job: loaded, or compiled side by side where nothing is kept yet."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import redis
from django.core.cache import cache

from planner import kinds

COMPILED_S = 4.0
"""A simulator that takes longer to get ready had to be compiled: loading kept code takes a second or two."""
_ONE = "import sys; from planner import kinds; kinds.get(sys.argv[1]).simulator.warm()"
_UNDER_WAY = "simulators-getting-ready"
_LONGEST_S = 300
"""A worker that died over it is not waited for any longer."""


def is_under_way() -> bool:
    """Whether a worker that has just started is getting its simulators ready."""
    try:
        return bool(cache.get(_UNDER_WAY))
    except redis.RedisError:
        return False


def warm_up() -> None:
    """What a worker does before its first job; whoever waits for it can see it."""
    with contextlib.suppress(redis.RedisError):
        cache.set(_UNDER_WAY, True, timeout=_LONGEST_S)
    try:
        warm_all()
    finally:
        with contextlib.suppress(redis.RedisError):
            cache.delete(_UNDER_WAY)


def warm_all() -> None:
    """Get every simulator ready in this process.

    Compiling holds a lock of its process. So when the first had to be compiled, the others are compiled in processes of
    their own, as many at a time as there are processors, and then loaded.
    """
    warmers = {
        slug: kind.simulator.warm
        for slug, kind in kinds.all_kinds().items()
        if kind.simulator is not None and kind.simulator.warm is not None
    }
    first, *others = warmers or [""]
    if others and _took_s(warmers.pop(first)) > COMPILED_S:
        compile_apart(others, at_once=os.cpu_count() or 1)
    for warm in warmers.values():
        warm()


def compile_apart(slugs: Sequence[str], *, at_once: int, command: Sequence[str] = (sys.executable, "-c", _ONE)) -> None:
    """Run the command with each slug, some at once. One that fails is left to the process that needs it."""
    running: list[subprocess.Popen[bytes]] = []
    for slug in slugs:
        if len(running) >= at_once:
            running = _after_one(running)
        running.append(subprocess.Popen([*command, slug]))  # noqa: S603 - our own interpreter and kinds
    for each in running:
        each.wait()


def _after_one(running: list[subprocess.Popen[bytes]]) -> list[subprocess.Popen[bytes]]:
    """Those that still run once at least one has ended."""
    while all(each.poll() is None for each in running):
        time.sleep(0.05)
    return [each for each in running if each.poll() is None]


def _took_s(work: Callable[[], None]) -> float:
    begun_s = time.monotonic()
    work()
    return time.monotonic() - begun_s
