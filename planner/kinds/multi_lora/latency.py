"""Time to the first token by where the adapter is: on the GPU, in host memory, in the store; and its percentiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.formulas import lengths, queueing, shared_steps
from planner.formulas.distinct import TierShares
from planner.formulas.slot_wait_law import SlotWaits
from planner.kinds.multi_lora.law import Law
from planner.kinds.multi_lora.loading import Loading
from planner.kinds.multi_lora.replica import Replica

_FINE = (0.0, 0.3, 0.5, 0.7, 0.82, 0.9, 0.95, 0.975, 0.987, 0.994, 0.998, 1.0)
_COARSE = (0.0, 0.5, 0.8, 0.93, 0.98, 0.995, 1.0)
_MOMENTS, _WAITS = 3, 16
_EXPONENTIAL = np.array([0.22, 0.92, 1.9, 3.2, 5.6])
_EXPONENTIAL_CHANCES = np.array([0.4, 0.35, 0.15, 0.075, 0.025])
"""Five values of an exponential number of mean one."""
PROBABILITIES = (0.5, 0.99)
MUCH_S, LITTLE, HARDLY_S = 0.2, 1e-3, 1e-5
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
    cold: Latency | None = None
    """Of the cold-start replicas, where requests begin whose adapter no host memory has."""

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

    @cached_property
    def copied_s(self) -> float:
        """What bringing the adapter in adds to a first token."""
        if self.replica.spec.copying != "beside" or self.loading.swap_s <= 0:
            return self.loading.added_s
        # The copy begins with a step and is used from the end of one.
        return shared_steps.covered_s(
            self.loading.swap_s, step_s=self.step_s, rate=self.rate_rps, prefill_s=self.held_s
        )

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
        return None if self.waits is None else self.hot_s + self.slot_wait_missing_s + self.copied_s

    @property
    def cold_s(self) -> float | None:
        """TTFT with the adapter in the store."""
        if self.replica.spec.cold_replicas:
            return None if self.cold is None else self.cold.mean_s
        return None if self.warm_s is None else self.warm_s + self.loading.cold_s

    @property
    def tiers(self) -> TierShares:
        """Where requests with an adapter find it: who waits for a slot has none, whatever was used last."""
        usual = self.replica.tiers
        if self.waits is None:
            return usual
        gpu = min(usual.gpu, 1 - self.waits.waiting)
        return TierShares(gpu, max(1 - gpu - usual.store, 0.0), min(usual.store, 1 - gpu))

    @property
    def missing(self) -> float:
        """Share of the requests with an adapter that find it in no slot."""
        return self.tiers.host + self.tiers.store

    @property
    def _cold_added_s(self) -> float:
        """What a first token in the store takes more than one in host memory."""
        return (self.cold_s or 0.0) - (self.warm_s or 0.0)

    @property
    def slot_wait_missing_s(self) -> float:
        """Wait for a slot of a request that needs one."""
        if self.waits is None or self.waits.mean_s <= 0:
            return 0.0
        return self.waits.mean_s / self.missing if self.missing > 0 else 0.0

    @property
    def mean_s(self) -> float | None:
        """TTFT over all requests."""
        if self.waits is None or (self.cold_s is None and self.replica.tiers.store > 0):
            return None
        added = self.missing * self.copied_s + self.replica.tiers.store * self._cold_added_s
        return self.hot_s + self.replica.adapted * (added + self.waits.mean_s)

    def quantile_s(self, probability: float) -> float | None:
        """TTFT over all requests at one of `PROBABILITIES`."""
        found = self._quantiles_s
        return None if found is None else found[PROBABILITIES.index(probability)]

    @cached_property
    def _quantiles_s(self) -> tuple[float, ...] | None:
        """Quantiles of the sum of what passes before a first token, its parts taken as independent."""
        if self.waits is None or (self.cold_s is None and self.replica.tiers.store > 0):
            return None
        law = self._own.plus(self._place).plus(self._adapter)
        if self.waits.mean_s < MUCH_S:
            law = law.plus(self._steps)
        else:
            # Where slots are waited for, what others' prompts add is no longer felt.
            law = law.shifted(self.boarding.until_step_s + self.boarding.others_s)
        return law.quantiles(PROBABILITIES)

    @property
    def _own(self) -> Law:
        """Own prompt and the decode step it rides on."""
        return Law(*_prompts(self.replica.spec.input_sigma, _FINE)).scaled(self.prefill_s).shifted(self.step_s)

    @property
    def _steps(self) -> Law:
        """The rest of the step in which it came, and prompts of others that came in it too: the longer, the more.

        That step may have a prompt of its own, and long ones are met more.
        """
        spec, gap_s, busy = self.replica.spec, self.boarding.gap_s, self.rate_rps * self.held_s
        prompts, chances = _prompts(spec.input_sigma, _COARSE)
        met = Law(prompts, chances * prompts / float(chances @ prompts)).scaled(self.held_s)
        plain_s = max(gap_s - busy * met.mean, 0.0)
        whole = met.shifted(plain_s).beside(plain_s, chance=min(busy, 1.0))
        count = self.rate_rps * whole.values
        some = -np.expm1(-count)
        each = count / np.maximum(some, 1e-12) * self.held_s
        beside = np.concatenate((np.zeros((len(count), 1)), np.outer(each, prompts)), axis=1)
        odds = np.concatenate((1 - some[:, None], np.outer(some, chances)), axis=1)
        moments = (np.arange(_MOMENTS) + 0.5) / _MOMENTS
        left = np.multiply.outer(whole.values, moments)
        values = left[:, :, None] + beside[:, None, :]
        weights = np.broadcast_to((whole.chances[:, None] * odds)[:, None, :] / _MOMENTS, values.shape)
        return Law(values.ravel(), weights.ravel())

    @property
    def _place(self) -> Law:
        """Wait for a place in the batch."""
        chance = queueing.erlang_c(self.rate_rps * self.residence_s, servers=self._places) or 0.0
        if chance < LITTLE or self.place_wait_s <= 0:
            return Law(np.zeros(1), np.ones(1))
        return Law(_EXPONENTIAL * self.place_wait_s / chance, _EXPONENTIAL_CHANCES).beside(0.0, chance=chance)

    @property
    def _adapter(self) -> Law:
        """What the adapter adds, over all requests."""
        adapted, waits = self.replica.adapted, self.waits
        missing = (self.tiers.host + self.tiers.store) * adapted
        if missing <= 1e-12 or waits is None:
            return Law(np.zeros(1), np.ones(1))
        cold = min(self.tiers.store * adapted / missing, 1.0)
        warm = Law(*_waited(waits, adapted=adapted, missing=missing)).shifted(self.copied_s)
        if cold <= 0:
            return warm.beside(0.0, chance=missing)
        both = Law(
            np.concatenate((warm.values, np.maximum(warm.values + self._cold_added_s, 0.0))),
            np.concatenate((warm.chances * (1 - cold), warm.chances * cold)),
        )
        return both.beside(0.0, chance=missing)


def _waited(waits: SlotWaits, *, adapted: float, missing: float) -> tuple[Array, Array]:
    """Wait for a slot of those who need one: straight between its known quantiles over all with an adapter."""
    if waits.mean_s < HARDLY_S * missing and waits.p99_s <= 0:
        return np.array([waits.mean_s / missing]), np.ones(1)
    levels = 1 - missing / adapted * (1 - (np.arange(_WAITS) + 0.5) / _WAITS)
    none = 1 - waits.waiting
    known = [(none, 0.0)]
    known += [(q, t) for q, t in ((0.5, waits.p50_s), (0.9, waits.p90_s), (0.99, waits.p99_s)) if q > none]
    last = known[-1][1] + max(waits.p99_s - waits.p90_s, 0.0) / 2
    places, times = zip(*known, (1.0, last), strict=True)
    return np.asarray(np.interp(levels, places, times)), np.full(_WAITS, 1 / _WAITS)


@lru_cache(maxsize=128)
def _prompts(sigma: float, levels: tuple[float, ...]) -> tuple[Array, Array]:
    """Lengths of prompts over their mean with their chances: finer towards the long ones, which make the tail."""
    edges = np.array(levels)
    values = np.array([lengths.quantile(level, mean=1.0, sigma=sigma) for level in (edges[1:] + edges[:-1]) / 2])
    return values, np.diff(edges)
