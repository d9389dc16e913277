"""Inputs drawn at random: the same places for every design, so that the difference of two is told closely.

The stream of an input depends on the seed and its name alone (a counter-based generator): another input more or less,
another design or another kind leaves it as it is. Within a batch the places are a Latin hypercube.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from planner.core.dials import Dial

Shape = Literal["triangular", "uniform", "lognormal"]
SHAPES: tuple[Shape, ...] = ("triangular", "uniform", "lognormal")
Array = NDArray[np.float64]
CALIBRATION = "calibration"
"""The stream of what all calibrated figures have in common; no input has this name."""
Z80 = 1.2815515655446004
"""Standard deviations from the middle to the ends of an 80 % range."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The law of an input: its ends, its shape, and where they come from.

    Of ``triangular`` and ``uniform`` nothing lies beyond the ends, and the former is densest at the present value; of
    ``lognormal`` a tenth lies beyond each. ``is_rate`` marks a rate of the machine stated in place of a calibration: it
    shares the stream of all calibrated figures, and is low where those are slow.
    """

    dial: Dial
    low: float
    high: float
    shape: Shape
    source: str
    is_rate: bool = False

    @property
    def stream(self) -> str:
        return CALIBRATION if self.is_rate else self.dial.name

    def at(self, places: Array) -> Array:
        """The values at these places of the law, within the bounds of the input; whole where it is."""
        low, high = self.low, self.high
        places = 1 - places if self.is_rate else places
        if low >= high:
            found = np.full_like(places, low)
        elif self.shape == "lognormal":
            found = lognormal_at(places, low=low, high=high)
        elif self.shape == "triangular":
            found = triangular_at(places, low=low, mode=min(max(float(self.dial.value), low), high), high=high)
        else:
            found = low + (high - low) * places
        found = np.clip(found, self.dial.least, self.dial.most)
        return np.rint(found) if self.dial.is_whole else found


def places(name: str, *, seed: int, batches: int, size: int) -> Array:
    """Places in (0, 1) of one input, batch after batch.

    Parameters
    ----------
    name : of the input
    seed : of all of them
    batches : independent of each other
    size : places of a batch, one in each of so many equal parts

    References
    ----------
    M. D. McKay, R. J. Beckman, W. J. Conover, "A Comparison of Three Methods for Selecting Values of Input Variables
    in the Analysis of Output from a Computer Code", Technometrics 21(2), 1979, doi:10.2307/1268522.
    J. K. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, doi:10.1145/2063384.2063405 (Philox).
    """
    key = (seed % 2**64, int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little"))
    found = []
    for batch in range(batches):
        bits = np.random.Philox(key=np.array(key, dtype=np.uint64), counter=np.array((0, 0, 0, batch), dtype=np.uint64))
        random = np.random.Generator(bits)
        found.append((random.permutation(size) + random.random(size)) / size)
    return np.concatenate(found)


def triangular_at(places: Array, *, low: float, mode: float, high: float) -> Array:
    """Quantiles of the triangular law.

    References
    ----------
    S. Kotz, J. R. van Dorp, "Beyond Beta", World Scientific, 2004, section 1.2, eq. (1.6).

    >>> triangular_at(np.array([0.0, 0.5, 1.0]), low=0.0, mode=1.0, high=2.0).tolist()
    [0.0, 1.0, 2.0]
    """
    width, left = high - low, mode - low
    rising = low + np.sqrt(places * width * left)
    falling = high - np.sqrt((1 - places) * width * (high - mode))
    found: Array = np.where(places < left / width, rising, falling)
    return found


def lognormal_at(places: Array, *, low: float, high: float) -> Array:
    """Quantiles of the log-normal law with its tenth and ninetieth percentile at the ends.

    >>> [round(float(value), 6) for value in lognormal_at(np.array([0.1, 0.5, 0.9]), low=1.0, high=4.0)]
    [1.0, 2.0, 4.0]
    """
    sigma = math.log(high / low) / (2 * Z80)
    found: Array = math.sqrt(low * high) * np.exp(sigma * ndtri(places))
    return found


@dataclass(frozen=True, slots=True)
class Spread:
    """The range of a figure as factors: what it is multiplied with where the machine is slower, and quicker, than
    calibrated by as much as one time in ten."""

    slow: float
    quick: float

    def factors(self, places: Array) -> Array:
        """Log-normal to either side of the figure; straight where a side reaches zero."""
        z = ndtri(places) / Z80
        ends = np.where(z > 0, self.slow, self.quick)
        size = np.abs(z)
        straight = np.maximum(1 + (ends - 1) * size, 0.0)
        found: Array = np.where(ends > 0, np.power(np.maximum(ends, 1e-12), size), straight)
        return found


NO_SPREAD = Spread(1.0, 1.0)
