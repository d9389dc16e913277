"""Tables behind the charts: tiers, hits against capacity, policies, latency and price against load, a flush."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.core.result import Column, Series
from planner.formulas import cost
from planner.kinds.kv_pool import change, money, policies_compared, serving
from planner.kinds.kv_pool.bound import fleet_for
from planner.kinds.kv_pool.mix import mix_series
from planner.kinds.kv_pool.plan import Plan, at_rates
from planner.kinds.kv_pool.tiers import DRAM, HBM, LABELS, SSD
from planner.kinds.kv_pool.words import rounded

CURVE_POINTS = 48
RATE_POINTS = 6
FLUSH_POINTS = 40
BILL_LABELS = {
    "new": "new tokens",
    "again": "computed again",
    "idle": "headroom and whole units",
    "dram": "DRAM",
    "ssd": "SSD",
}
Values = list[float | str | None]


def all_series(plan: Plan) -> dict[str, Series]:
    """Every series of a design by name."""
    made = (
        _tiers(plan),
        _miss_ratio(plan),
        _policies(plan),
        _by_rate(plan),
        _ttft(plan),
        _flush(plan),
        _upgrade(plan),
        _bill(plan),
        mix_series(plan),
    )
    return {series.name: series for series in made}


def series(name: str, label: str, *columns: tuple[str, str, str, Sequence[Any]]) -> Series:
    """A table of columns: name, label, unit, values."""
    made = (Column(key, words, unit, _plain(values)) for key, words, unit, values in columns)
    return Series(name, label, tuple(made))


def _plain(values: Sequence[Any]) -> Values:
    """Python's own numbers; none where there is no finite one."""
    return [value if value is None or isinstance(value, str) else _finite(float(value)) for value in values]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def hbm_read_s(plan: Plan) -> float | None:
    """Of a context at the memory bandwidth of the GPUs of a prompt; None where nobody has published it."""
    gpu = plan.physics.gpu
    if not gpu.has("memory_bytes_per_s"):
        return None
    whole = plan.context_bytes * plan.physics.hbm_copies
    return whole / (plan.spec.prefill_gpus * gpu.figure("memory_bytes_per_s"))


def _tiers(plan: Plan) -> Series:
    read_bytes = plan.context_bytes * plan.physics.read_copies
    reads = [hbm_read_s(plan), *(way.latency_s + way.transfer_s(read_bytes) for way in plan.links)]
    copies = (plan.physics.hbm_copies, 1.0, 1.0)
    kept = [each for each in (HBM, DRAM, SSD) if plan.room.stored_bytes[each] > 0]
    kv, by_age = plan.physics.stored_bytes_per_token, plan.spec.eviction != "value"
    return series(
        "tiers",
        "Tiers",
        ("tier", "tier", "", [LABELS[each] for each in kept]),
        ("capacity_bytes", "capacity", "bytes", [plan.room.stored_bytes[each] for each in kept]),
        ("read_s", "reading a context", "s", [reads[each] for each in kept]),
        (
            "sessions",
            "sessions",
            "sessions",
            [plan.room.stored_bytes[each] / (plan.context_bytes * copies[each]) for each in kept],
        ),
        ("reach_bytes", "down to it", "bytes", [float(plan.room.reach_tokens[each]) * kv for each in kept]),
        ("kept_s", "kept", "s", [float(plan.keep_s[each]) if by_age else None for each in kept]),
        ("hit_share", "hits", "ratio", [float(plan.hits[each]) for each in kept]),
    )


def _curve_tokens(plan: Plan) -> np.ndarray:
    """Capacities from a hundredth of HBM's reach to three times that of all tiers."""
    reach = [float(each) for each in plan.room.reach_tokens if each > 0] or [1.0]
    grid = np.geomspace(max(reach[0] / 100, 1.0), 3 * reach[-1] + 1, CURVE_POINTS)
    return np.unique(np.concatenate((grid, reach)))


def _miss_ratio(plan: Plan) -> Series:
    tokens = _curve_tokens(plan)
    shares = policies_compared.by_capacity(plan, tokens=tokens)
    kept = np.asarray(plan.reuse.keep_s(tokens), dtype=float)
    return series(
        "hits_by_capacity",
        "Hits against capacity",
        ("capacity_bytes", "capacity", "bytes", list(tokens * plan.physics.stored_bytes_per_token)),
        *(
            (f"{name}_hit_share", label, "ratio", [float(each) for each in shares[name]])
            for name, label in policies_compared.LABELS.items()
        ),
        ("kept_s", "kept", "s", [_finite(float(each)) for each in kept]),
    )


def _policies(plan: Plan) -> Series:
    shares = policies_compared.at_reaches(plan)
    kept = [each for each in (HBM, DRAM, SSD) if plan.room.stored_bytes[each] > 0] or [HBM]
    names = ["HBM alone", "down to DRAM", "down to SSD"]
    return series(
        "policies",
        "Hits by eviction",
        ("reach", "tiers", "", [names[each] for each in kept]),
        *(
            (f"{name}_hit_share", label, "ratio", [rounded(float(shares[name][each])) for each in kept])
            for name, label in policies_compared.LABELS.items()
        ),
    )


def _rates(plan: Plan) -> list[float]:
    now = plan.spec.turns_per_s or 10.0
    return sorted(
        {
            now,
            *(float(now * share) for share in (*np.geomspace(0.06, 0.9, RATE_POINTS), 1.08, 1.16, 1.25, 2.0)),
        }
    )


def _by_rate(plan: Plan) -> Series:
    """Sized for each rate: price. As it stands: latency with the pool and without."""
    rates = _rates(plan)
    there = at_rates(plan, turns_per_s=rates)
    given = plan.fleet.units or None
    pairs = [
        (made, fleet_for(one.spec, made=made, units=given, served=plan.served))
        for one in there
        for made in (one.turns, one.without_turns)
    ]
    found = serving.many_ttft_s(plan.spec, loads=pairs, probability=0.99)
    prices = [
        cost.usd_per_million_tokens(money.bill_usd_per_h(one), tokens_per_s=rate * one.output_tokens)
        for rate, one in zip(rates, there, strict=True)
    ]
    return series(
        "by_rate",
        "Against the rate of turns",
        ("turns_per_s", "turns", "req/s", list(rates)),
        ("cost_usd_per_m_output_tokens", "cost", "USD/M output tokens", list(prices)),
        ("hit_share", "hits", "ratio", [float(one.reach_hits[SSD]) for one in there]),
        ("ttft_p99_s", "TTFT P99 with the pool", "s", list(found[0::2])),
        ("ttft_p99_without_pool_s", "TTFT P99 without the pool", "s", list(found[1::2])),
    )


def _ttft(plan: Plan) -> Series:
    return series(
        "ttft",
        "Time to first token",
        ("rank", "rank", "", ["P50", "P90", "P99"]),
        ("with_pool_s", "with the pool", "s", list(plan.ttft)),
        ("without_pool_s", "without the pool", "s", list(plan.without_ttft)),
    )


def _flush(plan: Plan) -> Series:
    top = 1.3 * (change.warm_after_s(plan) or 60.0)
    times = np.linspace(0.0, top, FLUSH_POINTS)
    hits = change.hits_after(plan, times_s=times)
    usual = plan.fleet.utilisation or 1.0
    work = change.load_after(plan, hits=hits) / usual
    return series(
        "after_a_flush",
        "After all entries are lost",
        ("time_s", "time", "s", list(times)),
        ("hit_share", "hits", "ratio", [float(each) for each in hits]),
        ("prefill", "prefill over the usual", "×", list(work)),
    )


def _upgrade(plan: Plan) -> Series:
    """Work of the prefill fleet while an upgrade moves all the traffic at once, or in steps it can take."""
    step = change.safe_weight_step(plan)
    apart, warm = change.step_apart_s(plan), change.warm_after_s(plan)
    times = np.zeros(0)
    at_once, in_steps = times, times
    if step is not None and warm is not None and step > 0 and plan.fleet.is_stable:
        count = min(math.ceil(1 / step - 1e-9), change.MOST_STEPS)
        within = np.array([0.0, 0.01, 0.03, 0.07, 0.15, 0.3, 0.5, 0.75, 0.999]) * apart
        times = np.append((np.arange(count)[:, None] * apart + within).ravel(), count * apart + warm / 5)
        at_once = change.load_after(plan, hits=change.hits_after(plan, times_s=times))
        stepped = change.hits_in_steps(plan, times_s=times, step=step, apart_s=apart)
        in_steps = change.load_after(plan, hits=stepped)
    return series(
        "upgrade",
        "Prefill during an upgrade",
        ("time_s", "time", "s", list(times)),
        ("at_once", "all at once", "ratio", list(at_once)),
        ("in_steps", "in safe steps", "ratio", list(in_steps)),
    )


def _bill(plan: Plan) -> Series:
    parts = money.bill_parts(plan)
    return series(
        "bill",
        "The bill by part",
        ("part", "part", "", [BILL_LABELS[name] for name in parts]),
        ("usd_per_h", "cost", "USD/h", [parts[name] for name in parts]),
    )
