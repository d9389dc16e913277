"""The best mix of DRAM and SSD for a budget: the least bill of prefill and tiers together.

Many mixes are answered at once; what a hit in a tier saves is taken at idle links.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.core.result import Column, Series
from planner.formulas import cost
from planner.formulas.endurance import DAY_S, SEQUENTIAL_OPTIMISM
from planner.kinds.kv_pool import money, serving, writes
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.tiers import DRAM, HBM, SSD

Array = NDArray[np.float64]
SPENDS = np.concatenate(([0.0], np.geomspace(0.01, 1.0, 15)))
"""Shares of the budget that may be spent."""
DRAM_SHARES = np.array([0.0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0])
"""Of what is spent: none first, all last."""
_FREE, _MOST_BYTES = 1e-18, 1e20
"""Dollars a byte and month that are none, and bytes that nobody buys."""
_NO_MIX = 1e9
LEAST_YEARS = 1.0
"""By their rating: drives that last less are no mix."""
PRICED_MONTHS = 48.0
"""Over which the prices of tiers spread a purchase."""


@dataclass(frozen=True, slots=True)
class Mixes:
    """Mixes with their bills; all of one length."""

    spend_usd_per_month: Array
    dram_share: Array
    """Of the spending."""
    dram_bytes: Array
    ssd_bytes: Array
    hit_share: Array
    bill_usd_per_h: Array


def budget_usd_per_month(plan: Plan) -> float:
    """The budget given, or what the tiers of the design cost."""
    given = plan.spec.tier_budget_usd_per_month
    return math.fsum(money.tiers_usd_per_h(plan)) * cost.HOURS_PER_MONTH if given is None else given


def mixes(plan: Plan) -> Mixes:
    """All mixes up to the budget; a tier that costs nothing is held as the design has it."""
    spend, share = (each.ravel() for each in np.meshgrid(SPENDS * budget_usd_per_month(plan), DRAM_SHARES))
    dram_price, ssd_price = (price * cost.HOURS_PER_MONTH for price in money.tier_prices(plan.spec))
    dram = _bought(spend * share, price=dram_price, otherwise=plan.room.stored_bytes[DRAM])
    ssd = _bought(spend * (1 - share), price=ssd_price, otherwise=plan.room.stored_bytes[SSD])
    return _answer(plan, share=share, dram=dram, ssd=ssd, dram_price=dram_price, ssd_price=ssd_price)


def _bought(spend: Array, *, price: float, otherwise: float) -> Array:
    return np.minimum(spend / price, _MOST_BYTES) if price > _FREE else np.full_like(spend, otherwise)


def _answer(plan: Plan, *, share: Array, dram: Array, ssd: Array, dram_price: float, ssd_price: float) -> Mixes:
    kv = plan.physics.stored_bytes_per_token
    tokens = np.stack((np.full_like(dram, plan.room.tokens[HBM]), dram / kv, ssd / kv), axis=-1)
    within = plan.hits_with(tokens)
    hits = np.diff(within, axis=-1, prepend=0.0)
    needed = _units(plan, hits=hits)
    units = np.ceil(needed * (1 + plan.spec.headroom) * (1 - 1e-9))
    units_usd = units * money.unit_usd_per_h(plan.spec)
    wear = _wear(plan, within=within, ssd=ssd)
    tiers_month = dram * dram_price + ssd * ssd_price * wear
    return Mixes(tiers_month, share, dram, ssd, within[:, SSD], units_usd + tiers_month / cost.HOURS_PER_MONTH)


def _units(plan: Plan, *, hits: Array) -> Array:
    """Prefill units busy: what nothing cached would take, less what the hits of each tier save."""
    saved = saved_s_by_tier(plan)
    read = plan.reuse.reusable_tokens_per_s * plan.physics.stored_bytes_per_token * plan.physics.read_copies
    spec = plan.spec
    limits = np.array([math.inf, spec.dram_read_bytes_per_s, spec.ssd_read_bytes_per_s]) * spec.nodes
    shares = limits * spec.link_efficiency * spec.link_limit
    asked = hits * read
    served = np.where(asked > shares, shares / np.maximum(asked, 1.0), 1.0)
    return np.maximum(spec.turns_per_s * (_cold_s(plan) - (hits * served) @ saved), 0.0)


def _cold_s(plan: Plan) -> float:
    return _held(plan, hits=(0.0, 0.0, 0.0))


def saved_s_by_tier(plan: Plan) -> Array:
    """What a turn saves a unit if the tier hits all that can be reused [s]."""
    cold = _cold_s(plan)
    one = np.eye(3)
    return np.array([max(0.0, cold - _held(plan, hits=tuple(one[tier]))) for tier in (HBM, DRAM, SSD)])


def _held(plan: Plan, *, hits: tuple[float, ...]) -> float:
    made = serving.turns(plan.spec, physics=plan.physics, sorts=plan.sorts, hits=hits, links=plan.idle_links)
    return made.mean_held_s


def _wear(plan: Plan, *, within: Array, ssd: Array) -> Array:
    """How often drives are bought within the months their price is spread over, written in large extents."""
    spec = plan.spec
    per_s = writes.ssd_write_bytes_per_s(plan, within=within) * spec.write_amplification
    can = SEQUENTIAL_OPTIMISM * spec.ssd_rated_years * spec.ssd_dwpd * ssd
    wanted = PRICED_MONTHS / 12 * per_s * DAY_S
    again = np.where(wanted > can, wanted / np.maximum(can, 1.0), 1.0)
    too_short = (ssd > 0) & (per_s * DAY_S * LEAST_YEARS > can / SEQUENTIAL_OPTIMISM)
    return np.where(too_short, _NO_MIX, again)


def best_by_spend(plan: Plan, *, found: Mixes, only: Array | None = None) -> Mixes:
    """Of each amount that may be spent, the mix with the least bill; ``only`` tells which are looked at."""
    bills = found.bill_usd_per_h if only is None else np.where(only, found.bill_usd_per_h, np.inf)
    limits = SPENDS * budget_usd_per_month(plan)
    rows = []
    for limit in limits:
        inside = found.spend_usd_per_month <= limit * (1 + 1e-9) + 1e-9
        rows.append(int(np.argmin(np.where(inside, bills, np.inf))))
    picked = np.array(rows)
    return Mixes(
        limits,
        found.dram_share[picked],
        found.dram_bytes[picked],
        found.ssd_bytes[picked],
        found.hit_share[picked],
        bills[picked],
    )


def mix_series(plan: Plan) -> Series:
    """The best mix against what may be spent."""
    found = mixes(plan)
    best = best_by_spend(plan, found=found)
    alone = {
        name: best_by_spend(plan, found=found, only=(found.dram_share == share) | (found.spend_usd_per_month <= 0))
        for name, share in (("ssd", 0.0), ("dram", 1.0))
    }
    columns = (
        ("spend_usd_per_month", "may be spent on tiers", "USD/month", best.spend_usd_per_month),
        ("dram_bytes", "DRAM", "bytes", best.dram_bytes),
        ("ssd_bytes", "SSD", "bytes", best.ssd_bytes),
        ("hit_share", "hits", "ratio", best.hit_share),
        ("bill_usd_per_h", "best mix", "USD/h", best.bill_usd_per_h),
        ("dram_only_usd_per_h", "DRAM only", "USD/h", alone["dram"].bill_usd_per_h),
        ("ssd_only_usd_per_h", "SSD only", "USD/h", alone["ssd"].bill_usd_per_h),
    )
    return Series(
        "tier_mix",
        "Best mix of tiers",
        tuple(Column(name, label, unit, [float(each) for each in values]) for name, label, unit, values in columns),
    )
