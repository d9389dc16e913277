"""A time as a few values with their chances: sums of independent ones, and their quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """``values`` and how likely each is; chances sum to one."""

    values: Array
    chances: Array

    @property
    def mean(self) -> float:
        return float(self.values @ self.chances)

    def plus(self, other: Law) -> Law:
        """The sum with an independent one."""
        if len(other.values) == 1:
            return self.shifted(float(other.values[0]))
        values = np.add.outer(self.values, other.values).ravel()
        return Law(values, np.multiply.outer(self.chances, other.chances).ravel())

    def shifted(self, by: float) -> Law:
        return Law(self.values + by, self.chances)

    def scaled(self, by: float) -> Law:
        return Law(self.values * by, self.chances)

    def beside(self, value: float, *, chance: float) -> Law:
        """This with a chance, else the value."""
        return Law(np.append(self.values, value), np.append(self.chances * chance, 1 - chance))

    def quantiles(self, probabilities: Sequence[float]) -> tuple[float, ...]:
        """Where so much of the chances lies below, straight between the middles of neighbours."""
        order = np.argsort(self.values)
        middles = np.cumsum(self.chances[order]) - self.chances[order] / 2
        return tuple(float(np.interp(each, middles, self.values[order])) for each in probabilities)
