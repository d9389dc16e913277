"""The whole state of a run: a few structured arrays, nothing in Python objects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.clock import clock_arrays
from sims.engine.ring import ring_array
from sims.engine.sketch import BINS
from sims.engine.streams import CHUNK
from sims.parts import records as parts
from sims.parts.meter import BATCHES, PHASES
from sims.parts.records import queues, records, request_pool
from sims.parts.routing.dispatch import CODES
from sims.systems.llm_serving.config import Config

FIRST_SLOTS = 4096

PARAMS = np.dtype(
    [
        ("step_s", "f8"),
        ("step_s_per_sequence", "f8"),
        ("step_s_per_kv_token", "f8"),
        ("prefill_step_s", "f8"),
        ("prefill_s_per_token", "f8"),
        ("prefill_budget_tokens", "i8"),
        ("prefill_ranks", "i8"),
        ("kv_capacity_tokens", "i8"),
        ("max_running", "i8"),
        ("egress_s_per_token", "f8"),
        ("ingress_s_per_token", "f8"),
        ("hand_over_s", "f8"),
        ("gateway_s", "f8"),
        ("most_steps", "i8"),
        ("router", "i8"),
        ("aggregated", "i8"),
    ]
)


class State(NamedTuple):
    """``queues`` belong to prefill units (or to replicas: prompts being filled), ``waiting`` to units."""

    times: NDArray[np.float64]
    tree: NDArray[np.int64]
    params: np.recarray
    totals: np.recarray
    window: np.recarray
    arrivals: np.recarray
    requests: np.recarray
    prefills: np.recarray
    queues: np.recarray
    units: np.recarray
    waiting: np.recarray
    parked: np.recarray
    fetching: np.recarray
    ring: NDArray[np.int64]
    batches: np.recarray
    ttft: NDArray[np.int64]
    tpot: NDArray[np.int64]
    itl: NDArray[np.int64]
    e2e: NDArray[np.int64]


def make_state(config: Config, *, from_s: float, batch_s: float) -> State:
    """An empty system whose measuring window starts at ``from_s`` with batches of ``batch_s``."""
    fillers = config.decode_units if config.aggregated else config.prefill_units
    times, tree = clock_arrays(1 + config.prefill_units + config.decode_units)
    params, totals = records(PARAMS, count=1), records(parts.TOTALS, count=1)
    for name in PARAMS.names or ():
        params[0][name] = CODES[config.router] if name == "router" else getattr(config, name)
    totals[0].more = 1
    window = records(parts.WINDOW, count=1)
    window[0].from_s, window[0].batch_s = from_s, batch_s
    window[0].ttft_slo_s, window[0].tpot_slo_s = config.ttft_slo_s, config.tpot_slo_s
    prefills, units = (
        records(parts.PREFILL_UNIT, count=max(1, config.prefill_units)),
        records(parts.UNIT, count=config.decode_units),
    )
    prefills.alive = 1
    units.alive = 1
    return State(
        times=times,
        tree=tree,
        params=params,
        totals=totals,
        window=window,
        arrivals=records(parts.ARRIVAL, count=CHUNK),
        requests=request_pool(FIRST_SLOTS),
        prefills=prefills,
        queues=queues(fillers * config.prefill_ranks),
        units=units,
        waiting=queues(config.decode_units),
        parked=queues(1),
        fetching=queues(1),
        ring=ring_array(config.decode_units),
        batches=records(parts.BATCH, count=BATCHES),
        ttft=np.zeros((PHASES * BATCHES, BINS), np.int64),
        tpot=np.zeros((PHASES * BATCHES, BINS), np.int64),
        itl=np.zeros((PHASES * BATCHES, BINS), np.int64),
        e2e=np.zeros((PHASES * BATCHES, BINS), np.int64),
    )
