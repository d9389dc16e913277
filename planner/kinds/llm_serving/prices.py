"""What a fleet costs: the bill, its parts, and prices per million tokens by a named basis."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.quantities import show
from planner.core.result import Basis, Metric
from planner.formulas import cost
from planner.kinds.llm_serving.fleet import bill_parts
from planner.kinds.llm_serving.metrics import figure
from planner.kinds.llm_serving.plan import Plan


def prices(plan: Plan) -> Mapping[str, Metric]:
    """The bill, its parts, and prices per million tokens of each basis."""
    spec, fleet = plan.spec, plan.fleet
    bill, out = fleet.usd_per_h, plan.output_tokens_per_s
    inputs = spec.peak_rps * spec.input_tokens
    cached = inputs * spec.prefix_hit_rate
    basis = plan.physics.basis
    parts = bill_parts(fleet, headroom=spec.headroom)

    def billed(tokens_per_s: float) -> tuple[float | None, float | None]:
        return plan.usd_per_m(tokens_per_s, fleet=plan.quick_fleet), plan.usd_per_m(tokens_per_s, fleet=plan.slow_fleet)

    by_tokens = {
        "cost_usd_per_m_input_tokens": inputs,
        "cost_usd_per_m_cached_input_tokens": cached,
        "cost_usd_per_m_total_tokens": inputs + out,
        "cost_usd_per_m_output_tokens_at_mean": out * spec.mean_to_peak,
    }
    unrounded = (parts["prefill_used"] + parts["decode_used"]) * (1 + spec.headroom)
    good = plan.good_share
    per_m = cost.usd_per_million_tokens
    prefill_bill = parts["prefill_used"] if spec.is_aggregated else fleet.prefill.usd_per_h
    per_million = {
        "cost_usd_per_m_good_output_tokens": plan.usd_per_m(out * good) if good else None,
        "cost_usd_per_m_output_tokens_unrounded": per_m(unrounded, tokens_per_s=out),
        "prefill_usd_per_m_computed_tokens": per_m(
            prefill_bill, tokens_per_s=spec.peak_rps * spec.computed_input_tokens
        ),
        "decode_usd_per_m_output_tokens": per_m(
            parts["decode_used"] if spec.is_aggregated else fleet.decode.usd_per_h, tokens_per_s=out
        ),
    }
    return {
        **_bills(plan),
        "cost_usd_per_m_output_tokens": figure(
            "cost_usd_per_m_output_tokens",
            plan.usd_per_m(out),
            basis=basis,
            between=billed(out),
            working=f"{show(bill, 'USD/h')} / ({out:,g} tok/s × 3,600 s) × 10⁶",
        ),
        "derived_cost_usd_per_m_output_tokens": figure(
            "derived_cost_usd_per_m_output_tokens",
            plan.usd_per_m(out, fleet=plan.derived_fleet),
            basis=plan.physics.derived.basis,
            between=(plan.usd_per_m(out, fleet=plan.low_fleet), plan.usd_per_m(out, fleet=plan.high_fleet)),
        ),
        **{
            name: figure(name, plan.usd_per_m(tokens), basis=basis, between=billed(tokens))
            for name, tokens in by_tokens.items()
        },
        **{name: figure(name, value, basis=basis) for name, value in per_million.items()},
        **{f"{name}_usd_per_h": figure(f"{name}_usd_per_h", value, basis=basis) for name, value in parts.items()},
    }


def _bills(plan: Plan) -> Mapping[str, Metric]:
    """The bill by the hour and the month; of given rates it is exact, of derived ones it has their range."""
    derived, bill = plan.spec.rate_mode == "derived", plan.fleet.usd_per_h
    basis: Basis = plan.physics.basis if derived else "exact"
    low, high = (plan.quick_fleet.usd_per_h, plan.slow_fleet.usd_per_h) if derived else (None, None)
    month = cost.HOURS_PER_MONTH
    monthly = (None if low is None else low * month, None if high is None else high * month)
    return {
        "cost_usd_per_h": figure("cost_usd_per_h", bill, basis=basis, between=(low, high), working=_bill_working(plan)),
        "cost_usd_per_month": figure("cost_usd_per_month", bill * month, basis=basis, between=monthly),
    }


def _bill_working(plan: Plan) -> str:
    return " + ".join(f"{role.gpus:,} GPUs × ${role.price_usd_per_h:g}" for role in plan.fleet.roles)
