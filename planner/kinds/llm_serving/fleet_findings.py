"""What the size of the fleet means: what one loss leaves, how often the peak is carried, what rounding costs."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted
from planner.formulas import sizing
from planner.kinds.llm_serving.fleet import Role, bill_parts
from planner.kinds.llm_serving.plan import Plan
from planner.kinds.llm_serving.words import needed, percent, price

ROUNDING_WORTH_A_WORD = 0.005
ROUNDING_WORTH_A_WARNING = 0.05


def fleet_findings(plan: Plan) -> Iterator[Finding]:
    """Failures first, then money."""
    for role in plan.fleet.roles:
        yield from _survival(plan, role)
    for role in plan.fleet.roles:
        yield from _availability(plan, role)
    yield from _rounding(plan)
    yield from _rates(plan)


def spare_field(role: Role) -> str:
    """The input that buys units beyond the need of this pool."""
    return "spare_prefill_units" if role.name == "prefill" else "spare_decode_units"


def _survival(plan: Plan, role: Role) -> Iterator[Finding]:
    left = role.left_after_loss
    if left is None or role.survives_one:
        return
    enough = role.units_to_survive
    remaining = max(role.units - role.together, 0) * role.unit_gpus
    lost = role.noun
    if role.together > 1:
        lost = f"node with {counted(min(role.together, role.units), role.noun)}"
    yield Finding(
        code=f"{role.name}_not_n_plus_1",
        severity="error",
        message=f"One failed {lost} leaves {percent(left)} of the {role.capacity_words} the peak needs: "
        f"{remaining:,} of {needed(role.needed_gpus)}.",
        metric="prefill_left_after_unit_loss" if role.name == "prefill" else "decode_left_after_unit_loss",
        suggestion=f"The fleet is not N+1. {_with(plan, role, units=enough, verb='make it so')}.",
        change={spare_field(role): role.spare_units + enough - role.units},
    )


def _availability(plan: Plan, role: Role) -> Iterator[Finding]:
    promise = plan.availability(role)
    wanted = promise.units_for_target
    if role.needed_gpus <= 0 or (wanted is not None and wanted <= role.units):
        return
    target = f"{100 * plan.spec.availability:.6g} %"
    if wanted is None:
        yield Finding(
            code=f"{role.name}_availability_out_of_reach",
            severity="warning",
            message=f"No number of {role.noun}s carries the peak {target} of the time when one is up "
            f"{show(promise.unit, 'ratio')} of it.",
            metric="peak_availability",
        )
        return
    verb = "carries" if role.units == 1 else "carry"
    yield Finding(
        code=f"{role.name}_availability",
        severity="warning",
        message=f"{counted(role.units, role.noun)} {verb} the peak {100 * promise.carries_peak:.4g} % of the time; the "
        f"objective is {target}.",
        metric="peak_availability",
        suggestion=f"{_with(plan, role, units=wanted, verb='reach it')}.",
        change={spare_field(role): role.spare_units + wanted - role.units},
    )


def _with(plan: Plan, role: Role, *, units: int, verb: str) -> str:
    """What so many units of a pool would do, their nodes and their bill; there are always two at least."""
    spec, fleet = plan.spec, plan.fleet
    nodes = sizing.nodes_of_units(units, unit_gpus=role.unit_gpus, gpus_per_node=spec.gpus_per_node)
    bill = fleet.usd_per_h + (units - role.units) * role.unit_gpus * role.price_usd_per_h
    together = counted(fleet.nodes - role.nodes + nodes, "node")
    return f"{counted(units, role.noun)} {verb}: {together}, {price(plan, usd_per_h=bill)}"


def _rounding(plan: Plan) -> Iterator[Finding]:
    bill = plan.fleet.usd_per_h
    rounding = bill_parts(plan.fleet, headroom=plan.spec.headroom)["whole_units"]
    if bill <= 0 or rounding < ROUNDING_WORTH_A_WORD * bill:
        return
    due = plan.rps_within_headroom
    yield Finding(
        code="unit_rounding",
        severity="warning" if rounding > ROUNDING_WORTH_A_WARNING * bill else "info",
        message=f"Unit rounding costs {show(rounding, 'USD/h')}, {percent(rounding / bill)} of the bill: "
        f"{_unasked(plan)} bought but not asked for.",
        metric="whole_units_usd_per_h",
        suggestion=f"The price of a token falls until {show(due, 'req/s')}, then jumps as the next unit is due."
        if due is not None
        else None,
    )


def _unasked(plan: Plan) -> str:
    """GPUs of whole units beyond need and headroom, by pool."""
    factor = 1 + plan.spec.headroom
    over = {
        role.name: max(0.0, role.sized_units * role.unit_gpus - role.needed_gpus * factor) for role in plan.fleet.roles
    }
    if plan.spec.is_aggregated:
        return needed(sum(over.values()))
    return " and ".join(f"{gpus:,.0f} {name}" for name, gpus in over.items() if gpus >= 0.5) + " GPUs"


def _rates(plan: Plan) -> Iterator[Finding]:
    if plan.spec.rate_mode != "assumed":
        return
    out, derived = plan.output_tokens_per_s, plan.physics.derived
    low, high = plan.usd_per_m(out, fleet=plan.low_fleet), plan.usd_per_m(out, fleet=plan.high_fleet)
    between = f"; the fleet would cost {show(low, 'USD/M')}–{show(high, 'USD/M')} (80 %)" if low and high else ""
    yield Finding(
        code="rates_assumed",
        severity="warning",
        message=f"Rates are assumed. Derived from the figures of {plan.decode_gpu.name} they are "
        f"{derived.prefill_tokens_per_s_per_gpu:,.0f} prefill and {derived.decode_tokens_per_s_per_gpu:,.0f} decode "
        f"tok/s a GPU{between}.",
        metric="cost_usd_per_m_output_tokens",
        suggestion="Switch Rates to Derived, or put measured rates in.",
        change={"rate_mode": "derived"},
    )
