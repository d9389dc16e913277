"""A plan as metrics: value, range, basis, objective and the working with the design's own numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.core.quantities import show
from planner.core.result import Basis, Metric
from planner.formulas import cost, reliability
from planner.kinds.llm_serving.fleet import Role, bill_parts
from planner.kinds.llm_serving.metrics import BY_NAME
from planner.kinds.llm_serving.plan import Plan

_NO_GROWTH = 1e-6


def metrics(plan: Plan) -> dict[str, Metric]:
    """All metrics of a plan, in the order of their definitions."""
    found = {
        **_fleet(plan),
        **_latency(plan),
        **_load(plan),
        **_failure(plan),
        **_money(plan),
        **_rates(plan),
        **_site(plan),
    }
    return {name: found[name] for name in BY_NAME}


def _metric(
    name: str,
    value: float | None,
    *,
    basis: Basis = "exact",
    between: tuple[float | None, float | None] = (None, None),
    objective: float | None = None,
    working: str = "",
) -> Metric:
    low, high = between
    if low is None or high is None:
        low = high = None
    elif low > high:
        low, high = high, low
    return Metric(BY_NAME[name], value, low=low, high=high, basis=basis, objective=objective, working=working)


def _basis(plan: Plan) -> Basis:
    return plan.physics.basis


def _fleet(plan: Plan) -> Mapping[str, Metric]:
    spec, fleet, facts = plan.spec, plan.fleet, plan.physics
    basis: Basis = "exact" if spec.rate_mode == "assumed" else _basis(plan)
    grown = plan.rps_within_headroom
    months = _months_to(grown, now=spec.peak_rps, growth_per_month=spec.growth_per_month)
    low, high = plan.low_fleet, plan.high_fleet
    derived = spec.rate_mode == "derived"
    prefill_need, decode_need = needed_by_work(plan)
    return {
        "prefill_gpus_needed": _metric(
            "prefill_gpus_needed",
            prefill_need,
            basis=basis,
            working=f"{spec.peak_rps:g} req/s × {spec.input_tokens:,g} tokens × (1 − {spec.prefix_hit_rate:g}) / "
            f"{facts.prefill_tokens_per_s_per_gpu:,.4g} tok/s = {prefill_need:,.4g} GPUs",
        ),
        "prefill_units": _metric(
            "prefill_units", fleet.prefill.units, basis=basis, working=_units_working(fleet.prefill, spec.headroom)
        ),
        "prefill_gpus": _metric("prefill_gpus", fleet.prefill.gpus, basis=basis),
        "decode_gpus_needed": _metric(
            "decode_gpus_needed",
            decode_need,
            basis=basis,
            working=f"{spec.peak_rps:g} req/s × {spec.output_tokens:,g} tokens / "
            f"{facts.decode_tokens_per_s_per_gpu:,.4g} tok/s = {decode_need:,.4g} GPUs",
        ),
        "decode_units": _metric(
            "decode_units", fleet.decode.units, basis=basis, working=_units_working(fleet.decode, spec.headroom)
        ),
        "decode_gpus": _metric("decode_gpus", fleet.decode.gpus, basis=basis),
        "gpus": _metric("gpus", fleet.gpus, basis=basis),
        "nodes": _metric(
            "nodes", fleet.nodes, basis=basis, between=(low.nodes, high.nodes) if derived else (None, None)
        ),
        "max_rps_within_headroom": _metric("max_rps_within_headroom", grown, basis=basis),
        "months_to_full": _metric("months_to_full", months, basis=basis),
    }


def _months_to(rate: float | None, *, now: float, growth_per_month: float) -> float | None:
    """Months until the rate is reached; None without growth to speak of or without a rate."""
    if rate is None or now <= 0 or growth_per_month < _NO_GROWTH:
        return None
    return max(0.0, math.log(max(rate, now) / now) / math.log1p(growth_per_month))


def needed_by_work(plan: Plan) -> tuple[float, float]:
    """GPUs asked for by prefill and by decode, whether or not they share a pool."""
    if not plan.spec.is_aggregated:
        return plan.fleet.prefill.needed_gpus, plan.fleet.decode.needed_gpus
    pooled, share = plan.fleet.decode.needed_gpus, plan.fleet.prefill_share
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
            found[name] = _metric(name, value, basis=_basis(plan), between=between, objective=objectives.get(name))
    parts = ttft_parts(plan)
    found["ttft_mean_s"] = _metric("ttft_mean_s", sum(parts.values()) if parts else None, basis=_basis(plan))
    return found


def ttft_parts(plan: Plan) -> dict[str, float]:
    """Mean time to the first token by what it is spent on; empty past saturation. The parts sum to the metric."""
    ttft, facts = plan.ttft, plan.physics
    if ttft.mean_wait_s is None:
        return {}
    return {
        "gateway": facts.gateway_s,
        "prefill queue": ttft.mean_wait_s + ttft.step_wait_s,
        "prefill": ttft.prefill_s,
        "KV hand-over": ttft.handover_s + facts.handover_fixed_s,
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
    assumed: Basis = _basis(plan)
    return {
        "prefill_utilisation": _metric("prefill_utilisation", prefill_use, basis=assumed),
        "decode_utilisation": _metric("decode_utilisation", decode_use, basis=assumed),
        "decode_concurrency_per_gpu": _metric(
            "decode_concurrency_per_gpu",
            plan.concurrency_at_limit,
            basis=assumed,
            working=f"{facts.decode_tokens_per_s_per_gpu:,.4g} tok/s × {show(spec.tpot_slo_s, 's')} = "
            f"{plan.concurrency_at_limit:,.4g}",
        ),
        "decode_running_per_gpu": _metric("decode_running_per_gpu", plan.decode.batch, basis=assumed),
        "decode_kv_bytes_per_gpu": _metric(
            "decode_kv_bytes_per_gpu",
            plan.kv_bytes_at_limit,
            basis=assumed,
            working=f"{plan.concurrency_at_limit:,.4g} × {spec.mean_context_tokens:,g} tokens × "
            f"{facts.kv_bytes_per_token * facts.kv_copies:,.6g} B = {show(plan.kv_bytes_at_limit, 'bytes')}",
        ),
        "decode_kv_pool_bytes_per_gpu": _metric(
            "decode_kv_pool_bytes_per_gpu", max(0.0, facts.decode_memory.kv_pool_bytes), basis="extrapolated"
        ),
        "longest_mean_context_tokens": _metric(
            "longest_mean_context_tokens",
            plan.longest_context_tokens if plan.concurrency_at_limit > 0 else None,
            basis="extrapolated",
        ),
        "kv_transfer_bytes_per_s": _metric(
            "kv_transfer_bytes_per_s",
            plan.transfer_bytes_per_s,
            working=f"{spec.peak_rps:g} req/s × {spec.input_tokens:,g} tokens × {facts.kv_bytes_per_token:,.6g} B = "
            f"{show(plan.transfer_bytes_per_s, 'bytes/s')}",
        ),
        "kv_transfer_nic_share": _metric("kv_transfer_nic_share", plan.nic_share),
        "goodput_rps": _metric("goodput_rps", spec.peak_rps * good if good is not None else 0.0, basis=assumed),
        "output_tokens_per_s": _metric("output_tokens_per_s", plan.output_tokens_per_s),
    }


def _failure(plan: Plan) -> Mapping[str, Metric]:
    spec, fleet = plan.spec, plan.fleet
    found: dict[str, Metric] = {}
    carried = 1.0
    for role, name in ((fleet.prefill, "prefill"), (fleet.decode, "decode")):
        left, survives = role.left_after_loss, role.survives_one
        basis: Basis = "exact" if spec.rate_mode == "assumed" else _basis(plan)
        promise = plan.availability(role)
        carried *= promise.carries_peak
        found[f"{name}_left_after_unit_loss"] = _metric(
            f"{name}_left_after_unit_loss",
            left,
            basis=basis,
            objective=None if left is None else 1.0,
            working=""
            if left is None
            else f"({role.units} − {role.together}) × {role.unit_gpus} / {role.needed_gpus:,.4g} GPUs",
        )
        found[f"{name}_n_plus_1"] = _metric(
            f"{name}_n_plus_1",
            None if survives is None else float(survives),
            basis=basis,
            objective=None if survives is None else 1.0,
        )
        found[f"{name}_units_for_availability"] = _metric(
            f"{name}_units_for_availability",
            promise.units_for_target if role.needed_gpus > 0 else None,
            basis="assumed",
            working=f"fewest n with P(at least {role.needed_units} of n up) ≥ {spec.availability:g}, "
            f"a unit up {promise.unit:.5f} of the time",
        )
    found["peak_availability"] = _metric("peak_availability", carried, basis="assumed", objective=spec.availability)
    found["node_failures_per_day"] = _metric(
        "node_failures_per_day",
        reliability.failures_per_day(fleet.nodes, failures_per_node_h=spec.failures_per_node_h),
        basis="assumed",
    )
    return found


def _money(plan: Plan) -> Mapping[str, Metric]:
    spec, fleet = plan.spec, plan.fleet
    bill, out = fleet.usd_per_h, plan.output_tokens_per_s
    inputs = spec.peak_rps * spec.input_tokens
    cached = inputs * spec.prefix_hit_rate
    basis = _basis(plan)
    between = (plan.usd_per_m(out, fleet=plan.low_fleet), plan.usd_per_m(out, fleet=plan.high_fleet))
    parts = bill_parts(fleet, headroom=spec.headroom)
    unrounded = (parts["prefill_used"] + parts["decode_used"]) * (1 + spec.headroom)
    good = plan.good_share
    per_m = cost.usd_per_million_tokens
    prefill_bill = parts["prefill_used"] if spec.is_aggregated else fleet.prefill.usd_per_h
    prices = {
        "cost_usd_per_m_input_tokens": plan.usd_per_m(inputs),
        "cost_usd_per_m_cached_input_tokens": plan.usd_per_m(cached),
        "cost_usd_per_m_total_tokens": plan.usd_per_m(inputs + out),
        "cost_usd_per_m_good_output_tokens": plan.usd_per_m(out * good) if good else None,
        "cost_usd_per_m_output_tokens_at_mean": plan.usd_per_m(out * spec.mean_to_peak),
        "cost_usd_per_m_output_tokens_unrounded": per_m(unrounded, tokens_per_s=out),
        "prefill_usd_per_m_computed_tokens": per_m(
            prefill_bill, tokens_per_s=spec.peak_rps * spec.computed_input_tokens
        ),
        "decode_usd_per_m_output_tokens": per_m(
            parts["decode_used"] if spec.is_aggregated else fleet.decode.usd_per_h, tokens_per_s=out
        ),
    }
    return {
        "cost_usd_per_h": _metric("cost_usd_per_h", bill, working=_bill_working(plan)),
        "cost_usd_per_month": _metric("cost_usd_per_month", bill * cost.HOURS_PER_MONTH),
        "cost_usd_per_m_output_tokens": _metric(
            "cost_usd_per_m_output_tokens",
            plan.usd_per_m(out),
            basis=basis,
            between=between,
            working=f"{show(bill, 'USD/h')} / ({out:,g} tok/s × 3,600 s) × 10⁶",
        ),
        **{name: _metric(name, value, basis=basis) for name, value in prices.items()},
        **{f"{name}_usd_per_h": _metric(f"{name}_usd_per_h", value, basis=basis) for name, value in parts.items()},
    }


def _bill_working(plan: Plan) -> str:
    return " + ".join(f"{role.gpus:,} GPUs × ${role.price_usd_per_h:g}" for role in plan.fleet.roles)


def _rates(plan: Plan) -> Mapping[str, Metric]:
    facts, derived = plan.physics, plan.physics.derived
    used = facts.basis
    from_figures: Basis = derived.basis
    return {
        "prefill_tokens_per_s_per_gpu": _metric(
            "prefill_tokens_per_s_per_gpu", facts.prefill_tokens_per_s_per_gpu, basis=used
        ),
        "decode_tokens_per_s_per_gpu": _metric(
            "decode_tokens_per_s_per_gpu", facts.decode_tokens_per_s_per_gpu, basis=used
        ),
        "derived_prefill_tokens_per_s_per_gpu": _metric(
            "derived_prefill_tokens_per_s_per_gpu",
            derived.prefill_tokens_per_s_per_gpu,
            basis=from_figures,
            between=(derived.prefill_low, derived.prefill_high),
        ),
        "derived_decode_tokens_per_s_per_gpu": _metric(
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
        "power_w": _metric("power_w", power_w, basis="assumed"),
        "energy_j_per_output_token": _metric("energy_j_per_output_token", energy, basis="assumed"),
    }
