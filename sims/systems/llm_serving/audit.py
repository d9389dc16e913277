"""The invariants of this system, counted afresh from the requests: nothing is lost, made up or out of order."""

from __future__ import annotations

import numpy as np

from sims.engine.invariants import conserved, holds
from sims.parts.decode import steps_done
from sims.parts.records import FETCHING, FREE, PARKED, PREFILL, RUNNING, WAITING
from sims.systems.llm_serving.state import State


def audit(state: State) -> None:
    """Raise `InvariantError` unless requests, tokens and KV are conserved and the clock never ran backwards."""
    totals, pool = state.totals[0], state.requests
    flying = pool[pool.stage != FREE]
    conserved(name="requests in slots", left=len(flying), right=int(totals.in_flight))
    served = int(totals.finished + totals.rejected + totals.lost + totals.in_flight)
    conserved(name="requests arrived", left=int(totals.arrived), right=served)
    conserved(name="clock ran backwards", left=int(totals.backwards), right=0)
    holds(bool(np.all(flying.ready_s >= flying.arrival_s)), name="a request is ready before it arrives")
    queued = int(
        state.queues.queued.sum() + state.waiting.queued.sum() + state.parked.queued.sum() + state.fetching.queued.sum()
    )
    resting = np.isin(flying.stage, (PREFILL, WAITING, PARKED, FETCHING))
    conserved(name="requests queued", left=int(resting.sum()), right=queued)
    emitted = int(totals.finished_output_tokens + totals.lost_output_tokens) + sum(
        _emitted(state, request) for request in flying
    )
    conserved(name="output tokens", left=int(totals.output_tokens), right=emitted)
    conserved(name="idle units with work", left=_idle_with_work(state), right=0)
    for index in range(len(state.units)):
        _audit_unit(state, index)


def _idle_with_work(state: State) -> int:
    fillers = state.units if state.params[0].aggregated else state.prefills
    prompts = np.add.reduceat(state.queues.queued, fillers.first_rank)
    if state.params[0].aggregated:
        resting = (state.units.planned == 0) & (state.units.stopped == 0)
        return int(np.sum(resting & (prompts + state.waiting.queued > 0)))
    resting = (state.prefills.busy == 0) & (state.prefills.stopped == 0)
    return int(np.sum(resting & (prompts > 0)))


def _emitted(state: State, request: np.record) -> int:
    if request.stage != RUNNING:
        return int(request.generated)
    return int(request.output - (request.finish_step - state.units[request.unit].step))


def _audit_unit(state: State, index: int) -> None:
    unit, pool = state.units[index], state.requests
    mine = pool[(pool.unit == index) & (pool.stage == RUNNING)]
    conserved(name=f"sequences running in unit {index}", left=len(mine), right=int(unit.running))
    kv = sum(int(request.input) + _emitted(state, request) for request in mine)
    conserved(name=f"KV tokens in unit {index}", left=kv, right=int(unit.kv))
    holds(unit.reserved <= unit.kv_capacity_tokens, name=f"unit {index} holds more KV than it has")
    holds(unit.running <= unit.max_running, name=f"unit {index} runs more sequences than allowed")
    holds(
        bool(np.all(mine.finish_step > unit.step + _steps(unit, state))), name=f"unit {index} kept a finished sequence"
    )


def _steps(unit: np.record, state: State) -> int:
    return int(steps_done(unit, float(state.totals[0].now_s)))
