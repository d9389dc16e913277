"""Tables of a simulation: policies side by side, distributions, load of the instances, the time line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.core.result import Series
from planner.core.table import Values, table
from planner.kinds.gateway.policies import LABELS
from planner.kinds.gateway.series_routing import places

if TYPE_CHECKING:
    from planner.kinds.gateway.simulated import Run
    from sims.systems.gateway import Outcome, Timeline

    Outcomes = Mapping[str, Outcome]

MOST_MOMENTS = 60
BANDS = 20
MOMENTS = 240
"""Of the time line."""
MUCH_TURNED_AWAY = 0.01
LEAST_DRILL_S = 5.0


def all_series(run: Run, *, outcomes: Outcomes) -> Sequence[Series]:
    """Every table of a finished run."""
    outcome = next(iter(outcomes.values()))
    line = thinned(outcome.timeline)
    return (
        side_by_side(outcomes),
        skew(outcomes),
        busy_over_time(outcome, line=line),
        cdf(outcome),
        timeline(line),
        *drill(run, outcome),
    )


def thinned(line: Timeline) -> Timeline:
    """The usual moments of a time line that was looked at more often; sums stay sums."""
    every = max(1, len(line.at_s) // MOMENTS)
    if every == 1:
        return line
    rows = slice(every - 1, None, every)
    kept = {each.name: getattr(line, each.name)[rows] for each in fields(line) if each.name != "counts"}
    return replace(line, counts={name: sums[rows] for name, sums in line.counts.items()}, **kept)


def side_by_side(outcomes: Outcomes) -> Series:
    """Policies on the same requests."""
    from planner.kinds.gateway.simulated import skew_of

    rows = list(outcomes.values())
    steady = [keeps_up(each) for each in rows]
    p50, p99 = ([each.quantile("ttft", q=q) for each in rows] for q in (0.5, 0.99))
    return table(
        "simulated_policies",
        "Policies on the same requests",
        ("policy", "policy", "", [LABELS[name] for name in outcomes]),
        ("hit_share", "prompt tokens hit", "ratio", [each.hit_rate.value if each.hit_rate else None for each in rows]),
        ("ttft_mean_s", "TTFT, mean", "s", [each.mean_ttft_s.value if each.mean_ttft_s else None for each in rows]),
        ("ttft_p50_s", "TTFT P50", "s", [None if each is None else each.value for each in p50]),
        ("ttft_p99_s", "TTFT P99", "s", [None if each is None else each.value for each in p99]),
        ("goodput_rps", "goodput", "req/s", [each.goodput_per_s for each in rows]),
        ("load_skew", "requests of the fullest", "× mean", [skew_of(each) for each in rows]),
        ("work_skew", "prefill work of the busiest", "× mean", [each.max_over_mean for each in rows]),
        ("turned_away", "turned away", "ratio", [turned_away(each) for each in rows]),
        ("keeps_up", "keeps up", "", ["yes" if each else "no" for each in steady]),
    )


def turned_away(outcome: Outcome) -> float:
    """Share of the requests that were turned away."""
    return outcome.counts["rejected"] / max(outcome.counts["arrived"], 1)


def keeps_up(outcome: Outcome) -> bool:
    """Whether nothing piles up and hardly anything is turned away."""
    return outcome.is_steady and turned_away(outcome) <= MUCH_TURNED_AWAY


def skew(outcomes: Outcomes) -> Series:
    """Prefill work over the mean by rank of the instance, a column each policy."""
    first = next(iter(outcomes.values()))
    at = places(first.config.instances)
    columns: list[tuple[str, str, str, Values]] = [("rank", "instance, busiest first", "", (at + 1).tolist())]
    for name, outcome in outcomes.items():
        work = np.sort(outcome.work_by_instance)[::-1]
        mean = float(work.mean())
        values = (work[at] / mean).tolist() if mean > 0 else [None] * len(at)
        columns.append((name, LABELS[name], "× mean", values))
    return table("simulated_skew", "Prefill work of the instances over the mean", *columns)


def busy_over_time(outcome: Outcome, *, line: Timeline) -> Series:
    """Share of the time in prefill, by bands of instances (busiest first in the whole run) and moments."""
    warm = line.at_s > outcome.warmup_s
    shares = np.minimum(line.busy_share(), 1.0)[warm]
    moments = line.at_s[warm]
    step = max(1, -(-len(moments) // MOST_MOMENTS))
    order = np.argsort(-line.busy_s[-1]) if len(moments) else np.zeros(0, np.int64)
    bands = np.array_split(order, min(BANDS, max(len(order), 1)))
    edges = range(0, len(moments) - step + 1, step)
    columns: list[tuple[str, str, str, Values]] = [
        ("time_s", "simulated time", "s", [float(moments[at + step - 1]) for at in edges])
    ]
    first = 0
    for place, band in enumerate(bands):
        label = _ranks(first + 1, first + len(band))
        first += len(band)
        values = [float(shares[at : at + step, band].mean()) if len(band) else None for at in edges]
        columns.append((f"band_{place}", label, "ratio", values))
    return table("simulated_busy", "Share of the time that instances spend in prefill", *columns)


def _ranks(first: int, last: int) -> str:
    return f"busiest {first}" if first >= last else f"busiest {first}–{last}"


def cdf(outcome: Outcome) -> Series:
    """Share of requests at or below a TTFT."""
    from sims.engine import sketch

    points = sketch.cdf(outcome.pooled("ttft"))
    return table(
        "ttft_cdf",
        "TTFT, simulated",
        ("value_s", "TTFT", "s", [value for value, _ in points]),
        ("share", "share of requests", "ratio", [share for _, share in points]),
    )


def _plain(values: NDArray[np.float64]) -> list[float | str | None]:
    return [None if math.isnan(value) else float(value) for value in values]


def timeline(line: Timeline) -> Series:
    """The system over simulated time; rates and means are those of the interval that ends there."""
    rates = {name: _plain(line.per_s(name)) for name in ("arrived", "good", "rejected", "retried", "lost")}
    return table(
        "timeline",
        "The system over simulated time",
        ("time_s", "simulated time", "s", line.at_s.tolist()),
        ("arrivals_per_s", "arrivals", "req/s", rates["arrived"]),
        ("goodput_per_s", "in time", "req/s", rates["good"]),
        ("rejected_per_s", "turned away", "req/s", rates["rejected"]),
        ("retried_per_s", "tried again", "req/s", rates["retried"]),
        ("lost_per_s", "failed", "req/s", rates["lost"]),
        ("hit_share", "prompt tokens hit", "ratio", _plain(line.hit_rate())),
        ("ttft_mean_s", "TTFT, mean", "s", _plain(line.mean_ttft_s())),
        ("queued", "waiting for prefill", "requests", line.queued.sum(axis=1).astype(float).tolist()),
        ("in_flight", "in the system", "requests", line.counts["in_flight"].tolist()),
        ("out", "instances left out", "instances", line.out.astype(float).tolist()),
    )


def drill(run: Run, outcome: Outcome) -> Sequence[Series]:
    """Requests sent to the dead, failed and tried again since the loss."""
    at_s, line = run.options.fail_at_s, outcome.timeline
    if at_s is None:
        return ()
    since = line.at_s - at_s
    before = np.searchsorted(line.at_s, at_s)

    def sums_since(*names: str) -> NDArray[np.float64]:
        sums = np.sum([line.counts[name] for name in names], axis=0)
        start = float(sums[before - 1]) if before > 0 else 0.0
        return np.concatenate([[0.0], sums[since > 0] - start])

    times = np.concatenate([[0.0], since[since > 0]])
    shown = times <= _worth_showing_s(times, sums_since("refused", "timed_out"))

    def gone(*names: str) -> list[float]:
        return [float(value) for value in sums_since(*names)[shown]]

    made = table(
        "simulated_drill",
        "Since the loss of instances",
        ("time_s", "time since the failure", "s", times[shown].tolist()),
        ("sent", "sent to the dead", "requests", gone("refused", "timed_out")),
        ("retried", "tried again", "requests", gone("retried")),
        ("failed", "failed for good", "requests", gone("lost")),
        ("broken", "streams broken", "requests", gone("broken_streams")),
    )
    return (made,)


def _worth_showing_s(times: NDArray[np.float64], sent: NDArray[np.float64]) -> float:
    """Four times as long as it took until nine tenths were sent: later ones are trials of a breaker."""
    most = 0.9 * float(sent[-1])
    return max(LEAST_DRILL_S, 4 * float(times[np.searchsorted(sent, most)]))
