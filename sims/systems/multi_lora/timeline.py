"""Samples over time: sums up to a moment, what every replica is doing, and what each tenant has had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sims.engine import merge
from sims.engine.kernel import handler, loop
from sims.parts.adapters import FILLING, NO_SLOT, RUNNING, WANTING
from sims.parts.decode import span_s, steps_done
from sims.parts.lora_steps import kv_integral
from sims.parts.records import records
from sims.systems.multi_lora.plane import LoraPlane

COUNTS = (
    "arrived",
    "finished",
    "rejected",
    "limited",
    "restarted",
    "first_tokens",
    "ttft_sum_s",
    "prompt_tokens",
    "computed_tokens",
    "output_tokens",
    "hot",
    "warm",
    "cold",
    "bare",
    "copies",
    "copy_bytes",
    "downloads",
    "download_bytes",
    "warm_ups",
    "diverted",
    "in_flight",
)
REPLICA_SEEN = np.dtype(
    [
        (name, "f8")
        for name in (
            "busy_s",
            "sequence_s",
            "distinct_s",
            "reserved_s",
            "kv_s",
            "running",
            "filling",
            "waiting",
            "distinct",
            "wanting",
            "copying",
            "kv",
            "load",
            "served",
            "resident",
        )
    ]
)
"""The first five are integrals over time; of the others there are so many now."""
TENANT_SEEN = np.dtype(
    [
        (name, "f8")
        for name in (
            "requests",
            "in_tokens",
            "computed_tokens",
            "out_tokens",
            "service",
            "base_s",
            "lora_s",
            "stall_s",
            "slot_s",
            "copies",
            "copy_bytes",
            "downloads",
            "download_bytes",
            "waiting",
        )
    ]
)
"""Sums over the replicas; ``service`` is weighted tokens, ``waiting`` requests at replicas now."""
MOST_WATCHED = 1024
"""Tenants up to this many are watched at every sample."""


@handler
def see_step(unit, at_s, seen, ticks):  # type: ignore[no-untyped-def]
    """What the step under way has done by ``at_s``: its share for a weighted token, and decode steps."""
    ticks[0], ticks[1], ticks[2] = 0.0, 0.0, 0.0
    seen.busy_s = unit.busy_s
    seen.kv_s = unit.kv_s
    spent_s = 0.0
    if unit.planned > 0:
        spent_s = max(0.0, min(at_s - unit.start_s, span_s(unit, unit.planned)))
        steps = steps_done(unit, at_s)
        part = min(1.0, max(0.0, spent_s - span_s(unit, steps)) / (unit.first_s + unit.growth_s * steps))
        lora_s = unit.lora_s * (steps + part) if unit.lora_weight > 0.0 else 0.0
        # Stalls are billed when the copies begin, so they count as spent from the start.
        served_s = spent_s - unit.stall_s * (steps + part)
        ticks[0] = (served_s - lora_s) / unit.weight
        ticks[1] = lora_s / unit.lora_weight if unit.lora_weight > 0.0 else 0.0
        ticks[2] = steps * unit.emits
        seen.busy_s += served_s + unit.stall_s
        seen.kv_s += kv_integral(unit, steps, span_s(unit, steps))
        seen.kv_s += (unit.kv + unit.running * ticks[2]) * (spent_s - span_s(unit, steps))
    seen.sequence_s = unit.sequence_s + unit.running * spent_s
    seen.distinct_s = unit.distinct_s + unit.distinct * spent_s
    seen.reserved_s = unit.reserved_s + unit.reserved * spent_s


@handler
def see_replica(state, u, seen):  # type: ignore[no-untyped-def]
    """What there is on a replica now."""
    unit = state.units[u]
    seen.running = unit.running
    seen.filling = unit.filling
    seen.waiting = unit.waiting
    seen.distinct = unit.distinct
    seen.wanting = state.lined[u, WANTING]
    seen.copying = state.copying[u].queued
    seen.kv = unit.kv
    seen.load = unit.load
    seen.served = unit.served
    seen.resident = state.params[0].slots - unit.empty_slots if unit.alive == 1 else 0


@handler
def see_lane(lane, one, params, step):  # type: ignore[no-untyped-def]
    """Add what a tenant has had of a replica."""
    out = lane.out_tokens + lane.running * (step - lane.since_step)
    one.requests += lane.requests
    one.in_tokens += lane.in_tokens
    one.computed_tokens += lane.computed_tokens
    one.out_tokens += out
    one.service += params.input_weight * lane.in_tokens + params.output_weight * out
    one.base_s += lane.base_s
    one.lora_s += lane.lora_s
    one.stall_s += lane.stall_s
    one.slot_s += lane.slot_s
    one.copies += lane.copies
    one.copy_bytes += lane.copy_bytes
    one.downloads += lane.downloads
    one.download_bytes += lane.download_bytes
    one.waiting += lane.waiting


@handler
def see_request(state, request, tenants, ticks):  # type: ignore[no-untyped-def]
    """Add what a request in a batch has had of the GPU and is not yet billed for."""
    unit, params, one = state.units[request.unit], state.params[0], tenants[request.tenant]
    base, lora, weight = ticks[request.unit, 0], ticks[request.unit, 1], params.input_weight * request.taken
    if request.stage == RUNNING:
        weight = params.output_weight
        base = unit.base_clock + unit.emits * base - request.base_mark
        lora = unit.lora_clock + unit.emits * lora - request.lora_mark
    one.base_s += weight * base
    if request.adapter != params.adapters:
        one.lora_s += weight * lora


@loop
def observe(state, at_s, replicas, tenants, ticks):  # type: ignore[no-untyped-def]
    """Fill a record for each replica and tenant, with what the steps under way have done by ``at_s``."""
    for u in range(len(state.units)):
        see_step(state.units[u], at_s, replicas[u], ticks[u])
        see_replica(state, u, replicas[u])
        step = state.units[u].step + int(ticks[u, 2])
        for t in range(state.lanes.shape[1]):
            see_lane(state.lanes[u, t], tenants[t], state.params[0], step)
        for k in range(state.params[0].adapters):
            if state.cells[u, k].slot != NO_SLOT:
                tenants[state.tenant_of[k]].slot_s += at_s - state.cells[u, k].granted_s
    for slot in range(len(state.requests)):
        if state.requests[slot].stage == RUNNING or state.requests[slot].stage == FILLING:
            see_request(state, state.requests[slot], tenants, ticks)


@dataclass(frozen=True, slots=True)
class Sample:
    """The system at a moment."""

    at_s: float
    counts: dict[str, float]
    replicas: NDArray[Any]
    tenants: NDArray[Any]


def sample(plane: LoraPlane, at_s: float) -> Sample:
    """What there is at ``at_s``."""
    state = plane.state
    count = len(state.units)
    replicas, tenants = records(REPLICA_SEEN, count=count), records(TENANT_SEEN, count=len(state.tenants))
    ticks = np.zeros((count, 3))
    observe(state, float(at_s), replicas, tenants, ticks)
    counts = {name: float(state.totals[0][name]) for name in COUNTS}
    made = ticks[:, 2] * replicas.running
    replicas.kv += made
    counts["output_tokens"] += float(made.sum())
    return Sample(float(at_s), counts, replicas, tenants)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows are moments; ``counts`` are sums since the start (``in_flight`` is what there is)."""

    at_s: NDArray[np.float64]
    counts: dict[str, NDArray[np.float64]]
    replicas: np.recarray
    """[moment, replica] with the fields of `REPLICA_SEEN`."""
    service: NDArray[np.float64]
    """Weighted tokens that each tenant has had [moment, tenant]; without columns when there are too many tenants."""
    waiting: NDArray[np.float64]
    """Requests of each tenant that wait at replicas [moment, tenant]."""

    MERGED: ClassVar[Mapping[str, merge.Rule]] = {
        "at_s": merge.averaged,
        "counts": merge.averaged,
        "replicas": merge.averaged,
        # Who is ahead is another one each time: means over replications would hide it.
        "service": merge.first,
        "waiting": merge.first,
    }

    def per_s(self, name: str) -> NDArray[np.float64]:
        """Rate of a count between a sample and the one before [1/s]."""
        return np.diff(self.counts[name], prepend=0.0) / self._spans_s

    def mean(self, name: str) -> NDArray[np.float64]:
        """Mean over time between samples of an integral such as ``distinct_s`` [moment, replica]."""
        means: NDArray[np.float64] = np.diff(self.replicas[name], axis=0, prepend=0.0) / self._spans_s[:, None]
        return means

    def mean_ttft_s(self) -> NDArray[np.float64]:
        """Mean TTFT of the first tokens between samples [s]; NaN where there was none."""
        sums, counts = (np.diff(self.counts[name], prepend=0.0) for name in ("ttft_sum_s", "first_tokens"))
        means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        return means

    @property
    def _spans_s(self) -> NDArray[np.float64]:
        return np.maximum(np.diff(self.at_s, prepend=0.0), 1e-12)


@dataclass(slots=True)
class Recorder:
    """Keeps samples for the time line; of the tenants only what it shows, and of too many nothing."""

    samples: list[Sample] = field(default_factory=list)

    def keep(self, one: Sample) -> None:
        """One more."""
        watched = one.tenants[: len(one.tenants) if len(one.tenants) <= MOST_WATCHED else 0]
        shown = np.array([watched["service"], watched["waiting"]])
        self.samples.append(Sample(one.at_s, one.counts, one.replicas, shown))

    def timeline(self, replicas: int) -> Timeline:
        """All samples."""
        kept = self.samples
        seen = np.array([one.replicas for one in kept], REPLICA_SEEN).reshape(len(kept), replicas)
        watched = kept[0].tenants.shape[1] if kept else 0
        shown = np.array([one.tenants for one in kept]).reshape(len(kept), 2, watched)
        return Timeline(
            at_s=np.array([one.at_s for one in kept]),
            counts={name: np.array([one.counts[name] for one in kept]) for name in COUNTS},
            replicas=seen.view(np.recarray),
            service=shown[:, 0],
            waiting=shown[:, 1],
        )
