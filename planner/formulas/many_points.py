"""Operating points of many replicas as arrays: what `serving.Point` is of one, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_BOUNDED = (0.5, 0.9, 0.99)
_WAITS = ("base_s", "prefill_s", "first_step_s", "queue_s", "admission_s", "queue_chance", "admission_chance")
_GAPS = ("decode_s", "interference_s", "pause_s")


@dataclass(frozen=True, slots=True)
class Points:
    """Columns of shape (points,), named as in `serving.Point`.

    ``closed``: of a closed loop, where every request waits the same for a place; ``admission_chance`` is 1 there.
    """

    closed: Mask
    concurrency: Array
    running: Array
    base_s: Array
    prefill_s: Array
    first_step_s: Array
    queue_s: Array
    admission_s: Array
    decode_s: Array
    interference_s: Array
    pauses_per_token: Array
    pause_s: Array
    output_tokens: Array
    queue_chance: Array
    admission_chance: Array

    def __len__(self) -> int:
        return len(self.running)

    @property
    def ttft_s(self) -> Array:
        return self.base_s + self.prefill_s + self.first_step_s + self.queue_s + self.admission_s

    @property
    def gap_s(self) -> Array:
        """Mean time between tokens; of a request of one token, what it would be."""
        return self.decode_s + self.interference_s

    @property
    def e2e_s(self) -> Array:
        return self.ttft_s + (self.output_tokens - 1) * self.gap_s

    @property
    def has_gaps(self) -> Mask:
        return self.output_tokens > 1

    @property
    def is_full(self) -> Mask:
        """Whether all places are taken all the time, in a closed loop."""
        return (self.admission_s > 0) & self.closed

    def of(self, places: NDArray[np.intp]) -> Points:
        """Some of the points."""
        return self._each(lambda name: getattr(self, name)[places])

    def merged(self, other: Points, places: NDArray[np.intp]) -> Points:
        """These points with others in some of the places."""

        def column(name: str) -> Any:
            values = getattr(self, name).copy()
            values[places] = getattr(other, name)
            return values

        return self._each(column)

    def joined(self, other: Points) -> Points:
        """These points and then the others."""
        return self._each(lambda name: np.concatenate([getattr(self, name), getattr(other, name)]))

    def where(self, mask: Mask, other: Points) -> Points:
        """These points where a mask holds, the others elsewhere."""
        return self._each(lambda name: np.where(mask, getattr(self, name), getattr(other, name)))

    def _each(self, column: Callable[[str], Any]) -> Points:
        return Points(**{each.name: column(each.name) for each in fields(self)})

    def leaning(self, *, tpot: Array, ttft: Array) -> Points:
        """Times multiplied by what measurements say; the batch follows by Little's law."""
        found = replace(
            self,
            **{name: getattr(self, name) * ttft for name in _WAITS[:5]},
            **{name: getattr(self, name) * tpot for name in _GAPS},
        )
        return found.settled(limit=self._limit())

    def _limit(self) -> Array:
        return np.where(self.is_full, self.running, math.inf)

    def settled(self, *, limit: Array | float = math.inf) -> Points:
        """The batch that follows from the times by Little's law, at most ``limit`` [1]."""
        decoding_s = self.output_tokens * self.gap_s
        running = self.concurrency * decoding_s / (decoding_s + self.ttft_s)
        return replace(self, running=np.minimum(running, limit))

    def bounded(self, other: Points) -> Points:
        """These points no slower than the others: TTFT and gaps, their means and their percentiles."""
        share = np.minimum(other.e2e_s / self.e2e_s, 1.0)
        full = self.leaning(tpot=share, ttft=share)
        return full.where(other.is_full, self._bounded_apart(other))

    def _bounded_apart(self, other: Points) -> Points:
        waits, gaps = _exceeds(self._waits(), other._waits()), _exceeds(self._gaps(), other._gaps())
        less = np.minimum(self.ttft_s / other.ttft_s, 1.0)
        columns = {name: getattr(other, name) * less for name in _WAITS[:5]}
        columns |= {name: getattr(other, name) for name in _WAITS[5:]}
        found = {name: np.where(waits, values, getattr(self, name)) for name, values in columns.items()}
        less = np.minimum(self.gap_s / other.gap_s, 1.0)
        columns = {name: getattr(other, name) * less for name in _GAPS} | {"pauses_per_token": other.pauses_per_token}
        found |= {name: np.where(gaps, values, getattr(self, name)) for name, values in columns.items()}
        changed = replace(self, **found).settled(limit=self._limit())
        return changed.where(waits | gaps, self)

    def _waits(self) -> tuple[Array, ...]:
        return self.ttft_s, *(self.ttft_quantile_s(each) for each in _BOUNDED)

    def _gaps(self) -> tuple[Array, ...]:
        quantiles = (np.where(self.has_gaps, self.tpot_quantile_s(each), 0.0) for each in _BOUNDED)
        return self.gap_s, *quantiles

    def ttft_quantile_s(self, probability: float) -> Array:
        """TTFT with the waits taken as exponential, the rest as constant [s]."""
        wait_s = _wait_quantile_s(probability, chance=self.queue_chance, mean_s=self.queue_s)
        place_s = _wait_quantile_s(probability, chance=self.admission_chance, mean_s=self.admission_s)
        place_s = np.where(self.closed, self.admission_s, place_s)
        return self.base_s + self.prefill_s + self.first_step_s + wait_s + place_s

    def tpot_quantile_s(self, probability: float) -> Array:
        """Quantile over requests of the mean gap; meaningless where there are no gaps [s]."""
        pauses = self.pauses_per_token * self.output_tokens
        return self.decode_s + _poisson_quantile(probability, mean=pauses) / self.output_tokens * self.pause_s

    def itl_quantile_s(self, probability: float) -> Array:
        """Quantile over gaps between tokens: a plain step, or one with a prefill in it [s]."""
        interrupted = 1.0 - np.exp(-self.pauses_per_token)
        return self.decode_s + np.where(interrupted > 1.0 - probability, self.pause_s, 0.0)


def _exceeds(ours: tuple[Array, ...], theirs: tuple[Array, ...]) -> Mask:
    found: Mask = np.any([mine > other for mine, other in zip(ours, theirs, strict=True)], axis=0)
    return found


def _wait_quantile_s(probability: float, *, chance: Array, mean_s: Array) -> Array:
    """As `queueing.wait_quantile_s`; who never waits has a mean of nothing."""
    waits = (mean_s > 0) & (chance > 1 - probability)
    likely = np.where(waits, chance, 1.0)
    found: Array = np.where(waits, mean_s / likely * np.log(likely / (1 - probability)), 0.0)
    return found


def _poisson_quantile(probability: float, *, mean: Array) -> Array:
    """As `queueing.poisson_quantile`."""
    z = float(ndtri(probability))
    found: Array = np.where(mean > 0, np.maximum(mean + z * np.sqrt(np.maximum(mean, 0.0)) + (z * z - 1) / 6, 0.0), 0.0)
    return found
