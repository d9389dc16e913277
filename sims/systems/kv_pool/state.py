"""The whole state of a run: a few structured arrays, nothing in Python objects."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.clock import clock_arrays
from sims.engine.lists import END
from sims.engine.sketch import BINS, edges
from sims.engine.streams import CHUNK
from sims.parts import holdings, records
from sims.parts.eviction.dispatch import CODES
from sims.parts.gaps import return_rate
from sims.parts.holdings import Store, make_store
from sims.parts.meter import BATCHES
from sims.parts.node_links import KINDS, LINK
from sims.parts.sessions import TURN, SessionClass, Turns
from sims.systems.kv_pool.config import FETCHES, HOLDS, PLACES, Config
from sims.systems.kv_pool.source import Source
from sims.systems.kv_pool.tables import NODE, PARAMS, PIECE, REQUEST, STEP, SUMS, TIER, TOTALS

FIRST_SLOTS = 4096
FIRST_ENTRIES = 1 << 14
TURNS = 64
"""Turns of a session that are told apart; later ones count with the last."""


class State(NamedTuple):
    """``queues`` are two a node: prompts that need no fetch, and prompts whose KV is on its way, by its arrival."""

    times: NDArray[np.float64]
    tree: NDArray[np.int64]
    params: np.recarray
    tiers: np.recarray
    totals: np.recarray
    window: np.recarray
    arrivals: np.recarray
    requests: np.recarray
    nodes: np.recarray
    queues: np.recarray
    links: np.recarray
    speeds: NDArray[np.float64]
    store: Store
    tickets: NDArray[np.int64]
    routes: NDArray[np.int64]
    lengths: NDArray[np.int64]
    path: np.recarray
    found: NDArray[np.int64]
    pieces: np.recarray
    batches: np.recarray
    whole: np.recarray
    one: np.recarray
    by_turn: NDArray[np.int64]
    by_kind: NDArray[np.int64]
    ttft: NDArray[np.int64]
    alone: NDArray[np.int64]
    waits: NDArray[np.int64]


def make_state(config: Config, *, source: Source, from_s: float, batch_s: float) -> State:
    """An empty system whose measuring window starts at ``from_s`` with batches of ``batch_s``."""
    times, tree = clock_arrays(1 + config.nodes)
    totals, window = records.records(TOTALS, count=1), records.records(records.WINDOW, count=1)
    totals[0].more = 1
    window[0].from_s, window[0].batch_s = from_s, batch_s
    nodes = records.records(NODE, count=config.nodes)
    nodes.alive, nodes.weight, nodes.serving = 1, 1.0, END
    longest = max(2, source.longest_path)
    tiers = _tiers(config)
    return State(
        times=times,
        tree=tree,
        params=_params(config, source=source),
        tiers=tiers,
        totals=totals,
        window=window,
        arrivals=records.records(TURN, count=CHUNK),
        requests=records.pool_of(REQUEST, slots=FIRST_SLOTS),
        nodes=nodes,
        queues=records.queues(2 * config.nodes),
        links=records.records(LINK, count=len(KINDS) * config.nodes),
        speeds=np.array(
            [getattr(config.links, name) for name in ("pcie", "pcie", "network", "network", "ssd_read", "ssd_write")]
        ),
        store=_store(config, source=source, tiers=tiers),
        tickets=np.full(1, END, np.int64),
        routes=source.routes(),
        lengths=source.lengths(),
        path=records.records(STEP, count=longest),
        found=np.full((longest, 3), END, np.int64),
        pieces=records.records(PIECE, count=3 * longest),
        batches=records.records(SUMS, count=BATCHES),
        whole=records.records(SUMS, count=1),
        one=records.records(SUMS, count=1),
        by_turn=np.zeros((TURNS, 3), np.int64),
        by_kind=np.zeros((len(source.kinds()), 5), np.int64),
        ttft=np.zeros((BATCHES, BINS), np.int64),
        alone=np.zeros((BATCHES, BINS), np.int64),
        waits=np.zeros((2, BINS), np.int64),
    )


def _params(config: Config, *, source: Source) -> np.recarray:
    params = records.records(PARAMS, count=1)
    one = params[0]
    one.nodes, one.block_tokens, one.block_bytes = config.nodes, config.block_tokens, config.block_bytes
    one.prefill_s, one.linear_s, one.square_s = (
        config.prefill_s,
        config.prefill_s_per_token,
        config.prefill_s_per_token2,
    )
    one.layers, one.state_blocks = config.layers, config.state_blocks
    one.fetch, one.policy, one.place = FETCHES.index(config.fetch), CODES[config.eviction], PLACES.index(config.place)
    one.groups = source.group_blocks(config.block_tokens)
    one.new_quota, one.serves_from_s = -1.0, config.serves_from_s
    return params


def _tiers(config: Config) -> np.recarray:
    tiers = records.records(TIER, count=3)
    first = 0
    for tier, (size, count) in enumerate(zip(config.tier_bytes(), config.caches(), strict=True)):
        one, spec = tiers[tier], (None, config.dram, config.ssd)[tier]
        one.first, one.pooled = first, 0 if spec is None else int(spec.pooled)
        one.node_blocks = int(size // config.block_bytes)
        one.there = int(one.node_blocks > 0)
        if spec is not None:
            one.holds, one.every_touch, one.latency_s = HOLDS.index(spec.holds), int(spec.every_touch), spec.latency_s
        first += count
    return tiers


def _store(config: Config, *, source: Source, tiers: np.recarray) -> Store:
    classes = source.kinds()
    worth = np.zeros((len(classes), BINS))
    middle_s = np.sqrt(edges()[:-1] * edges()[1:])
    for kind, one in enumerate(classes):
        if one is not None:
            worth[kind] = return_rate(one.gaps, follow=one.follow_share, age_s=middle_s)
    owners = source.fixed_owners
    store = make_store(
        caches=sum(config.caches()), kinds=len(classes), owners=owners, entries=FIRST_ENTRIES, worth=worth
    )
    _describe(store, classes)
    store.owners.kind[:owners] = len(classes) - 1
    for one, count in zip(tiers, config.caches(), strict=True):
        share = config.nodes // count
        store.caches.capacity[one.first : one.first + count] = one.node_blocks * share
    tokens, block = config.block_tokens, store.book[0]
    # Where reading takes longer than computing, an entry saves nothing; it is never worth less than that.
    fetch_s = config.kv_bytes_per_token * tokens / config.links.network
    block.save_s = max(0.0, config.prefill_s_per_token * tokens - fetch_s)
    block.save_deeper_s = 2 * config.prefill_s_per_token2 * tokens * tokens
    return store


def _describe(store: Store, classes: tuple[SessionClass | None, ...]) -> None:
    for kind, one in enumerate(classes):
        row = store.kinds[kind]
        row.kept = 1 if one is None else int(one.kept)
        row.ttl_s = math.inf if one is None else one.ttl_s
        row.shared = int(one is None)


def grown_store(state: State) -> State:
    """The same state with twice the entries and owners, whichever ran short."""
    store = state.store
    if store.book[0].entries_left <= margin(state):
        store = holdings.with_entries(store, len(store.entries))
    if store.book[0].owners_left <= 1:
        store = holdings.with_owners(store, max(1024, len(store.owners)))
    return state._replace(store=store)


def margin(state: State) -> int:
    """Entries that one request may need."""
    return 3 * len(state.path) + 8


def with_tickets(state: State, chunk: Turns) -> State:
    """The same state with a place for every session that the turns name."""
    highest = int(chunk["ticket"].max(initial=-1))
    if highest < len(state.tickets):
        return state
    tickets = np.full(max(2 * len(state.tickets), highest + 1), END, np.int64)
    tickets[: len(state.tickets)] = state.tickets
    return state._replace(tickets=tickets)
