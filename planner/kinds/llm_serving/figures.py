"""A plan as metrics: value, range, basis, objective and the working with the design's own numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from planner.core.quantities import show
from planner.core.result import Basis, Metric
from planner.formulas import reliability
from planner.kinds.llm_serving.fleet import Fleet, Role
from planner.kinds.llm_serving.metrics import BY_NAME, figure
from planner.kinds.llm_serving.plan import Plan, rates_in_use
from planner.kinds.llm_serving.prices import prices
from planner.kinds.llm_serving.spec import LlmServingSpec

_NO_GROWTH = 1e-6


def metrics(plan: Plan) -> dict[str, Metric]:
    """All metrics of a plan, in the order of their definitions."""
    found = {
        **_fleet(plan),
        **_latency(plan),
        **_load(plan),
        **_failure(plan),
        **prices(plan),
        **_rates(plan),
        **_site(plan),
    }
    return {name: found[name] for name in BY_NAME}


def _fleet(plan: Plan) -> Mapping[str, Metric]:
    spec, fleet, facts = plan.spec, plan.fleet, plan.physics
    basis: Basis = "exact" if spec.rate_mode == "assumed" else plan.physics.basis
    grown = plan.rps_within_headroom
    months = _months_to(grown, now=spec.peak_rps, growth_per_month=spec.growth_per_month)
    prefill_need, decode_need = needed_by_work(plan.fleet, spec=spec)
    return {
        "prefill_gpus_needed": figure(
            "prefill_gpus_needed",
            prefill_need,
            basis=basis,
            between=sized(plan, lambda fleet: needed_by_work(fleet, spec=spec)[0]),
            working=f"{spec.peak_rps:g} req/s × {spec.input_tokens:,g} tokens × (1 − {spec.prefix_hit_rate:g}) / "
            f"{facts.prefill_tokens_per_s_per_gpu:,.4g} tok/s = {prefill_need:,.4g} GPUs",
        ),
        "prefill_units": figure(
            "prefill_units",
            fleet.prefill.units,
            basis=basis,
            between=sized(plan, lambda fleet: fleet.prefill.units),
            working=_units_working(fleet.prefill, spec.headroom),
        ),
        "prefill_gpus": figure(
            "prefill_gpus", fleet.prefill.gpus, basis=basis, between=sized(plan, lambda fleet: fleet.prefill.gpus)
        ),
        "decode_gpus_needed": figure(
            "decode_gpus_needed",
            decode_need,
            basis=basis,
            between=sized(plan, lambda fleet: needed_by_work(fleet, spec=spec)[1]),
            working=f"{spec.peak_rps:g} req/s × {spec.output_tokens:,g} tokens / "
            f"{facts.decode_tokens_per_s_per_gpu:,.4g} tok/s = {decode_need:,.4g} GPUs",
        ),
        "decode_units": figure(
            "decode_units",
            fleet.decode.units,
            basis=basis,
            between=sized(plan, lambda fleet: fleet.decode.units),
            working=_units_working(fleet.decode, spec.headroom),
        ),
        "decode_gpus": figure(
            "decode_gpus", fleet.decode.gpus, basis=basis, between=sized(plan, lambda fleet: fleet.decode.gpus)
        ),
        "gpus": figure("gpus", fleet.gpus, basis=basis, between=sized(plan, lambda fleet: fleet.gpus)),
        "nodes": figure("nodes", fleet.nodes, basis=basis, between=sized(plan, lambda fleet: fleet.nodes)),
        "max_rps_within_headroom": figure("max_rps_within_headroom", grown, basis=basis),
        "months_to_full": figure("months_to_full", months, basis=basis),
    }


def _months_to(rate: float | None, *, now: float, growth_per_month: float) -> float | None:
    """Months until the rate is reached; None without growth to speak of or without a rate."""
    if rate is None or now <= 0 or growth_per_month < _NO_GROWTH:
        return None
    return max(0.0, math.log(max(rate, now) / now) / math.log1p(growth_per_month))


def sized(plan: Plan, of: Callable[[Fleet], float]) -> tuple[float | None, float | None]:
    """A figure of the fleet sized with either end of derived rates; none where rates are given and size it exactly."""
    if plan.spec.rate_mode != "derived":
        return None, None
    return of(plan.quick_fleet), of(plan.slow_fleet)


def needed_by_work(fleet: Fleet, *, spec: LlmServingSpec) -> tuple[float, float]:
    """GPUs asked for by prefill and by decode, whether or not they share a pool."""
    if not spec.is_aggregated:
        return fleet.prefill.needed_gpus, fleet.decode.needed_gpus
    pooled, share = fleet.decode.needed_gpus, fleet.prefill_share
    return pooled * share, pooled * (1 - share)


def _units_working(role: Role, headroom: float) -> str:
    if not role.units:
        return ""
    spare = f" + {role.spare_units} spare" if role.spare_units else ""
    return f"⌈{role.needed_gpus:,.4g} × {1 + headroom:g} / {role.unit_gpus}⌉{spare} = {role.units}"


def _latency(plan: Plan) -> Mapping[str, Metric]:
    spec = plan.spec
    objectives = {"ttft_p99_s": spec.ttft_p99_slo_s, "tpot_p50_s": spec.tpot_slo_s, "tpot_p99_s": spec.tpot_slo_s}
    found: dict[str, Metric] = {}
    for kind in ("ttft", "tpot"):
        middle, quick, slow = (getattr(these, f"{kind}_s") for these in (plan.latencies, plan.quick, plan.slow))
        for quantile, value in middle.items():
            name = f"{kind}_{quantile}_s"
            between = (quick[quantile], slow[quantile]) if value is not None else (None, None)
            found[name] = figure(name, value, basis=plan.physics.basis, between=between, objective=objectives.get(name))
    parts = ttft_parts(plan)
    found["ttft_mean_s"] = figure(
        "ttft_mean_s",
        sum(parts.values()) if parts else None,
        basis=plan.physics.basis,
        between=(plan.quick.ttft_mean_s, plan.slow.ttft_mean_s),
    )
    return found


def ttft_parts(plan: Plan) -> dict[str, float]:
    """Mean time to the first token by what it is spent on; empty past saturation. The parts sum to the metric."""
    ttft, facts = plan.ttft, plan.physics
    if ttft.mean_wait_s is None:
        return {}
    handed = {} if plan.spec.is_aggregated else {"KV hand-over": ttft.handover_s + facts.handover_fixed_s}
    return {
        "gateway": facts.gateway_s,
        "prefill queue": ttft.mean_wait_s + ttft.step_wait_s,
        "prefill": ttft.prefill_s,
        **handed,
        "first decode step": ttft.first_step_s,
    }


def _load(plan: Plan) -> Mapping[str, Metric]:
    spec, facts, fleet = plan.spec, plan.physics, plan.fleet
    good = plan.good_share
    prefill_use = fleet.decode.utilisation if spec.is_aggregated else fleet.prefill.utilisation
    share = fleet.prefill_share
    decode_use = fleet.decode.utilisation
    if spec.is_aggregated and prefill_use is not None and decode_use is not None:
        prefill_use, decode_use = prefill_use * share, decode_use * (1 - share)
    assumed: Basis = plan.physics.basis
    return {
        "prefill_utilisation": figure(
            "prefill_utilisation", prefill_use, basis=assumed, between=_used(plan, prefill_use, "prefill")
        ),
        "decode_utilisation": figure(
            "decode_utilisation", decode_use, basis=assumed, between=_used(plan, decode_use, "decode")
        ),
        "decode_concurrency_per_gpu": figure(
            "decode_concurrency_per_gpu",
            plan.concurrency_at_limit,
            basis=assumed,
            working=f"{facts.decode_tokens_per_s_per_gpu:,.4g} tok/s × {show(spec.tpot_slo_s, 's')} = "
            f"{plan.concurrency_at_limit:,.4g}",
        ),
        "decode_running_per_gpu": figure(
            "decode_running_per_gpu",
            plan.decode.batch,
            basis=assumed,
            between=(plan.quick.running_per_gpu, plan.slow.running_per_gpu),
        ),
        "decode_kv_bytes_per_gpu": figure(
            "decode_kv_bytes_per_gpu",
            plan.kv_bytes_at_limit,
            basis=assumed,
            working=f"{plan.concurrency_at_limit:,.4g} × {spec.mean_context_tokens:,g} tokens × "
            f"{facts.kv_bytes_per_token * facts.kv_copies:,.6g} B = {show(plan.kv_bytes_at_limit, 'bytes')}",
        ),
        "decode_kv_pool_bytes_per_gpu": figure(
            "decode_kv_pool_bytes_per_gpu", max(0.0, facts.decode_memory.kv_pool_bytes), basis="extrapolated"
        ),
        "longest_mean_context_tokens": figure(
            "longest_mean_context_tokens",
            plan.longest_context_tokens if plan.concurrency_at_limit > 0 else None,
            basis="extrapolated",
        ),
        "kv_transfer_bytes_per_s": figure(
            "kv_transfer_bytes_per_s",
            plan.transfer_bytes_per_s,
            working=f"{spec.peak_rps:g} req/s × {spec.input_tokens:,g} tokens × {facts.kv_bytes_per_token:,.6g} B = "
            f"{show(plan.transfer_bytes_per_s, 'bytes/s')}",
        ),
        "kv_transfer_nic_share": figure("kv_transfer_nic_share", plan.nic_share),
        "goodput_rps": figure("goodput_rps", spec.peak_rps * good if good is not None else 0.0, basis=assumed),
        "output_tokens_per_s": figure("output_tokens_per_s", plan.output_tokens_per_s),
    }


def _used(plan: Plan, share: float | None, pool: str) -> tuple[float | None, float | None]:
    """A utilisation with rates at either end of their range, on the fleet as it stands."""
    pool = "decode" if plan.spec.is_aggregated else pool
    need = getattr(plan.fleet, pool).needed_gpus
    if share is None or need <= 0:
        return None, None
    low, high = (getattr(fleet, pool).needed_gpus / need * share for fleet in (plan.quick_fleet, plan.slow_fleet))
    return low, high


def _failure(plan: Plan) -> Mapping[str, Metric]:
    spec, fleet = plan.spec, plan.fleet
    found: dict[str, Metric] = {}
    carried = 1.0
    for role, name in ((fleet.prefill, "prefill"), (fleet.decode, "decode")):
        left, survives = role.left_after_loss, role.survives_one
        basis: Basis = "exact" if spec.rate_mode == "assumed" else plan.physics.basis
        promise = plan.availability(role)
        carried *= promise.carries_peak
        found[f"{name}_left_after_unit_loss"] = figure(
            f"{name}_left_after_unit_loss",
            left,
            basis=basis,
            objective=None if left is None else 1.0,
            working=""
            if left is None
            else f"({role.units} − {role.together}) × {role.unit_gpus} / {role.needed_gpus:,.4g} GPUs",
        )
        found[f"{name}_n_plus_1"] = figure(
            f"{name}_n_plus_1",
            None if survives is None else float(survives),
            basis=basis,
            objective=None if survives is None else 1.0,
        )
        found[f"{name}_units_for_availability"] = figure(
            f"{name}_units_for_availability",
            promise.units_for_target if role.needed_gpus > 0 else None,
            basis="assumed",
            working=f"fewest n with P(at least {role.needed_units} of n up) ≥ {spec.availability:g}, "
            f"a unit up {promise.unit:.5f} of the time",
        )
    found["peak_availability"] = figure("peak_availability", carried, basis="assumed", objective=spec.availability)
    found["node_failures_per_day"] = figure(
        "node_failures_per_day",
        reliability.failures_per_day(fleet.nodes, failures_per_node_h=spec.failures_per_node_h),
        basis="assumed",
    )
    return found


def _rates(plan: Plan) -> Mapping[str, Metric]:
    facts, derived = plan.physics, plan.physics.derived
    used, low, high = facts.basis, rates_in_use(facts, high=False), rates_in_use(facts, high=True)
    from_figures: Basis = derived.basis
    return {
        "prefill_tokens_per_s_per_gpu": figure(
            "prefill_tokens_per_s_per_gpu",
            facts.prefill_tokens_per_s_per_gpu,
            basis=used,
            between=(low[0], high[0]),
        ),
        "decode_tokens_per_s_per_gpu": figure(
            "decode_tokens_per_s_per_gpu",
            facts.decode_tokens_per_s_per_gpu,
            basis=used,
            between=(low[1], high[1]),
        ),
        "derived_prefill_tokens_per_s_per_gpu": figure(
            "derived_prefill_tokens_per_s_per_gpu",
            derived.prefill_tokens_per_s_per_gpu,
            basis=from_figures,
            between=(derived.prefill_low, derived.prefill_high),
        ),
        "derived_decode_tokens_per_s_per_gpu": figure(
            "derived_decode_tokens_per_s_per_gpu",
            derived.decode_tokens_per_s_per_gpu,
            basis=from_figures,
            between=(derived.decode_low, derived.decode_high),
        ),
    }


def _site(plan: Plan) -> Mapping[str, Metric]:
    power_w, out = plan.power_w, plan.output_tokens_per_s
    energy = power_w / out if power_w is not None and out > 0 else None
    return {
        "power_w": figure("power_w", power_w, basis="assumed"),
        "energy_j_per_output_token": figure("energy_j_per_output_token", energy, basis="assumed"),
    }
