"""The invariants of this system, counted afresh: no request, token, slot or second of GPU time is lost or made up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sims.engine.invariants import conserved, holds
from sims.engine.kernel import from_python
from sims.engine.lists import END
from sims.parts.adapter_slots import IN_MEMORY, IN_SLOTS
from sims.parts.adapters import (
    FETCHING,
    FILLING,
    FREE,
    HELD,
    IN_HOST,
    LOADING,
    NO_SLOT,
    PARKED,
    READY,
    RESIDENT,
    RUNNING,
    SENDING,
    WAITING,
    WANTING,
)
from sims.parts.decode import steps_done
from sims.systems.multi_lora.plane import LoraPlane
from sims.systems.multi_lora.state import State
from sims.systems.multi_lora.timeline import sample

steps_done = from_python(steps_done)


def audit(plane: LoraPlane) -> None:
    """Raise `InvariantError` unless everything is conserved and the clock never ran backwards."""
    state, totals = plane.state, plane.state.totals[0]
    flying = state.requests[state.requests.stage != FREE]
    conserved(name="requests in slots", left=len(flying), right=int(totals.in_flight))
    ended = int(totals.finished + totals.rejected + totals.limited)
    conserved(name="requests arrived", left=int(totals.arrived), right=ended + int(totals.in_flight))
    conserved(name="clock ran backwards", left=int(totals.backwards), right=0)
    lines = {
        WAITING: state.cells.queued,
        HELD: state.tenants.queued,
        PARKED: state.parked.queued,
        SENDING: state.outbox.queued,
        FILLING: state.filling.queued,
    }
    for stage, queued in lines.items():
        conserved(name=f"requests in stage {stage}", left=int((flying.stage == stage).sum()), right=int(queued.sum()))
    emitted = int(totals.finished_output_tokens) + sum(_emitted(state, request) for request in flying)
    conserved(name="output tokens", left=int(totals.output_tokens), right=emitted)
    for u in range(len(state.units)):
        _audit_batch(state, u, flying)
        _audit_slots(state, u)
        _audit_rest(state, u)
    _audit_bill(plane)


def _emitted(state: State, request: np.record) -> int:
    if request.stage != RUNNING:
        return int(request.generated)
    return int(request.output - (request.finish_step - state.units[request.unit].step))


def _audit_batch(state: State, u: int, flying: Any) -> None:
    unit, params = state.units[u], state.params[0]
    here = flying[flying.unit == u]
    mine = here[here.stage == RUNNING]
    batch = here[np.isin(here.stage, (RUNNING, FILLING))]
    conserved(name=f"requests at replica {u}", left=len(here), right=int(unit.load))
    conserved(name=f"sequences running in replica {u}", left=len(mine), right=int(unit.running))
    conserved(name=f"prompts in replica {u}", left=len(batch) - len(mine), right=int(unit.filling))
    conserved(name=f"KV pledged in replica {u}", left=int((batch.input + batch.output).sum()), right=int(unit.reserved))
    kv = sum(int(request.input) + _emitted(state, request) for request in mine)
    conserved(name=f"KV tokens in replica {u}", left=kv, right=int(unit.kv))
    holds(unit.reserved <= params.kv_capacity_tokens, name=f"replica {u} holds more KV than it has")
    holds(unit.running + unit.filling <= params.max_running, name=f"replica {u} runs more than allowed")
    users = np.bincount(batch.adapter, minlength=state.cells.shape[1])
    holds(bool((users == state.cells.users[u]).all()), name=f"users of adapters in replica {u}")
    conserved(name=f"distinct adapters in replica {u}", left=int((users[:-1] > 0).sum()), right=int(unit.distinct))
    waiting = np.bincount(here.tenant[here.stage == WAITING], minlength=len(state.tenants))
    holds(bool((waiting == state.lanes.waiting[u]).all()), name=f"requests of tenants that wait at replica {u}")
    using = (state.cells.users[u][:-1] > 0) | (state.cells.claimed[u][:-1] > 0)
    slots = np.bincount(state.tenant_of[:-1][using], minlength=len(state.tenants))
    holds(bool((slots == state.lanes.slots[u]).all()), name=f"slots of tenants in replica {u}")
    holds(bool((slots <= state.tenants.slots).all()), name=f"a tenant has more slots of replica {u} than it may")
    running = np.bincount(mine.tenant, minlength=len(state.tenants))
    holds(bool((running == state.lanes.running[u]).all()), name=f"sequences of tenants in replica {u}")
    done = int(steps_done(unit, float(state.totals[0].now_s))) if unit.emits == 1 else 0
    holds(bool(np.all(mine.finish_step > unit.step + done)), name=f"replica {u} kept a finished sequence")


def _audit_slots(state: State, u: int) -> None:
    unit, params, cells = state.units[u], state.params[0], state.cells[u][:-1]
    if unit.alive == 0:
        holds(bool((cells.slot == NO_SLOT).all()), name=f"dead replica {u} has adapters")
        return
    held = cells.slot != NO_SLOT
    conserved(name=f"slots of replica {u}", left=int(held.sum() + unit.empty_slots), right=int(params.slots))
    holds(bool((cells.slot[cells.users > 0] == RESIDENT).all()), name="an adapter runs without a slot")
    holds(bool((cells.host[held] == IN_HOST).all()), name="an adapter is in a slot and not in host memory")
    if params.adapter_tokens > 0:
        conserved(name=f"adapters at rest in the pages of replica {u}", left=int(unit.idle), right=0)
    resting = (cells.slot == RESIDENT) & (cells.users == 0) & (cells.claimed == 0) & (cells.pinned == 0)
    conserved(name=f"adapters at rest in replica {u}", left=int(resting.sum()), right=int(unit.idle))
    holds(_order(state, u, IN_SLOTS) == set(np.flatnonzero(resting).tolist()), name="the order of slots is broken")
    conserved(name=f"slots claimed in replica {u}", left=int(cells.claimed.sum()), right=int(unit.claimed))
    placed = np.isin(cells.host, (FETCHING, IN_HOST))
    conserved(name=f"host memory of replica {u}", left=int(placed.sum()), right=int(unit.host_used))
    # A replica for cold starts may have been given all adapters.
    most = params.host_adapters if u < state.homes.shape[1] else max(params.host_adapters, params.adapters)
    holds(unit.host_used <= most, name=f"replica {u} has more in host memory than it can")
    idle = (cells.host == IN_HOST) & (cells.users == 0) & (cells.queued == 0) & (cells.pinned == 0)
    holds(_order(state, u, IN_MEMORY) == set(np.flatnonzero(idle).tolist()), name="the order of host memory is broken")
    ready = (cells.queued > 0) & (cells.slot == RESIDENT)
    wanting = (cells.queued > 0) & (cells.slot == NO_SLOT) & (cells.host == IN_HOST)
    holds(bool((ready == (cells.line == READY)).all()), name=f"adapters ready in replica {u}")
    holds(bool((wanting == (cells.line == WANTING)).all()), name=f"adapters that want a slot in replica {u}")
    copying = int((cells.slot == LOADING).sum())
    conserved(name=f"copies under way in replica {u}", left=copying, right=int(state.copying[u].queued))


def _order(state: State, u: int, which: int) -> set[int]:
    seen: set[int] = set()
    at = int(state.ends[u, which, 0])
    while at != END and at not in seen:
        seen.add(at)
        at = int(state.newer[u, which, at])
    return seen


def _audit_rest(state: State, u: int) -> None:
    unit, params = state.units[u], state.params[0]
    if unit.stopped == 1 or state.outbox[0].queued > 0:
        return
    if unit.planned == 0:
        conserved(name=f"work of resting replica {u}", left=int(unit.running + unit.filling), right=0)
        if unit.claimed < params.max_running and (state.tenants.slots >= params.slots).all():
            conserved(name=f"ready and not run in replica {u}", left=int(state.lined[u, READY]), right=0)
            has_slot = unit.empty_slots + unit.idle > 0 and params.adapter_tokens == 0
            wanting = int(state.lined[u, WANTING]) if has_slot else 0
            conserved(name=f"slots not given in replica {u}", left=wanting, right=0)


def _audit_bill(plane: LoraPlane) -> None:
    seen = sample(plane, plane.simulated_s())
    billed = float(sum(seen.tenants[name].sum() for name in ("base_s", "lora_s", "stall_s")))
    busy = float(seen.replicas["busy_s"].sum())
    holds(math.isclose(billed, busy, rel_tol=1e-9, abs_tol=1e-9), name=f"GPU time: billed {billed} of {busy}")
    out = float(seen.tenants["out_tokens"].sum())
    conserved(name="output tokens of tenants", left=out, right=seen.counts["output_tokens"])
    most = float(seen.at_s * len(plane.state.units) * plane.state.params[0].slots)
    holds(float(seen.tenants["slot_s"].sum()) <= most * (1 + 1e-9), name="more slot time than there are slots")
