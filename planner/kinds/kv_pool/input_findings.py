"""What the inputs leave out or get wrong, held against the LLM they name."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.reuse import turn_classes
from planner.kinds.kv_pool.turns import is_cut
from planner.kinds.kv_pool.words import percent

SAME_KV = 0.03
LOST = 0.05
STATE_GRAIN = 1024


def findings(plan: Plan) -> Iterator[Finding]:
    """The LLM's own figures, its layers, and what the load asks of it."""
    yield from _llm(plan)
    yield from _layers(plan)
    yield from _load(plan)
    spec = plan.spec
    if spec.dram_paid == "apart" and spec.dram_usd_per_gb_month > 0 and spec.dram_bytes_per_node > 0:
        yield Finding(
            code="dram_may_be_paid",
            severity="info",
            message=f"DRAM is billed by the GB, {show(spec.dram_usd_per_gb_month, 'USD')} a month (prices of early "
            "2026). Rented GPU nodes bring theirs along.",
            metric="dram_usd_per_h",
            suggestion="Count it as paid with the nodes if it is.",
            change={"dram_paid": "in_rent"},
        )


def _llm(plan: Plan) -> Iterator[Finding]:
    spec, facts = plan.spec, plan.physics
    if abs(facts.kv_bytes_per_token / facts.llm_kv_bytes_per_token - 1) > SAME_KV:
        yield Finding(
            code="kv_bytes_differ",
            severity="warning",
            message=f"KV cache is stated as {facts.kv_bytes_per_token:,.0f} B a token; {facts.llm.name} in "
            f"{spec.kv_dtype.upper()} keeps {facts.llm_kv_bytes_per_token:,.0f} B at this context.",
            metric="session_kv_bytes",
            suggestion="Leave the field empty to take the figure of the LLM.",
            change={"kv_bytes_per_token": None},
        )
    if facts.recompute.square_s == 0 and facts.llm_attention_width > 0:
        active = facts.llm_active_parameters if spec.active_parameters is None else spec.active_parameters
        more = facts.llm_attention_width * spec.context_tokens / active
        yield Finding(
            code="attention_left_out",
            severity="info",
            message=f"Attention is left out of the compute time: with that of {facts.llm.name} a context of "
            f"{show(spec.context_tokens, 'tokens')} takes {percent(more)} longer, and less bandwidth pays.",
            metric="recompute_s",
            suggestion="Leave the attention width empty to count it.",
            change={"attention_width": None},
        )
    if spec.context_tokens > facts.llm.max_context_tokens:
        yield Finding(
            code="context_too_long",
            severity="error",
            message=f"The mean context has {spec.context_tokens:,.0f} tokens; {facts.llm.name} takes "
            f"{facts.llm.max_context_tokens:,}.",
            metric="session_kv_bytes",
            suggestion="Choose an LLM with a longer context, or shorter contexts.",
        )


def _layers(plan: Plan) -> Iterator[Finding]:
    spec, llm = plan.spec, plan.physics.llm
    if llm.mla and spec.prefill_gpus > 1:
        times_read = "once and broadcast" if spec.latent_reads == "broadcast" else f"{spec.prefill_gpus} times"
        yield Finding(
            code="latent_on_each_gpu",
            severity="info",
            message=f"{llm.name} caches one latent for all heads: each of the {spec.prefill_gpus} GPUs of a prompt "
            f"keeps it whole, and it is read from the pool {times_read}.",
            metric="hbm_sessions",
            suggestion="Data-parallel attention gives each GPU prompts of its own.",
            change={"prefill_gpus": 1},
        )
    if (llm.linear or llm.sliding) and spec.state_grain_tokens is None:
        what = "recurrent layers" if llm.linear else "sliding windows"
        yield Finding(
            code="reuse_at_saved_states",
            severity="warning",
            message=f"{llm.name} has {what}: a prefix can be resumed only where their state was saved, not at any "
            "block as this design assumes.",
            metric="hit_share",
            suggestion=f"Save a state every {STATE_GRAIN:,} tokens, say.",
            change={"state_grain_tokens": STATE_GRAIN},
        )
    lost = plan.physics.tail_tokens / spec.context_tokens
    if lost > LOST:
        yield Finding(
            code="tails_lost",
            severity="warning",
            message=f"A prefix is found again in pieces of {counted(plan.physics.grain_tokens, 'token')}: "
            f"{plan.physics.tail_tokens:,.0f} tokens are lost at the end of each, {percent(lost)} of a context.",
            metric="tail_tokens",
            suggestion="Smaller blocks, or states saved more often.",
        )


def _load(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    if spec.source == "sessions" and any(
        each.follow_share > 0 and is_cut(spec, follow_share=each.follow_share) for each in turn_classes(spec)
    ):
        yield Finding(
            code="histories_cut",
            severity="info",
            message=f"Sessions that grow by {spec.new_tokens:,g} tokens a turn would outgrow the mean context of "
            f"{spec.context_tokens:,g}: histories are taken to be cut to it.",
            metric="reusable_share",
        )
    if plan.reusable_share <= 0 and spec.turns_per_s > 0:
        yield Finding(
            "nothing_reusable", "warning", "No turn finds anything that was computed before.", metric="hit_share"
        )
    if spec.output_tokens <= 0:
        yield Finding(
            code="no_output",
            severity="info",
            message="No output tokens: the price per output token does not exist.",
            metric="cost_usd_per_m_output_tokens",
        )
