"""What measurements add to many replicas at many loads at once: the Gaussian process of `neighbours` as arrays.

Measurements share configurations and loads. What they have of each other is worked out once for all pairs of those;
what a replica sees of them is summed up by load, so that a load costs as many terms as there are measured loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.formulas import neighbours
from planner.formulas.many_points import Array

_LOADS_AT_ONCE = 1024
_OF_LOAD = [neighbours.FEATURES.index(name) for name in neighbours.OF_LOAD]


@dataclass(frozen=True, slots=True)
class Corrections:
    """`neighbours.Correction` by columns of shape (loads,)."""

    tpot: Array
    ttft: Array
    tpot_carried: Array
    ttft_carried: Array

    def of(self, places: NDArray[np.intp]) -> Corrections:
        """Some of the loads, in any order and number."""
        return Corrections(*(getattr(self, each.name)[places] for each in fields(self)))


@dataclass(frozen=True, slots=True)
class _Seen:
    """One quantity from one configuration: weights by measured load, and the rows that the variance is worked out of.

    ``weights`` has shape (parts, measured loads), ``likeness`` (parts, rows near), ``at`` their loads; ``precision`` is
    the inverse of their covariance.
    """

    weights: Array
    likeness: Array
    at: NDArray[np.intp]
    precision: Array | None


class Landscape:
    """All measurements, and what they have of each other.

    Parameters
    ----------
    measured : all of them
    columns : ``measured.columns``
    distinct : ``measured.distinct()``
    kernels : of TPOT and of TTFT
    """

    def __init__(
        self,
        measured: neighbours.Measurements,
        *,
        columns: neighbours.Columns,
        distinct: neighbours.Distinct,
        kernels: tuple[neighbours.Kernel, neighbours.Kernel],
    ) -> None:
        self._measured, self._columns, self._kernels = measured, columns, kernels
        concurrency, self._load_of_row = np.unique(measured.concurrency, return_inverse=True)
        self._pressures, pressure_of_row = np.unique(measured.pressure, return_inverse=True)
        self._octaves = np.log2(concurrency)
        loads, self._at = np.unique(np.stack([self._load_of_row, pressure_of_row]), axis=1, return_inverse=True)
        self._octave_at, self._pressure_at = loads
        self._distinct, self._one = distinct, distinct.of
        self._firsts = np.unique(distinct.of, return_index=True)[1]
        self._away: dict[tuple[str, Any], Array] = {}

    def lean(self, asked: neighbours.Configuration) -> neighbours.Lean:
        """The measurements from one configuration; distances by one feature are worked out once."""
        return neighbours.Lean(
            self._measured,
            columns=self._columns,
            asked=asked,
            kernels=self._kernels,
            distinct=self._distinct,
            known=self._away,
        )

    @cached_property
    def _alike(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """By quantity: likeness of configurations, and of loads; both of shape (parts, ones, ones)."""
        apart = neighbours.pair_distances(
            self._columns.of(self._firsts),
            concurrency=self._measured.concurrency[self._firsts],
            pressures=self._measured.pressure[self._firsts],
        )
        static = [name for name in neighbours.FEATURES if name not in neighbours.OF_LOAD]
        loads = {
            "load": neighbours.smooth(self._octaves[self._octave_at][:, None] - self._octaves[self._octave_at]),
            "pressure": neighbours.smooth(
                self._pressures[self._pressure_at][:, None] - self._pressures[self._pressure_at]
            ),
        }
        tpot, ttft = (
            (
                (kernel.amplitudes**2)[:, None, None] * np.exp(-_exponents(kernel, apart, names=static)),
                np.exp(-_exponents(kernel, loads, names=neighbours.OF_LOAD)),
            )
            for kernel in self._kernels
        )
        return tpot, ttft

    def seen(self, asked: neighbours.Configuration, *, spread: bool) -> tuple[_Seen, _Seen]:
        """TPOT and TTFT from one configuration; ``spread``: whether that of TPOT is wanted, as that of TTFT is."""
        tpot, ttft = self.lean(asked).quantities
        return self._summed(0, tpot, spread=spread), self._summed(1, ttft, spread=True)

    def _summed(self, which: int, one: neighbours.Quantity, *, spread: bool) -> _Seen:
        at, loads = self._at[one.rows], len(self._octave_at)
        weights = [np.bincount(at, weights=part * one.weights, minlength=loads) for part in one.likeness]
        return _Seen(
            weights=np.array(weights),
            likeness=one.likeness[:, one.near],
            at=at[one.near],
            precision=self._precision(which, one.rows[one.near]) if spread else None,
        )

    def _precision(self, which: int, rows: NDArray[np.intp]) -> Array:
        """Inverse of the covariance of some measurements with each other, noise included."""
        ones, loads = self._alike[which]
        one, at = self._one[rows], self._at[rows]
        found = sum(
            part.take(one[:, None] * part.shape[1] + one) * load.take(at[:, None] * load.shape[1] + at)
            for part, load in zip(ones, loads, strict=True)
        )
        found[np.diag_indices(len(rows))] += self._kernels[which].noise ** 2
        return np.asarray(np.linalg.inv(found), dtype=float)

    def corrections(
        self, seen: Sequence[tuple[_Seen, _Seen]], *, places: NDArray[np.intp], concurrency: Array, capacity: Array
    ) -> Corrections:
        """What measurements say at each load.

        Parameters
        ----------
        seen : by configuration
        places : of the configuration of each load, shape (loads,)
        concurrency : requests in the system [1]
        capacity : requests that may run at once [1]

        References
        ----------
        As `neighbours.Lean.at`.
        """
        means, variances = np.zeros((2, len(places))), np.zeros((2, len(places)))
        order = np.argsort(places, kind="stable")
        for begin in range(0, len(order), _LOADS_AT_ONCE):
            some = order[begin : begin + _LOADS_AT_ONCE]
            for which, likeness in enumerate(self._likeness(concurrency[some], capacity[some])):
                for rows, place in _runs(places[some]):
                    one, parts = seen[place][which], [part[:, rows] for part in likeness]
                    means[which, some[rows]] = sum(
                        weights @ part for part, weights in zip(parts, one.weights, strict=True)
                    )
                    variances[which, some[rows]] = self._variance(which, one, parts)
        spreads = np.sqrt(variances)
        tpot, ttft = self._kernels
        return Corrections(
            tpot=np.exp(means[0]),
            ttft=np.exp(means[1] - variances[1] / 2),
            tpot_carried=tpot.carried_each(spreads[0]),
            ttft_carried=ttft.carried_each(spreads[1]),
        )

    def _variance(self, which: int, one: _Seen, likeness: Sequence[Array]) -> Array | float:
        if one.precision is None:
            return 0.0
        kernel = self._kernels[which]
        near = sum(part[one.at] * mine[:, None] for part, mine in zip(likeness, one.likeness, strict=True))
        explained: Array = (near * (one.precision @ near)).sum(axis=0)
        return np.maximum(kernel.variance - explained, 0.0) + kernel.noise**2

    def _likeness(self, concurrency: Array, capacity: Array) -> Iterator[list[Array]]:
        """By quantity and part: likeness of the measured loads to others, shape (measured loads, loads)."""
        asked = np.maximum(concurrency, 1e-3)
        pressures = np.clip(np.log2(asked / np.maximum(capacity, 1e-3)), -1.0, 3.0)
        octaves = neighbours.smooth(self._octaves[:, None] - np.log2(asked))
        over = neighbours.smooth(self._pressures[:, None] - pressures)
        for kernel in self._kernels:
            yield [
                np.exp(octaves * -load)[self._octave_at] * np.exp(over * -pressure)[self._pressure_at]
                for load, pressure in kernel.rates[:, _OF_LOAD]
            ]


def _exponents(kernel: neighbours.Kernel, away: Mapping[str, Array], *, names: Sequence[str]) -> Array:
    """Weighted sums of distances by some features, by part: shape (parts, …)."""
    columns = [neighbours.FEATURES.index(name) for name in names]
    return np.array([sum(rates[one] * away[neighbours.FEATURES[one]] for one in columns) for rates in kernel.rates])


def _runs(places: NDArray[np.intp]) -> Iterator[tuple[slice, int]]:
    """Stretches of equal places."""
    ends = [*(np.flatnonzero(np.diff(places)) + 1).tolist(), len(places)]
    begin = 0
    for end in ends:
        yield slice(begin, end), int(places[begin])
        begin = end
