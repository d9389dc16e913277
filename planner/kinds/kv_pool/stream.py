"""The design as the simulator takes it: nodes, tiers, links, and the stream of turns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planner.core.simulation import SimulationRequest, Workload
from planner.formulas.caching import mean_context_tokens
from planner.kinds.kv_pool import traces
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.reuse import TurnClass, turn_classes
from planner.kinds.kv_pool.simulation_options import DEFAULT_DURATION_S, USUAL_REQUESTS, Options
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import DRAM, HBM, SSD
from planner.kinds.kv_pool.turns import first_context_tokens, grown_tokens, is_cut

if TYPE_CHECKING:
    from sims.parts.gaps import GapLaw
    from sims.parts.sessions import SessionClass, Sessions
    from sims.systems.kv_pool import Config, Links, Tier, TraceSource

SPREAD = 0.1
"""Of the logarithm of each message's length: enough that ends of prefixes fall anywhere in a block."""
LIVES = 5.0
LONGEST_LEAD_S = 1e5
_HALVINGS = 60


def place_of(made: Plan, *, chosen: Options) -> str:
    """Which unit serves a turn: where HBM finds much, the one that has it."""
    if chosen.place != "auto":
        return chosen.place
    return {"any": "least_loaded", "own": "affinity", "one": "random"}[made.served]


def config_for(made: Plan, *, place: str, eviction: str, block_tokens: int, serves_from_s: float = 0.0) -> Config:
    """A node of the simulator is a prefill unit with its part of all tiers."""
    from sims.systems.kv_pool import CHEAPER, Config

    spec, facts, units = made.spec, made.physics, made.fleet.units
    return Config(
        nodes=units,
        kv_bytes_per_token=facts.stored_bytes_per_token,
        block_tokens=block_tokens,
        hbm_bytes_per_node=made.room.stored_bytes[HBM] / facts.hbm_copies / units,
        dram=_tier(made, tier=DRAM),
        ssd=_tier(made, tier=SSD),
        links=_links(made),
        prefill_s_per_token=facts.recompute.linear_s,
        prefill_s_per_token2=facts.recompute.square_s,
        layers=1 if spec.overlap == "none" else facts.layers,
        ttft_fixed_s=spec.ttft_fixed_s,
        fetch=CHEAPER,
        eviction=eviction,
        place=place,
        state_blocks=max(1, math.ceil((spec.state_grain_tokens or 1) / block_tokens)),
        serves_from_s=serves_from_s,
    )


def _tier(made: Plan, *, tier: int) -> Tier:
    from sims.systems.kv_pool import COPIES, DROPPED, KEPT, Tier

    spec = made.spec
    takes_dropped = spec.relation == "exclusive" or (tier == DRAM and spec.relation == "ssd_inclusive")
    copies = KEPT if spec.write_mode == "back" else COPIES
    return Tier(
        bytes_per_node=made.room.stored_bytes[tier] / made.fleet.units,
        holds=DROPPED if takes_dropped else copies,
        pooled=spec.placement == "pool",
        latency_s=spec.dram_latency_s if tier == DRAM else spec.ssd_latency_s,
    )


def _links(made: Plan) -> Links:
    from sims.systems.kv_pool import Links

    spec, copies = made.spec, made.physics.read_copies
    share = spec.prefill_gpus / spec.gpus_per_node
    usable = spec.link_efficiency / copies
    return Links(
        pcie=spec.dram_read_bytes_per_s * share * usable,
        network=spec.network_bytes_per_s * share * usable,
        ssd_read=spec.ssd_read_bytes_per_s * usable,
        ssd_write=spec.ssd_write_bytes_per_s * spec.nodes / made.fleet.units,
    )


def trace_for(request: SimulationRequest, *, workload: Workload | None) -> traces.Trace | None:
    """The part of a trace that the run reaches; None for a run of sessions."""
    given = request.workload or workload
    if given is None:
        return None
    last = given.requests
    if request.requests is not None:
        last = min(last, request.requests)
    return traces.read(given if last == given.requests else traces.first_requests(given, count=last))


def rate_of(spec: KvPoolSpec, *, trace: traces.Trace | None, request: SimulationRequest, chosen: Options) -> float:
    """Requests a second: the design's, or of a trace that the design does not name its own."""
    if trace is None or request.workload is None or spec.source == "trace":
        return spec.turns_per_s * chosen.rate_scale
    return traces.own_rate(trace) * chosen.rate_scale


def trace_source(trace: traces.Trace, *, turns_per_s: float) -> TraceSource:
    """The trace at this rate."""
    from sims.systems.kv_pool import TraceSource

    workload, own = trace.workload, traces.own_rate(trace)
    return TraceSource(
        np.asarray(workload.arrival_s, np.float64),
        np.asarray(workload.input_tokens, np.int64),
        trace.blocks.ids,
        np.asarray(trace.blocks.offsets, np.int64),
        rate_scale=turns_per_s / own if own > 0 else 1.0,
    )


def duration_s(request: SimulationRequest, *, turns_per_s: float) -> float:
    """Of a run of sessions."""
    if request.duration_s is not None:
        return request.duration_s
    if request.requests is not None:
        return request.requests / turns_per_s
    return min(DEFAULT_DURATION_S, USUAL_REQUESTS / turns_per_s)


def sessions_for(spec: KvPoolSpec, *, turns_per_s: float, lasts_s: float) -> Sessions:
    """Sessions of people and agents with their shared prefixes, and one-shots; or requests behind popular prefixes."""
    from sims.parts.sessions import Prefixes, Sessions

    classes = _prefix_classes(spec) if spec.source == "zipf" else _classes(spec)
    rate = turns_per_s * math.fsum(one.share for one in classes)
    prefixes = None
    if spec.source == "zipf":
        prefixes = Prefixes(groups=spec.zipf_items, tokens=int(spec.context_tokens), exponent=spec.zipf_exponent)
    elif spec.shared_prefix_tokens >= 1:
        prefixes = Prefixes(spec.shared_prefix_groups, int(spec.shared_prefix_tokens), exponent=spec.zipf_exponent)
    return Sessions(
        sessions_per_s=rate,
        duration_s=lasts_s,
        classes=tuple(classes),
        prefixes=prefixes,
        most_tokens=_most_tokens(spec),
        lead_s=_lead_s(spec),
    )


def _classes(spec: KvPoolSpec) -> list[SessionClass]:
    found = [_session_class(spec, each=each, name=f"sessions {place}") for place, each in enumerate(turn_classes(spec))]
    return found + _one_shots(spec)


def _session_class(spec: KvPoolSpec, *, each: TurnClass, name: str) -> SessionClass:
    from sims.parts.sessions import SessionClass

    first = first_context_tokens(spec, follow_share=each.follow_share)
    return SessionClass(
        name=name,
        gaps=_law(each),
        share=each.share * (1 - each.follow_share),
        follow=each.follow_share,
        first_tokens=max(0.0, first - spec.shared_prefix_tokens - spec.new_tokens),
        user_tokens=max(spec.new_tokens - spec.output_tokens, 1.0),
        answer_tokens=spec.output_tokens,
        sigma=SPREAD,
        shared=spec.shared_prefix_tokens >= 1,
        ttl_s=spec.ttl_s,
    )


def _one_shots(spec: KvPoolSpec) -> list[SessionClass]:
    from sims.parts.sessions import SessionClass

    if spec.one_shot_share <= 0:
        return []
    kept = spec.admitted_share > 1 - spec.one_shot_share
    asked = max(spec.context_tokens - spec.output_tokens, 1.0)
    one = SessionClass(
        name="one-shots",
        share=spec.one_shot_share,
        turns=1,
        user_tokens=asked,
        answer_tokens=spec.output_tokens,
        sigma=SPREAD,
        kept=kept,
        ttl_s=spec.ttl_s,
    )
    return [one]


def _prefix_classes(spec: KvPoolSpec) -> list[SessionClass]:
    from sims.parts.sessions import SessionClass

    asked = SessionClass(
        name="popular prefixes",
        share=1 - spec.one_shot_share,
        turns=1,
        user_tokens=max(spec.new_tokens - spec.output_tokens, 1.0),
        answer_tokens=spec.output_tokens,
        sigma=SPREAD,
        shared=True,
        ttl_s=spec.ttl_s,
    )
    return [asked] * (spec.one_shot_share < 1) + _one_shots(spec)


def _law(each: TurnClass) -> GapLaw:
    """The same law of pauses, to draw from."""
    from planner.formulas import gaps as formulas
    from sims.parts import gaps as drawn

    law = each.gaps
    if isinstance(law, formulas.LogNormal):
        return drawn.LogNormal(law.median_s, law.sigma)
    if isinstance(law, formulas.Mixture):
        short, long = law.laws
        return drawn.Hyperexponential(law.shares[0], short.mean_s, long.mean_s)
    return drawn.Exponential(law.mean_s)


def _most_tokens(spec: KvPoolSpec) -> int:
    """The limit at which histories that outgrow the mean context have it as their mean."""
    limits = [
        _limit_tokens(spec, follow_share=each.follow_share)
        for each in turn_classes(spec)
        if spec.source == "sessions" and each.follow_share > 0 and is_cut(spec, follow_share=each.follow_share)
    ]
    return int(min(max(limits, default=1e12), 1e12))


def _limit_tokens(spec: KvPoolSpec, *, follow_share: float) -> float:
    first = first_context_tokens(spec, follow_share=follow_share)
    low, high = first, first + 100 * grown_tokens(spec, follow_share=follow_share)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        mean = mean_context_tokens(
            first, tokens_per_turn=spec.new_tokens, follow_share=follow_share, most_tokens=middle
        )
        low, high = (middle, high) if mean < spec.context_tokens else (low, middle)
    return max(high, spec.context_tokens)


def _lead_s(spec: KvPoolSpec) -> float:
    """How long before the run sessions began, so that the load is at rest from the start."""
    if spec.source != "sessions":
        return 0.0
    lives = [each.gaps.mean_s * each.follow_share / (1 - each.follow_share) for each in turn_classes(spec)]
    return min(LIVES * max(lives, default=0.0), LONGEST_LEAD_S)
