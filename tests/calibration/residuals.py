"""What the roofline leaves of each measurement, as a Gaussian process: likeness by maximum likelihood, then weights.

The likeness (`planner.formulas.neighbours.Kernel`) is found on a random half of the rows by maximising the marginal
likelihood with a weak prior on the logarithms of its numbers; residuals are cut at `CUT` so that a broken run pulls no
more than a bad one.

References
----------
Rasmussen, Williams, "Gaussian Processes for Machine Learning", 2006, equations (5.8) and (5.9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from planner.formulas import neighbours
from tests.calibration.design import Array, Design

CUT = {"tpot": 0.8, "ttft": 1.5}
_PARTS = 2
_ROWS = 900
_STEPS = 40
_SEED = 20261129
# Where the search starts: a wide part and a near one. Rates are per unit of `neighbours.distances`.
_START_AMPLITUDES = {"tpot": (0.12, 0.20), "ttft": (0.20, 0.40)}
_START_NOISE = {"tpot": 0.05, "ttft": 0.12}
_START_RATES: Mapping[str, tuple[float, float]] = {
    "shape": (0.3, 2.0),
    "other_llm": (0.3, 2.0),
    "gpu": (0.3, 1.0),
    "generation": (0.3, 0.3),
    "engine": (0.5, 2.0),
    "format": (0.3, 1.0),
    "version": (0.1, 0.5),
    "ranks": (0.1, 0.2),
    "copies": (0.2, 0.3),
    "experts": (0.1, 0.2),
    "input": (0.05, 0.1),
    "output": (0.05, 0.1),
    "load": (0.05, 0.1),
    "pressure": (0.1, 0.1),
}


@dataclass(frozen=True, slots=True, eq=False)
class Away:
    """Distances of all rows from each other, by feature, single precision; each of shape (rows, rows)."""

    by_feature: tuple[NDArray[np.float32], ...]

    def part(self, rows: NDArray[np.intp], others: NDArray[np.intp]) -> tuple[NDArray[np.float32], ...]:
        return tuple(each[np.ix_(rows, others)] for each in self.by_feature)


def away(design: Design) -> Away:
    """Distances of the rows of a design."""
    pressures = pressure(design)
    columns = neighbours.Measurements(
        configurations=design.configurations,
        concurrency=design.concurrency,
        pressure=pressures,
        weights_tpot=pressures,
        weights_ttft=pressures,
    ).columns
    found = neighbours.pair_distances(columns, concurrency=design.concurrency, pressures=pressures)
    return Away(tuple(found[name].astype(np.float32) for name in neighbours.FEATURES))


def pressure(design: Design) -> Array:
    """`neighbours.pressure` of every row."""
    return np.array(
        [
            neighbours.pressure(concurrency=concurrency, capacity=capacity)
            for concurrency, capacity in zip(design.concurrency, design.capacity, strict=True)
        ]
    )


def cut(residual: Array, *, quantity: str) -> Array:
    """Residuals no larger than a quantity's limit."""
    found: Array = np.clip(residual, -CUT[quantity], CUT[quantity])
    return found


def likeness(distances: Away, residual: Array, *, quantity: str) -> neighbours.Kernel:
    """The kernel of the largest marginal likelihood, with a weak prior around its start.

    Parameters
    ----------
    distances : of the rows
    residual : logarithms of measured over predicted, cut; shape (rows,)
    quantity : ``tpot`` or ``ttft``
    """
    rows = np.random.default_rng(_SEED).permutation(len(residual))[:_ROWS]
    features = distances.part(rows, rows)
    start = _start(quantity)

    def loss(logs: Array) -> tuple[float, Array]:
        value, slope = _evidence(logs, residual[rows], features)
        return value + 0.5 * float(((logs - start) ** 2).sum()), slope + (logs - start)

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return _kernel(found.x)


def _start(quantity: str) -> Array:
    rates = [_START_RATES[name][part] for part in range(_PARTS) for name in neighbours.FEATURES]
    return np.log([*_START_AMPLITUDES[quantity], *rates, _START_NOISE[quantity]])


def _kernel(logs: Array) -> neighbours.Kernel:
    values = np.exp(logs)
    rates = values[_PARTS:-1].reshape(_PARTS, len(neighbours.FEATURES))
    return neighbours.Kernel(amplitudes=values[:_PARTS], rates=rates, noise=float(values[-1]))


def _evidence(logs: Array, residual: Array, features: tuple[NDArray[np.float32], ...]) -> tuple[float, Array]:
    """Negative logarithm of the marginal likelihood and its slope in the logarithms of the kernel's numbers."""
    kernel = _kernel(logs)
    parts = _parts(kernel, features)
    whole = np.sum(parts, axis=0, dtype=np.float64)
    whole[np.diag_indices_from(whole)] += kernel.noise**2
    factor = cho_factor(whole, lower=True)
    weights = cho_solve(factor, residual)
    value = 0.5 * float(residual @ weights) + float(np.log(np.diag(factor[0])).sum())
    pull = (np.outer(weights, weights) - cho_solve(factor, np.eye(len(residual)))).astype(np.float32)
    slope = np.zeros_like(logs)
    for part, like in enumerate(parts):
        pulled = pull * like
        slope[part] = -float(pulled.sum(dtype=np.float64))
        for place, feature in enumerate(features):
            index = _PARTS + part * len(features) + place
            slope[index] = 0.5 * kernel.rates[part, place] * float(np.vdot(pulled, feature))
    slope[-1] = -(kernel.noise**2) * float(np.trace(pull))
    return value, slope


def _parts(kernel: neighbours.Kernel, features: tuple[NDArray[np.float32], ...]) -> list[NDArray[np.float32]]:
    found = []
    for amplitude, rates in zip(kernel.amplitudes, kernel.rates, strict=True):
        exponent = np.zeros_like(features[0])
        for rate, feature in zip(rates, features, strict=True):
            exponent += np.float32(rate) * feature
        found.append(np.float32(amplitude**2) * np.exp(-exponent))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """Weights of the measured rows of one quantity: a residual anywhere is its likeness to them times the weights."""

    rows: NDArray[np.intp]
    weights: Array
    factor: Array


def train(distances: Away, residual: Array, *, kernel: neighbours.Kernel, rows: NDArray[np.intp]) -> Trained:
    """Weights of some rows."""
    whole = np.sum(_parts(kernel, distances.part(rows, rows)), axis=0, dtype=np.float64)
    whole[np.diag_indices_from(whole)] += kernel.noise**2
    factor, _lower = cho_factor(whole, lower=True)
    return Trained(rows=rows, weights=cho_solve((factor, True), residual[rows]), factor=factor)


def foretell(
    distances: Away, trained: Trained, *, kernel: neighbours.Kernel, rows: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Residual expected of other rows, and its standard deviation with noise; each of shape (rows,)."""
    like = np.sum(_parts(kernel, distances.part(rows, trained.rows)), axis=0, dtype=np.float64)
    known = np.einsum("ij,ji->i", like, cho_solve((trained.factor, True), like.T))
    variance = np.maximum(kernel.variance - known, 0.0) + kernel.noise**2
    return like @ trained.weights, np.sqrt(variance)
