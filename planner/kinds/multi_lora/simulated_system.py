"""The design as the simulator wants it: replicas, their steps and levels as numbers, requests drawn or from a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.core.simulation import SimulationRequest, Workload
from planner.kinds.multi_lora.asked import read
from planner.kinds.multi_lora.plan import Plan
from planner.kinds.multi_lora.simulation_options import DEFAULT_DURATION_S, USUAL_REQUESTS, Options
from planner.kinds.multi_lora.steps import Step, kernel_s, read_bytes_of
from planner.kinds.multi_lora.tenants import owners

if TYPE_CHECKING:
    from sims.parts.arrivals import Lengths
    from sims.systems.multi_lora import AdapterRequests, Burst, Config, Failure, Tenants

PREFILL_BUDGET_TOKENS = 8192
"""Prompt and output tokens of a step, at most: the usual of engines."""
MOST_TOKENS = 1_000_000
LEAST_DOWNLOADS = 8
SWAPS = {"stalls": "stalls", "beside": "beside", "layers": "pipelined"}


@dataclass(frozen=True, slots=True)
class Way:
    """A way to route and to schedule: what is compared."""

    policy: str
    scheduler: str
    label: str
    copies: int = 1


POLICY_LABELS = {
    "random": "any replica",
    "least_loaded": "the least loaded replica",
    "consistent_hash": "by hash of the adapter",
    "affinity": "by hash, copies",
    "load_aware": "copies by load",
}
SCHEDULER_LABELS = {"fair": "weighted counters", "fifo": "first come, first served"}


def ways(made: Plan, *, chosen: Options) -> list[Way]:
    """What runs: the design first, then those beside it."""
    spec = made.spec
    policy = {"random": "random", "load_aware": "load_aware"}.get(spec.routing)
    if policy is None:
        policy = "consistent_hash" if spec.copies == 1 else "affinity"
    scheduler = "fair" if spec.fairness == "weighted" else "fifo"
    own = Way(policy, scheduler, POLICY_LABELS[policy], spec.copies)
    if chosen.policies == "fairness":
        other = "fifo" if scheduler == "fair" else "fair"
        named = Way(policy, scheduler, SCHEDULER_LABELS[scheduler], spec.copies)
        return [named, Way(policy, other, SCHEDULER_LABELS[other], spec.copies)]
    if chosen.policies == "chosen" or made.fleet.replicas == 1:
        return [own]
    others = [
        Way(name, scheduler, label, max(spec.copies, 2) if name == "affinity" else spec.copies)
        for name, label in POLICY_LABELS.items()
        if name != policy
    ]
    return [own, *others]


def config_for(made: Plan, *, way: Way, chosen: Options) -> Config:
    """The fleet with one way to route and schedule."""
    from sims.systems.multi_lora import Config

    spec, base, memory = made.spec, made.parts.base, made.parts.memory
    batch = max(made.running, 1.0)
    step, factor = made.replica.step(batch), made.replica.step(batch).engine_factor
    adds, loading = _added(made, step=step, batch=batch, factor=factor), made.loading
    each_bytes, (first_s, span_s) = max(made.parts.adapter.gpu_file_bytes, 1.0), _download(made)
    cold = min(spec.cold_replicas, 1000)
    slots = max(memory.slots, 1)
    return Config(
        replicas=made.fleet.replicas + cold,
        adapters=spec.adapters,
        slots=slots,
        host_adapters=max(memory.host_adapters, slots),
        step_s=factor * (base.step_bytes(batch) / base.gpus / base.bytes_per_s + base.overhead_s),
        step_s_per_sequence=factor * base.state_bytes / base.bytes_per_s,
        step_s_per_kv_token=factor * base.kv_bytes_per_token / base.bytes_per_s,
        prefill_s_per_token=made.replica.prefill_s(0.0) / spec.input_tokens,
        kv_capacity_tokens=max(int(capacity_tokens(made)), 1),
        adapter_tokens=_page_tokens(made),
        max_running=spec.max_batch,
        prefill_budget_tokens=PREFILL_BUDGET_TOKENS,
        lora_step_s=adds.step_s,
        lora_s_per_adapter=adds.per_adapter_s,
        lora_s_per_sequence=adds.per_sequence_s,
        lora_always=spec.specialised_graphs == "off",
        # A download moves the whole file, a copy what one GPU keeps of it.
        adapter_bytes=each_bytes,
        swap_bytes_per_s=loading.link_bytes_per_s,
        swap_fixed_s=loading.copies * spec.tensor_s,
        swap=SWAPS[spec.copying],
        swap_layer_s=loading.swap_s / max(base.llm.layers, 1) if spec.copying == "layers" else 0.0,
        store_first_byte_s=first_s,
        store_bytes_per_s=each_bytes / span_s if span_s > 0 else math.inf,
        store_downloads=LEAST_DOWNLOADS,
        pinned=tuple(range(min(made.replica.pinned, slots - 1))),
        preload=("host" if spec.paged else "slots") if chosen.hosts == "warm" else "none",
        policy=way.policy,
        copies=way.copies,
        replace_every_s=chosen.place_every_s or 0.0,
        cold_replicas=cold,
        cold_hold_all=True,
        scheduler=way.scheduler,
        output_weight=spec.output_weight,
        ttft_slo_s=spec.ttft_p99_slo_s,
        tpot_slo_s=spec.tpot_slo_s,
    )


def capacity_tokens(made: Plan) -> float:
    """KV tokens of a replica; where adapters lie in the same pages, those of the whole pool."""
    memory = made.parts.memory
    if not made.spec.paged or memory.kv_bytes_per_token <= 0:
        return memory.kv_tokens
    return max(memory.pool_bytes, 0.0) / memory.kv_bytes_per_token


def _page_tokens(made: Plan) -> int:
    memory = made.parts.memory
    if not made.spec.paged or memory.kv_bytes_per_token <= 0:
        return 0
    return max(round(memory.gpu_slot_bytes / memory.kv_bytes_per_token), 1)


class Added(NamedTuple):
    """What adapters add to a step: once, for each different one, for each sequence [s]."""

    step_s: float = 0.0
    per_adapter_s: float = 0.0
    per_sequence_s: float = 0.0


def _added(made: Plan, *, step: Step, batch: float, factor: float) -> Added:
    """Launches, and reading by adapter (grouped) or by sequence (gathered)."""
    spec, base, adapter = made.spec, made.parts.base, made.parts.adapter
    if not adapter.exists:
        return Added()
    tokens = batch * made.replica.adapted
    launched_s = factor * adapter.kernels * kernel_s(made.replica)
    if spec.kernels == "gather":
        return Added(launched_s, 0.0, factor * step.read_s / max(tokens, 1e-9))
    read_s = read_bytes_of(made.replica, tokens=tokens, distinct=step.distinct) / base.bytes_per_s
    return Added(launched_s, factor * read_s, factor * 2 * adapter.active_parameters / base.flops_per_s)


def _download(made: Plan) -> tuple[float, float]:
    """Until data come and the file is read, and the time of its bytes."""
    spec = made.spec
    first_s = spec.parse_s + (spec.store_first_byte_s if spec.source == "object_store" else 0.0)
    return first_s, max(made.loading.cold_s - first_s, 0.0)


def tenants_for(made: Plan) -> Tenants:
    """Whose adapters they are, with weights and limits."""
    from sims.systems.multi_lora import Tenants

    spec = made.spec
    limit = spec.tenant_limit_rps
    tokens = spec.input_tokens + spec.output_tokens
    limits = np.zeros(0) if limit is None else np.full(spec.tenants, limit * tokens)
    no_quota = spec.tenant_slots is None or spec.paged
    quota = np.zeros(0, np.int64) if no_quota else np.full(spec.tenants, spec.tenant_slots)
    return Tenants(
        owners(spec, adapters=spec.adapters),
        weights=made.tenants.weights,
        limits_tokens_per_s=limits,
        slots=quota,
    )


def source_for(made: Plan, *, request: SimulationRequest, chosen: Options) -> AdapterRequests:
    """Requests of a trace, or Poisson with the popularity of the design."""
    if request.workload is not None and chosen.replays(request):
        return _replayed(request.workload, made=made, request=request, chosen=chosen)
    from sims.parts.arrivals import Lengths, Poisson
    from sims.systems.multi_lora import AdapterRequests, Popularity

    spec = made.spec
    rate = spec.requests_per_s
    lengths = Lengths(
        spec.input_tokens,
        spec.output_tokens,
        input_sigma=spec.input_sigma,
        output_sigma=spec.output_sigma,
        prefix_hit_rate=prefix_hits(made),
        most_tokens=_most_tokens(made),
    )
    arrivals = Poisson(rate, lengths, duration_s=_duration_s(request, rate=rate), requests=request.requests)
    shifts = () if chosen.shift_at_s is None else (chosen.shift_at_s,)
    trace = made.parts.asked.trace
    if trace is None:
        popularity = Popularity.zipf(spec.adapters, exponent=spec.zipf_exponent, shifts_at_s=shifts)
    else:
        popularity = Popularity(trace.counts.astype(np.float64), shifts_at_s=shifts)
    return AdapterRequests(
        arrivals,
        popularity,
        base_share=spec.base_share,
        bursts=_bursts(made, rate=rate, lengths=lengths, chosen=chosen),
    )


def prefix_hits(made: Plan) -> float:
    """Of the prompt tokens, as the estimate finds them."""
    return 0.0 if made.latency is None else made.latency.prefix_hits


def _most_tokens(made: Plan) -> int:
    """No request is longer than half of a replica's KV, or it could never run."""
    return max(1, min(MOST_TOKENS, int(capacity_tokens(made) / 2)))


def _duration_s(request: SimulationRequest, *, rate: float) -> float | None:
    if request.duration_s is not None or request.requests is not None:
        return request.duration_s
    return min(DEFAULT_DURATION_S, USUAL_REQUESTS / rate) if rate > 0 else DEFAULT_DURATION_S


def _bursts(made: Plan, *, rate: float, lengths: Lengths, chosen: Options) -> tuple[Burst, ...]:
    """What the largest tenant sends on top, its adapters alike."""
    from sims.systems.multi_lora import Burst

    if chosen.noisy_at_s is None:
        return ()
    spec, shares = made.spec, made.tenants.shares
    noisy = int(np.argmax(shares))
    adapters = tuple(int(each) for each in np.flatnonzero(owners(spec, adapters=spec.adapters) == noisy))
    added = rate * float(shares[noisy]) * (spec.noisy_factor - 1)
    return (Burst(adapters, added, lengths, from_s=chosen.noisy_at_s),) if added > 0 else ()


def _replayed(workload: Workload, *, made: Plan, request: SimulationRequest, chosen: Options) -> AdapterRequests:
    """A trace as it came; its adapters if it names some, else drawn by the popularity of the design."""
    from sims.parts.arrivals import Table
    from sims.parts.traces import Trace
    from sims.systems.multi_lora import AdapterRequests, Popularity

    table = Table(
        np.asarray(workload.arrival_s, np.float64),
        np.maximum(np.asarray(workload.input_tokens, np.int64), 1),
        np.maximum(np.asarray(workload.output_tokens, np.int64), 1),
    )
    arrivals = Trace(
        table,
        rate_scale=chosen.rate_scale,
        duration_s=request.duration_s,
        requests=request.requests,
        prefix_hit_rate=prefix_hits(made),
    )
    named = workload.adapters
    if named is None:
        return AdapterRequests(
            arrivals,
            Popularity.zipf(made.spec.adapters, exponent=made.spec.zipf_exponent),
            base_share=made.spec.base_share,
        )
    return AdapterRequests(arrivals, column=by_popularity(workload))


def by_popularity(workload: Workload) -> NDArray[np.int64]:
    """The adapters of a trace numbered from the most popular down, as tenants and pinned ones are."""
    named = np.asarray(read(workload).workload.adapters, np.int64)
    counts = np.bincount(named[named >= 0])
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.where(named >= 0, rank[np.maximum(named, 0)], -1)


def failures_for(made: Plan, *, chosen: Options, horizon_s: float) -> list[Failure]:
    """The replica that is lost, if one is; raises ValueError."""
    from sims.systems.multi_lora import Failure

    at_s = chosen.fail_at_s
    if at_s is None:
        return []
    if at_s >= horizon_s:
        raise ValueError(f"options.fail_at_s: {at_s:g} s lies beyond the run of {horizon_s:g} s")
    if made.fleet.replicas < 2:
        raise ValueError("options.fail_at_s: there is one replica, and without it nothing is served")
    return [Failure(0, at_s=at_s, rejoin_s=math.inf if chosen.rejoin_s is None else chosen.rejoin_s)]
