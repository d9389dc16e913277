"""The prefill fleet behind the tiers: work, units, and the time to the first token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.formulas import clustered, fetching, queueing, sizing
from planner.formulas.clustered import Cluster
from planner.kinds.kv_pool.physics import Physics
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import HBM, Link
from planner.kinds.kv_pool.turns import Sort

Array = NDArray[np.float64]
MOST_UNITS = 10**7


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns with weights: what is computed of each, how long it holds a unit and how long it takes without waiting."""

    weight: Array
    computed_tokens: Array
    held_s: Array
    path_s: Array
    fetched_share: tuple[float, float, float]
    """Of the hits of each tier, what is really read: the rest is quicker computed, or its link is full."""
    sorts_held_s: tuple[float, ...] = ()
    """Mean time that a turn of each sort holds a unit."""

    @property
    def mean_held_s(self) -> float:
        return float(self.weight @ self.held_s)

    @property
    def held_scv(self) -> float:
        """Squared coefficient of variation of the time a turn holds a unit [1]."""
        mean = self.mean_held_s
        return max(float(self.weight @ self.held_s**2) / (mean * mean) - 1, 0.0) if mean > 0 else 0.0


def turns(
    spec: KvPoolSpec,
    *,
    physics: Physics,
    sorts: Sequence[Sort],
    hits: Sequence[float],
    links: Sequence[Link | None],
    prefix_hits: float | None = None,
) -> Turns:
    """All turns when each tier finds its share of the histories; ``links`` are those of DRAM and SSD.

    ``prefix_hits`` is how often a prefix that sessions share is found where the session's own history is not.
    """
    shared = min(sum(hits), 1.0) if prefix_hits is None else prefix_hits
    cells = [
        _cells(spec, physics=physics, sort=sort, hits=hits, links=links, shared=shared)
        for sort in sorts
        if sort.weight > 0
    ]
    rows: list[tuple[Array, Array, Array, Array]] = [row for cell in cells for row in cell.rows]
    weight, computed, held, path = (np.concatenate(column) for column in zip(*rows, strict=True))
    fetched = [_weighted_share([(cell.wanted[tier], cell.fetched[tier]) for cell in cells]) for tier in range(3)]
    means = iter([cell.mean_held_s for cell in cells])
    each_s = tuple(next(means) if sort.weight > 0 else 0.0 for sort in sorts)
    return Turns(weight, computed, held, path, (fetched[0], fetched[1], fetched[2]), each_s)


@dataclass(frozen=True, slots=True)
class _Cells:
    rows: list[tuple[Array, Array, Array, Array]]
    wanted: list[float]
    fetched: list[float]

    @property
    def mean_held_s(self) -> float:
        total = sum(float(row[0].sum()) for row in self.rows)
        return sum(float(row[0] @ row[2]) for row in self.rows) / total if total > 0 else 0.0


def _cells(
    spec: KvPoolSpec,
    *,
    physics: Physics,
    sort: Sort,
    hits: Sequence[float],
    links: Sequence[Link | None],
    shared: float,
) -> _Cells:
    """One sort of turn by where its prefix is found."""
    count = len(sort.prompt_tokens)
    prefix_hit = shared * sort.sessions_prefix_tokens
    miss_s = physics.compute_s(sort.prompt_tokens - prefix_hit, cached_tokens=prefix_hit)
    cached = np.maximum(sort.reusable_tokens - physics.tail_tokens, 0.0)
    rest = sort.prompt_tokens - cached
    rows, wanted, fetched = [], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    missed = np.full(count, sort.weight / count)
    if cached.any():
        rest_s = physics.compute_s(rest, cached_tokens=cached)
        for tier, (hit, way) in enumerate(zip(hits, (None, *links), strict=True)):
            held, path = _read(spec, physics=physics, cached=cached, rest_s=rest_s, way=way if tier != HBM else None)
            served = way.served_share if tier != HBM and way is not None else 1.0
            taken = np.where(path < miss_s, served * hit * sort.weight / count, 0.0)
            wanted[tier], fetched[tier] = hit * sort.weight, float(taken.sum())
            missed = missed - taken
            rows.append((taken, rest, np.where(taken > 0, held, miss_s), np.where(taken > 0, path, miss_s)))
    rows.append((np.maximum(missed, 0.0), sort.prompt_tokens - prefix_hit, miss_s, miss_s))
    return _Cells(rows, wanted, fetched)


def _read(spec: KvPoolSpec, *, physics: Physics, cached: Array, rest_s: Array, way: Link | None) -> tuple[Array, Array]:
    """How long a hit holds its unit, and how long it takes from the look-up on."""
    if way is None:
        return rest_s, rest_s
    per_token_s = way.transfer_s(physics.stored_bytes_per_token * physics.read_copies)
    if math.isinf(per_token_s):
        return rest_s, np.full_like(rest_s, math.inf)
    read_s = cached * per_token_s
    if spec.overlap == "none":
        return rest_s, way.latency_s + read_s + rest_s
    both: Any = fetching.overlapped_s(fetch_s=read_s, compute_s=rest_s, layers=physics.layers)
    return both, way.latency_s + both


def _weighted_share(pairs: Sequence[tuple[float, float]]) -> float:
    wanted = math.fsum(pair[0] for pair in pairs)
    return math.fsum(pair[1] for pair in pairs) / wanted if wanted > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """Prefill units for a stream of turns, and how long a turn waits for one."""

    needed_units: float
    units: int
    waiting: float | None
    """Probability of having to wait; None past saturation."""
    mean_wait_s: float | None

    @property
    def utilisation(self) -> float | None:
        return self.needed_units / self.units if self.units else None

    @property
    def is_stable(self) -> bool:
        return self.mean_wait_s is not None


def fleet(
    spec: KvPoolSpec, *, made: Turns, units: int | None, apart: bool = False, clusters: Sequence[Cluster] = ()
) -> Fleet:
    """The fleet that a stream needs, or the one given.

    ``apart``: each turn waits for one unit, not for any; ``clusters`` are the sessions whose turns all wait for one.
    """
    needed = spec.turns_per_s * made.mean_held_s
    count = units if units is not None else sized_units(needed, headroom=spec.headroom)
    if needed <= 0:
        return Fleet(needed, count, 0.0, 0.0)
    service = {"service_s": made.mean_held_s, "service_scv": made.held_scv}
    if apart:
        wait_s = clustered.mean_wait_s(needed / count, clusters=clusters, **service)
        return Fleet(needed, count, None if wait_s is None else needed / count, wait_s)
    waiting = queueing.erlang_c(needed, servers=count)
    return Fleet(needed, count, waiting, queueing.mean_wait_s(needed, servers=count, **service))


def sized_units(needed: float, *, headroom: float) -> int:
    """Whole units with headroom; one more where that would leave none to spare."""
    if needed <= 0:
        return 0
    count = max(sizing.whole(needed * (1 + headroom)), 1)
    return count if needed < count * (1 - 1e-9) else count + 1


def ttft_s(spec: KvPoolSpec, *, made: Turns, of: Fleet, probabilities: Sequence[float]) -> list[float | None]:
    """Quantiles of the time to the first token; None past saturation."""
    if of.waiting is None or of.mean_wait_s is None:
        return [None] * len(probabilities)
    count = len(probabilities)
    found = queueing.delay_quantiles_s(
        probabilities,
        waiting=np.full(count, of.waiting),
        wait_if_waiting_s=np.full(count, of.mean_wait_s / max(of.waiting, 1e-300)),
        service_s=made.path_s,
        weights=made.weight,
    )
    return [float(value) + spec.ttft_fixed_s for value in found]


def many_ttft_s(spec: KvPoolSpec, *, loads: Sequence[tuple[Turns, Fleet]], probability: float) -> list[float | None]:
    """One quantile for each of many loads at once; their turns have the same points."""
    stable = [(made, of) for made, of in loads if of.waiting is not None and of.mean_wait_s is not None]
    if not stable:
        return [None] * len(loads)
    waiting = np.array([of.waiting or 0.0 for _, of in stable])
    found = iter(
        queueing.delay_quantiles_s(
            [probability] * len(stable),
            waiting=waiting,
            wait_if_waiting_s=np.array([of.mean_wait_s or 0.0 for _, of in stable]) / np.maximum(waiting, 1e-300),
            service_s=np.stack([made.path_s for made, _ in stable]),
            weights=np.stack([made.weight for made, _ in stable]),
        )
    )
    return [float(next(found)) + spec.ttft_fixed_s if of.is_stable else None for _, of in loads]


def mean_ttft_s(spec: KvPoolSpec, *, made: Turns, of: Fleet) -> float | None:
    """Mean time to the first token; None past saturation."""
    if of.mean_wait_s is None:
        return None
    return spec.ttft_fixed_s + of.mean_wait_s + float(made.weight @ made.path_s)
