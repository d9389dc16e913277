"""What measurements of like replicas add to a formula: a Gaussian process over its logarithmic residuals.

A formula is a prior; where replicas like the one asked for were measured, the answer leans on what was left of them.
Likeness falls exponentially with a weighted sum of distances (`distances`), in two parts: one wide (an engine, an
LLM), one near (the same sweep). Weights, amplitudes and noise come from ``calibrations/step_time.toml``.

References
----------
Rasmussen, Williams, "Gaussian Processes for Machine Learning", 2006, equations (2.25), (2.26); the distances are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.core.catalog import Gpu, Llm
from planner.formulas import attention, memory
from planner.formulas.calibration import generation
from planner.formulas.elementwise import largest_few
from planner.formulas.traffic import Layout

Array = NDArray[np.float64]

FEATURES = (
    "shape",
    "other_llm",
    "gpu",
    "generation",
    "engine",
    "format",
    "version",
    "ranks",
    "copies",
    "experts",
    "input",
    "output",
    "load",
    "pressure",
)
OF_LOAD = ("load", "pressure")
_UNKNOWN_VERSION = 0.5
_MEASURED = (1.5, 2.5)
_KEPT = 64
"""Nearest rows that the variance is worked out from."""
_FORGOTTEN = 1e-5
"""Rows less like than this share of the amplitude are left out: they move nothing."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A replica and the lengths of its requests, as far as likeness asks."""

    shape: tuple[float, ...]
    gpu: str
    generation: str
    engine: str
    format: str
    version: str
    ranks: float
    copies: bool
    experts: bool
    input: float
    output: float


def configuration(
    llm: Llm,
    gpu: Gpu,
    *,
    engine: str,
    version: str | None,
    weight_dtype: str,
    layout: Layout,
    input_tokens: float,
    output_tokens: float,
) -> Configuration:
    """Describe a replica under requests of these lengths.

    Parameters
    ----------
    llm, gpu : catalog entries
    engine, version : slug and version; None or "" where the version is not known
    weight_dtype : number format of the weights
    layout : placement
    input_tokens, output_tokens : mean lengths [tokens]
    """
    return Configuration(
        shape=shape(llm),
        gpu=gpu.slug,
        generation=generation(gpu),
        engine=engine.replace("-", "_"),
        format=_format(weight_dtype),
        version=version or "",
        ranks=math.log2(layout.stage_gpus),
        copies=layout.data_parallel > 1,
        experts=layout.expert_parallel > 1,
        input=math.log2(max(input_tokens, 1.0)),
        output=math.log2(max(output_tokens, 1.0)),
    )


def _format(weight_dtype: str) -> str:
    """Four-bit floats are one class: MXFP4 and NVFP4 differ by their scales alone."""
    name = memory.dtype_name(weight_dtype)
    return {"mxfp4": "fp4", "nvfp4": "fp4", "fp16": "bf16", "fp32": "bf16"}.get(name, name)


def shape(llm: Llm) -> tuple[float, ...]:
    """An LLM as a point: LLMs of one shape are one LLM to an engine, whatever their names.

    Returns
    -------
    tuple of float
        logarithms (base 2) of total and active parameters, layers, width and half that of cache a token; 2 for experts,
        latent attention, recurrent layers, windows; 1 for a sparse indexer
    """
    counts = memory.parameters(llm)
    cache = attention.kv_bytes_per_token(llm, dtype_bytes=2.0)
    return (
        math.log2(counts["total"]),
        math.log2(counts["active"]),
        math.log2(llm.layers),
        math.log2(llm.hidden),
        2.0 * bool(llm.moe),
        2.0 * bool(llm.mla),
        2.0 * bool(llm.linear),
        2.0 * bool(llm.sliding),
        1.0 * bool(llm.sparse_top_k),
        math.log2(max(cache, 1.0)) / 2,
    )


@dataclass(frozen=True, slots=True)
class Kernel:
    """Likeness of residuals: two parts, each ``amplitude² · exp(−Σ rate · distance)``, and noise.

    ``rates`` has shape (parts, features), in the order of `FEATURES`.
    """

    amplitudes: Array
    rates: Array
    noise: float

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Kernel:
        """From a table with ``amplitude``, ``noise`` and a list of rates by feature."""
        rates = [[float(table["rate"][name][part]) for name in FEATURES] for part in range(len(table["amplitude"]))]
        return cls(np.array(table["amplitude"], dtype=float), np.array(rates), float(table["noise"]))

    @property
    def variance(self) -> float:
        """Of a residual far from all measurements."""
        return float((self.amplitudes**2).sum())

    def carried(self, sd: float) -> float:
        """How far a spread is from that of a measured replica: 0 up to 1.5 times the noise, 1 from 2.5 times."""
        low, high = _MEASURED
        return min(max((sd / self.noise - low) / (high - low), 0.0), 1.0)

    def carried_each(self, sd: Array) -> Array:
        """As `carried`, of many spreads."""
        low, high = _MEASURED
        found: Array = np.clip((sd / self.noise - low) / (high - low), 0.0, 1.0)
        return found


_NAMES = ("gpu", "generation", "engine", "format", "version", "copies", "experts")
_SIZES = ("ranks", "input", "output")


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """Measured configurations with what the formula left of each; columns of shape (rows,)."""

    configurations: Sequence[Configuration]
    concurrency: Array
    pressure: Array
    weights_tpot: Array
    weights_ttft: Array

    def distinct(self) -> Distinct:
        """The configurations that differ, in the order they come."""
        places = {one: place for place, one in enumerate(dict.fromkeys(self.configurations))}
        of = np.array([places[one] for one in self.configurations], dtype=np.intp)
        return Distinct(self.columns.of(np.unique(of, return_index=True)[1]), of)

    @property
    def columns(self) -> Columns:
        """The configurations by feature, names as numbers."""
        rows = self.configurations
        names = {name: sorted({getattr(row, name) for row in rows}) for name in _NAMES}
        codes = {name: {value: code for code, value in enumerate(values)} for name, values in names.items()}
        return Columns(
            codes=codes,
            values={
                "shape": np.array([row.shape for row in rows]),
                **{name: np.array([codes[name][getattr(row, name)] for row in rows]) for name in _NAMES},
                **{name: np.array([getattr(row, name) for row in rows]) for name in _SIZES},
            },
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of shape (rows,) by feature; ``codes`` gives the number of a name."""

    codes: Mapping[str, Mapping[Any, int]]
    values: Mapping[str, Array]

    def of(self, rows: NDArray[np.intp]) -> Columns:
        """Some of the rows."""
        return Columns(codes=self.codes, values={name: column[rows] for name, column in self.values.items()})

    def unknown(self) -> NDArray[np.bool_]:
        """Where the version is not known."""
        found: NDArray[np.bool_] = self.values["version"] == self.codes["version"].get("", -1)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """Configurations that differ, and for each measurement which of them is its own: without the load all of one are
    alike.
    """

    columns: Columns
    of: NDArray[np.intp]


def distances(
    asked: Configuration, columns: Columns, *, known: dict[tuple[str, Any], Array] | None = None
) -> dict[str, Array]:
    """Distance of a configuration from each of many, by feature (those of the load are in `load_distances`).

    ``known`` keeps those of a feature by its value, for whoever asks from many configurations.
    """
    known = {} if known is None else known
    found = {}
    for name in ("shape", "other_llm", *_NAMES, *_SIZES):
        key = name, getattr(asked, "shape" if name == "other_llm" else name)
        if key not in known:
            known[key] = _distance(name, key[1], columns)
        found[name] = known[key]
    return found


def _distance(name: str, value: Any, columns: Columns) -> Array:
    """Distance of a value from each of many by one feature."""
    values = columns.values
    if name in ("shape", "other_llm"):
        away: Array = np.sqrt(((values["shape"] - np.array(value)) ** 2).sum(axis=1))
        return away if name == "shape" else (away > 1e-4).astype(float)
    if name in _SIZES:
        return smooth(values[name] - value)
    away = (values[name] != columns.codes[name].get(value, -1)).astype(float)
    if name == "version":
        away *= np.where(columns.unknown() | (value == ""), _UNKNOWN_VERSION, 1.0)
    return away


def load_distances(
    concurrency: float, pressure: float, *, to_concurrency: Array, to_pressure: Array
) -> dict[str, Array]:
    """Distance of one load from many: octaves of concurrency, and of concurrency over capacity."""
    octaves = np.log2(to_concurrency) - math.log2(max(concurrency, 1e-3))
    return {"load": smooth(octaves), "pressure": smooth(to_pressure - pressure)}


def pressure(*, concurrency: float, capacity: float) -> float:
    """How far the requests in the system exceed the places: octaves, from −1 to 3."""
    return float(np.clip(math.log2(max(concurrency, 1e-3) / max(capacity, 1e-3)), -1.0, 3.0))


def smooth(difference: Array) -> Array:
    """Absolute difference, rounded at zero so that curves over it have no kinks."""
    away: Array = np.sqrt(difference * difference + 0.25) - 0.5
    return away


@dataclass(frozen=True, slots=True)
class Correction:
    """What measurements say of a formula: factors to multiply with, and the spread of the logarithm of what is left."""

    tpot: float
    ttft: float
    tpot_sd: float
    ttft_sd: float
    tpot_carried: float = 1.0
    """0 where it rests on measurements of this very replica, 1 where it is carried over from others."""
    ttft_carried: float = 1.0


@dataclass(frozen=True)
class Quantity:
    """One quantity's kernel over the measurements that are like the configuration at all."""

    kernel: Kernel
    rows: NDArray[np.intp]
    likeness: Array
    """Without the load; shape (parts, rows)."""
    weights: Array
    near: NDArray[np.intp]
    """Places in ``rows`` of those most alike, which the variance is worked out from."""
    between: Callable[[NDArray[np.intp], Kernel], Array]
    """Covariance of measurements with each other."""

    @cached_property
    def precision(self) -> Array:
        """Inverse of the covariance of those; only a correction asks for it, not who looks for the nearest."""
        return np.asarray(np.linalg.inv(self.between(self.rows[self.near], self.kernel)), dtype=float)

    def like(self, loads: Mapping[str, Array]) -> Array:
        """Covariance with each row at a load, shape (rows,)."""
        exponent = np.zeros_like(self.likeness)
        for name in OF_LOAD:
            exponent += self.kernel.rates[:, FEATURES.index(name)][:, None] * loads[name][self.rows][None, :]
        found: Array = (self.likeness * np.exp(-exponent)).sum(axis=0)
        return found

    def residual(self, loads: Mapping[str, Array]) -> tuple[float, float]:
        """Expected residual and its standard deviation, noise included."""
        like = self.like(loads)
        near = like[self.near]
        variance = max(self.kernel.variance - float(near @ self.precision @ near), 0.0)
        return float(like @ self.weights), math.sqrt(variance + self.kernel.noise**2)


class Lean:
    """Measurements seen from one configuration: what they add at any load.

    Parameters
    ----------
    measured : all measurements
    columns : ``measured.columns``, worked out once
    asked : the configuration
    kernels : of TPOT and of TTFT
    distinct : ``measured.distinct()``, worked out once; None: each has a configuration of its own
    known : distances by feature and value, for whoever asks from many configurations (see `distances`)
    """

    def __init__(
        self,
        measured: Measurements,
        *,
        columns: Columns,
        asked: Configuration,
        kernels: tuple[Kernel, Kernel],
        distinct: Distinct | None = None,
        known: dict[tuple[str, Any], Array] | None = None,
    ) -> None:
        self._measured, self._columns = measured, columns
        one = Distinct(columns, np.arange(len(measured.concurrency))) if distinct is None else distinct
        self._of, self._away = one.of, distances(asked, one.columns, known=known)
        self._kernels = kernels

    @cached_property
    def _tpot(self) -> Quantity:
        return self._quantity(self._kernels[0], self._measured.weights_tpot)

    @cached_property
    def _ttft(self) -> Quantity:
        return self._quantity(self._kernels[1], self._measured.weights_ttft)

    @property
    def quantities(self) -> tuple[Quantity, Quantity]:
        """TPOT and TTFT."""
        return self._tpot, self._ttft

    @property
    def seen(self) -> int:
        """Measurements of an LLM of this shape on this GPU and engine in this format."""
        same = np.ones(len(self._away["shape"]), dtype=bool)
        for name in ("other_llm", "gpu", "engine", "format"):
            same &= self._away[name] == 0
        return int(same[self._of].sum())

    def at(self, *, concurrency: float, capacity: float) -> Correction:
        """What measurements say at one load.

        Notes
        -----
        The factor on TPOT is the median, that on TTFT, whose residuals are wide, is set so that predicted over measured
        is one on average: ``exp(mean − sd²/2)`` of a lognormal.

        References
        ----------
        Rasmussen, Williams, "Gaussian Processes for Machine Learning", 2006, equations (2.25) and (2.26).
        """
        loads = self._loads(concurrency=concurrency, capacity=capacity)
        tpot, tpot_sd = self._tpot.residual(loads)
        ttft, ttft_sd = self._ttft.residual(loads)
        return Correction(
            tpot=math.exp(tpot),
            ttft=math.exp(ttft - ttft_sd**2 / 2),
            tpot_sd=tpot_sd,
            ttft_sd=ttft_sd,
            tpot_carried=self._tpot.kernel.carried(tpot_sd),
            ttft_carried=self._ttft.kernel.carried(ttft_sd),
        )

    def nearest(self, *, concurrency: float, capacity: float) -> tuple[int, float] | None:
        """The measurement most like this load and how far it is; None where none is like it at all."""
        few = self.nearest_few(concurrency=concurrency, capacity=capacity, count=1)
        return few[0] if few else None

    def nearest_few(self, *, concurrency: float, capacity: float, count: int) -> list[tuple[int, float]]:
        """Rows most like this load with their distances: 0 the same configuration, 1 a likeness of 1/e."""
        like = self._tpot.like(self._loads(concurrency=concurrency, capacity=capacity))
        best = largest_few(like, count=count)
        shares = like[best] / self._tpot.kernel.variance
        return [
            (int(self._tpot.rows[place]), max(-math.log(max(float(share), 1e-12)), 0.0))
            for place, share in zip(best, shares, strict=True)
        ]

    def _loads(self, *, concurrency: float, capacity: float) -> dict[str, Array]:
        return load_distances(
            concurrency,
            pressure(concurrency=concurrency, capacity=capacity),
            to_concurrency=self._measured.concurrency,
            to_pressure=self._measured.pressure,
        )

    def _quantity(self, kernel: Kernel, weights: Array) -> Quantity:
        static = [name for name in FEATURES if name not in OF_LOAD]
        stacked = np.stack([self._away[name] for name in static])
        rates = kernel.rates[:, [FEATURES.index(name) for name in static]]
        likeness = (kernel.amplitudes**2)[:, None] * np.exp(-rates @ stacked)
        alike = likeness.sum(axis=0)[self._of]
        rows = np.flatnonzero(alike > _FORGOTTEN * kernel.variance)
        near = largest_few(alike[rows], count=_KEPT)
        return Quantity(
            kernel=kernel,
            rows=rows,
            likeness=likeness[:, self._of[rows]],
            weights=weights[rows],
            near=near,
            between=self._between,
        )

    def _between(self, rows: NDArray[np.intp], kernel: Kernel) -> Array:
        """Covariance of some measurements with each other, noise included."""
        return covariance(
            self._columns.of(rows),
            concurrency=self._measured.concurrency[rows],
            pressures=self._measured.pressure[rows],
            kernel=kernel,
        )


def pair_distances(columns: Columns, *, concurrency: Array, pressures: Array) -> dict[str, Array]:
    """Distances of all measurements from each other, by feature; each of shape (rows, rows)."""

    def apart(values: Array) -> Array:
        return smooth(values[:, None] - values[None, :])

    points = columns.values["shape"]
    squares = (points**2).sum(axis=1)
    away = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * points @ points.T, 0.0))
    away[away < 1e-4] = 0.0
    found = {"shape": away, "other_llm": (away > 0).astype(float)}
    for name in _NAMES:
        codes = columns.values[name]
        found[name] = (codes[:, None] != codes[None, :]).astype(float)
    unknown = columns.unknown()
    found["version"] *= np.where(unknown[:, None] | unknown[None, :], _UNKNOWN_VERSION, 1.0)
    found |= {name: apart(columns.values[name]) for name in _SIZES}
    return found | {"load": apart(np.log2(concurrency)), "pressure": apart(pressures)}


def covariance(columns: Columns, *, concurrency: Array, pressures: Array, kernel: Kernel) -> Array:
    """Covariance of measured residuals, noise on the diagonal; shape (rows, rows).

    Notes
    -----
    ``Σ_parts amplitude² · exp(−Σ_features rate · distance) + noise² · I``.

    References
    ----------
    Rasmussen, Williams, "Gaussian Processes for Machine Learning", 2006, equation (2.20).
    """
    away = pair_distances(columns, concurrency=concurrency, pressures=pressures)
    found = np.zeros((len(concurrency), len(concurrency)))
    for amplitude, rates in zip(kernel.amplitudes, kernel.rates, strict=True):
        exponent = sum(rate * away[name] for rate, name in zip(rates, FEATURES, strict=True))
        found += amplitude**2 * np.exp(-exponent)
    found[np.diag_indices_from(found)] += kernel.noise**2
    return found
