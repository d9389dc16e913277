"""What binds, what breaks and what to change, in sentences with this design's numbers and the price of the change."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding, order_findings
from planner.formulas.lockstep import full_step_s
from planner.kinds.llm_serving import ignored, nearest
from planner.kinds.llm_serving.fleet_findings import fleet_findings, spare_field
from planner.kinds.llm_serving.plan import Plan
from planner.kinds.llm_serving.words import percent

USUALLY = 0.9
LOCKSTEP_WORTH_A_WORD = 1.1
"""A step of the fullest rank over the mean step, from which on it is told."""
NEAR_SATURATION = 0.8
SAME_KV = 0.01


def findings(plan: Plan) -> tuple[Finding, ...]:
    """Errors, warnings and notes of a design; within one severity in the order written here."""
    spec = plan.spec
    if spec.peak_rps <= 0:
        return order_findings([_zero_load(), *_memory(plan)])
    if not plan.fits_weights:
        # No count of units that cannot hold the LLM means anything.
        return order_findings([*_memory(plan), *_inputs(plan)])
    found = [
        *_kv_capacity(plan),
        *_saturation(plan),
        *_lockstep(plan),
        *_objectives(plan),
        *fleet_findings(plan),
        *_inputs(plan),
        *_binding(plan),
        *ignored.findings(plan),
        *nearest.findings(spec, plan.physics.derived.pools, spread=plan.physics.derived.spread),
    ]
    return order_findings(found)


def _zero_load() -> Finding:
    return Finding(
        code="no_load",
        severity="info",
        message="No requests: nothing is needed, and prices per token do not exist.",
        metric="cost_usd_per_m_output_tokens",
    )


def _memory(plan: Plan) -> Iterator[Finding]:
    checks = [("decode", plan.fleet.decode.noun, plan.physics.decode_memory, plan.decode_gpu)]
    if not plan.spec.is_aggregated:
        checks.append(("prefill", plan.fleet.prefill.noun, plan.physics.prefill_memory, plan.gpu))
    for name, noun, memory, gpu in checks:
        if memory.kv_pool_bytes <= 0:
            usable = show(memory.visible_bytes - memory.outside_bytes, "bytes")
            yield Finding(
                code=f"{name}_memory_does_not_fit",
                severity="error",
                message=f"{plan.llm.name} does not fit a {noun}: weights take "
                f"{show(memory.weights_bytes, 'bytes')} of each {gpu.name}, buffers "
                f"{show(memory.runtime_bytes, 'bytes')}, and the engine may use {usable}.",
                metric="decode_kv_pool_bytes_per_gpu",
                suggestion=f"Use larger {noun}s, a narrower weight format or GPUs with more memory.",
            )


def _kv_capacity(plan: Plan) -> Iterator[Finding]:
    """The rate of a GPU asks for more sequences than its KV pool holds."""
    pool = plan.physics.decode_memory.kv_pool_bytes
    if plan.fits_kv or plan.spec.output_tokens <= 0:
        return
    batch = plan.physics.kv_sequences_per_gpu
    step_s = plan.physics.decode_fixed_s + plan.physics.decode_per_sequence_s * batch
    reachable = batch / step_s
    yield Finding(
        code="kv_capacity",
        severity="error",
        message=f"The KV cache does not fit: {plan.concurrency_at_limit:.3g} sequences of "
        f"{plan.spec.mean_context_tokens:,.0f} tokens take {show(plan.kv_bytes_at_limit, 'bytes')} of a decode GPU, "
        f"the pool is {show(pool, 'bytes')}: {batch:.3g} sequences. The rate of "
        f"{plan.physics.decode_tokens_per_s_per_gpu:,.0f} tok/s a GPU is out of reach.",
        metric="decode_kv_bytes_per_gpu",
        suggestion=f"With the sequences that fit a GPU gives about {reachable:,.0f} tok/s; size the fleet with that.",
        change={"decode_tokens_per_s_per_gpu": max(float(f"{reachable:.4g}"), 1e-3)}
        if plan.spec.rate_mode == "assumed"
        else None,
    )


def _saturation(plan: Plan) -> Iterator[Finding]:
    loads = {"prefill": plan.ttft.rho, "decode": plan.decode.rho}
    for name, rho in loads.items():
        role = plan.fleet.decode if plan.spec.is_aggregated or name == "decode" else plan.fleet.prefill
        stable = plan.decode.batch is not None if name == "decode" else rho < 1
        if not stable:
            yield Finding(
                code=f"{name}_unstable",
                severity="error",
                message=f"{name.capitalize()} cannot keep up with {show(plan.spec.peak_rps, 'req/s')}: the queue grows "
                "without end, so its latency has no value.",
                metric="ttft_p99_s" if name == "prefill" else "tpot_p99_s",
                suggestion="Add headroom or units.",
                change={spare_field(role): (role.spare_units or 0) + 1},
            )
        elif rho > NEAR_SATURATION:
            yield Finding(
                code=f"{name}_near_saturation",
                severity="warning",
                message=f"{name.capitalize()} runs at {percent(rho)} of what it can do at any latency, where small "
                "errors of rate or demand move its latency much. Read the range, not the figure.",
                metric="ttft_p99_s" if name == "prefill" else "tpot_p99_s",
                suggestion="Add headroom or units.",
            )
    if plan.is_stable and plan.slow.overloaded:
        yield Finding(
            code="unstable_at_the_low_end",
            severity="warning",
            message=f"With rates at the low end of their range, {plan.physics.spread:.2f} times slower, the fleet "
            f"cannot keep up with {show(plan.spec.peak_rps, 'req/s')}: the upper ends of the ranges of latency are "
            "what is left after an hour of this load.",
            metric="ttft_p99_s",
            suggestion="Add headroom or units, or measure the rates.",
        )


def _lockstep(plan: Plan) -> Iterator[Finding]:
    """Ranks of a replica step together, and one of many nearly always fills a prompt: the estimate takes their mean."""
    facts, gap_s = plan.physics, plan.latencies.tpot_s["p50"]
    if not plan.spec.is_aggregated or facts.prefill_lanes == 1 or gap_s is None:
        return
    ranks = plan.fleet.decode.units * facts.prefill_lanes
    fullest_s = full_step_s(
        fixed_s=facts.decode_fixed_s + facts.prefill_step_fixed_s,
        token_s=facts.prefill_token_s,
        budget_tokens=facts.prefill_step_tokens,
        sequence_s=facts.decode_per_sequence_s * plan.fleet.decode.gpus / ranks,
        answer_tokens_per_s=plan.spec.peak_rps / ranks * plan.spec.output_tokens,
    )
    busy = 1 - (1 - min(plan.ttft.rho, 1.0)) ** facts.prefill_lanes
    if busy < USUALLY or fullest_s <= LOCKSTEP_WORTH_A_WORD * gap_s:
        return
    yield Finding(
        code="ranks_wait_for_prompts",
        severity="warning",
        message=f"The {facts.prefill_lanes:,} ranks of a replica step together, and {percent(busy)} of the time one of "
        f"them fills a prompt: then a step lasts {show(fullest_s, 's')}, where this estimate takes the mean, "
        f"{show(gap_s, 's')}. TTFT and TPOT are longer than it says; a simulation shows by how much.",
        metric="tpot_p50_s",
        suggestion="Separate prefill and decode units, or smaller replicas.",
        change={"topology": "disaggregated"},
    )


def _objectives(plan: Plan) -> Iterator[Finding]:
    spec, derived = plan.spec, plan.physics.derived
    ttft, tpot = plan.latencies.ttft_s["p99"], plan.latencies.tpot_s["p99"]
    if spec.rate_mode == "derived" and not derived.tpot_in_reach:
        yield Finding(
            code="tpot_out_of_reach",
            severity="error",
            message=f"A decode step with one sequence a rank already takes longer than {show(spec.tpot_slo_s, 's')}: "
            "no fleet of these units meets the TPOT objective.",
            metric="tpot_p99_s",
            suggestion="Run a sequence on more GPUs, use a faster GPU, or allow a longer TPOT.",
        )
    if ttft is not None and ttft > spec.ttft_p99_slo_s:
        parts = plan.ttft
        wait_s = (parts.mean_wait_s or 0.0) + parts.step_wait_s
        yield Finding(
            code="ttft_slo_missed",
            severity="error",
            message=f"TTFT P99 is {show(ttft, 's')}, the objective {show(spec.ttft_p99_slo_s, 's')}: prefill of "
            f"the mean prompt takes {show(parts.prefill_s, 's')}, waiting for it {show(wait_s, 's')}.",
            metric="ttft_p99_s",
            suggestion="Run a prompt on more GPUs, raise the hit rate, or add prefill units if it is the wait.",
        )
    if tpot is not None and tpot > spec.tpot_slo_s * (1 + 1e-9):
        yield Finding(
            code="tpot_slo_missed",
            severity="error",
            message=f"TPOT P99 is {show(tpot, 's')}, the objective {show(spec.tpot_slo_s, 's')}: "
            f"{plan.decode.batch or 0:.3g} sequences run on each decode GPU.",
            metric="tpot_p99_s",
            suggestion="Add decode units: fewer sequences a GPU make shorter steps.",
            change={"spare_decode_units": spec.spare_decode_units + 1},
        )


def _inputs(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    longest = spec.input_tokens + spec.output_tokens
    if longest > plan.llm.max_context_tokens:
        yield Finding(
            code="context_too_long",
            severity="error",
            message=f"The mean request has {longest:,.0f} tokens; {plan.llm.name} takes "
            f"{plan.llm.max_context_tokens:,}.",
            suggestion="Choose an LLM with a longer context, or shorten the prompts.",
        )
    stated, counted = plan.physics.kv_bytes_per_token, plan.llm_kv_bytes_per_token
    if abs(stated / counted - 1) > SAME_KV:
        yield Finding(
            code="kv_bytes_differ",
            severity="warning",
            message=f"KV cache is stated as {stated:,.0f} B a token; {plan.llm.name} with {spec.kv_dtype.upper()} "
            f"keeps {counted:,.0f} B.",
            metric="decode_kv_bytes_per_gpu",
            suggestion="Leave the field empty to take the figure of the LLM.",
            change={"kv_bytes_per_token": None},
        )
    if plan.power_w is None:
        yield Finding(
            code="power_unknown",
            severity="info",
            message="Power is unknown: the catalog has no board power of this GPU.",
            metric="power_w",
        )
    if spec.output_tokens <= 0:
        yield Finding(
            code="no_output",
            severity="info",
            message="No output tokens: TPOT and prices per output token do not exist.",
            metric="cost_usd_per_m_output_tokens",
        )
    stranded = -(-spec.decode_unit_gpus // spec.gpus_per_node) * spec.gpus_per_node - spec.decode_unit_gpus
    if spec.decode_unit_gpus > spec.gpus_per_node and stranded:
        yield Finding(
            code="part_of_a_node",
            severity="info",
            message=f"A decode unit of {spec.decode_unit_gpus} GPUs leaves {stranded} of its last node unused; the "
            "bill counts GPUs, not nodes.",
            metric="nodes",
        )


def _binding(plan: Plan) -> Iterator[Finding]:
    role, what = plan.binding_role, plan.bottleneck
    if role is None or what is None:
        return
    share = plan.nic_share
    if share is not None and share > plan.spec.nic_efficiency:
        yield Finding(
            code="handover_exceeds_network",
            severity="error",
            message=f"The KV hand-over takes {show(plan.transfer_bytes_per_s, 'bytes/s')}, {percent(share)} of the "
            "prefill NICs: more than they carry.",
            metric="kv_transfer_nic_share",
            suggestion="Use the aggregated layout, an 8-bit KV format or faster NICs.",
            change={"topology": "aggregated"},
        )
    transfer = (
        f" Hand-over takes {show(plan.transfer_bytes_per_s, 'bytes/s')}, {percent(share)} of the prefill NICs."
        if share is not None
        else ""
    )
    pool = plan.physics.decode_memory.kv_pool_bytes
    who, where = "The replicas bind", "a GPU"
    if role != "replica":
        who, where = f"{role.capitalize()} binds first", "a decode GPU"
    yield Finding(
        code="bottleneck",
        severity="info",
        message=f"{who}, on {what}; at its rate {where} keeps {show(plan.kv_bytes_at_limit, 'bytes')} of KV in a pool "
        f"of {show(pool, 'bytes')}.{transfer}",
        metric="decode_utilisation" if role != "prefill" else "prefill_utilisation",
        suggestion=f"Longer contexts fit: up to {plan.longest_context_tokens:,.0f} tokens on average before KV binds."
        if plan.fits_kv and plan.longest_context_tokens > plan.spec.mean_context_tokens
        else None,
    )
