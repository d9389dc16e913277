"""The reasoning around the figures: what to ask first and what else to try; what a reviewer asks is `follow_ups`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.core.kind import Question, Variant
from planner.core.quantities import show
from planner.core.result import Result
from planner.kinds.kv_pool.follow_ups import follow_ups
from planner.kinds.kv_pool.reuse import gap_law
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.words import money, percent

__all__ = ["follow_ups", "questions", "variants"]

MOVES = ("cost_usd_per_h", "hit_share", "ttft_p99_s", "ssd_life_years", "dram_fetch_s", "shareable_after_s")
"""What a change is told by, beside the GPUs it saves."""
WORTH_A_CLICK = 0.99
_DEFAULTS = KvPoolSpec()
_REUSE = ("source", "gap_law", "gap_s", "gap_sigma", "continue_probability", "workload")


def _state(spec: KvPoolSpec, *fields: str) -> str:
    """A default that nobody touched is assumed; a changed field is an answer."""
    touched = any(getattr(spec, field) != getattr(_DEFAULTS, field) for field in fields)
    return "answered" if touched else "assumed"


def questions(spec: KvPoolSpec, result: Result) -> Sequence[Question]:
    """Clarify: the answers that would change the design."""
    keep = result.value("dram_keep_s")
    held = "as long as anybody asks" if keep is None else show(keep, "s")
    return (
        Question(
            "How long do users pause between turns, and how many turns has a session?",
            _state(spec, *_REUSE),
            _pauses(spec),
            f"The hit rate of each tier: HBM and DRAM keep an idle session {held}.",
            "gap_s",
        ),
        Question(
            "What is shared between sessions: system prompts, tools, documents?",
            _state(spec, "shared_prefix_tokens", "source"),
            f"{spec.shared_prefix_tokens:,g} tokens shared" if spec.shared_prefix_tokens else "nothing",
            "Shared prefixes are kept once and hit by first turns too.",
            "shared_prefix_tokens",
        ),
        Question(
            "Are there agents whose next turn comes within seconds?",
            _state(spec, "agent_share"),
            f"{percent(spec.agent_share)} of the turns",
            "Eviction by value pays only where sorts of session differ and are known.",
            "agent_share",
        ),
        Question(
            "Which KV format, and does the LLM keep windows, states or latents?",
            _state(spec, "kv_bytes_per_token", "kv_dtype", "llm"),
            f"{show(result.value('session_kv_bytes'), 'bytes')} a context",
            "All capacities and reads, in proportion; what can be resumed where.",
            "llm",
        ),
        Question(
            "What do links and drives really give?",
            _state(spec, "dram_read_bytes_per_s", "ssd_read_bytes_per_s", "link_efficiency"),
            f"{show(spec.dram_read_bytes_per_s, 'bytes/s')} and {show(spec.ssd_read_bytes_per_s, 'bytes/s')} a node, "
            f"{percent(spec.link_efficiency)} of them used",
            f"Whether reading pays: above {show(result.value('least_bytes_per_s'), 'bytes/s')} a prompt it does.",
            "link_efficiency",
        ),
        Question(
            "Is the memory of the nodes paid already?",
            _state(spec, "dram_paid"),
            "with the nodes" if spec.dram_paid == "in_rent" else "by the GB",
            f"{money(result.value('dram_usd_per_h') or 0.0)}/h of the bill.",
            "dram_paid",
        ),
        Question(
            "How often is the LLM upgraded, and may a canary serve per request?",
            "open" if _state(spec, "canary_weight", "version_by") == "assumed" else "answered",
            f"a version for each {spec.version_by}",
            "Each upgrade starts cold: steps of the weight, and how long each is held.",
            "version_by",
        ),
    )


def _pauses(spec: KvPoolSpec) -> str:
    if spec.source == "trace":
        return "as in the trace"
    if spec.source == "zipf":
        return f"{spec.zipf_items:,} prefixes, Zipf {spec.zipf_exponent:g}"
    law = gap_law(spec)
    middle, tail = float(law.quantile_s(0.5)), float(law.quantile_s(0.99))
    turns = 1 / (1 - spec.continue_probability)
    return f"half within {show(middle, 's')}, 99 % within {show(tail, 's')}; {turns:.3g} turns on average"


def variants(spec: KvPoolSpec, result: Result) -> Sequence[Variant]:
    """Trade-offs: one change each."""
    found = [*_tiers(spec), *_policies(spec)]
    if spec.link_efficiency > 0.5:
        found.append(_variant("Links as measured (48 %)", {"link_efficiency": 0.48}))
    if spec.kv_bytes_per_token is not None and spec.kv_bytes_per_token >= 2:
        found.append(_variant("KV cache of half the size", {"kv_bytes_per_token": spec.kv_bytes_per_token / 2}))
    found.append(_variant("Twice the turns", {"turns_per_s": min(2 * spec.turns_per_s or 1.0, 1e6)}))
    if spec.source == "sessions":
        longer = "agents" if spec.agent_share < 0.5 else "people"
        share = 0.5 if longer == "agents" else 0.0
        found.append(_variant("Half the turns of agents" if share else "People only", {"agent_share": share}))
    mixed = best_mix(spec, result)
    return (*found, *mixed)


def _variant(label: str, change: Mapping[str, Any]) -> Variant:
    return Variant(label, change, moves=MOVES)


def _tiers(spec: KvPoolSpec) -> list[Variant]:
    found = []
    if spec.ssd_bytes_per_node > 0:
        found.append(_variant("Without SSD", {"ssd_bytes_per_node": 0.0}))
        found.append(_variant("A tenth of the SSD", {"ssd_bytes_per_node": spec.ssd_bytes_per_node / 10}))
    if spec.dram_bytes_per_node > 0:
        found.append(_variant("Twice the DRAM", {"dram_bytes_per_node": min(2 * spec.dram_bytes_per_node, 1e15)}))
        found.append(_variant("Without DRAM", {"dram_bytes_per_node": 0.0}))
    if spec.ssd_bytes_per_node > 0 and spec.dram_bytes_per_node > 0:
        found.append(_variant("No pool, HBM only", {"ssd_bytes_per_node": 0.0, "dram_bytes_per_node": 0.0}))
    return found


def _policies(spec: KvPoolSpec) -> list[Variant]:
    found = []
    names = {
        "lru": "Least recently used",
        "ttl": f"Dropped after {show(spec.ttl_s, 's')}",
        "value": "Eviction by value",
    }
    found += [_variant(label, {"eviction": name}) for name, label in names.items() if name != spec.eviction]
    if spec.relation != "exclusive":
        found.append(_variant("Each tier holds what was dropped above", {"relation": "exclusive"}))
    if spec.placement == "pool":
        found.append(_variant("Node-local caches, sessions wander", {"placement": "random"}))
    if spec.write_mode == "through":
        found.append(_variant("Write-back", {"write_mode": "back"}))
    return found


def best_mix(spec: KvPoolSpec, result: Result) -> list[Variant]:
    """The mix of tiers with the least bill within the budget, rounded to what one buys."""
    table = result.series["tier_mix"]
    rows = zip(*(table.column(name).values for name in ("bill_usd_per_h", "dram_bytes", "ssd_bytes")), strict=True)
    numbers = [row for row in rows if all(isinstance(value, int | float) for value in row)]
    if not numbers:
        return []
    least, dram, ssd = min(numbers, key=lambda row: float(row[0] or 0.0))
    if float(least or 0.0) > WORTH_A_CLICK * (result.value("cost_usd_per_h") or 0.0):
        return []
    change = {
        "dram_bytes_per_node": _bought(float(dram or 0.0), nodes=spec.nodes),
        "ssd_bytes_per_node": _bought(float(ssd or 0.0), nodes=spec.nodes),
    }
    if all(abs(getattr(spec, name) - value) <= 0.02 * value for name, value in change.items()):
        return []
    return [
        _variant(
            "Least bill of prefill and tiers"
            if spec.tier_budget_usd_per_month is None
            else "Least bill within the tiers' budget",
            change,
        )
    ]


def _bought(total_bytes: float, *, nodes: int) -> float:
    return float(f"{total_bytes / nodes:.2g}")
