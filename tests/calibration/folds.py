"""Cross-validation: what the errors are on rows that neither coefficients nor measurements have seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.formulas.neighbours import Kernel
from tests.calibration import residuals
from tests.calibration.design import Array, Design
from tests.calibration.fit import Fitter, group

_FOLDS = 5
SEED = 7
"""Folds are drawn once with this seed, which no choice of structure has looked at."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way of leaving out: ``key`` gives what stays together."""

    name: str
    label: str
    key: Callable[[Design, int], object]
    seen: bool


def _sweep(design: Design, index: int) -> tuple[object, ...]:
    row, one = design.rows[index], design.configurations[index]
    return one.shape, one.gpu, one.engine, one.format, one.version, row.layout, one.input, one.output


WAYS = (
    Way("unseen", "LLM, GPU and engine never seen together", group, seen=False),
    Way("unseen_on_gpu", "LLM and GPU never seen together", lambda d, i: group(d, i)[:2], seen=False),
    Way("seen", "sweep over concurrency left out, LLM, GPU and engine seen", _sweep, seen=True),
)


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Predictions of rows that were left out; arrays of shape (rows,)."""

    way: Way
    tpot_s: Array
    ttft_s: Array
    tpot_sd: Array
    ttft_sd: Array
    formula_tpot_s: Array
    """Of the coefficients alone, fitted without the row."""
    formula_ttft_s: Array
    fold: NDArray[np.intp]


def folds(keys: Sequence[object], *, seed: int = SEED) -> NDArray[np.intp]:
    """Fold of each row: what has one key stays together, folds of about equal size."""
    names = sorted({repr(key) for key in keys})
    np.random.default_rng(seed).shuffle(names)
    counts = dict.fromkeys(names, 0)
    for key in keys:
        counts[repr(key)] += 1
    sizes, place = [0] * _FOLDS, {}
    for name in names:
        place[name] = int(np.argmin(sizes))
        sizes[place[name]] += counts[name]
    return np.array([place[repr(key)] for key in keys])


def _shift(quantity: str, spread: Array) -> Array:
    """What the product takes off the logarithm of TTFT (`neighbours.Lean.at`)."""
    return spread**2 / 2 if quantity == "ttft" else np.zeros_like(spread)


def leave_out(
    design: Design,
    *,
    way: Way,
    for_coefficients: NDArray[np.bool_],
    kernels: tuple[Kernel, Kernel],
    distances: residuals.Away,
    seed: int = SEED,
    only: int | None = None,
) -> LeftOut:
    """Predict every row from the others.

    Parameters
    ----------
    design : measured rows
    way : what is left out together
    for_coefficients : rows that coefficients may be fitted on
    kernels : likeness for TPOT and TTFT, found on all rows: 31 numbers each, a choice of form they had a part in
    distances : of the rows from each other
    seed : of the folds
    only : predict the rows of this fold alone; the others stay 0
    """
    fold = folds([way.key(design, index) for index in range(len(design.rows))], seed=seed)
    fitter, rows = Fitter(design), len(design.rows)
    found = {name: np.zeros(rows) for name in ("tpot", "ttft", "tpot_sd", "ttft_sd", "formula_tpot", "formula_ttft")}
    for number in range(_FOLDS) if only is None else (only,):
        out, kept = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        tpot, ttft = fitter.predict(fitter.fit((fold != number) & for_coefficients).values)
        for name, ours, measured, kernel in (
            ("tpot", tpot, design.tpot_s, kernels[0]),
            ("ttft", ttft, design.ttft_s, kernels[1]),
        ):
            left = residuals.cut(np.log(measured / ours), quantity=name)
            trained = residuals.train(distances, left, kernel=kernel, rows=kept)
            expected, spread = residuals.foretell(distances, trained, kernel=kernel, rows=out)
            found[name][out] = ours[out] * np.exp(expected - _shift(name, spread))
            found[f"{name}_sd"][out] = spread
            found[f"formula_{name}"][out] = ours[out]
    return LeftOut(
        way=way,
        tpot_s=found["tpot"],
        ttft_s=found["ttft"],
        tpot_sd=found["tpot_sd"],
        ttft_sd=found["ttft_sd"],
        formula_tpot_s=found["formula_tpot"],
        formula_ttft_s=found["formula_ttft"],
        fold=fold,
    )
