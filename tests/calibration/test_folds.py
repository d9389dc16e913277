"""Leaving out: what belongs together stays together, every row is out once, and nothing of it is used."""

from __future__ import annotations

import numpy as np
import pytest

from planner.core.catalog import Catalog
from planner.formulas.neighbours import Kernel
from tests.calibration import folds, residuals
from tests.calibration.design import Design
from tests.calibration.fit import Fitter


@pytest.fixture(scope="module")
def kernels(catalog: Catalog) -> tuple[Kernel, Kernel]:
    table = catalog.calibration("step_time")["kernel"]
    return Kernel.read(table["tpot"]), Kernel.read(table["ttft"])


@pytest.mark.parametrize("way", folds.WAYS, ids=lambda way: way.name)
def test_folds_keep_together_what_must_not_be_seen_and_cover_all_rows(way: folds.Way, some: Design) -> None:
    keys = [way.key(some, index) for index in range(len(some.rows))]
    fold = folds.folds(keys)
    assert len(fold) == len(some.rows)
    assert set(fold) == set(range(5))
    for key in set(keys):
        assert len({number for number, each in zip(fold, keys, strict=True) if each == key}) == 1


def test_folds_are_drawn_anew_by_another_seed_and_alike_by_the_same() -> None:
    keys = [f"group {number // 3}" for number in range(90)]
    assert list(folds.folds(keys)) == list(folds.folds(keys))
    assert list(folds.folds(keys, seed=1)) != list(folds.folds(keys, seed=2))
    sizes = np.bincount(folds.folds(keys))
    assert list(sizes) == [18] * 5  # thirty groups of three in five folds


def test_what_is_never_seen_together_shares_no_fold_with_itself(some: Design) -> None:
    ways = {way.name: way for way in folds.WAYS}
    for index in range(len(some.rows)):
        replica, on_gpu, sweep = (ways[name].key(some, index) for name in ("unseen", "unseen_on_gpu", "seen"))
        assert replica[:2] == on_gpu  # type: ignore[index]
        assert sweep[:3] == replica  # type: ignore[index]


def test_a_row_left_out_has_no_part_in_its_own_prediction(
    some: Design, kernels: tuple[Kernel, Kernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures of one fold are made absurd: its predictions stay, those of the other folds do not."""
    monkeypatch.setattr(Fitter, "fit", _cheap_fit)
    way = folds.WAYS[0]
    distances, usable = residuals.away(some), np.ones(len(some.rows), dtype=bool)
    before = folds.leave_out(some, way=way, for_coefficients=usable, kernels=kernels, distances=distances)
    out = before.fold == 0
    tpot, ttft = some.tpot_s.copy(), some.ttft_s.copy()
    some.tpot_s[out] *= 1.5
    some.ttft_s[out] *= 0.5
    try:
        after = folds.leave_out(some, way=way, for_coefficients=usable, kernels=kernels, distances=distances)
    finally:
        some.tpot_s[:], some.ttft_s[:] = tpot, ttft
    for name in ("tpot_s", "ttft_s", "tpot_sd", "ttft_sd", "formula_tpot_s", "formula_ttft_s"):
        assert np.array_equal(getattr(before, name)[out], getattr(after, name)[out]), name
    assert not np.array_equal(before.tpot_s[~out], after.tpot_s[~out])


def _cheap_fit(fitter: Fitter, train: np.ndarray) -> object:
    """Stands for the fit: one number that depends on every row it may see."""
    design = fitter._design
    value = float(np.log(design.tpot_s[train]).mean() + np.log(design.ttft_s[train]).mean()) / 100
    return type("Found", (), {"values": np.full(len(fitter.slots), value)})()


def test_points_of_ttft_are_lowered_as_the_product_lowers_them() -> None:
    spread = np.array([0.0, 0.4])
    assert list(folds._shift("tpot", spread)) == [0, 0]
    assert folds._shift("ttft", spread) == pytest.approx([0, 0.08])
