"""The conclusion of the reference, and what its arithmetic leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.kinds.multi_lora.plan import Plan
from planner.kinds.multi_lora.shapes import adapter_of
from planner.kinds.multi_lora.words import slower, some, times

SHOWN = (16, 64)
WASTED = 0.05
SMALL_BATCH = 32.0
SAME = 0.1


def reference_findings(plan: Plan) -> Iterator[Finding]:
    """Compute, reading, kernels, copies, and the stated figures of the base."""
    yield from _base(plan)
    if not plan.parts.adapter.exists:
        return
    yield _reading(plan)
    yield from _kernels(plan)
    if plan.parts.adapter.gpu_routed_bytes <= 0:
        yield _share_of_step(plan)
    yield from _swap(plan)
    yield from _slot_size(plan)
    yield from _left_out(plan)


def _base(plan: Plan) -> Iterator[Finding]:
    base = plan.parts.base
    stated = plan.spec.base_parameters
    if stated is not None and abs(stated / base.llm_active_parameters - 1) > SAME:
        yield Finding(
            code="base_differs",
            severity="warning",
            message=f"The base is stated with {show(stated, 'parameters')} a token; {base.llm.name} has "
            f"{show(base.llm_active_parameters, 'parameters')}.",
            metric="base_flops_per_token",
            suggestion="Leave the field empty to take the figure of the LLM.",
            change={"base_parameters": None},
        )


def _reading(plan: Plan) -> Finding:
    """The reference's own conclusion."""
    adapter, base = plan.parts.adapter, plan.parts.base
    flops = adapter.active_parameters / base.active_parameters
    shares = [f"{count} of them {percent(count * adapter.file_bytes / base.read_bytes)}" for count in SHOWN]
    small = flops < 0.02
    compute = "is negligible" if small else "is felt in prefill"
    return Finding(
        code="reading_is_the_price",
        severity="info",
        message=f"The arithmetic of an adapter {compute}: {percent(flops)} of the base's FLOP a token. The price is "
        f"reading weights: each different adapter in a batch adds {percent(adapter.file_bytes / base.read_bytes)} of "
        f"one reading of the base, {' and '.join(shares)}.",
        metric="lora_flops_ratio",
    )


def _kernels(plan: Plan) -> Iterator[Finding]:
    """What switching adapters on costs, before anything is read."""
    replica, spec = plan.replica, plan.spec
    step = replica.step(max(plan.running, 1.0))
    one = replica.step(1.0)
    few = plan.running < SMALL_BATCH and spec.launches != "graphs"
    yield Finding(
        code="eager_kernels" if few else "kernels_switch_on",
        severity="warning" if few else "info",
        message=f"{counted(plan.parts.adapter.kernels, 'small kernel')} are launched in every step, which takes "
        f"{show(step.launch_s, 's')} whatever the adapters: a step of one request is {slower(one.factor)}. The "
        f"{some(step.distinct)} different adapters of this design's batch add {show(step.read_s, 's')} more; together "
        f"{times(step.factor)} the step of the base.",
        metric="step_factor",
        suggestion="Run the kernels in CUDA graphs." if few else None,
        change={"launches": "graphs"} if few else None,
    )
    if spec.base_share > 0 and spec.specialised_graphs == "off" and step.launch_s > 0.02 * step.base_s:
        yield Finding(
            code="base_pays_kernels",
            severity="info",
            message=f"{percent(spec.base_share)} of the requests use no adapter, yet a batch of them alone would pay "
            f"for its kernels too: {percent(step.launch_s / step.base_s)} of a step.",
            metric="step_launch_s",
            suggestion="Capture graphs without adapters as well, or route such requests to replicas of their own.",
            change={"specialised_graphs": "on"},
        )


def _share_of_step(plan: Plan) -> Finding:
    """Reading against the whole step: KV, the fixed part and bandwidth are in it too."""
    replica, adapter = plan.replica, plan.parts.adapter
    batch = float(plan.spec.max_batch)
    step = replica.step(batch)
    most = SHOWN[-1]
    slot_s = adapter.gpu_slot_bytes / plan.parts.base.bytes_per_s
    bare, real = most * adapter.file_bytes / plan.parts.base.read_bytes, most * slot_s / step.base_s
    of_step = (
        f"but a step of {counted(batch, 'request')} reads their KV cache as well: of that step they are {percent(real)}"
        if real < bare
        else f"and more of a step, {percent(real)}, because every GPU of a replica keeps half of each pair whole"
    )
    return Finding(
        code="share_of_step",
        severity="info",
        message=f"{most} different adapters are {percent(bare)} of one reading of the base, {of_step}. A batch of "
        f"{counted(batch, 'request')} would hold {some(replica.distinct(batch).mean)} different ones here, and a step "
        f"would take {times(step.factor)} that of the base.",
        metric="step_factor_full",
    )


def _swap(plan: Plan) -> Iterator[Finding]:
    loading, spec = plan.loading, plan.spec
    if loading.swap_s <= 1.2 * loading.bare_s:
        return
    why = "all that runs waits for it" if spec.copying == "stalls" else "its request waits for it"
    yield Finding(
        code="swap_is_copies",
        severity="info",
        message=f"A swap-in is {counted(loading.copies, 'copy').replace('copys', 'copies')}, not one: "
        f"{show(loading.swap_s, 's')} instead of {show(loading.bare_s, 's')} for the bytes alone, and {why}. An "
        "engine that prepares each tensor on the way takes 450 µs a copy, "
        f"{show(loading.copies * 450e-6 + plan.parts.adapter.gpu_file_bytes / loading.link_bytes_per_s, 's')} in all.",
        metric="swap_s",
        suggestion="Keep each adapter as one contiguous slab in pinned memory." if loading.copies > 1 else None,
        change={"copies_as": "slab"} if loading.copies > 1 else None,
    )


def _slot_size(plan: Plan) -> Iterator[Finding]:
    adapter, spec, memory = plan.parts.adapter, plan.spec, plan.parts.memory
    if adapter.wasted_share <= WASTED:
        return
    wasted = adapter.wasted_share * memory.slot_bytes
    reasons = []
    if spec.slot_rank > spec.rank:
        reasons.append(f"slots are as large as rank {spec.slot_rank} makes them, adapters have {spec.rank}")
    if spec.slot_targets != spec.targets:
        reasons.append("slots have room for matrices that no adapter here has")
    change = {"enabled_targets": None} if spec.slot_targets != spec.targets else {"max_rank": None}
    useful = spec.max_rank is not None or spec.slot_targets != spec.targets
    yield Finding(
        code="slot_wasted",
        severity="warning",
        message=f"{percent(adapter.wasted_share)} of each slot stays empty, {show(wasted, 'bytes')} of each GPU: "
        f"{' and '.join(reasons)}. Kernels read the padding too.",
        metric="slot_wasted_share",
        suggestion="Set the largest rank and the matrices to what the adapters have." if useful else None,
        change=change if useful else None,
    )


def _with_experts(plan: Plan) -> float:
    return adapter_of(plan.spec.model_copy(update={"targets": "experts"}), llm=plan.parts.base.llm).file_bytes


def _left_out(plan: Plan) -> Iterator[Finding]:
    """Parts of an LLM that carry no adapter."""
    llm = plan.parts.base.llm
    parts = []
    if llm.linear is not None:
        parts.append(f"{counted(llm.linear.layers, 'recurrent layer')}")
    if llm.compressed is not None:
        parts.append("the compressors of its attention")
    if llm.indexer is not None:
        parts.append("the indexer")
    if parts:
        yield Finding(
            code="not_adapted",
            severity="warning",
            message=f"{llm.name} cannot be adapted as a whole: {' and '.join(parts)} carry no adapter here, so sizes "
            "count the other projections only. Check what your engine supports.",
            metric="adapter_bytes",
        )
    if llm.moe is not None and plan.spec.targets != "experts":
        yield Finding(
            code="experts_not_adapted",
            severity="info",
            message=f"The {llm.moe.experts} routed experts of {llm.name} carry no adapter in this design: with a pair "
            f"for each of their matrices an adapter would have {show(_with_experts(plan), 'bytes')} instead of "
            f"{show(plan.parts.adapter.file_bytes, 'bytes')}.",
            metric="adapter_bytes",
        )
