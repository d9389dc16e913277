"""The whole state of a run: a few structured arrays, nothing in Python objects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.clock import clock_arrays
from sims.engine.lists import END
from sims.engine.ring import ring_array
from sims.engine.sketch import BINS
from sims.engine.streams import CHUNK
from sims.parts import records as parts
from sims.parts.clients import ClosedLoop, ring_of
from sims.parts.meter import BATCHES, PHASES
from sims.parts.paths import Prefixes
from sims.parts.prefix_caches import cache_arrays, longest_path
from sims.parts.ranks import empty_ranks, set_decode_ranks
from sims.parts.records import queues, records, request_pool
from sims.parts.routing.dispatch import CODES
from sims.parts.step_times import NO_TABLE, step_tables
from sims.systems.llm_serving.config import Config, UnitClass, UnitTraits
from sims.systems.llm_serving.recovery import recovery_record

FIRST_SLOTS = 4096

PARAMS = np.dtype(
    [
        ("most_tokens", "i8"),
        ("egress_s_per_token", "f8"),
        ("ingress_s_per_token", "f8"),
        ("hand_over_s", "f8"),
        ("overlap_share", "f8"),
        ("retracts", "i8"),
        ("kv_headroom_tokens", "i8"),
        ("gateway_s", "f8"),
        ("most_steps", "i8"),
        ("router", "i8"),
        ("aggregated", "i8"),
        ("prefix_block_tokens", "i8"),
        ("cache_blocks", "i8"),
        ("path_entries", "i8"),
        ("index_period_s", "f8"),
    ]
)


class State(NamedTuple):
    """``queues`` belong to prefill units, ``waiting`` to decode units, ``engines`` to replicas.

    ``ranks`` are those of decode units, one row a unit; ``joining`` is empty between two events. An engine's row of
    ``queues`` are the prompts that its step under way completes; ``places`` tell when its sequences take their next
    block (see `sims.parts.blocks`). ``load_tree`` knows the replica with the least of ``loads``.
    """

    times: NDArray[np.float64]
    tree: NDArray[np.int64]
    params: np.recarray
    tables: NDArray[np.float64]
    totals: np.recarray
    window: np.recarray
    arrivals: np.recarray
    clients: np.recarray
    turns: NDArray[np.float64]
    requests: np.recarray
    prefills: np.recarray
    queues: np.recarray
    units: np.recarray
    ranks: np.recarray
    rank_running: NDArray[np.int64]
    rank_kv: NDArray[np.int64]
    rank_work: NDArray[np.int64]
    engines: np.recarray
    places: NDArray[np.int64]
    loads: NDArray[np.float64]
    load_tree: NDArray[np.int64]
    waiting: np.recarray
    joining: np.recarray
    parked: np.recarray
    fetching: np.recarray
    recovery: np.recarray
    ring: NDArray[np.int64]
    batches: np.recarray
    ttft: NDArray[np.int64]
    tpot: NDArray[np.int64]
    itl: NDArray[np.int64]
    e2e: NDArray[np.int64]
    stems: np.recarray
    sessions: np.recarray
    caches: np.recarray
    entries: np.recarray
    at: NDArray[np.int32]
    seen: NDArray[np.int32]


def make_state(
    config: Config, *, from_s: float, batch_s: float, prefixes: Prefixes, loop: ClosedLoop | None = None
) -> State:
    """An empty system whose measuring window starts at ``from_s`` with batches of ``batch_s``.

    ``prefixes`` are those of the requests to come; an arrival names a stem of it. The clients of a closed ``loop`` all
    begin at once.
    """
    clients, turns = ring_of(
        loop.clients if loop else 0,
        pause_s=config.gateway_s + (loop.think_s if loop else 0.0),
        first_s=config.gateway_s,
    )
    times, tree = clock_arrays(1 + config.prefill_units + config.decode_units)
    totals = records(parts.TOTALS, count=1)
    totals[0].more, totals[0].first_dirty = 1, END
    window = records(parts.WINDOW, count=1)
    window[0].from_s, window[0].batch_s = from_s, batch_s
    window[0].ttft_slo_s, window[0].tpot_slo_s = config.ttft_slo_s, config.tpot_slo_s
    prefills = units_of(parts.PREFILL_UNIT, classes=config.prefillers)
    units = units_of(parts.UNIT, classes=config.decoders, first_table=len(config.prefillers))
    if not config.aggregated:
        set_decode_ranks(units, classes=config.decoders)
    ranks = empty_ranks(units)
    units.tokens_per_step = config.tokens_per_step
    engines = engines_of(config, units=units)
    loads, load_tree = clock_arrays(len(units))
    loads[: len(units)] = 0.0
    fillers = units if config.aggregated else prefills
    caches = cache_arrays((len(engines) or len(prefills)) if config.prefix_cache_tokens else 1, stems=prefixes.stems)
    return State(
        times=times,
        tree=tree,
        params=_params(config, prefixes=prefixes),
        tables=step_tables([one.step_table for one in (*config.prefillers, *config.decoders)]),
        totals=totals,
        window=window,
        arrivals=records(parts.ARRIVAL, count=CHUNK),
        clients=clients,
        turns=turns,
        requests=request_pool(FIRST_SLOTS),
        prefills=prefills,
        queues=queues(int(fillers.ranks.sum())),
        units=units,
        ranks=ranks.cells,
        rank_running=ranks.running,
        rank_kv=ranks.kv,
        rank_work=ranks.work,
        engines=engines,
        loads=loads,
        load_tree=load_tree,
        places=np.zeros((len(engines), int(units.block_tokens.max())), np.int64),
        waiting=queues(config.decode_units),
        joining=queues(1),
        parked=queues(1),
        fetching=queues(1),
        recovery=recovery_record(config.recovery),
        ring=ring_array(config.decode_units),
        batches=records(parts.BATCH, count=BATCHES),
        ttft=np.zeros((PHASES * BATCHES, BINS), np.int64),
        tpot=np.zeros((PHASES * BATCHES, BINS), np.int64),
        itl=np.zeros((PHASES * BATCHES, BINS), np.int64),
        e2e=np.zeros((PHASES * BATCHES, BINS), np.int64),
        stems=prefixes.stems,
        **caches._asdict(),
    )


def _params(config: Config, *, prefixes: Prefixes) -> np.recarray:
    params = records(PARAMS, count=1)
    given = {
        "router": CODES[config.router],
        "prefix_block_tokens": prefixes.block_tokens,
        "cache_blocks": config.prefix_cache_tokens // prefixes.block_tokens,
        # A prompt makes at most one entry for each segment of its path, and its own.
        "path_entries": longest_path(prefixes.stems) + 2 if config.prefix_cache_tokens else 0,
        "index_period_s": 0.0,
        "retracts": int(config.kv_admission == "retract"),
        "kv_headroom_tokens": max(config.kv_headroom_tokens, math.ceil(config.tokens_per_step)),
    }
    for name in PARAMS.names or ():
        params[0][name] = given[name] if name in given else getattr(config, name)
    return params


def units_of(dtype: np.dtype, *, classes: Sequence[UnitClass], first_table: int = 0) -> np.recarray:
    """Records of the units of all classes, in order, each with the place of its first rank; or one idle unit."""
    made = records(dtype, count=max(1, sum(one.count for one in classes)))
    begin = 0
    for table, one in enumerate(classes, start=first_table):
        mine = made[begin : begin + one.count]
        for name in {field.name for field in fields(UnitTraits)} & set(dtype.names or ()):
            mine[name] = getattr(one, name)
        mine["ranks"] = one.prefill_ranks
        mine["weight"] = one.weight(classes[0], decodes=dtype is parts.UNIT)
        mine["table"] = table if one.step_table else NO_TABLE
        begin += one.count
    made.alive = 1
    made.first_rank = np.cumsum(made.ranks) - made.ranks
    return made


def engines_of(config: Config, *, units: np.recarray) -> np.recarray:
    """The idle engines of replicas, ranks of the first unit first; no more run than a step has tokens for."""
    if not config.aggregated:
        return records(parts.ENGINE, count=0)
    made = records(parts.ENGINE, count=int(units.ranks.sum()))
    made.head = made.tail = made.newest = made.filling = END
    owner = np.repeat(np.arange(len(units)), units.ranks)
    blocks = np.repeat([one.engine_blocks for one in config.decoders], [one.count for one in config.decoders])
    made.blocks = made.free = blocks[owner]
    made.most_running = np.minimum(units.max_running, units.prefill_budget_tokens)[owner]
    return made
