"""`make calibrate`: fit, cross-validate, store, print."""

from __future__ import annotations

import datetime
import sys
import time

import numpy as np

from planner.catalog import files
from planner.catalog.files import CALIBRATIONS, DATA
from tests.calibration import folds, residuals, write
from tests.calibration.run import COVERED, QUANTITIES, Run, errors, percentages, run, widths


def main() -> int:
    started = time.perf_counter()
    catalog = files.load()
    found = run(catalog)
    print(f"{len(found.all_rows)} rows, {len(found.design.rows)} fitted on; {time.perf_counter() - started:.0f} s")
    lines, leaning, alone = [], {}, {}
    for way in folds.WAYS:
        out = found.left_out(way)
        lines.append(_line(way.label, found, tpot_s=out.tpot_s, ttft_s=out.ttft_s))
        print(lines[-1], f"{time.perf_counter() - started:.0f} s", flush=True)
        leaning[way.name] = widths(found.design, out)
        alone[way.name] = _alone(found, out)
    lines.append(
        _line("coefficients alone, all rows seen", found, tpot_s=found.predicted[0], ttft_s=found.predicted[1])
    )
    print(lines[-1])
    weights = found.weights()
    write.store(
        write.Calibration(
            as_of=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            design=found.design,
            fitted=found.fitted,
            slots=found.fitter.slots,
            predicted=found.predicted,
            kernels=found.kernels,
            weights=weights,
            pressure=residuals.pressure(found.design),
            roofline_intervals={name: alone[name] for name in ("unseen", "seen")},
            leaning_intervals={name: leaning[name] for name in ("unseen", "seen")},
            errors=lines,
        ),
        DATA / CALIBRATIONS,
        catalog=catalog,
    )
    return 0


def _line(label: str, found: Run, *, tpot_s: folds.Array, ttft_s: folds.Array) -> str:
    made = errors(found.design, tpot_s=tpot_s, ttft_s=ttft_s)
    figures = ", ".join("{} {:.1f}/{:.1f}".format(name, *percentages(made[name])) for name in QUANTITIES)
    return f"{label}: {figures} % (median/P90 of the absolute relative error)"


def _alone(found: Run, out: folds.LeftOut) -> dict[str, float]:
    """Half-widths of the roofline alone, as factors: of rows left out together, without the measurements beside it."""
    made = errors(found.design, tpot_s=out.formula_tpot_s, ttft_s=out.formula_ttft_s)
    return {name: float(np.exp(np.quantile(np.abs(made[name]), COVERED))) for name in QUANTITIES}


if __name__ == "__main__":
    sys.exit(main())
