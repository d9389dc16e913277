"""The system that is simulated: one replica with its scheduler, and the requests that come."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planner.core.simulation import Workload
from planner.formulas import engine_memory
from planner.kinds.engine_instance.simulation_options import BENCHMARK_ROUNDS, DEFAULT_DURATION_S, Options
from planner.kinds.engine_instance.spec import EngineInstanceSpec
from planner.kinds.engine_instance.steps import Served

if TYPE_CHECKING:
    from planner.kinds.engine_instance.simulated import Run
    from sims.parts.arrivals import Arrivals, Lengths, Table
    from sims.systems.llm_serving import Config

_WARM_STAYS = 5.0


def config_for(served: Served, *, spec: EngineInstanceSpec, chosen: Options) -> Config:
    """The replica as the simulator wants it: numbers of a step, places and room."""
    from sims.systems.llm_serving import Config

    numbers, ranks = served.numbers, served.ranks
    return Config(
        aggregated=True,
        decode_units=served.engines,
        prefill_ranks=ranks,
        step_s=0.0,
        step_s_per_sequence=numbers.sequence_s / ranks,
        step_s_per_kv_token=numbers.kv_token_s / ranks,
        step_table=tuple(zip(numbers.tokens, numbers.table_s, strict=True)),
        prompt_token_weight=numbers.prompt_token_weight,
        pooled_share=numbers.pooled_share,
        prefill_s_per_token=0.0,
        prefill_s_per_token_pair=numbers.token_pair_s,
        prefill_step_s=numbers.prompt_step_s,
        prefill_budget_tokens=served.budget_tokens,
        kv_capacity_tokens=served.kv_tokens * ranks,
        block_tokens=served.block_tokens,
        reserve_full_prompt=_reserves(served, chosen=chosen),
        max_running=served.most_running,
        tokens_per_step=served.tokens_per_step,
        gateway_s=numbers.request_s,
        ttft_slo_s=spec.ttft_p99_slo_s or math.inf,
        tpot_slo_s=spec.tpot_slo_s or math.inf,
    )


def _reserves(served: Served, *, chosen: Options) -> bool:
    """Whether a prompt waits until all of it fits: engines do, and vLLM from the version on that says so."""
    if chosen.admission != "auto":
        return chosen.admission == "whole_prompt"
    plan = served.plan
    return engine_memory.reaches(plan.spec.engine_version, plan.settings.get("whole_prompt_from", "0"))


def arrivals_for(made: Run, *, served: Served) -> Arrivals:
    """The source of requests that was asked for."""
    from sims.parts.arrivals import Poisson
    from sims.parts.traces import Trace

    request, chosen, hits = made.request, made.chosen, made.spec.prefix_hit_rate
    if request.workload is not None and made.way == "trace":
        return Trace(
            _table(request.workload, given=chosen.prefix_cache in ("share", "off")),
            rate_scale=chosen.rate_scale,
            duration_s=request.duration_s,
            requests=request.requests,
            prefix_hit_rate=hits,
        )
    lengths = _lengths(made.spec, chosen=chosen, most_tokens=served.plan.max_model_len)
    if made.way == "closed_loop":
        return _closed_loop(made, lengths=lengths, served=served)
    duration_s = request.duration_s
    if duration_s is None and request.requests is None:
        duration_s = DEFAULT_DURATION_S
    return Poisson(made.spec.rate_rps or 0.0, lengths, duration_s=duration_s, requests=request.requests)


def _closed_loop(made: Run, *, lengths: Lengths, served: Served) -> Arrivals:
    """Clients as the usual benchmark has them."""
    from sims.parts.clients import ClosedLoop

    clients, asked = max(1, round(served.plan.concurrency)), made.request
    requests = asked.requests
    if requests is None and asked.duration_s is None:
        requests = BENCHMARK_ROUNDS * clients
    rounds = 1.0 if requests is None else requests / clients
    return ClosedLoop(
        clients=clients,
        lengths=lengths,
        about_s=rounds * (served.stay_s + made.chosen.think_s),
        requests=requests,
        duration_s=asked.duration_s,
        think_s=made.chosen.think_s,
    )


def _lengths(spec: EngineInstanceSpec, *, chosen: Options, most_tokens: int) -> Lengths:
    from sims.parts.arrivals import Lengths

    return Lengths(
        input_tokens=spec.input_tokens,
        output_tokens=spec.output_tokens,
        input_sigma=chosen.input_sigma,
        output_sigma=chosen.output_sigma,
        prefix_hit_rate=spec.prefix_hit_rate,
        most_tokens=most_tokens,
    )


def _table(workload: Workload, *, given: bool) -> Table:
    """The trace; with ``given`` hits are those of the design, not its own."""
    from sims.parts.arrivals import Table

    cached = None if given or workload.cached_tokens is None else np.asarray(workload.cached_tokens, np.int64)
    return Table(
        at_s=np.asarray(workload.arrival_s, np.float64),
        input=np.asarray(workload.input_tokens, np.int64),
        output=np.asarray(workload.output_tokens, np.int64),
        cached=cached,
    )


def warm_up_s(made: Run, *, served: Served, horizon_s: float) -> float:
    """What is cut from the measurements [s]; raises ValueError."""
    asked = made.chosen.warmup_s
    if asked is None:
        stay_s = made.spec.output_tokens * max(made.spec.tpot_slo_s or 0.0, min(served.numbers.table_s))
        return min(horizon_s / 4, _WARM_STAYS * stay_s) if made.way == "poisson" else 0.0
    if asked >= horizon_s:
        raise ValueError(f"options.warmup_s: {asked:g} s leave nothing of a run of {horizon_s:g} s")
    return asked
