"""Made-up measurements for tests of likeness, and a Gaussian process over them written out in a few lines."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.formulas.neighbours import FEATURES, Columns, Configuration, Kernel, Lean, Measurements

Place = tuple[Configuration, float, float]
"""A configuration, its concurrency, and its pressure."""


def place(draw: random.Random) -> Place:
    """Some configuration under some load; few names, so that many rows share them."""
    configuration = Configuration(
        shape=tuple(draw.choice([30.0, 32.5, 36.0]) for _ in range(3)),
        gpu=draw.choice(["one", "two", "three"]),
        generation=draw.choice(["old", "new"]),
        engine=draw.choice(["quick", "steady"]),
        format=draw.choice(["fp8", "bf16"]),
        version=draw.choice(["", "1.0", "2.0"]),
        ranks=float(draw.randint(0, 3)),
        copies=draw.random() < 0.3,
        experts=draw.random() < 0.5,
        input=draw.uniform(7, 13),
        output=draw.uniform(5, 13),
    )
    return configuration, 2.0 ** draw.uniform(0, 10), draw.uniform(-1, 3)


def kernel(draw: random.Random, *, noise: float = 0.1, largest_rate: float = 0.5) -> Kernel:
    """Two parts with rates of their own."""
    rates = [[draw.uniform(0.01, largest_rate) for _ in FEATURES] for _ in range(2)]
    return Kernel(amplitudes=np.array([0.2, 0.4]), rates=np.array(rates), noise=noise)


def rounded(difference: float) -> float:
    return math.sqrt(difference**2 + 0.25) - 0.5


def apart(one: Place, other: Place) -> dict[str, float]:
    """Distances by feature, from their description."""
    (a, load_a, pressure_a), (b, load_b, pressure_b) = one, other
    versions = 0.5 if "" in (a.version, b.version) else 1.0
    return {
        "shape": math.dist(a.shape, b.shape),
        "other_llm": float(a.shape != b.shape),
        "gpu": float(a.gpu != b.gpu),
        "generation": float(a.generation != b.generation),
        "engine": float(a.engine != b.engine),
        "format": float(a.format != b.format),
        "version": versions * (a.version != b.version),
        "ranks": rounded(a.ranks - b.ranks),
        "copies": float(a.copies != b.copies),
        "experts": float(a.experts != b.experts),
        "input": rounded(a.input - b.input),
        "output": rounded(a.output - b.output),
        "load": rounded(math.log2(load_a / load_b)),
        "pressure": rounded(pressure_a - pressure_b),
    }


def alike(one: Place, other: Place, like: Kernel) -> float:
    """Covariance of two residuals, without noise."""
    away = apart(one, other)
    exponents = [sum(rate * away[name] for rate, name in zip(rates, FEATURES, strict=True)) for rates in like.rates]
    return sum(amplitude**2 * math.exp(-e) for amplitude, e in zip(like.amplitudes, exponents, strict=True))


@dataclass(frozen=True)
class PlainProcess:
    """Rasmussen and Williams, equations (2.25) and (2.26), by solving for all rows."""

    rows: Sequence[Place]
    residuals: Sequence[float]
    like: Kernel

    @property
    def covariance(self) -> np.ndarray:
        found = np.array([[alike(one, other, self.like) for other in self.rows] for one in self.rows])
        return found + self.like.noise**2 * np.eye(len(self.rows))

    @property
    def weights(self) -> np.ndarray:
        return np.linalg.solve(self.covariance, np.array(self.residuals))

    def at(self, asked: Place) -> tuple[float, float]:
        """Expected residual and its standard deviation with noise."""
        near = np.array([alike(asked, row, self.like) for row in self.rows])
        known = near @ np.linalg.solve(self.covariance, near)
        return float(near @ self.weights), math.sqrt(self.like.variance - known + self.like.noise**2)


def measurements(rows: Sequence[Place], *, weights: np.ndarray | None = None) -> Measurements:
    nothing = np.zeros(len(rows)) if weights is None else weights
    return Measurements(
        configurations=[row[0] for row in rows],
        concurrency=np.array([row[1] for row in rows]),
        pressure=np.array([row[2] for row in rows]),
        weights_tpot=nothing,
        weights_ttft=nothing,
    )


def columns(rows: Sequence[Place]) -> Columns:
    return measurements(rows).columns


def lean(process: PlainProcess, asked: Place) -> Lean:
    """The product's view of the same rows."""
    measured = measurements(process.rows, weights=process.weights)
    return Lean(measured, columns=measured.columns, asked=asked[0], kernels=(process.like, process.like))


def capacity(asked: Place) -> float:
    """The places that make the load's pressure what it is."""
    return asked[1] / 2.0 ** asked[2]
