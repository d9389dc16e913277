"""The design as the simulator wants it: instances, routers and health as numbers, requests as sessions or a trace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planner.core.simulation import SimulationRequest, Workload
from planner.kinds.gateway.plan import Plan, gateway_s
from planner.kinds.gateway.simulation_options import DEFAULT_DURATION_S, Options
from planner.kinds.gateway.spec import GatewaySpec
from planner.kinds.gateway.waits import UNCAPPED

if TYPE_CHECKING:
    from sims.systems.gateway import CanaryStep, Config, Failure, Health, Source

SIMULATED = {"bounded_hash": "consistent_hash", UNCAPPED: "prefix_aware"}
"""Policies that go by another name in the simulator."""
LEAST_LEFT = 0.02
"""Of an instance's time for prefill, where decode would take all of it."""
MOST_ROUTERS = 256
NO_BUDGET = 1e9
MOST_LIMIT = 1_000_000_000
EASED_BUSY = 1.3
"""Load of a fleet whose caches are empty, at most: enough that requests spill and popular prefixes spread, as they do
in any fleet that grows warm at work, and little enough that the first hits relieve it."""


def config_for(made: Plan, *, policy: str, chosen: Options, block_tokens: int, eased_until_s: float = 0.0) -> Config:
    """The fleet, its routers and one policy."""
    from sims.systems.gateway import Config

    spec = made.spec
    left = left_for_prefill(made, rate_scale=chosen.rate_scale)
    limit = made.overload.limit
    urgent = chosen.priorities == "on"
    cap = 0.0 if policy == UNCAPPED or spec.hot_prefix_cap is None else spec.hot_prefix_cap
    return Config(
        instances=spec.instances,
        prefill_s_per_token=1 / (spec.prefill_tokens_per_s * left),
        token_s=spec.tpot_s,
        slots=max(1, round(spec.decode_tokens_per_s * spec.tpot_s)),
        cache_blocks=max(1, spec.kv_tokens_per_instance // block_tokens),
        block_tokens=block_tokens,
        gateway_s=gateway_s(spec),
        policy=SIMULATED.get(policy, policy),
        load_bound=spec.load_bound if policy == "bounded_hash" else None,
        hot_prefix_cap=cap,
        hash_by_session=spec.hash_key == "session",
        routers=min(max(made.sizing.replicas, 1), MOST_ROUTERS),
        view_period_s=spec.view_interval_s,
        count_own=spec.own_dispatches == "counted",
        # What is renewed each period is half a period old on average.
        index_period_s=2 * made.index.lag_s,
        index_own=spec.index_own == "on" or spec.index_place == "approximate",
        ttft_slo_s=spec.ttft_p99_slo_s,
        queue_limit=limit,
        low_priority_limit=max(1, limit // 2) if urgent else MOST_LIMIT,
        priority_queues=urgent,
        retries=spec.retries,
        retry_budget=NO_BUDGET if spec.retry_budget is None else spec.retry_budget,
        resume=spec.broken_streams == "resume",
        timeout_s=spec.request_timeout_s,
        canary_by_session=spec.canary_by == "session",
        eased_until_s=eased_until_s,
        easing=easing(made, left=left, rate_scale=chosen.rate_scale),
        health=health_of(spec),
    )


def easing(made: Plan, *, left: float, rate_scale: float) -> float:
    """Share of its time that prefill takes while caches fill, so that prompts that miss overload it only a little."""
    spec = made.spec
    cold = spec.peak_rps * rate_scale * spec.input_tokens / (spec.instances * spec.prefill_tokens_per_s * left)
    return min(1.0, EASED_BUSY / cold) if cold > 0 else 1.0


def left_for_prefill(made: Plan, *, rate_scale: float) -> float:
    """Share of an instance's time that decode leaves at the rate of the run, or at saturation if that is less."""
    spec = made.spec
    rate = min(spec.peak_rps * rate_scale, made.policies.chosen.capacity_rps)
    return max(1 - rate / spec.instances * spec.output_tokens / spec.decode_tokens_per_s, LEAST_LEFT)


def health_of(spec: GatewaySpec) -> Health:
    """Probes and breakers as the design has them."""
    from sims.systems.gateway import Health

    return Health(
        probe_interval_s=0.0 if spec.detection == "passive" else spec.probe_interval_s,
        probe_failures=spec.probe_failures,
        probe_timeout_s=spec.probe_timeout_s,
        probe_false_rate=spec.probe_error,
        probe_busy_s=spec.probe_timeout_s if spec.probe_path == "queued" else math.inf,
        passive_failures=0 if spec.detection == "active" else spec.passive_failures,
        shared_verdicts=spec.verdicts == "shared",
        open_s=spec.ejection_s,
        half_open_trials=spec.half_open_trials if spec.half_open == "on" else 0,
        most_ejected_share=spec.ejection_cap,
    )


def source_for(made: Plan, *, request: SimulationRequest, chosen: Options) -> Source:
    """Requests of a trace, or of sessions as the design describes them."""
    from sims.systems.gateway import Conversations

    if request.workload is not None and chosen.replays(request):
        return _trace(request.workload, request=request, chosen=chosen, made=made)
    spec, reuse = made.spec, made.policies.reuse
    rate = spec.peak_rps * chosen.rate_scale
    duration_s = request.duration_s
    if duration_s is None and request.requests is None:
        duration_s = DEFAULT_DURATION_S
    in_sessions = spec.turns > 1
    return Conversations(
        rate,
        duration_s=duration_s,
        requests=request.requests,
        groups=reuse.groups,
        zipf_exponent=spec.prefix_exponent,
        group_tokens=round(reuse.prefix_tokens),
        one_shot_share=0.0 if in_sessions else 1.0,
        live_sessions=max(1, round(rate * spec.gap_s)) if in_sessions else 0,
        turns=spec.turns,
        first_tokens=reuse.growth_tokens,
        message_tokens=max(reuse.growth_tokens - reuse.returned_tokens, 1.0),
        output_tokens=spec.output_tokens,
        answers_back=reuse.returned_tokens / spec.output_tokens if spec.output_tokens > 0 else 1.0,
        input_sigma=spec.input_sigma,
        output_sigma=spec.output_sigma,
        most_tokens=max(32_768, round(16 * spec.input_tokens)),
        important_share=spec.urgent_share if chosen.priorities == "on" else 1.0,
    )


def _trace(workload: Workload, *, request: SimulationRequest, chosen: Options, made: Plan) -> Source:
    from sims.systems.gateway import Replay, replay_blocks

    last = reached(workload, request=request, chosen=chosen)
    at_s = np.asarray(workload.arrival_s[:last], np.float64)
    prompts = np.asarray(workload.input_tokens[:last], np.int64)
    answers = np.asarray(workload.output_tokens[:last], np.int64)
    if workload.blocks is None:
        important = made.spec.urgent_share if chosen.priorities == "on" else 1.0
        return Replay(at_s, prompts, answers, rate_scale=chosen.rate_scale, important_share=important)
    offsets = np.asarray(workload.blocks.offsets[: last + 1], np.int64)
    return replay_blocks(
        at_s=at_s,
        tokens=prompts,
        output=answers,
        block_ids=np.asarray(workload.blocks.ids[: int(offsets[-1])], np.int64),
        offsets=offsets,
        rate_scale=chosen.rate_scale,
    )


def reached(workload: Workload, *, request: SimulationRequest, chosen: Options) -> int:
    """How many requests of a trace the run comes to."""
    last = workload.requests
    if request.duration_s is not None:
        until_s = float(workload.arrival_s[0]) + request.duration_s * chosen.rate_scale if last else 0.0
        last = int(np.searchsorted(workload.arrival_s, until_s, side="right"))
    return last if request.requests is None else min(last, request.requests)


def failures_for(spec: GatewaySpec, *, chosen: Options, horizon_s: float) -> list[Failure]:
    """The instances that are lost, if some are."""
    from sims.systems.gateway import Failure

    at_s = chosen.fail_at_s
    if at_s is None:
        return []
    if at_s >= horizon_s:
        raise ValueError(f"options.fail_at_s: {at_s:g} s lies beyond the run of {horizon_s:g} s")
    rejoin_s = spec.outage_s if chosen.rejoin_s is None else chosen.rejoin_s
    hangs = spec.failure_mode == "hangs"
    return [Failure(i, at_s=at_s, rejoin_s=rejoin_s, hangs=hangs) for i in range(spec.instances_lost)]


def canary_for(spec: GatewaySpec, *, chosen: Options) -> list[CanaryStep]:
    """The step of the canary, if one is asked for: traffic and instances by its weight."""
    from sims.systems.gateway import CanaryStep

    if chosen.canary_at_s is None:
        return []
    instances = min(max(1, round(spec.canary_weight * spec.instances)), spec.instances - 1)
    return [CanaryStep(chosen.canary_at_s, weight=spec.canary_weight, instances=instances)] if instances else []
