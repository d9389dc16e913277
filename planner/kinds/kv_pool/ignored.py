"""Fields that were given and change nothing, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core import ignored
from planner.core.result import Finding
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.tiers import DRAM, SSD
from planner.kinds.kv_pool.writes import has_pool

_OF_SESSIONS = (
    "continue_probability",
    "gap_law",
    "gap_s",
    "gap_sigma",
    "gap_long_s",
    "gap_long_share",
    "agent_share",
    "agent_gap_s",
    "agent_continue_probability",
    "shared_prefix_tokens",
    "shared_prefix_groups",
)


def findings(plan: Plan) -> Iterator[Finding]:
    """One finding for each field that is not at its default."""
    return ignored.told(plan.given, _ignored(plan))


def _ignored(plan: Plan) -> Iterator[tuple[str, str]]:
    yield from _load(plan)
    yield from _llm(plan)
    yield from _links(plan)
    yield from _rest(plan)


def _load(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.source != "sessions":
        yield from ((name, "what comes back are no sessions") for name in _OF_SESSIONS)
    if spec.source != "trace":
        yield "workload", "what comes back is no trace"
    if spec.source != "zipf":
        yield "zipf_items", "what comes back are no popular prefixes"
        if spec.source == "trace" or spec.shared_prefix_tokens <= 0:
            yield "zipf_exponent", "no prefix is shared"
    if spec.shared_prefix_tokens <= 0:
        yield "shared_prefix_groups", "no prefix is shared"
    if spec.agent_share <= 0:
        yield from ((name, "no turns are of agents") for name in ("agent_gap_s", "agent_continue_probability"))
    if spec.gap_law != "lognormal":
        yield "gap_sigma", "the law of pauses is not log-normal"
    if spec.gap_law != "hyperexponential":
        yield from ((name, "the law of pauses is not the mixed one") for name in ("gap_long_s", "gap_long_share"))
    if spec.agent_share >= 1:
        only = "all turns are of agents"
        yield from (
            (name, only)
            for name in ("continue_probability", "gap_law", "gap_s", "gap_sigma", "gap_long_s", "gap_long_share")
        )
    if spec.source == "trace":
        lengths = ("context_tokens", "new_tokens", "output_tokens", "one_shot_share")
        yield from ((name, "the trace has its own") for name in lengths)


def _llm(plan: Plan) -> Iterator[tuple[str, str]]:
    spec, llm = plan.spec, plan.physics.llm
    if not llm.mla or spec.prefill_gpus == 1:
        yield "latent_reads", "no latent is kept on several GPUs"
    if spec.state_grain_tokens is None:
        yield "state_bytes", "states may be resumed at any block"
    if spec.overlap == "none":
        yield "layers", "a prefix is read before anything is computed"


def _links(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    asked = max(plan.dram.utilisation, plan.ssd.utilisation, plan.network_utilisation)
    if asked < min(spec.link_limit, type(spec).model_fields["link_limit"].default):
        yield "link_limit", "no link is asked for as much"
    if spec.placement != "pool":
        yield "network_bytes_per_s", "each node reads its own tiers"
    if float(plan.hits[DRAM] + plan.hits[SSD]) <= 0:
        yield from ((name, "nothing is read from below HBM") for name in ("layers", "overlap", "contention"))
    if not has_pool(plan):
        names = ("relation", "admitted_share", "written", "write_mode", "flush_s")
        yield from ((name, "there is nothing below HBM") for name in names)


def _rest(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.write_mode == "through":
        yield "flush_s", "turns are written at once"
    if plan.room.stored_bytes[SSD] <= 0:
        names = ("ssd_dwpd", "ssd_rated_years", "write_amplification", "ssd_write_bytes_per_s")
        yield from ((name, "there is no SSD") for name in names)
        if not spec.tier_budget_usd_per_month and plan.room.stored_bytes[DRAM] <= 0:
            yield "ssd_usd_per_gb_month", "there is no SSD, and no budget for it"
    if plan.room.stored_bytes[DRAM] <= 0:
        yield from ((name, "there is no DRAM") for name in ("dram_usd_per_gb_month", "dram_paid"))
    if spec.dram_paid == "in_rent":
        yield "dram_usd_per_gb_month", "DRAM is paid with the nodes"
    if spec.version_by == "session":
        yield "canary_weight", "sessions keep their version, so both hit as usual"
    if spec.canary_weight in (0.0, 1.0):
        yield "version_by", "one version serves all"
