"""Time to the first token by where the adapter is: on the GPU, in host memory, in the store; and its percentiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.formulas import lengths, queueing, shared_steps
from planner.formulas.slot_cliff import SlotWaits
from planner.kinds.multi_lora.loading import Loading
from planner.kinds.multi_lora.replica import Replica

_LENGTHS, _MOMENTS, _WAITS = 10, 3, 16
PROBABILITIES = (0.5, 0.99)
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Latency:
    """First tokens of a replica at its load; all means but where a probability is named."""

    replica: Replica
    rate_rps: float
    running: float
    prefix_hits: float
    waits: SlotWaits | None
    """None: some adapters never get a slot."""
    loading: Loading

    @property
    def prefill_s(self) -> float:
        return self.replica.prefill_s(self.prefix_hits)

    @property
    def held_s(self) -> float:
        return self.replica.held_s(self.prefix_hits)

    @cached_property
    def step_s(self) -> float:
        return self.replica.step(self.running).total_s

    @cached_property
    def tpot_s(self) -> float:
        return self.replica.tpot_s(self.running, held_s=self.held_s)

    @property
    def prefill_share(self) -> float:
        """Of the replica's time."""
        return self.rate_rps * self.prefill_s

    @cached_property
    def residence_s(self) -> float:
        """How long a request holds its place, and its adapter the slot."""
        return self.prefill_s + self.replica.spec.output_tokens * self.tpot_s

    @property
    def _places(self) -> int:
        return max(int(self.replica.places), 1)

    @cached_property
    def place_wait_s(self) -> float:
        """Wait for a place in the batch, as of M/M/c."""
        offered = self.rate_rps * self.residence_s
        found = queueing.mean_wait_s(offered, servers=self._places, service_s=self.residence_s)
        return 0.0 if found is None else found

    @cached_property
    def boarding(self) -> shared_steps.Boarding:
        """Until the step that computes the prompt, and what rides on it."""
        varied = lengths.squared_variation(self.replica.spec.input_sigma)
        found = shared_steps.boarding(self.step_s, rate=self.rate_rps, prefill_s=self.held_s, prefill_scv=varied)
        return found or shared_steps.Boarding(0.0, 0.0, self.step_s, self.step_s)

    @property
    def queue_s(self) -> float:
        """Wait for a place and for the step that runs, and what others add to the own one."""
        return self.place_wait_s + self.boarding.until_step_s + self.boarding.others_s

    @property
    def hot_s(self) -> float:
        """TTFT with the adapter in a slot, or without one."""
        return self.queue_s + self.prefill_s + self.step_s

    @property
    def warm_s(self) -> float | None:
        """TTFT with the adapter in host memory."""
        return None if self.waits is None else self.hot_s + self.slot_wait_missing_s + self.loading.added_s

    @property
    def cold_s(self) -> float | None:
        """TTFT with the adapter in the store."""
        return None if self.warm_s is None else self.warm_s + self.loading.cold_added_s

    @property
    def missing(self) -> float:
        """Share of the requests with an adapter that find it in no slot."""
        return self.replica.tiers.host + self.replica.tiers.store

    @property
    def slot_wait_missing_s(self) -> float:
        """Wait for a slot of a request that needs one."""
        if self.waits is None or self.waits.mean_s <= 0:
            return 0.0
        return self.waits.mean_s / max(self.missing, self.waits.waiting)

    @property
    def mean_s(self) -> float | None:
        """TTFT over all requests."""
        if self.waits is None:
            return None
        added = self.missing * self.loading.added_s + self.replica.tiers.store * self.loading.cold_added_s
        return self.hot_s + self.replica.adapted * (added + self.waits.mean_s)

    def quantile_s(self, probability: float) -> float | None:
        """TTFT over all requests at one of `PROBABILITIES`."""
        found = self._quantiles_s
        return None if found is None else found[PROBABILITIES.index(probability)]

    @cached_property
    def _quantiles_s(self) -> tuple[float, ...] | None:
        """Own prefill, the step it came in, its adapter, and waits with exponential tails."""
        if self.waits is None:
            return None
        values, weights = self._points
        known_s = self.place_wait_s + self.boarding.others_s
        beside = -math.expm1(-self.rate_rps * self.boarding.gap_s)
        waiting = min(self._place_chance + beside, 1.0)
        count = len(PROBABILITIES)
        found = queueing.delay_quantiles_s(
            PROBABILITIES,
            waiting=np.full(count, waiting),
            wait_if_waiting_s=np.full(count, known_s / waiting if waiting > 0 else 0.0),
            service_s=values,
            weights=weights,
        )
        return tuple(float(each) for each in found)

    @property
    def _place_chance(self) -> float:
        return queueing.erlang_c(self.rate_rps * self.residence_s, servers=self._places) or 0.0

    @cached_property
    def _points(self) -> tuple[Array, Array]:
        """Values of all but the wait in the queue, with their weights."""
        own = self.prefill_s * lengths.equally_likely(_LENGTHS, sigma=self.replica.spec.input_sigma)
        moments = self.boarding.gap_s * (np.arange(_MOMENTS) + 0.5) / _MOMENTS
        added, weights = self._adapter_points()
        values = np.add.outer(np.add.outer(own + self.step_s, moments), added).ravel()
        return values, np.tile(weights, _LENGTHS * _MOMENTS) / (_LENGTHS * _MOMENTS)

    def _adapter_points(self) -> tuple[Array, Array]:
        """What the adapter adds to a first token, over all requests."""
        adapted, waits = self.replica.adapted, self.waits
        missing = max(self.missing, waits.waiting if waits else 0.0) * adapted
        if missing <= 1e-12 or waits is None:
            return np.zeros(1), np.ones(1)
        levels = 1 - missing + missing * (np.arange(_WAITS) + 0.5) / _WAITS
        warm_s = _waited(waits, adapted=adapted, levels=levels) + self.loading.added_s
        values = np.concatenate((np.zeros(1), warm_s, warm_s + self.loading.cold_added_s))
        cold = min(self.replica.tiers.store / max(self.missing, 1e-12), 1.0)
        each = np.full(_WAITS, missing / _WAITS)
        return values, np.concatenate((np.array([1 - missing]), each * (1 - cold), each * cold))


def _waited(waits: SlotWaits, *, adapted: float, levels: Array) -> Array:
    """Wait for a slot at levels of probability over all requests: straight between its known quantiles."""
    inner = 1 - (1 - levels) / adapted
    if waits.mean_s <= 0:
        return np.zeros_like(levels)
    none = 1 - waits.waiting
    known = [(none, 0.0)]
    known += [(q, t) for q, t in ((0.5, waits.p50_s), (0.9, waits.p90_s), (0.99, waits.p99_s)) if q > none]
    last = known[-1][1] + max(waits.p99_s - waits.p90_s, 0.0) / 2
    places, times = zip(*known, (1.0, last), strict=True)
    return np.asarray(np.interp(inner, places, times))
