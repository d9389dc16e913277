"""Tables of a simulation: distributions, the time line, policies side by side, bytes moved, hits of a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner.core.result import Series
from planner.kinds.kv_pool.policies_compared import LABELS
from planner.kinds.kv_pool.run_plan import Run
from planner.kinds.kv_pool.series import Values, series
from planner.kinds.kv_pool.tiers import LABELS as TIERS

if TYPE_CHECKING:
    from sims.systems.kv_pool import Outcome
    from sims.systems.kv_pool.timeline import Sample

CURVE_POINTS = 60
FEW = 100_000


def all_series(run: Run, *, outcomes: Mapping[str, Outcome]) -> Sequence[Series]:
    """Every table of a finished run."""
    outcome = next(iter(outcomes.values()))
    made = [
        _cdf(outcome, name="ttft", label="TTFT"),
        _cdf(outcome, name="ttft_without", label="TTFT, HBM only"),
        _timeline(outcome),
        _hits_over_time(outcomes),
        _policies(outcomes),
        _moved(outcome),
    ]
    return made if run.trace is None else [*made, _curve(run)]


def _cdf(outcome: Outcome, *, name: str, label: str) -> Series:
    from sims.engine import sketch

    points = sketch.cdf(outcome.pooled(name))
    fixed_s = outcome.config.ttft_fixed_s
    return series(
        f"{name}_cdf",
        f"{label}, simulated",
        ("value_s", label, "s", [value + fixed_s for value, _ in points]),
        ("share", "share of turns", "ratio", [share for _, share in points]),
    )


def _steps(outcome: Outcome) -> list[tuple[Sample, Sample]]:
    """Stretches of time; longer ones where few turns came, so that chance does not hide the course."""
    every = 1 if outcome.arrived >= FEW else 4
    return list(pairwise(outcome.samples[every - 1 :: every]))


def _ratio(above: float, below: float) -> float | None:
    return above / below if below > 0 else None


def _timeline(outcome: Outcome) -> Series:
    """The system over simulated time; shares and means are those of the interval that ends there."""
    steps = _steps(outcome)
    spans = [max(b.at_s - a.at_s, 1e-12) for a, b in steps]
    units, block = outcome.config.nodes, outcome.config.block_bytes
    used: list[tuple[str, str, str, Values]] = [
        (
            f"{label.lower()}_used",
            f"{label} full",
            "ratio",
            [_ratio(b.used[tier], b.capacity[tier]) for _, b in steps],
        )
        for tier, label in enumerate(TIERS)
    ]
    hits: list[tuple[str, str, str, Values]] = [
        (
            f"{label.lower()}_hit_share",
            label,
            "ratio",
            [_ratio(b.hits[tier] - a.hits[tier], b.reusable - a.reusable) for a, b in steps],
        )
        for tier, label in enumerate(TIERS)
    ]
    work = [(b.compute_s - a.compute_s) / span / units for (a, b), span in zip(steps, spans, strict=True)]
    alone = [(b.alone_compute_s - a.alone_compute_s) / span / units for (a, b), span in zip(steps, spans, strict=True)]
    written = [(b.written[2] - a.written[2]) * block / span for (a, b), span in zip(steps, spans, strict=True)]
    return series(
        "timeline",
        "The pool over simulated time",
        ("time_s", "simulated time", "s", [b.at_s for _, b in steps]),
        *hits,
        ("prefix_hit_rate", "prompt tokens not computed", "ratio", [_tokens(a, b) for a, b in steps]),
        ("prefill", "prefill work", "ratio", work),
        ("prefill_without_pool", "prefill work with HBM only", "ratio", alone),
        ("in_flight", "turns in the system", "requests", [float(b.in_flight) for _, b in steps]),
        (
            "ttft_mean_s",
            "TTFT, mean",
            "s",
            [_ratio(b.ttft_sum_s - a.ttft_sum_s, b.finished - a.finished) for a, b in steps],
        ),
        *used,
        ("ssd_written_bytes_per_s", "written to SSD", "bytes/s", written),
    )


def _tokens(a: Sample, b: Sample) -> float | None:
    return _ratio(b.hit_tokens - a.hit_tokens, b.tokens - a.tokens)


def _hits_over_time(outcomes: Mapping[str, Outcome]) -> Series:
    """All hits over time, by policy."""
    columns: list[tuple[str, str, str, Values]] = [
        (
            f"{name}_hit_share",
            LABELS[name],
            "ratio",
            [_ratio(sum(b.hits) - sum(a.hits), b.reusable - a.reusable) for a, b in _steps(outcome)],
        )
        for name, outcome in outcomes.items()
    ]
    longest = max(outcomes.values(), key=lambda outcome: len(outcome.samples))
    times = [b.at_s for _, b in _steps(longest)]
    whole = [
        (key, words, unit, [*values, *[None] * (len(times) - len(values))]) for key, words, unit, values in columns
    ]
    return series("hits_by_policy", "Hits over time by eviction", ("time_s", "simulated time", "s", times), *whole)


def _policies(outcomes: Mapping[str, Outcome]) -> Series:
    """Hits by tier under each policy, over the measuring window."""
    names = list(outcomes)
    columns: list[tuple[str, str, str, Values]] = []
    for label in TIERS:
        found = [outcome.hit_share(label.lower()) for outcome in outcomes.values()]
        columns.append(
            (f"{label.lower()}_hit_share", label, "ratio", [None if each is None else each.value for each in found])
        )
    return series(
        "policies",
        "Hits by eviction, simulated",
        ("policy", "eviction", "", [LABELS[name] for name in names]),
        *columns,
        ("compute", "prefill work", "units", [outcome.rates.get("compute") for outcome in outcomes.values()]),
    )


def _moved(outcome: Outcome) -> Series:
    """Bytes over the whole run."""
    rows = [(f"{tier.name.upper()}, {word}", value) for tier in outcome.tiers for word, value in _bytes(tier)]
    rows += [("network, in", sum(link.bytes for link in outcome.links if link.name == "ingress"))]
    return series(
        "bytes_moved",
        "Bytes moved",
        ("what", "what", "", [name for name, _ in rows]),
        ("bytes", "moved", "bytes", [value for _, value in rows]),
    )


def _bytes(tier: object) -> list[tuple[str, float]]:
    names = {"written": "written_bytes", "read": "read_bytes", "dropped": "evicted_bytes"}
    return [(word, float(getattr(tier, field))) for word, field in names.items() if getattr(tier, field) > 0]


def _curve(run: Run) -> Series:
    """Hits of one LRU of every size on the trace: exactly, from one pass, and by the law of reuse times."""
    from sims.systems.kv_pool import miss_ratio_curve

    assert run.trace is not None  # noqa: S101 - asked for by a run of a trace only
    blocks, law = run.trace.blocks, run.trace.curve
    exact = miss_ratio_curve(blocks.ids)
    sizes = np.unique(np.geomspace(1, max(exact.distinct, 1), CURVE_POINTS).astype(int))
    per_block = blocks.tokens * run.made.physics.stored_bytes_per_token
    lookups = max(exact.lookups, 1)
    return series(
        "trace_curve",
        "Hits of the trace against capacity",
        ("capacity_bytes", "capacity", "bytes", [float(size) * per_block for size in sizes]),
        ("exact", "exact replay", "ratio", [exact.hits(int(size)) / lookups for size in sizes]),
        ("law", "law of reuse times", "ratio", [float(each) for each in np.asarray(law.share(sizes.astype(float)))]),
    )
