"""What a reader should know of a replica that starts: copies kept, the bound of a step, what was assumed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from planner.core.quantities import show
from planner.core.result import Finding
from planner.formulas import serving
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance.plan import Plan
from planner.kinds.engine_instance.spec_start_up import unmeasured

_VERSION = re.compile(r"v?\d+\.\d+")


def copied(plan: Plan) -> dict[str, Any]:
    """The change that puts a copy of attention on each GPU."""
    return {
        "gpus": plan.layout.gpus,
        "tensor_parallel": 1,
        "data_parallel_attention": plan.layout.stage_gpus,
        "expert_parallel": None,
        "context_parallel": None,
        **unmeasured(plan.spec),
    }


def placement(plan: Plan) -> Iterator[Finding]:
    layout, llm = plan.layout, plan.llm
    yield from _read_otherwise(plan)
    if llm.mla is None and layout.tensor_parallel > llm.kv_heads:
        yield Finding(
            code="kv_heads_replicated",
            severity="warning",
            message=(
                f"{layout.tensor_parallel} tensor-parallel ranks are more than the {llm.kv_heads} KV heads: heads are "
                f"copied and the cache of a token on each GPU stays as with {llm.kv_heads}."
            ),
            metric="kv_bytes_per_token",
        )
    if llm.mla is not None and layout.tensor_parallel > 1 and layout.data_parallel == 1:
        yield Finding(
            code="latent_cache_replicated",
            severity="info",
            message=(
                f"Latent attention keeps the whole cache on each of the {layout.tensor_parallel} ranks. Data-parallel "
                "attention holds different requests on each and copies the attention weights instead."
            ),
            metric="kv_bytes_per_token",
            suggestion="Data-parallel attention on all GPUs.",
            change=copied(plan),
        )
    if llm.moe is None and plan.spec.expert_parallel not in (None, 1):
        yield Finding(
            code="no_experts",
            severity="warning",
            message=f"{llm.name} has no experts, so expert parallelism does nothing.",
            suggestion="Leave expert parallel out.",
            change={"expert_parallel": None},
        )


def _read_otherwise(plan: Plan) -> Iterator[Finding]:
    """Ranks written as products, or as more than there are: what they were read as."""
    layout, spec = plan.layout, plan.spec
    stated, copies = spec.tensor_parallel, spec.data_parallel_attention
    read: list[tuple[str, int, int]] = []
    # Engines but vLLM count copies of attention inside the tensor-parallel ranks: that needs no remark.
    inside = spec.engine != "vllm" and stated == layout.stage_gpus
    if stated is not None and stated != layout.tensor_parallel and not inside:
        read.append(("tensor_parallel", stated, layout.tensor_parallel))
    if copies is not None and copies != layout.data_parallel:
        read.append(("data_parallel_attention", copies, layout.data_parallel))
    if plan.llm.moe and spec.expert_parallel is not None and spec.expert_parallel != layout.expert_parallel:
        read.append(("expert_parallel", spec.expert_parallel, layout.expert_parallel))
    if not read:
        return
    words = ", ".join(f"{spec.label_of(name)} {was:,} is read as {meant:,}" for name, was, meant in read)
    yield Finding(
        code="placement_read",
        severity="warning",
        message=f"A stage has {show(layout.stage_gpus, 'GPUs')}, and ranks cannot be more: {words}.",
        suggestion="State the ranks as they are.",
        change={
            "gpus": layout.gpus,
            "tensor_parallel": layout.tensor_parallel,
            "data_parallel_attention": layout.data_parallel,
            **({"expert_parallel": layout.expert_parallel} if plan.llm.moe else {}),
        },
    )


def honesty(plan: Plan, fitted: fits.Fit, point: serving.Point | None) -> Iterator[Finding]:
    terms = fitted.tight.terms
    if point is not None:
        yield _bound(plan, point)
    if plan.spec.output_tokens <= 1 and point is not None:
        yield Finding(
            code="no_second_token",
            severity="info",
            message="Requests have one output token, so there is no time between tokens.",
            metric="tpot_mean_s",
        )
    if plan.spec.rate_rps == 0:
        yield Finding(
            code="no_load",
            severity="info",
            message="No requests come: latencies are those of an idle replica, and no price per token exists.",
            metric="cost_usd_per_m_output_tokens",
        )
    yield from _unusual(plan, point)
    if plan.price_usd_per_h is None:
        yield Finding(
            code="no_price",
            severity="info",
            message=f"The catalog has no on-demand price for {plan.gpu.name}: give a GPU price to see costs.",
            metric="cost_usd_per_h",
        )
    if not plan.gpu.has("visible_memory_bytes"):
        yield Finding(
            code="marketed_memory",
            severity="info",
            message=(
                f"What the runtime sees of the memory of {plan.gpu.name} is not known; the marketed "
                f"{show(plan.visible_bytes, 'bytes')} are taken."
            ),
            metric="budget_bytes",
        )
    if terms.outside > 0:
        yield _outside(plan, terms.budget, terms.outside)
    if plan.assumed:
        taken = ", ".join(f"{plan.spec.label_of(name)} {words}" for name, words in plan.assumed)
        yield Finding(
            code="defaults_used", severity="info", message=f"Defaults stand in for what was left out: {taken}."
        )


def _unusual(plan: Plan, point: serving.Point | None) -> Iterator[Finding]:
    """Settings that a reader may take for more than they are."""
    layout, version = plan.layout, plan.spec.engine_version
    if version is not None and not _VERSION.match(version):
        yield Finding(
            code="engine_version_unknown",
            severity="info",
            message=(
                f"“{version}” has no number of a release of {plan.engine_name}: its defaults and memory are those of "
                f"{plan.settings['version']}, the newest known."
            ),
            metric="budget_bytes",
        )
    if not plan.graph_capture and point is not None:
        yield Finding(
            code="graphs_off",
            severity="warning",
            message="Times are those with CUDA graphs, as measured replicas had; without them launches last longer.",
            metric="tpot_mean_s",
            suggestion="Leave graph capture to the engine.",
            change={"graph_capture": None},
        )
    if plan.llm.moe and 1 < layout.expert_parallel < layout.stage_gpus:
        yield Finding(
            code="experts_in_slices",
            severity="info",
            message=(
                f"{layout.expert_parallel} expert ranks on {layout.stage_gpus} GPUs: each expert is cut between "
                f"{layout.stage_gpus / layout.expert_parallel:g} of them. Bytes and times are those of whole experts."
            ),
            metric="weights_bytes",
        )


def _bound(plan: Plan, point: serving.Point) -> Finding:
    step = point.step
    total = step.total_s
    shares = (
        ("weights and arithmetic", step.weights_and_gemm_s),
        ("the KV cache", step.kv_s),
        ("communication", step.communication_s),
        ("launches and scheduling" if plan.spec.latency_source == "roofline" else "small kernels", step.overhead_s),
    )
    words = ", ".join(f"{show(part / total, 'ratio')} to {name}" for name, part in shares if part >= 0.005 * total)
    return Finding(
        code="decode_bound",
        severity="info",
        message=f"Decode is bound by {step.bottleneck}. Of a step of {show(total, 's')} go {words}.",
        metric="tpot_mean_s",
    )


def _outside(plan: Plan, budget: float, outside: float) -> Finding:
    over = budget + outside > plan.visible_bytes
    return Finding(
        code="graphs_outside_budget",
        severity="warning" if over else "info",
        message=(
            f"CUDA graphs take about {show(outside, 'bytes')} outside the budget in this version; "
            f"{show(plan.visible_bytes - budget, 'bytes')} are free for them."
        ),
        metric="graph_bytes",
    )
