"""Tables of a simulation: ways side by side, first tokens by level, the time line, what each tenant had."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.core.result import Series
from planner.core.table import Values, table
from planner.formulas.tenant_bill import NOTHING
from planner.kinds.multi_lora.series_tenants import SHOWN

if TYPE_CHECKING:
    from planner.kinds.multi_lora.simulated import Run
    from sims.systems.multi_lora import Outcome, Timeline

    Outcomes = Mapping[str, Outcome]

LEVELS = (("ttft_hot", "on the GPU"), ("ttft_warm", "in host memory"), ("ttft_cold", "in the store"))
PART_LABELS = {
    "held": "held at the gateway",
    "download": "download and reading",
    "slot": "wait for a slot",
    "copy": "copy to the GPU",
    "queue": "queue",
    "prefill": "prefill and step",
}


def all_series(run: Run, *, outcomes: Outcomes) -> Sequence[Series]:
    """Every table of a finished run."""
    outcome = next(iter(outcomes.values()))
    return (
        side_by_side(outcomes),
        *cdfs(outcome),
        waits(outcome),
        distinct(outcome),
        timeline(outcome.timeline),
        tenants(run, outcome),
    )


def side_by_side(outcomes: Outcomes) -> Series:
    """Ways to route or to schedule on the same requests."""
    rows = list(outcomes.values())

    def of(name: str, q: float) -> Values:
        found = [each.quantile(name, q=q) for each in rows]
        return [None if one is None else one.value for one in found]

    def mean(above: str, below: str) -> Values:
        found = [each.share(above, of=below) for each in rows]
        return [None if one is None else one.value for one in found]

    return table(
        "simulated_ways",
        "Side by side on the same requests",
        ("way", "way", "", list(outcomes)),
        ("gpu_hit_share", "adapter in a slot", "ratio", [each.found().get("hot") for each in rows]),
        ("distinct_in_batch", "different adapters in a batch", "adapters", [each.distinct_busy for each in rows]),
        ("ttft_mean_s", "TTFT, mean", "s", mean("ttft_sum_s", "ttft_n")),
        ("ttft_p99_s", "TTFT P99", "s", of("ttft", 0.99)),
        ("tpot_s", "TPOT, mean", "s", mean("tpot_sum_s", "tpot_n")),
        ("slot_wait_s", "wait for a slot", "s", mean("slot_sum_s", "ttft_n")),
        ("goodput_rps", "goodput", "req/s", [each.per_s("good") for each in rows]),
        ("load_imbalance", "busiest replica", "× mean", [imbalance(each) for each in rows]),
        ("keeps_up", "keeps up", "", ["yes" if each.is_steady else "no" for each in rows]),
    )


def imbalance(outcome: Outcome) -> float | None:
    """Requests of the busiest replica over the mean."""
    served = np.asarray(outcome.replicas.served, dtype=float)
    return float(served.max() / served.mean()) if served.sum() > 0 else None


def cdfs(outcome: Outcome) -> Sequence[Series]:
    """Share of requests at or below a TTFT: all, and by where the adapter was."""
    from sims.engine import sketch

    made = []
    for name, label in (("ttft", "all"), *LEVELS):
        points = sketch.cdf(outcome.pooled(name), points=120)
        made.append(
            table(
                f"{name}_cdf",
                f"TTFT, simulated: {label}",
                ("value_s", "TTFT", "s", [value for value, _ in points]),
                ("share", "share of requests", "ratio", [share for _, share in points]),
            )
        )
    return made


def waits(outcome: Outcome) -> Series:
    """Where the time to the first token goes, means; they sum to the mean TTFT."""
    found = outcome.waits_s()
    return table(
        "simulated_ttft_parts",
        "What the first token waits for, simulated",
        ("part", "part", "", [PART_LABELS[name] for name in found]),
        ("seconds", "mean", "s", list(found.values())),
    )


def distinct(outcome: Outcome) -> Series:
    """Share of the busy time by how many different adapters the batch had."""
    spent = outcome.distinct_s.sum(axis=0)
    total = float(spent.sum())
    last = int(np.flatnonzero(spent)[-1]) if total > 0 else -1
    shares = [float(each) / total for each in spent[: last + 1]]
    return table(
        "simulated_distinct",
        "Different adapters in a batch, share of the busy time",
        ("distinct", "different adapters", "adapters", list(range(last + 1))),
        ("share", "share of the busy time", "ratio", shares),
    )


def _plain(values: NDArray[np.float64]) -> list[float | str | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def timeline(line: Timeline) -> Series:
    """The system over simulated time; rates and means are those of the interval that ends there."""
    replicas = line.replicas
    busy_s = np.maximum(line.mean("busy_s").sum(axis=1), 1e-12)
    different = line.mean("distinct_s").sum(axis=1) / busy_s
    found = sum(line.per_s(name) for name in ("hot", "warm", "cold"))
    hits = np.divide(line.per_s("hot"), found, out=np.full(len(line.at_s), np.nan), where=np.asarray(found) > 0)
    return table(
        "timeline",
        "The system over simulated time",
        ("time_s", "simulated time", "s", line.at_s.tolist()),
        ("arrivals_per_s", "arrivals", "req/s", _plain(line.per_s("arrived"))),
        ("finished_per_s", "finished", "req/s", _plain(line.per_s("finished"))),
        ("limited_per_s", "over their limit", "req/s", _plain(line.per_s("limited"))),
        ("swaps_per_s", "swaps", "1/s", _plain(line.per_s("copies"))),
        ("downloads_per_s", "downloads", "1/s", _plain(line.per_s("downloads"))),
        ("distinct", "different adapters in a batch", "adapters", _plain(different)),
        ("gpu_hit_share", "adapter in a slot", "ratio", _plain(hits)),
        ("ttft_mean_s", "TTFT, mean", "s", _plain(line.mean_ttft_s())),
        ("running", "running", "requests", _plain(replicas.running.sum(axis=1))),
        ("wanting", "adapters that want a slot, replica by replica", "adapters", _plain(replicas.wanting.sum(axis=1))),
        ("waiting", "waiting at replicas", "requests", _plain(replicas.waiting.sum(axis=1))),
    )


def _left(whole: float, used: float) -> float:
    """What is left of a whole; nothing where only rounding is."""
    left = whole - used
    return left if left > NOTHING * whole else 0.0


def tenants(run: Run, outcome: Outcome) -> Series:
    """What each tenant had in the window, and its share of the bill by GPU time; rows sum to the bill."""
    rows, span_s = outcome.tenants, max(outcome.span_s, 1e-12)
    count = run.plan.spec.tenants
    groups = [[place] for place in range(min(SHOWN, count))]
    names = [f"tenant {place + 1}" for place in range(min(SHOWN, count))]
    if count > SHOWN:
        groups.append(list(range(SHOWN, count)))
        names.append(f"{count - SHOWN:,} others")
    if float(rows[count:]["requests"].sum()) > 0:
        groups.append(list(range(count, len(rows))))
        names.append("the base alone")

    def rate(name: str) -> list[float]:
        return [float(rows[name][group].sum()) / span_s for group in groups]

    spent = [float(sum(rows[part][group].sum() for part in ("base_s", "lora_s", "stall_s"))) for group in groups]
    usd = run.plan.gpus * (run.plan.gpu_price_usd_per_h or 0.0)
    whole_s = span_s * outcome.config.replicas
    paid = [usd * each / whole_s for each in spent]
    return table(
        "simulated_tenants",
        "What each tenant had, simulated",
        ("tenant", "tenant", "", [*names, "allocated to no tenant"]),
        ("rate_rps", "requests", "req/s", [*rate("requests"), 0.0]),
        ("output_tokens_per_s", "output", "tok/s", [*rate("out_tokens"), 0.0]),
        (
            "gpu_share",
            "of the GPU time",
            "ratio",
            [*(each / whole_s for each in spent), _left(1.0, sum(spent) / whole_s)],
        ),
        ("slots", "slots held", "slots", [*rate("slot_s"), _left(outcome.empty_slot_s / span_s, 0.0)]),
        ("swaps_per_s", "swaps", "1/s", [*rate("copies"), 0.0]),
        ("usd_per_h", "bill", "USD/h", [*paid, _left(usd, math.fsum(paid))]),
    )
