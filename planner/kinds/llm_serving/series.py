"""Tables behind the charts: growth against price, latency against load, what is left, where the bill goes."""

from __future__ import annotations

import numpy as np

from planner.core.catalog import Catalog
from planner.core.result import Column, Series
from planner.formulas import cost
from planner.kinds.llm_serving import latency, nearest
from planner.kinds.llm_serving.figures import ttft_parts
from planner.kinds.llm_serving.fleet import bill_parts, fleet_for
from planner.kinds.llm_serving.physics import Physics
from planner.kinds.llm_serving.plan import Plan
from planner.kinds.llm_serving.unit_sizes import unit_sizes

GROWTH_POINTS = 60
MOST_STAIRS = 60
LOAD_POINTS = 20
BILL_LABELS = {
    "decode_used": "decode, used",
    "prefill_used": "prefill, used",
    "headroom": "headroom",
    "spare_units": "spare units",
    "whole_units": "whole units",
}


def all_series(plan: Plan, *, catalog: Catalog) -> dict[str, Series]:
    """Every series of a design by name."""
    made = (
        _cost_by_rate(plan),
        _latency_by_rate(plan),
        _capacity_left(plan),
        _bill(plan),
        _decode_memory(plan),
        _ttft_parts(plan),
        unit_sizes(plan, catalog=catalog),
        *nearest.series(plan.physics.derived.pools, catalog=catalog),
    )
    return {series.name: series for series in made}


def _series(name: str, label: str, *columns: tuple[str, str, str, list[float | str | None]]) -> Series:
    return Series(name, label, tuple(Column(*column) for column in columns))


def _growth_rates(plan: Plan) -> list[float]:
    """Even steps up to twice the peak, and both sides of each stair."""
    top = 2 * (plan.spec.peak_rps or 50.0)
    # Plain floats: those of numpy are slow one at a time.
    rates = [float(rate) for rate in np.linspace(0.1 * top, top, GROWTH_POINTS)]
    one = fleet_for(plan.spec, physics=plan.physics, rps=1.0)
    stairs: list[float] = []
    for role in (one.prefill, one.decode):
        if role.needed_gpus > 0:
            step = role.unit_gpus / (1 + plan.spec.headroom) / role.needed_gpus
            count = int(top / step)
            if count <= MOST_STAIRS:
                stairs += [step * n for n in range(1, count + 1) if step * n >= rates[0]]
    return sorted({*rates, plan.spec.peak_rps or rates[0], *stairs, *(stair * 1.0001 for stair in stairs)})


def _cost_by_rate(plan: Plan) -> Series:
    rates = _growth_rates(plan)
    fleets = [fleet_for(plan.spec, physics=plan.physics, rps=rate) for rate in rates]
    price: list[float | str | None] = [
        cost.usd_per_million_tokens(fleet.usd_per_h, tokens_per_s=rate * plan.spec.output_tokens)
        for rate, fleet in zip(rates, fleets, strict=True)
    ]
    return _series(
        "cost_by_rate",
        "Price and size of the fleet, sized for each request rate",
        ("rate_rps", "peak rate", "req/s", list(rates)),
        ("cost_usd_per_m_output_tokens", "cost", "USD/M output tokens", price),
        ("cost_usd_per_h", "cost", "USD/h", [fleet.usd_per_h for fleet in fleets]),
        ("nodes", "nodes", "nodes", [fleet.nodes for fleet in fleets]),
    )


def _latency_by_rate(plan: Plan) -> Series:
    """The fleet as it stands, up to where it saturates."""
    spec = plan.spec
    top = max(1.8 * spec.peak_rps, 1.0)
    rates = [float(rate) for rate in np.linspace(top / LOAD_POINTS, top, LOAD_POINTS)]
    if spec.peak_rps > 0:
        rates = sorted({*rates, spec.peak_rps})
    spread = plan.physics.spread
    columns: list[tuple[str, str, str, list[float | str | None]]] = [("rate_rps", "request rate", "req/s", list(rates))]
    for suffix, factor in (("", 1.0), ("_low", 1 / spread), ("_high", spread)):
        ttft, tpot = _p99_at(plan, rates=rates, physics=plan.physics.slower(factor))
        columns.append((f"ttft_p99_s{suffix}", f"TTFT P99{suffix.replace('_', ', ')}", "s", list(ttft)))
        columns.append((f"tpot_p99_s{suffix}", f"TPOT P99{suffix.replace('_', ', ')}", "s", list(tpot)))
    return _series("latency_by_rate", "Latency of the fleet as it stands", *columns)


def _p99_at(plan: Plan, *, rates: list[float], physics: Physics) -> tuple[list[float | None], list[float | None]]:
    spec, fleet = plan.spec, plan.fleet
    decodes = [latency.decode_at(spec, physics=physics, fleet=fleet, rps=rate) for rate in rates]
    ttfts = [
        latency.ttft_at(spec, physics=physics, fleet=fleet, rps=rate, decode=decode)
        for rate, decode in zip(rates, decodes, strict=True)
    ]
    first = latency.ttft_quantiles_s([0.99] * len(rates), ttfts=ttfts)
    gap = [
        latency.tpot_s(0.99, physics=physics, fleet=fleet, decode=decode) if spec.output_tokens else None
        for decode in decodes
    ]
    return first, gap


def _capacity_left(plan: Plan) -> Series:
    """The pool that a loss hurts most comes first: a card shows only the first rows."""
    rows: list[tuple[str, float | None, float | None]] = []
    for role in sorted(plan.fleet.roles, key=lambda role: role.left_after_loss or 0.0):
        if role.needed_gpus <= 0:
            continue
        survivor = role.units_to_survive
        lost = "one unit" if role.together == 1 else "one node"
        rows += [
            (f"{role.name}, all units up", role.left(lost=0), role.gpus),
            (f"{role.name}, {lost} lost", role.left_after_loss, max(role.units - role.together, 0) * role.unit_gpus),
        ]
        if not role.survives_one:
            gpus = role.needed_units * role.unit_gpus
            rows.append(
                (f"{role.name}, {survivor} units, {lost.removesuffix(' unit')} lost", gpus / role.needed_gpus, gpus)
            )
    return _series(
        "capacity_left",
        "Capacity as a share of the need at the peak",
        ("case", "case", "", [row[0] for row in rows]),
        ("share", "of need", "ratio", [row[1] for row in rows]),
        ("gpus", "GPUs", "GPUs", [row[2] for row in rows]),
    )


def _bill(plan: Plan) -> Series:
    parts = bill_parts(plan.fleet, headroom=plan.spec.headroom)
    return _series(
        "bill",
        "Where the bill goes; the parts sum to it",
        ("part", "part", "", [BILL_LABELS[name] for name in BILL_LABELS]),
        ("usd_per_h", "cost", "USD/h", [parts[name] for name in BILL_LABELS]),
    )


def _decode_memory(plan: Plan) -> Series:
    """Terms of a decode GPU; they sum to the visible memory, or to more when it does not fit."""
    memory = plan.physics.decode_memory
    pool = memory.kv_pool_bytes
    used = plan.kv_bytes_at_limit
    parts = {
        "weights": memory.weights_bytes,
        "KV in use at the limit": used,
        "activations, buffers, graphs": memory.runtime_bytes,
        "outside the budget": memory.outside_bytes,
    }
    terms = cost.exact_parts(memory.visible_bytes, parts=parts, remainder="KV to spare") if used <= pool else parts
    return _series(
        "decode_memory",
        "Memory of a decode GPU",
        ("term", "term", "", list(terms)),
        ("bytes", "memory", "bytes", list(terms.values())),
    )


def _ttft_parts(plan: Plan) -> Series:
    parts = ttft_parts(plan)
    return _series(
        "ttft_parts",
        "Mean time to the first token; the parts sum to it",
        ("part", "part", "", list(parts)),
        ("seconds", "time", "s", list(parts.values())),
    )
