"""The invariants of this system, counted afresh from the requests: nothing is lost, made up or out of order."""

from __future__ import annotations

import numpy as np

from sims.engine.invariants import conserved, holds
from sims.engine.kernel import from_python
from sims.engine.lists import END
from sims.parts.decode import steps_done
from sims.parts.records import FETCHING, FREE, PARKED, PREFILL, RUNNING, WAITING
from sims.systems.llm_serving.audit_engines import audit_engines
from sims.systems.llm_serving.state import State

steps_done = from_python(steps_done)


def audit(state: State) -> None:
    """Raise `InvariantError` unless requests, tokens and KV are conserved and the clock never ran backwards."""
    totals, pool = state.totals[0], state.requests
    flying = pool[pool.stage != FREE]
    conserved(name="requests in slots", left=len(flying), right=int(totals.in_flight))
    served = int(totals.finished + totals.rejected + totals.lost + totals.in_flight)
    conserved(name="requests arrived", left=int(totals.arrived), right=served)
    conserved(name="clock ran backwards", left=int(totals.backwards), right=0)
    holds(bool(np.all(flying.ready_s >= flying.arrival_s)), name="a request is ready before it arrives")
    lines = (state.queues, state.waiting, state.engines, state.parked, state.fetching, state.ranks, state.joining)
    begun = int(np.sum(state.engines.filling != END))
    queued = begun + sum(int(line["queued"].sum()) for line in lines)
    resting = np.isin(flying.stage, (PREFILL, WAITING, PARKED, FETCHING))
    conserved(name="requests queued", left=int(resting.sum()), right=queued)
    emitted = int(totals.finished_output_tokens + totals.lost_output_tokens) + sum(
        _emitted(state, request) for request in flying
    )
    conserved(name="output tokens", left=int(totals.output_tokens), right=emitted)
    conserved(name="idle units with work", left=_idle_with_work(state), right=0)
    for index in range(len(state.units)):
        _audit_unit(state, index)
    if state.params[0].aggregated:
        audit_engines(state)


def _idle_with_work(state: State) -> int:
    if state.params[0].aggregated:
        resting = (state.units.planned == 0) & (state.units.stopped == 0)
        inside = np.add.reduceat(state.engines.queued + state.engines.admitted, state.units.first_rank)
        return int(np.sum(resting & (inside > 0)))
    prompts = np.add.reduceat(state.queues.queued, state.prefills.first_rank)
    resting = (state.prefills.busy == 0) & (state.prefills.stopped == 0)
    return int(np.sum(resting & (prompts > 0)))


def _emitted(state: State, request: np.record) -> int:
    if request.stage != RUNNING:
        return int(request.generated)
    unit = state.units[request.unit]
    return int(request.origin + unit.clock - request.input)


def _audit_unit(state: State, index: int) -> None:
    unit, pool = state.units[index], state.requests
    mine = pool[(pool.unit == index) & (pool.stage == RUNNING)]
    conserved(name=f"sequences running in unit {index}", left=len(mine), right=int(unit.running))
    kv = sum(int(request.input) + _emitted(state, request) for request in mine)
    conserved(name=f"KV tokens in unit {index}", left=kv, right=int(unit.kv))
    if not state.params[0].aggregated:
        _audit_ranks(state, index)
    holds(
        bool(np.all(mine.finish_step > unit.step + _steps(unit, state))), name=f"unit {index} kept a finished sequence"
    )


def _steps(unit: np.record, state: State) -> int:
    return int(steps_done(unit, float(state.totals[0].now_s)))


def _audit_ranks(state: State, index: int) -> None:
    """What each rank of a decode unit holds and expects, and that together they are the unit."""
    unit, pool = state.units[index], state.requests
    conserved(name=f"ranks of unit {index} run", left=int(state.rank_running[index].sum()), right=int(unit.running))
    waiting = int(state.ranks[index].queued.sum())
    conserved(name=f"sequences that wait on ranks of unit {index}", left=waiting, right=int(unit.blocked))
    for r, rank in enumerate(state.ranks[index]):
        here = pool[(pool.unit == index) & (pool["rank"] == r) & np.isin(pool.stage, (RUNNING, WAITING))]
        mine, coming, name = here[here.stage == RUNNING], here[here.stage == WAITING], f"rank {r} of unit {index}"
        kv = sum(int(request.input) + _emitted(state, request) for request in mine)
        conserved(name=f"sequences on {name}", left=len(mine), right=int(state.rank_running[index, r]))
        conserved(name=f"KV tokens on {name}", left=kv, right=int(state.rank_kv[index, r]))
        due = len(here) * unit.sequence_weight + (kv + (coming.input + coming.generated).sum()) * unit.token_weight
        conserved(name=f"work on {name} or on its way", left=int(due), right=int(state.rank_work[index, r]))
        whole = int((mine.input + mine.output).sum())
        conserved(name=f"tokens reserved on {name}", left=whole, right=int(rank.reserved))
        held = kv if state.params[0].retracts else rank.reserved
        holds(held <= rank.kv_capacity or len(mine) == 1, name=f"{name} holds more KV than it has")
        holds(len(mine) <= rank.max_running, name=f"{name} runs more sequences than allowed")
