"""Limits of tokens a second for each tenant: a bucket that fills at the limit up to the burst.

A request takes its prompt and its answer out of the bucket; one larger than the burst needs a full bucket and leaves
it in debt. Who finds too little is turned away, or held in the tenant's own line until there is enough.
"""

from __future__ import annotations

import math

import numpy as np

from sims.engine.clock import NEVER, next_source, schedule
from sims.engine.kernel import handler
from sims.engine.lists import give_slot, pop, push
from sims.parts.adapters import HELD
from sims.parts.meter import batch_at

TENANT = np.dtype(
    [
        ("weight", "f8"),
        ("slots", "i8"),
        ("rate", "f8"),
        ("burst", "f8"),
        ("level", "f8"),
        ("at_s", "f8"),
        ("limited", "i8"),
        ("head", "i8"),
        ("tail", "i8"),
        ("queued", "i8"),
    ]
)


@handler
def refill(tenant, now_s):  # type: ignore[no-untyped-def]
    """What has flowed in since the bucket was looked at."""
    tenant.level = min(tenant.burst, tenant.level + tenant.rate * (now_s - tenant.at_s))
    tenant.at_s = now_s


@handler
def needed(tenant, request):  # type: ignore[no-untyped-def]
    """The level at which a request may pass."""
    return min(tenant.burst, 1.0 * (request.input + request.output))


@handler
def plan_release(state, t, now_s):  # type: ignore[no-untyped-def]
    """When the tenant's first held request may go."""
    tenant = state.tenants[t]
    at_s = NEVER
    if tenant.queued > 0 and tenant.rate > 0.0:
        short = needed(tenant, state.requests[tenant.head]) - tenant.level
        at_s = now_s + max(0.0, short) / tenant.rate
    schedule(state.bucket_times, state.bucket_tree, t, at_s)
    first_s = state.bucket_times[next_source(state.bucket_tree)]
    schedule(state.times, state.tree, 1 + 3 * len(state.units), first_s)


@handler
def passes_limit(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Whether a request may go on; else it is held or turned away."""
    totals, request = state.totals[0], state.requests[slot]
    tenant = state.tenants[request.tenant]
    if math.isinf(tenant.rate):
        return True
    refill(tenant, now_s)
    if tenant.queued == 0 and tenant.level >= needed(tenant, request):
        tenant.level -= request.input + request.output
        return True
    if state.params[0].hold_limited == 1:
        request.stage = HELD
        push(tenant, state.requests, slot)
        if tenant.queued == 1:
            plan_release(state, request.tenant, now_s)
        return False
    totals.limited += 1
    tenant.limited += 1
    batch = batch_at(state.window[0], now_s)
    if batch >= 0:
        state.batches[batch].limited += 1
    give_slot(totals, state.requests, slot)
    return False


@handler
def release_held(state, now_s):  # type: ignore[no-untyped-def]
    """The request whose tenant's bucket is full enough now."""
    t = next_source(state.bucket_tree)
    tenant = state.tenants[t]
    refill(tenant, now_s)
    slot = pop(tenant, state.requests)
    tenant.level -= state.requests[slot].input + state.requests[slot].output
    plan_release(state, t, now_s)
    return slot
