"""Slots: whether they hold what runs at once, what they cost in KV cache, and settings that do not fit."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.formulas.slot_cliff import safe_slots
from planner.kinds.multi_lora.plan import Plan
from planner.kinds.multi_lora.words import some, times

MUCH_KV = 0.2
FELT_S = 1e-3


def slot_findings(plan: Plan) -> Iterator[Finding]:
    """Settings that cannot be, then the cliff, then the trade with KV cache."""
    yield from _impossible(plan)
    if not plan.parts.adapter.exists or plan.replica.adapted <= 0:
        return
    yield from _host(plan)
    if plan.spec.paged:
        yield from _pages(plan)
    elif plan.replica.memory.slots > 0:
        yield from _cliff(plan)
        yield from _kv(plan)


def _impossible(plan: Plan) -> Iterator[Finding]:
    spec, memory, adapter = plan.spec, plan.parts.memory, plan.parts.adapter
    name = plan.parts.base.llm.name
    if not adapter.exists:
        yield Finding(
            code="nothing_to_adapt",
            severity="error",
            message=f"{name} has none of the matrices named, so no adapter exists and none is counted.",
            metric="adapter_parameters",
            suggestion="Choose other matrices.",
            change={"targets": "attention" if spec.targets != "attention" else "linear", "enabled_targets": None},
        )
    elif spec.paged and memory.resident_adapters < 1 <= memory.pool_bytes:
        yield Finding(
            code="no_slot",
            severity="error",
            message=f"Pages of {show(memory.pool_bytes, 'bytes')} hold no adapter of "
            f"{show(memory.gpu_slot_bytes, 'bytes')}: none can be served.",
            metric="resident_adapters",
            suggestion="Give the base more GPUs.",
            change={"gpus_per_replica": min(2 * spec.gpus_per_replica, 64)},
        )
    elif not spec.paged and memory.resident_adapters < 1:
        yield Finding(
            code="no_slot",
            severity="error",
            message=f"{show(spec.adapter_memory_bytes, 'bytes', shown='GiB')} hold no slot of "
            f"{show(memory.gpu_slot_bytes, 'bytes', shown='MiB')}: no adapter can be served.",
            metric="resident_adapters",
            suggestion="Give adapters the memory of at least one slot.",
            change={"adapter_memory_bytes": float(4 * memory.gpu_slot_bytes), "slots": None},
        )
    if memory.places < 1:
        left = memory.kv_bytes
        yield Finding(
            code="no_room",
            severity="error",
            message=f"Weights, slots and buffers leave {show(max(left, 0.0), 'bytes')} of a GPU for KV "
            f"cache{'' if left >= 0 else ', ' + show(-left, 'bytes') + ' less than nothing'}: not one request of "
            f"{show(memory.request_tokens, 'tokens')} fits.",
            metric="kv_tokens",
            suggestion="Give the base more GPUs, or adapters less memory.",
            change={"gpus_per_replica": min(2 * spec.gpus_per_replica, 64)},
        )
    if adapter.exists and not spec.paged and 0 < memory.slots <= spec.pinned_adapters < spec.adapters:
        yield Finding(
            code="pinned_over_slots",
            severity="error",
            message=f"{counted(spec.pinned_adapters, 'adapter')} are pinned, but there are "
            f"{counted(memory.slots, 'slot')}: none is left for the others, which are never served.",
            metric="gpu_slots",
            suggestion="Pin fewer.",
            change={"pinned_adapters": memory.slots // 2},
        )


def _host(plan: Plan) -> Iterator[Finding]:
    """The host level below the slots."""
    spec, memory = plan.spec, plan.parts.memory
    wanted = min(round(memory.held) if spec.paged else memory.resident_adapters, spec.adapters)
    if memory.host_adapters < wanted:
        yield Finding(
            code="host_below_slots",
            severity="error",
            message=f"Host memory keeps {counted(memory.host_adapters, 'adapter')}, the GPU has "
            f"{counted(wanted, 'slot')}: every slot is filled from host memory, and engines refuse "
            f"fewer there. Figures count {counted(memory.slots, 'slot')}.",
            metric="host_adapters",
            suggestion="Keep at least as many in host memory.",
            change={"host_adapters": wanted},
        )


def _cliff(plan: Plan) -> Iterator[Finding]:
    replica, found = plan.replica, plan.latency
    slots, different = replica.memory.slots, replica.distinct(plan.running)
    safe = safe_slots(replica.seen.popularity, running=plan.running * replica.adapted)
    running = f"{counted(plan.running, 'request')} that run at once want {some(different.mean)} different adapters"
    if slots >= min(safe, replica.seen.items):
        copied = (
            ""
            if replica.tiers.gpu > 0.999
            else (
                f" A request whose adapter is in none of them, {percent(1 - replica.tiers.gpu)} of all, waits for a "
                "copy, not for a slot."
            )
        )
        yield Finding(
            code="slots_and_running",
            severity="info",
            message=f"{counted(slots, 'slot')} are enough: the {running} on a replica, {some(safe)} with two standard "
            f"deviations.{copied}",
            metric="safe_slots",
        )
        return
    yield Finding(
        code="past_cliff",
        severity="warning",
        message=f"{counted(slots, 'slot')} are too few: the {running} on a replica, {some(safe)} with two standard "
        f"deviations. A request then waits until another adapter has no request left, not for a copy: {_waited(plan)}",
        metric="slot_wait_s",
        suggestion=_more_slots(plan),
        change=_change(plan, safe=safe),
    )
    if found is not None and found.waits is None:
        yield Finding(
            code="slots_starve",
            severity="error",
            message="Popular adapters never give their slot back, so some adapters never get one: no first token has "
            "a time.",
            metric="ttft_p99_s",
        )


def _waited(plan: Plan) -> str:
    found = plan.latency
    if found is None or found.waits is None:
        return "there is no end to it."
    waits, swap_s = found.waits, plan.loading.swap_s
    factor = waits.mean_s / swap_s if swap_s > 0 else 0.0
    than = f", {times(factor)} a copy" if factor > 2 else ""
    unlike = (
        " That is for first come, first served; weighted counters let the largest tenants wait far longer and the "
        "others less."
        if plan.spec.fairness == "weighted"
        else ""
    )
    return f"{show(waits.mean_s, 's')} on average{than}, P99 {show(waits.p99_s, 's')}.{unlike}"


def _more_slots(plan: Plan) -> str:
    if plan.spec.routing == "random":
        return "Send each adapter's requests to few replicas, give more slots, or lower the rank."
    return "Give more slots or replicas, or lower the rank."


def _change(plan: Plan, *, safe: float) -> dict[str, object]:
    if plan.spec.routing == "random" and plan.fleet.replicas > 1:
        return {"routing": "load_aware"}
    wanted = min(int(safe) + 1, plan.spec.adapters)
    room = plan.parts.memory.kv_bytes + plan.parts.memory.slot_bytes
    if wanted * plan.parts.memory.gpu_slot_bytes < 0.7 * room:
        host = plan.spec.host_adapters
        return {"slots": wanted} if host is None or host >= wanted else {"slots": wanted, "host_adapters": wanted}
    return {"replicas": None, "max_batch": max(int(plan.replica.limits["slots"]), 1)}


def _pages(plan: Plan) -> Iterator[Finding]:
    """Adapters and KV cache in the same pages."""
    memory, spec = plan.parts.memory, plan.spec
    each = memory.request_tokens * memory.kv_bytes_per_token + memory.state_bytes
    without = min(max(memory.pool_bytes, 0.0) / each, float(spec.max_batch)) if each > 0 else float(spec.max_batch)
    missing = percent(1 - plan.tiers.gpu)
    yield Finding(
        code="pages_shared",
        severity="info",
        message="There are no slots: adapters lie in the pages of the KV cache, each at its own size, as long as one "
        f"of its requests runs. No request waits for a slot, {missing} bring their adapter in. At most "
        f"{counted(plan.replica.places, 'request')} run at once beside {some(memory.held)} adapters, "
        f"{show(memory.slot_bytes, 'bytes')} of a GPU; without adapters {counted(without, 'request')} would.",
        metric="places",
    )


def _kv(plan: Plan) -> Iterator[Finding]:
    memory = plan.parts.memory
    share, binds = memory.kv_share_lost, plan.replica.best.binds
    kv = "KV memory binds the batch" if binds == "kv" else "something else binds the batch first"
    much = share > MUCH_KV and binds == "kv"
    yield Finding(
        code="slots_take_kv" if much else "slots_cost_kv",
        severity="warning" if much else "info",
        message=f"{counted(memory.resident_adapters, 'slot')} take the place of {memory.kv_tokens_lost:,.0f} tokens "
        f"of KV cache, {percent(share)} of what slots and KV have together, "
        f"{show(memory.kv_tokens_lost / memory.request_tokens, 'requests')} at their mean length. Here {kv}.",
        metric="kv_tokens_lost",
        suggestion="Fewer slots would let more requests run." if much else None,
        change=_halved(plan) if much else None,
    )


def _halved(plan: Plan) -> dict[str, object]:
    half = max(plan.parts.memory.slots // 2, 1)
    return {"slots": half, "pinned_adapters": min(plan.spec.pinned_adapters, half - 1)}
