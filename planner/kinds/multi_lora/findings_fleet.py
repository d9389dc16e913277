"""Replicas: what binds them, whether they keep up and survive a loss; first tokens, routing and loads."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.formulas.adapter_loading import GETS_PER_S
from planner.kinds.multi_lora.plan import Plan
from planner.kinds.multi_lora.replica import BINDS
from planner.kinds.multi_lora.words import loaded, some

UNEVEN = 1.15
FEW_COLD = 0.01
BUSY_LINK = 0.5
LITTLE = 0.02


def fleet_findings(plan: Plan) -> Iterator[Finding]:
    """Capacity, objectives, routing, cold adapters, prefixes, the trace."""
    if plan.spec.requests_per_s <= 0:
        yield Finding(
            code="no_load",
            severity="info",
            message="No requests: times are those of the first request to come, and prices per token do not exist.",
            metric="cost_usd_per_m_output_tokens",
        )
    yield from _capacity(plan)
    yield from _objectives(plan)
    if plan.parts.adapter.exists and plan.replica.adapted > 0:
        yield from _routing(plan)
        yield from _cold(plan)
        yield from _cold_replicas(plan)
        yield from _prefix(plan)
    yield from _lost(plan)
    yield from _trace(plan)
    if plan.gpu_price_usd_per_h is None:
        yield Finding(
            code="no_price",
            severity="warning",
            message=f"Nobody in the catalog offers {plan.parts.base.gpu.name}, so there is no cost.",
            metric="cost_usd_per_h",
            suggestion="State a price.",
            change={"gpu_price_usd_per_h": 2.5},
        )


def _capacity(plan: Plan) -> Iterator[Finding]:
    best, fleet, spec = plan.replica.best, plan.fleet, plan.spec
    if best.rate_rps <= 0:
        yield Finding(
            code="cannot_serve",
            severity="error",
            message=f"A replica cannot serve a single request within this design; what binds: {BINDS[best.binds]}.",
            metric="replica_max_rps",
            suggestion="A looser TPOT helps." if best.binds == "tpot" else None,
            change={"tpot_slo_s": 2 * spec.tpot_slo_s} if best.binds == "tpot" and spec.tpot_slo_s < 5 else None,
        )
        return
    verb = "bind" if best.binds == "slots" else "binds"
    yield Finding(
        code="replica_binds",
        severity="info",
        message=f"A replica does {show(best.rate_rps, 'req/s')} in time, with {counted(best.batch, 'request')} "
        f"running; {BINDS[best.binds]} {verb}. At this load {counted(plan.running, 'request')} "
        f"{'runs' if round(plan.running) == 1 else 'run'} on each.",
        metric="replica_max_rps",
    )
    used = fleet.utilisation or 0.0
    if used > 1:
        yield Finding(
            code="overloaded",
            severity="error" if plan.latency is None else "warning",
            message=f"{counted(fleet.replicas, 'replica')} {'does' if fleet.replicas == 1 else 'do'} "
            f"{show(fleet.max_rps, 'req/s')} in time; the load is {show(fleet.rate_rps, 'req/s')}. {_late(plan)}",
            metric="utilisation",
            suggestion="Leave the number empty: it is then sized for the load."
            if fleet.needed is None
            else f"{counted(fleet.needed + spec.spare_replicas, 'replica')} would do, the spare one included.",
            change={"replicas": None},
        )


def _late(plan: Plan) -> str:
    """What becomes of a load above what is done in time."""
    fleet, found = plan.fleet, plan.latency
    full = show(fleet.full_rps, "req/s")
    if found is None:
        return (
            f"No more than some {full} are served: queues grow without end, so latencies do not exist, and prices are "
            "of what is served."
        )
    if found.waits is None:
        return "Some adapters are never served."
    why = "after the wait for a slot" if found.waits.mean_s > found.loading.swap_s else "with late tokens"
    return f"All of it is served, {why}: queues do not grow without end up to some {full}, where every place is taken."


def _objectives(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.latency
    if found is None:
        return
    p99 = found.quantile_s(0.99)
    if p99 is not None and p99 > spec.ttft_p99_slo_s:
        yield Finding(
            code="ttft_missed",
            severity="warning",
            message=f"TTFT P99 is {show(p99, 's')}; the objective is {show(spec.ttft_p99_slo_s, 's')}. {_why(plan)}",
            metric="ttft_p99_s",
        )
    if found.tpot_s > spec.tpot_slo_s:
        yield Finding(
            code="tpot_missed",
            severity="warning",
            message=f"TPOT is {show(found.tpot_s, 's')}; the objective is {show(spec.tpot_slo_s, 's')}.",
            metric="tpot_s",
            suggestion="Add replicas.",
            change={"replicas": None},
        )


def _why(plan: Plan) -> str:
    found = plan.latency
    if found is None or found.waits is None:
        return ""
    if found.waits.p99_s > plan.spec.ttft_p99_slo_s / 2:
        return "It is the wait for a slot."
    if plan.tiers.store > FEW_COLD and (found.cold_s or 0.0) > plan.spec.ttft_p99_slo_s / 2:
        return "It is the download of adapters that no host has."
    return "It is the queue and the longest prompts."


def _routing(plan: Plan) -> Iterator[Finding]:
    spec, seen = plan.spec, plan.replica.seen
    if plan.fleet.replicas <= 1:
        return
    if seen.imbalance > UNEVEN:
        yield Finding(
            code="uneven",
            severity="warning",
            message=f"A hash does not look at load: the busiest of {counted(plan.fleet.replicas, 'replica')} gets "
            f"{seen.imbalance:.3g} times the mean, because it has the most popular adapters. Copies by load keep the "
            "hits and the balance.",
            metric="load_imbalance",
            suggestion="Give popular adapters more replicas, each where least is.",
            change={"routing": "load_aware"},
        )
    mine, without = plan.replica.distinct(plan.running).mean, plan.anywhere.distinct(plan.running).mean
    if spec.routing != "random":
        yield Finding(
            code="affinity",
            severity="info",
            message=f"A replica serves {some(seen.items)} of {counted(spec.adapters, 'adapter')}: a batch has "
            f"{some(mine)} different ones instead of {some(without)}, and {percent(plan.tiers.gpu)} of the requests "
            f"find theirs on the GPU instead of {percent(plan.anywhere.tiers.gpu)}.",
            metric="gpu_hit_share",
        )
    else:
        other = plan.routed("load_aware")
        if other.tiers.gpu - plan.replica.tiers.gpu < LITTLE:
            return
        yield Finding(
            code="no_affinity",
            severity="info",
            message=f"Any replica serves any adapter: {percent(plan.tiers.gpu)} of the requests find theirs on "
            f"the GPU. With affinity {percent(other.tiers.gpu)} would, and a batch would have "
            f"{some(other.distinct(plan.running).mean)} different adapters instead of {some(mine)}.",
            metric="gpu_hit_share",
            suggestion="Send requests to their adapter, with copies by load.",
            change={"routing": "load_aware"},
        )


def _cold(plan: Plan) -> Iterator[Finding]:
    tiers, spec, loading = plan.tiers, plan.spec, plan.loading
    rate = plan.fleet.rate_rps * plan.replica.adapted * tiers.store
    if tiers.store <= 1e-9:
        yield Finding(
            code="cold_adapters",
            severity="info",
            message="Host memory keeps every adapter a replica serves, so no request waits for a download of "
            f"{show(loading.cold_s, 's')}; a new adapter's first one does.",
            metric="store_share",
        )
        return
    wanted = min(max(int(plan.replica.seen.items) + 1, plan.parts.memory.slots), spec.adapters)
    yield Finding(
        code="cold_adapters",
        severity="warning" if tiers.store > FEW_COLD and not plan.cold_utilisation else "info",
        message=f"{percent(tiers.store)} of the requests find their adapter in no host memory; bringing it there takes "
        f"{show(loading.cold_s, 's')}: {show(3600 * rate, '1/h')} downloads over the fleet." + _meanwhile(plan),
        metric="store_share",
        suggestion=f"Keep {counted(wanted, 'adapter')} in host memory: "
        f"{show(wanted * plan.parts.adapter.file_bytes, 'bytes')} a replica.",
        change={"host_adapters": wanted},
    )
    gets = rate * spec.store_connections
    if spec.source == "object_store" and gets > GETS_PER_S:
        yield Finding(
            code="store_limit",
            severity="warning",
            message=f"Downloads make {show(gets, '1/s')} requests; a prefix of the store takes {GETS_PER_S:,.0f} a "
            "second.",
            metric="cold_loads_per_h",
        )


def _meanwhile(plan: Plan) -> str:
    """What cold-start replicas make of it."""
    if not plan.spec.cold_replicas:
        return ""
    used = plan.cold_utilisation
    if used is None or used > 1:
        return " The cold-start replicas cannot serve so many meanwhile."
    return f" Cold-start replicas, {percent(used)} used, serve the requests meanwhile."


def _prefix(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.latency
    if spec.prefix_share * spec.input_tokens < 1 or found is None:
        return
    yield Finding(
        code="prefix_key",
        severity="info",
        message="An adapter changes keys and values, so the adapter belongs into the key of the prefix cache: "
        f"{percent(found.prefix_hits)} of the prompt tokens are found, each prefix behind its own adapter. A key "
        "without it would hit more and answer from another tenant's KV: wrong, and a leak.",
        metric="prefix_hit_share",
    )


def _lost(plan: Plan) -> Iterator[Finding]:
    left = plan.fleet.replicas - 1
    if plan.fleet.rate_rps <= 0 or plan.replica.best.rate_rps <= 0:
        return
    if left < 1:
        yield Finding(
            code="one_lost",
            severity="warning",
            message="There is one replica: without it nothing is served.",
            metric="utilisation_one_lost",
            suggestion="Add a spare one.",
            change={"replicas": None, "spare_replicas": max(plan.spec.spare_replicas, 1)},
        )
        return
    after = plan.one_lost or plan.fleet
    used = after.utilisation or 0.0
    fits = used <= 1
    yield Finding(
        code="one_lost",
        severity="info" if fits else "warning",
        message=f"One replica lost leaves {counted(left, 'replica')}, {loaded(used)}. "
        f"Its adapters move: {some(plan.held)} are "
        f"copied in anew, each of the rest then serves {some(after.replica.seen.items)} adapters.",
        metric="utilisation_one_lost",
        suggestion=None if fits else "Add a spare one.",
        change=None if fits else {"replicas": None, "spare_replicas": max(plan.spec.spare_replicas, 1)},
    )


def _trace(plan: Plan) -> Iterator[Finding]:
    trace = plan.parts.asked.trace
    if trace is None:
        return
    fit = trace.fit
    few = fit is not None and not fit.enough
    fitted = "" if fit is None else f" Zipf's law fits them with an exponent of {fit.exponent:.3g}."
    bias = " There are fewer than ten requests an adapter, so that reads too high." if few else ""
    yield Finding(
        code="trace_popularity",
        severity="warning" if few else "info",
        message=f"The trace names {counted(trace.adapters, 'adapter')}; the most popular has "
        f"{percent(plan.parts.asked.hottest)} of the requests.{fitted}{bias}",
        metric="zipf_exponent",
    )


def _cold_replicas(plan: Plan) -> Iterator[Finding]:
    """Cold-start replicas that are asked for more than they can do."""
    used = plan.cold_utilisation
    if not plan.spec.cold_replicas or (used is not None and used <= 1):
        return
    found = plan.latency
    yield Finding(
        code="cold_replicas_full",
        severity="error" if found is not None and found.cold_s is None else "warning",
        message="The cold-start replicas are asked for more than they can do: nearly every request there has an "
        "adapter of its own, which is copied and holds a slot.",
        metric="cold_utilisation",
        suggestion="Add one, or keep more adapters in host memory.",
        change={"cold_replicas": min(plan.spec.cold_replicas + 1, 1000)},
    )
