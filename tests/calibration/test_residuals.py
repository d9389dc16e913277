"""Likeness by evidence, and weights: against numeric slopes and a process solved plainly."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from planner.formulas import neighbours
from planner.formulas.neighbours import FEATURES
from tests.calibration import residuals
from tests.calibration.design import Design
from tests.formulas import measured


def away(rows: list[measured.Place]) -> residuals.Away:
    found = neighbours.pair_distances(
        measured.columns(rows),
        concurrency=np.array([row[1] for row in rows]),
        pressures=np.array([row[2] for row in rows]),
    )
    return residuals.Away(tuple(found[name].astype(np.float32) for name in FEATURES))


def made(*, seed: int, rows: int) -> tuple[list[measured.Place], np.ndarray, neighbours.Kernel]:
    draw = random.Random(seed)
    places = [measured.place(draw) for _ in range(rows)]
    return places, np.array([draw.gauss(0, 0.4) for _ in places]), measured.kernel(draw)


def logs(kernel: neighbours.Kernel) -> np.ndarray:
    return np.log([*kernel.amplitudes, *kernel.rates.ravel(), kernel.noise])


def test_the_evidence_is_the_density_of_a_normal_vector() -> None:
    places, left, kernel = made(seed=1, rows=30)
    value, _ = residuals._evidence(logs(kernel), left, away(places).by_feature)
    covariance = measured.PlainProcess(rows=places, residuals=list(left), like=kernel).covariance
    expected = 0.5 * left @ np.linalg.solve(covariance, left) + 0.5 * np.linalg.slogdet(covariance)[1]
    # Distances are kept in single precision.
    assert value == pytest.approx(expected, rel=1e-5)


def test_its_slope_is_that_of_differences() -> None:
    places, left, kernel = made(seed=2, rows=30)
    at, features = logs(kernel), away(places).by_feature
    _, slope = residuals._evidence(at, left, features)
    step = 1e-2  # single precision leaves 1e-6 of a value of about 10: differences are good to a thousandth
    for place in range(len(at)):
        aside = np.zeros_like(at)
        aside[place] = step
        upper, lower = (residuals._evidence(at + sign * aside, left, features)[0] for sign in (1, -1))
        assert slope[place] == pytest.approx((upper - lower) / (2 * step), rel=0.01, abs=2e-3), place


def test_numbers_of_a_kernel_come_back_in_their_order() -> None:
    kernel = measured.kernel(random.Random(3))
    found = residuals._kernel(logs(kernel))
    assert found.amplitudes == pytest.approx(kernel.amplitudes)
    assert found.rates == pytest.approx(kernel.rates)
    assert found.noise == pytest.approx(kernel.noise)


def test_likeness_finds_that_an_engine_matters_and_a_version_does_not() -> None:
    """Residuals drawn from a process in which engines share nothing and versions everything; each place twice."""
    draw = random.Random(4)
    places = [measured.place(draw) for _ in range(80)] * 2
    table = [[0.0] * len(FEATURES)]
    table[0][FEATURES.index("engine")] = 3.0
    table[0][FEATURES.index("load")] = 0.2
    true = neighbours.Kernel(np.array([0.4]), np.array(table), noise=0.15)
    covariance = measured.PlainProcess(rows=places, residuals=[], like=true).covariance
    left = np.linalg.cholesky(covariance) @ np.random.default_rng(5).normal(size=len(places))
    found = residuals.likeness(away(places), left, quantity="tpot")
    start = residuals._kernel(residuals._start("tpot"))
    near = int(np.argmax(found.amplitudes))
    engine, version = (FEATURES.index(name) for name in ("engine", "version"))
    assert found.noise == pytest.approx(0.15, rel=0.3)
    assert found.rates[near, engine] > found.rates[near, version]
    value, _ = residuals._evidence(logs(found), left, away(places).by_feature)
    before, _ = residuals._evidence(logs(start), left, away(places).by_feature)
    assert value < before


def test_weights_and_forecast_are_those_of_a_plain_process() -> None:
    places, left, kernel = made(seed=6, rows=40)
    kept, out = np.arange(30), np.arange(30, 40)
    distances = away(places)
    trained = residuals.train(distances, left, kernel=kernel, rows=kept)
    expected, spread = residuals.foretell(distances, trained, kernel=kernel, rows=out)
    plain = measured.PlainProcess(rows=places[:30], residuals=list(left[:30]), like=kernel)
    assert trained.weights == pytest.approx(plain.weights, abs=1e-3, rel=1e-3)
    for place, index in enumerate(out):
        mean, deviation = plain.at(places[index])
        assert expected[place] == pytest.approx(mean, abs=1e-4)
        assert spread[place] == pytest.approx(deviation, rel=1e-4)


def test_residuals_are_cut_on_both_sides() -> None:
    assert list(residuals.cut(np.array([-5.0, 0.3, 5.0]), quantity="tpot")) == [-0.8, 0.3, 0.8]
    assert list(residuals.cut(np.array([-5.0, 5.0]), quantity="ttft")) == [-1.5, 1.5]


def test_distances_of_a_design_know_its_pressures(some: Design) -> None:
    pressures = residuals.pressure(some)
    for load, places, octaves in zip(some.concurrency, some.capacity, pressures, strict=True):
        assert octaves == pytest.approx(min(max(math.log2(load / places), -1.0), 3.0))
    distances = residuals.away(some)
    everything = np.arange(len(some.rows))
    for each in distances.by_feature:
        assert each.shape == (len(some.rows), len(some.rows))
        assert np.array_equal(each, each.T)
        assert not each.diagonal().any()
    part = distances.part(everything[:3], everything[5:7])
    assert all(np.array_equal(small, whole[:3, 5:7]) for small, whole in zip(part, distances.by_feature, strict=True))
