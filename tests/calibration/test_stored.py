"""Stored files are in step with the code: what the product reads is what a calibration of today would find."""

from __future__ import annotations

import csv
import functools
import math
import re
from pathlib import Path

import numpy as np
import pytest

import planner
from planner.catalog.files import CALIBRATIONS, DATA
from planner.core.catalog import Catalog
from planner.formulas import measurements, neighbours
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import lean, load, sources
from planner.kinds.engine_instance.plan import resolve
from planner.kinds.engine_instance.spec import EngineInstanceSpec
from tests.calibration import fit, residuals, write
from tests.calibration import run as runs
from tests.calibration.design import Design
from tests.calibration.rows import MeasuredRow
from tests.calibration.run import Run

AGAIN = "run `make calibrate` again"


@pytest.fixture(scope="module")
def today(catalog: Catalog) -> Run:
    """One fit, with likeness as it is stored: some ten seconds."""
    return runs.run(catalog, kernels=measurements.library(catalog.table(measurements.TABLE)).kernels)


def product(row: MeasuredRow, catalog: Catalog) -> load.Operation:
    """The row in the product, by its own measurements alone."""
    plan = resolve(EngineInstanceSpec.model_validate(row.spec()), catalog)
    return load.operation(
        plan,
        capacity=load.places(plan, fits.fit(plan)),
        times=sources.calibrated(plan),
        lean=_view(catalog, lean.configuration(plan)),
    )


@functools.cache
def _view(catalog: Catalog, asked: neighbours.Configuration) -> neighbours.Lean:
    return measurements.library(catalog.table(measurements.TABLE)).seen_from(asked)


def test_shapes_are_those_of_the_catalog_today(catalog: Catalog) -> None:
    stored = catalog.calibration("step_time")["shape"]
    assert set(stored) == set(catalog.table("step_time").columns["llm"])
    for slug, shape in stored.items():
        assert shape == pytest.approx(neighbours.shape(catalog.llm(slug)), abs=1e-6), f"{slug}: {AGAIN}"


def test_columns_are_those_the_writer_names_and_cells_are_read(catalog: Catalog) -> None:
    table = catalog.table("step_time")
    assert tuple(table.columns) == write.COLUMNS
    assert {len(column) for column in table.columns.values()} == {table.meta["rows"]}
    with (DATA / CALIBRATIONS / "step_time.csv").open(encoding="utf-8", newline="") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    assert ids == sorted(set(ids))
    for name in ("concurrency", "pressure", "ttft_s", "tpot_s", "weight_tpot", "weight_ttft"):
        assert all(math.isfinite(float(cell)) for cell in table.columns[name]), name


def test_rows_read_back_are_the_configurations_of_the_design(today: Run, catalog: Catalog) -> None:
    found = measurements.library(catalog.table("step_time"))
    places = {row: index for index, row in enumerate(found.table.columns["id"])}
    assert set(places) == {row.id for row in today.design.rows}, AGAIN
    pressures = residuals.pressure(today.design)
    for index, (row, expected) in enumerate(zip(today.design.rows, today.design.configurations, strict=True)):
        read = found.measured.configurations[places[row.id]]
        for name in ("gpu", "generation", "engine", "format", "version", "ranks", "copies", "experts"):
            assert getattr(read, name) == getattr(expected, name), (row.id, name)
        assert (*read.shape, read.input, read.output) == pytest.approx(
            (*expected.shape, expected.input, expected.output), abs=1e-6
        )
        assert found.measured.concurrency[places[row.id]] == row.concurrency
        assert found.measured.pressure[places[row.id]] == pytest.approx(pressures[index], abs=1e-4), AGAIN


def test_stored_coefficients_are_those_of_a_fit_today(today: Run, catalog: Catalog) -> None:
    table = catalog.calibration("roofline")["coefficient"]
    assert set(table) == set(fit.PRIORS)
    values = {
        (slot.name, slot.level): value for slot, value in zip(today.fitter.slots, today.fitted.values, strict=True)
    }
    for name, prior in fit.PRIORS.items():
        common = values.get((name, ""), 0.0)
        # The fit stops where a step no longer pays: a coefficient the rows hardly tell may end a little elsewhere.
        assert math.log(table[name]["value"] or 1.0) == pytest.approx(
            math.log(prior.value or 1.0) + common, abs=0.02
        ), f"{name}: {AGAIN}"
        for axis in ("engine", "generation"):
            for level, value in table[name].get(axis, {}).items():
                own = math.log(prior.of_engines.get(level, prior.value)) + values.get((name, level), 0.0)
                expected = common + own
                assert math.log(value) == pytest.approx(expected, abs=0.02), f"{name}, {level}: {AGAIN}"


def test_the_product_gives_what_the_calibration_gives_for_its_own_rows(today: Run, catalog: Catalog) -> None:
    weights = today.weights()
    everything = np.arange(len(today.design.rows))
    expected = []
    for ours, weight, kernel in zip(today.predicted, weights, today.kernels, strict=True):
        like = np.sum(residuals._parts(kernel, today.distances.part(everything, everything)), axis=0)
        expected.append(ours * np.exp(like @ weight))
    errors = {"tpot": [], "ttft": []}
    for index in everything[:: len(everything) // 60]:
        ready = product(today.design.rows[index], catalog)
        if ready.capacity < 1.0:
            continue
        concurrency = today.design.concurrency[index]
        point, correction = ready.at(concurrency), ready.correction(concurrency)
        errors["tpot"].append(math.log((point.decode_s + point.interference_s) / expected[0][index]))
        lowered = correction.ttft_sd**2 / 2  # the product states the mean of predicted over measured, not the median
        errors["ttft"].append(math.log(point.ttft_s / expected[1][index]) + lowered)
    # Digits of the files, and a fit that stops a little elsewhere.
    assert np.abs(errors["tpot"]).max() < 0.02, AGAIN
    assert np.abs(errors["ttft"]).max() < 0.04, AGAIN


def test_weights_solve_the_stored_system(some: Design, catalog: Catalog) -> None:
    """At its own place a measurement keeps its residual but for noise² times its weight: (K + noise²·I)·w = r."""
    table = catalog.table("step_time")
    found = measurements.library(table)
    places = {row: index for index, row in enumerate(table.columns["id"])}
    for row in some.rows[::4]:
        ready = product(row, catalog)
        if row.id not in places or ready.capacity < 1.0:
            continue
        point = ready.at(row.concurrency)
        correction = ready.correction(row.concurrency)
        index = places[row.id]
        gap_s = point.decode_s + point.interference_s
        left = float(residuals.cut(np.log(row.tpot_s / (gap_s / correction.tpot)), quantity="tpot"))
        kept = found.kernels[0].noise ** 2 * found.measured.weights_tpot[index]
        assert math.log(correction.tpot) == pytest.approx(left - kept, abs=0.01), f"{row.id}: {AGAIN}"


def test_intervals_widen_away_from_what_was_seen(catalog: Catalog) -> None:
    for name in ("roofline", "step_time"):
        interval = catalog.calibration(name)["interval"]
        assert set(interval) == {"seen", "unseen"}
        for quantity in ("tpot", "ttft", "throughput"):
            assert interval["unseen"][quantity] >= interval["seen"][quantity] > 0, (name, quantity)


def test_the_method_states_the_errors_that_cross_validation_gave() -> None:
    head = (DATA / CALIBRATIONS / "roofline.toml").read_text(encoding="utf-8").partition("name =")[0]
    pair = re.compile(r"(\d+\.\d) ?/ ?(\d+\.\d)")
    expected = [pair.findall(line) for line in head.splitlines() if "median/P90" in line]
    assert [len(line) for line in expected] == [3, 3, 3, 3]
    method = (Path(planner.__file__).parent / "kinds" / "engine_instance" / "METHOD.md").read_text(encoding="utf-8")
    rows = method.partition("| left out together |")[2].splitlines()[2:6]
    assert [pair.findall(row) for row in rows] == expected
