"""The whole state of a run: structured arrays and tables, nothing in Python objects."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.clock import clock_arrays
from sims.engine.lists import END
from sims.engine.ring import ring_array
from sims.engine.sketch import BINS
from sims.engine.streams import CHUNK, stream
from sims.parts import calls, health, segments
from sims.parts.asking import ASK
from sims.parts.attempts import FIRST_INSTANCE
from sims.parts.balancing.dispatch import CODES
from sims.parts.calls import instance_records
from sims.parts.meter import BATCHES
from sims.parts.records import pool_of, queues, records
from sims.parts.segments import caches
from sims.parts.tally import SKETCHES
from sims.systems.gateway.config import Config, Health

FIRST_CALLS = 4096
FIRST_ENTRIES = 1 << 14
VERDICTS = 1 << 14
TICKS_REACH = 1 << 14
MOST_CELLS = 1 << 27
"""Shared prefixes × instances; beyond this the table of the index would take more than 2 GiB."""

INTEGERS = ("int", "bool")
PARAMS = np.dtype(
    [
        (one.name, "i8" if one.type in INTEGERS else "f8")
        for one in (*fields(Config), *fields(Health))
        if one.type in (*INTEGERS, "float")
    ]
    + [
        ("from_s", "f8"),
        ("batch_s", "f8"),
        ("policy_code", "i8"),
        ("margin", "i8"),
        ("bound", "f8"),
        ("canary_weight", "f8"),
    ]
)
LOG = np.dtype([(name, "i8") for name in ("instance", "stem", "session", "generation", "blocks", "kept", "hit_blocks")])


class State(NamedTuple):
    """Tables are [prefix, instance] or [router, instance]; row 0 of loads and queues is the truth."""

    times: NDArray[np.float64]
    tree: NDArray[np.int64]
    params: np.recarray
    totals: np.recarray
    ask: np.recarray
    arrivals: np.recarray
    calls: np.recarray
    instances: np.recarray
    queues: np.recarray
    lines: np.recarray
    ring: NDArray[np.int64]
    loads: NDArray[np.int64]
    queue_s: NDArray[np.float64]
    until_s: NDArray[np.float64]
    turns: NDArray[np.int64]
    closed: NDArray[np.int64]
    breakers: np.recarray
    verdicts: np.recarray
    stems: np.recarray
    sessions: np.recarray
    caches: np.recarray
    entries: np.recarray
    at: NDArray[np.int32]
    seen: NDArray[np.int32]
    next_turn_s: NDArray[np.float64]
    match: NDArray[np.int64]
    scores: NDArray[np.float64]
    marks: NDArray[np.float64]
    owners: NDArray[np.int64]
    batches: np.recarray
    sketches: NDArray[np.int64]
    log: np.recarray


def longest_path(stems: np.recarray) -> int:
    """The most stems that any prompt has."""
    deep = np.zeros(len(stems), np.int64)
    for index, parent in enumerate(stems.parent.tolist()):
        deep[index] = 1 + (deep[parent] if parent >= 0 else 0)
    return int(deep.max(initial=0))


def _params(config: Config, *, stems: np.recarray) -> np.recarray:
    params = records(PARAMS, count=1)
    for name in PARAMS.names or ():
        source = config if hasattr(config, name) else config.health
        if hasattr(source, name):
            params[0][name] = getattr(source, name)
    params[0].policy_code = CODES[config.policy]
    # An event makes at most one entry for each segment of one path, and a tail.
    params[0].margin = longest_path(stems) + 2
    return params


def hash_ring(config: Config, *, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sorted points of the ring (0 … 1) and the instance that owns each."""
    points = stream(seed, name="hash ring").random((config.instances, config.hash_points))
    owners = np.repeat(np.arange(config.instances), config.hash_points)
    order = np.argsort(points.ravel(), kind="stable")
    return points.ravel()[order], owners[order]


def make_state(
    config: Config, *, stems: np.recarray, sessions: int, from_s: float, batch_s: float, seed: int, log: int = 0
) -> State:
    """An empty system whose measuring window starts at ``from_s`` with batches of ``batch_s``."""
    count, views = config.instances, 1 + (config.routers if config.view_period_s > 0 else 0)
    if len(stems) * count > MOST_CELLS:
        raise ValueError(f"{len(stems)} shared prefixes on {count} instances are more than the index is meant for")
    rows = 1 if config.health.shared_verdicts else config.routers
    times, tree = clock_arrays(FIRST_INSTANCE + count)
    totals, params = records(calls.CALL_TOTALS, count=1), _params(config, stems=stems)
    totals[0].more, totals[0].first_dirty = 1, END
    totals[0].retry_tokens = 10.0 if config.retry_budget > 0 else 0.0
    params[0].from_s, params[0].batch_s = from_s, batch_s
    closed = np.zeros((2 * rows, count), np.int64)
    closed[rows:] = 1
    seats = records(segments.SESSION, count=max(1, sessions))
    seats.head = END
    marks, owners = hash_ring(config, seed=seed)
    table = (max(1, len(stems)), count)
    return State(
        times=times,
        tree=tree,
        params=params,
        totals=totals,
        ask=records(ASK, count=1),
        arrivals=records(calls.CALL_ARRIVAL, count=CHUNK),
        calls=pool_of(calls.CALL, slots=FIRST_CALLS),
        instances=instance_records(count),
        queues=queues(2 * count),
        lines=queues(3),
        ring=ring_array(1, reach=TICKS_REACH),
        loads=np.zeros((views, count), np.int64),
        queue_s=np.zeros((views, count)),
        until_s=np.zeros((views, count)),
        turns=(np.arange(config.routers) * count // config.routers).astype(np.int64),
        closed=closed,
        breakers=records(health.BREAKER, count=rows * count).reshape(rows, count).view(np.recarray),
        verdicts=records(health.VERDICT, count=VERDICTS),
        stems=stems,
        sessions=seats,
        caches=caches(count),
        entries=pool_of(segments.ENTRY, slots=FIRST_ENTRIES, link="after"),
        at=np.full(table, END, np.int32),
        seen=np.zeros(table, np.int32),
        next_turn_s=np.zeros(table if config.hot_prefix_cap > 0 else (1, 1)),
        match=np.zeros(count, np.int64),
        scores=np.zeros(count),
        marks=marks,
        owners=owners,
        batches=records(calls.CALL_BATCH, count=BATCHES),
        sketches=np.zeros((SKETCHES, BINS), np.int64),
        log=records(LOG, count=log),
    )
