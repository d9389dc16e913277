"""The invariants of replicas, counted afresh from the requests: tokens, blocks, orders, caps."""

from __future__ import annotations

import numpy as np

from sims.engine.invariants import conserved, holds
from sims.engine.kernel import from_python
from sims.engine.lists import END
from sims.parts.decode import clock_at
from sims.parts.records import FREE, PREFILL, RUNNING, WAITING
from sims.systems.llm_serving.state import State

clock_at = from_python(clock_at)


def audit_engines(state: State) -> None:
    """Raise `InvariantError` unless each engine's books agree with its requests. Of a halted unit they are gone."""
    loads = state.units.load * state.units.weight
    holds(bool(np.all(loads == state.loads[: len(loads)])), name="the tree of loads knows of others")
    for u in range(len(state.units)):
        unit = state.units[u]
        if unit.stopped == 0:
            for e in range(unit.first_rank, unit.first_rank + unit.ranks):
                _audit_engine(state, u, e)


def _audit_engine(state: State, u: int, e: int) -> None:
    unit, engine, pool = state.units[u], state.engines[e], state.requests
    here = pool[(pool.stage != FREE) & (pool.unit == u) & (pool["rank"] == e)]
    running, filling, waiting = (here[here.stage == stage] for stage in (RUNNING, PREFILL, WAITING))
    conserved(name=f"sequences of engine {e}", left=len(running), right=int(engine.running))
    conserved(name=f"admitted of engine {e}", left=len(running) + len(filling), right=int(engine.admitted))
    conserved(name=f"queue of engine {e}", left=len(waiting), right=int(engine.queued))
    conserved(name=f"tokens of engine {e}", left=int(running.origin.sum()), right=int(engine.origin))
    conserved(name=f"load of engine {e}", left=int((here.input + here.output).sum()), right=int(engine.load))
    holds(engine.admitted <= min(unit.max_running, unit.prefill_budget_tokens), name=f"engine {e} is over its cap")
    holds(
        engine.running + engine.tokens <= unit.prefill_budget_tokens or engine.tokens == 0,
        name=f"engine {e} is over its budget",
    )
    places = np.bincount((1 - running.origin) % unit.block_tokens, minlength=state.places.shape[1])
    holds(bool(np.all(places == state.places[e])), name=f"engine {e} takes blocks at other times than its sequences")
    _audit_blocks(state, u, e, running, filling)
    _audit_order(state, e, len(running) + len(filling))


def _audit_blocks(state: State, u: int, e: int, running: np.recarray, filling: np.recarray) -> None:
    unit, engine, block = state.units[u], state.engines[e], int(state.units[u].block_tokens)
    # Blocks of the first step under way are taken when it is planned.
    clock = clock_at(unit, unit.step + (1 if unit.planned > 0 else 0))
    tokens = np.concatenate([running.origin + clock - 1, filling.input + filling.generated - filling.todo])
    held = int((-(-tokens // block)).sum())
    conserved(name=f"blocks of engine {e}", left=int(engine.blocks), right=held + int(engine.free))
    if state.params[0].cache_blocks > 0:
        cached = int(state.caches[e].used * state.params[0].prefix_block_tokens)
        holds(cached <= engine.free * block, name=f"the cache of engine {e} holds blocks of requests")
    holds(engine.free >= 0, name=f"engine {e} holds more blocks than it has")


def _audit_order(state: State, e: int, admitted: int) -> None:
    slot, seen, newer = int(state.engines[e].newest), 0, END
    while slot != END and seen <= admitted:
        holds(int(state.requests[slot].newer) == newer, name=f"the order of engine {e} is broken")
        slot, newer, seen = int(state.requests[slot].older), slot, seen + 1
    conserved(name=f"order of engine {e}", left=seen, right=admitted)
