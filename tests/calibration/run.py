"""One calibration from the measured rows to what is stored, and the rows left out on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.catalog.files import DATA
from planner.core.catalog import Catalog
from planner.formulas.neighbours import Kernel
from tests.calibration import design as designs
from tests.calibration import folds, residuals, rows
from tests.calibration.design import Array, Design
from tests.calibration.fit import Fit, Fitter

MEASURED = DATA / "measured" / "silicon_sample.csv"
QUANTITIES = ("tpot", "ttft", "throughput")
COVERED = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """``all_rows`` of the file with reasons, the ``design`` of those without, and what was fitted on them."""

    all_rows: Sequence[rows.MeasuredRow]
    design: Design
    for_coefficients: NDArray[np.bool_]
    fitted: Fit
    fitter: Fitter
    predicted: tuple[Array, Array]
    distances: residuals.Away
    kernels: tuple[Kernel, Kernel]

    def left_out(self, way: folds.Way, *, only: int | None = None) -> folds.LeftOut:
        """Predictions of rows left out in a way, of one fold or of all."""
        return folds.leave_out(
            self.design,
            way=way,
            for_coefficients=self.for_coefficients,
            kernels=self.kernels,
            distances=self.distances,
            only=only,
        )

    def weights(self) -> tuple[Array, Array]:
        """Weights of all rows, for TPOT and TTFT."""
        everything = np.arange(len(self.design.rows))
        tpot, ttft = (
            residuals.train(
                self.distances, _left(measured, ours, quantity=name), kernel=kernel, rows=everything
            ).weights
            for name, measured, ours, kernel in zip(
                ("tpot", "ttft"),
                (self.design.tpot_s, self.design.ttft_s),
                self.predicted,
                self.kernels,
                strict=True,
            )
        )
        return tpot, ttft


def _left(measured: Array, ours: Array, *, quantity: str) -> Array:
    return residuals.cut(np.log(measured / ours), quantity=quantity)


def measured_rows(catalog: Catalog, *, path: Path = MEASURED) -> tuple[list[rows.MeasuredRow], Design]:
    """All rows of the file with the reasons that set some aside, and the design of the others."""
    read = rows.read(path, catalog=catalog)
    candidates = [row for row in read if not row.reasons]
    checked = {row.id: row for row in designs.sorted_out(candidates, designs.design(candidates, catalog=catalog))}
    every = [checked.get(row.id, row) for row in read]
    return every, designs.design([row for row in every if not row.reasons], catalog=catalog)


def run(catalog: Catalog, *, kernels: tuple[Kernel, Kernel] | None = None) -> Run:
    """Fit coefficients and likeness on all rows; with ``kernels`` given, likeness is taken as it is."""
    every, design = measured_rows(catalog)
    usable = np.array([not row.has_drafts for row in design.rows])
    fitter = Fitter(design)
    fitted = fitter.fit(usable)
    predicted = fitter.predict(fitted.values)
    distances = residuals.away(design)
    if kernels is None:
        tpot, ttft = (
            residuals.likeness(distances, _left(measured, ours, quantity=name), quantity=name)
            for name, measured, ours in zip(("tpot", "ttft"), (design.tpot_s, design.ttft_s), predicted, strict=True)
        )
        kernels = (tpot, ttft)
    return Run(
        all_rows=every,
        design=design,
        for_coefficients=usable,
        fitted=fitted,
        fitter=fitter,
        predicted=predicted,
        distances=distances,
        kernels=kernels,
    )


def errors(design: Design, *, tpot_s: Array, ttft_s: Array) -> Mapping[str, Array]:
    """Logarithms of predicted over measured, by quantity."""
    ours = designs.throughput(design, ttft_s=ttft_s, tpot_s=tpot_s)
    return {
        "tpot": np.log(tpot_s / design.tpot_s),
        "ttft": np.log(ttft_s / design.ttft_s),
        "throughput": np.log(ours / design.throughput),
    }


def throughputs(design: Design, out: folds.LeftOut) -> Array:
    """Output tokens a second that predicted times mean, of every row."""
    return designs.throughput(design, ttft_s=np.maximum(out.ttft_s, 1e-9), tpot_s=out.tpot_s)


def spreads(out: folds.LeftOut) -> Mapping[str, Array]:
    """Standard deviation expected of each error: a throughput is as sure as its TPOT."""
    return {"tpot": out.tpot_sd, "ttft": out.ttft_sd, "throughput": out.tpot_sd}


def widths(design: Design, out: folds.LeftOut, *, rows: NDArray[np.bool_] | None = None) -> dict[str, float]:
    """Multiples of the spread that hold 80 % of the errors of rows left out, of some or of all of them."""
    made, expected = errors(design, tpot_s=out.tpot_s, ttft_s=out.ttft_s), spreads(out)
    chosen = slice(None) if rows is None else rows
    return {name: float(np.quantile((np.abs(made[name]) / expected[name])[chosen], COVERED)) for name in QUANTITIES}


def stored_kernels(catalog: Catalog) -> tuple[Kernel, Kernel]:
    """The likeness that was stored by the last calibration."""
    table = catalog.calibration("step_time")["kernel"]
    return Kernel.read(table["tpot"]), Kernel.read(table["ttft"])


def percentages(log_errors: Array) -> tuple[float, float]:
    """Median and P90 of the absolute relative error [%]."""
    relative = np.abs(np.expm1(log_errors)) * 100
    return float(np.median(relative)), float(np.percentile(relative, 90))
