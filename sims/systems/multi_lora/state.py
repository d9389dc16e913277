"""The whole state of a run: structured arrays and tables, nothing in Python objects."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.clock import clock_arrays
from sims.engine.lists import END
from sims.engine.ring import ring_array
from sims.engine.sketch import BINS
from sims.engine.streams import CHUNK
from sims.parts import adapters as parts
from sims.parts import records as shared
from sims.parts.adapter_meter import LOG, SKETCHES
from sims.parts.adapter_routing.dispatch import CODES
from sims.parts.adapters import IN_HOST, NO_LINE, RESIDENT
from sims.parts.homes import ASK, balanced_orders, hashed_orders
from sims.parts.host_memory import DOWNLOAD
from sims.parts.lru_lists import LruArrays, fill_order, lru_arrays
from sims.parts.meter import BATCHES
from sims.parts.records import pool_of, queues, records
from sims.parts.token_buckets import TENANT
from sims.systems.multi_lora.config import HOMED, PREFILLS, SCHEDULERS, SWAPS, Config, Tenants

FIRST_SLOTS = 4096
BURST_S = 10.0
NO_QUOTA = 1 << 40
MOST_CELLS = 1 << 22
"""Adapters and tenants × replicas; beyond this the tables would take more than half a gigabyte."""

INTEGERS = ("int", "bool")
PARAMS = np.dtype(
    [(one.name, "i8" if one.type in INTEGERS else "f8") for one in fields(Config) if one.type in (*INTEGERS, "float")]
    + [(name, "i8") for name in ("swap", "prefill", "fair", "policy", "homed")]
    + [(name, "f8") for name in ("swap_s_per_byte", "store_s_per_byte")]
)
"""What is told in numbers, under its name; choices as their codes."""


class State(NamedTuple):
    """Tables are [replica, adapter] (the last adapter is the bare base) or [replica, tenant]."""

    times: NDArray[np.float64]
    tree: NDArray[np.int64]
    params: np.recarray
    totals: np.recarray
    window: np.recarray
    ask: np.recarray
    arrivals: np.recarray
    requests: np.recarray
    outbox: np.recarray
    parked: np.recarray
    units: np.recarray
    filling: np.recarray
    ring: NDArray[np.int64]
    cells: np.recarray
    lines: NDArray[np.int64]
    lined: NDArray[np.int64]
    older: NDArray[np.int64]
    newer: NDArray[np.int64]
    ends: NDArray[np.int64]
    copying: np.recarray
    asked: np.recarray
    downloads: np.recarray
    lanes: np.recarray
    waiters: NDArray[np.int64]
    tenants: np.recarray
    bucket_times: NDArray[np.float64]
    bucket_tree: NDArray[np.int64]
    tenant_of: NDArray[np.int64]
    sizes: NDArray[np.float64]
    homes: NDArray[np.int64]
    copies: NDArray[np.int64]
    came: NDArray[np.int64]
    distinct_s: NDArray[np.float64]
    batches: np.recarray
    sketches: NDArray[np.int64]
    log: np.recarray


def table(dtype: np.dtype, *, rows: int, columns: int) -> np.recarray:
    """Zeroed records in rows and columns."""
    return records(dtype, count=rows * columns).reshape(rows, columns).view(np.recarray)


def placement(config: Config, shares: NDArray[np.float64], *, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of the replicas that may be chosen for each adapter, and how many of it are its homes."""
    count = config.replicas - config.cold_replicas
    orders = hashed_orders(config.adapters + 1, replicas=count, seed=seed)
    copies = np.full(config.adapters + 1, min(count, config.copies if config.policy == "affinity" else 1), np.int64)
    if config.policy == "load_aware":
        wanted = np.ceil(config.copies_per_load * count * shares - 1e-9).astype(np.int64)
        copies[:-1] = np.clip(wanted, min(count, config.copies), count)
        orders[:-1] = balanced_orders(shares, copies=copies[:-1], orders=orders[:-1])
    return orders, copies


def _params(config: Config) -> np.recarray:
    params = records(PARAMS, count=1)
    for one in fields(Config):
        if one.type in (*INTEGERS, "float"):
            params[0][one.name] = getattr(config, one.name)
    params[0].swap, params[0].prefill = SWAPS[config.swap], PREFILLS[config.prefill]
    params[0].fair, params[0].policy = SCHEDULERS[config.scheduler], CODES[config.policy]
    params[0].homed = config.policy in HOMED
    params[0].swap_s_per_byte, params[0].store_s_per_byte = 1 / config.swap_bytes_per_s, 1 / config.store_bytes_per_s
    return params


def _window(config: Config, *, from_s: float, batch_s: float) -> np.recarray:
    window = records(shared.WINDOW, count=1)
    window[0].from_s, window[0].batch_s = from_s, batch_s
    window[0].ttft_slo_s, window[0].tpot_slo_s = config.ttft_slo_s, config.tpot_slo_s
    return window


def _tenants(tenants: Tenants) -> np.recarray:
    made = records(TENANT, count=tenants.count)
    made.weight = tenants.by_tenant("weights", otherwise=1.0)
    made.rate = tenants.by_tenant("limits_tokens_per_s", otherwise=math.inf)
    made.burst = tenants.by_tenant("bursts_tokens", otherwise=math.nan)
    made.burst = np.where(np.isnan(made.burst), BURST_S * made.rate, made.burst)
    made.level = made.burst
    made.slots = np.minimum(tenants.by_tenant("slots", otherwise=NO_QUOTA), NO_QUOTA)
    made.head = made.tail = END
    return made


def make_state(
    config: Config,
    *,
    tenants: Tenants,
    sizes: NDArray[np.float64],
    shares: NDArray[np.float64],
    from_s: float,
    batch_s: float,
    seed: int,
    log: int = 0,
) -> State:
    """A system without requests whose measuring window starts at ``from_s`` with batches of ``batch_s``."""
    count, adapters = config.replicas, config.adapters + 1
    if count * (adapters + tenants.count) > MOST_CELLS:
        what = f"{config.adapters} adapters of {tenants.count - 1} tenants on {count} replicas"
        raise ValueError(f"{what} are more than the tables are meant for")
    times, tree = clock_arrays(2 + 3 * count)
    buckets, bucket_tree = clock_arrays(tenants.count)
    homes, copies = placement(config, shares, seed=seed)
    cells, lists = table(parts.CELL, rows=count, columns=adapters), lru_arrays(count, orders=2, items=adapters)
    totals, downloads = (
        records(parts.ADAPTER_TOTALS, count=1),
        table(DOWNLOAD, rows=count, columns=config.store_downloads),
    )
    totals[0].more = 1
    downloads.adapter = END
    state = State(
        times=times,
        tree=tree,
        params=_params(config),
        totals=totals,
        window=_window(config, from_s=from_s, batch_s=batch_s),
        ask=records(ASK, count=1),
        arrivals=records(parts.ADAPTER_ARRIVAL, count=CHUNK),
        requests=pool_of(parts.ADAPTER_REQUEST, slots=FIRST_SLOTS),
        outbox=queues(1),
        parked=queues(1),
        units=records(parts.REPLICA, count=count),
        filling=queues(count),
        ring=ring_array(count),
        cells=cells,
        lines=np.zeros((count, 2, adapters), np.int64),
        lined=np.zeros((count, 2), np.int64),
        older=lists.older,
        newer=lists.newer,
        ends=lists.ends,
        copying=queues(count),
        asked=queues(count),
        downloads=downloads,
        lanes=table(parts.LANE, rows=count, columns=tenants.count),
        waiters=np.zeros((count, tenants.count), np.int64),
        tenants=_tenants(tenants),
        bucket_times=buckets,
        bucket_tree=bucket_tree,
        tenant_of=np.append(tenants.of_adapter, tenants.count - 1).astype(np.int64),
        sizes=np.append(sizes, 0.0),
        homes=homes,
        copies=copies,
        came=np.zeros(adapters, np.int64),
        distinct_s=np.zeros((count, config.slots + 2)),
        batches=records(parts.ADAPTER_BATCH, count=BATCHES),
        sketches=np.zeros((SKETCHES, BINS), np.int64),
        log=records(LOG, count=log),
    )
    furnish(state, config, shares=shares)
    return state


def furnish(state: State, config: Config, *, shares: NDArray[np.float64]) -> None:
    """Set all replicas up: the bare base everywhere, pinned adapters where they may be asked for, what is preloaded."""
    state.units.alive, state.units.left_tenant = 1, END
    state.cells.head = state.cells.tail = END
    state.cells.line = NO_LINE
    state.cells.slot[:, -1], state.cells.host[:, -1], state.cells.pinned[:, -1] = RESIDENT, IN_HOST, 1
    ranked = np.argsort(-shares, kind="stable")
    for u in range(config.replicas):
        mine = ranked[at_home(state, config, u)[ranked]]
        pinned = np.intersect1d(np.asarray(config.pinned, np.int64), mine)
        others = mine[~np.isin(mine, pinned)]
        in_host = others[: config.host_adapters - len(pinned)] if config.preload != "none" else others[:0]
        if config.cold_hold_all and u >= state.homes.shape[1]:
            in_host = others = ranked
        in_slots = in_host[: config.slots - len(pinned)] if config.preload == "slots" else others[:0]
        state.cells.pinned[u, pinned] = 1
        state.cells.slot[u, np.append(pinned, in_slots)] = RESIDENT
        state.cells.host[u, np.append(pinned, in_host)] = IN_HOST
        lists = LruArrays(state.older, state.newer, state.ends)
        fill_order(lists, owner=u, which=0, items=in_slots)
        fill_order(lists, owner=u, which=1, items=in_host)
        unit = state.units[u]
        unit.empty_slots = config.slots - len(pinned) - len(in_slots)
        unit.idle, unit.host_used = len(in_slots), len(pinned) + len(in_host)


def at_home(state: State, config: Config, u: int) -> NDArray[np.bool_]:
    """Which adapters may be asked for on a replica in the ordinary course."""
    count = state.homes.shape[1]
    if config.policy not in HOMED or u >= count:
        return np.full(config.adapters, u < count)
    firsts = np.arange(count)[None, :] < state.copies[:-1, None]
    mine: NDArray[np.bool_] = ((state.homes[:-1] == u) & firsts).any(axis=1)
    return mine
