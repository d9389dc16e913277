"""The fitter: its loss by its definition, and coefficients found again from times that the formulas made."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from planner.formulas.calibration import Coefficients
from tests.calibration import fit
from tests.calibration.design import Design
from tests.calibration.fit import PRIORS, Fitter


def test_the_loss_is_quadratic_near_and_linear_far() -> None:
    near, far = np.array([1e-4, -1e-4]), np.array([1e3, -1e3])
    assert fit.pseudo_huber(near) == pytest.approx(near)
    # Half the square is the pseudo-Huber loss √(1 + r²) − 1, which nears |r| − 1.
    assert fit.pseudo_huber(far) ** 2 / 2 == pytest.approx(np.abs(far) - 1, rel=1e-6)
    assert list(np.sign(fit.pseudo_huber(far))) == [1, -1]
    middle = np.array([0.5, 2.0])
    assert fit.pseudo_huber(middle) ** 2 / 2 == pytest.approx([math.sqrt(1.25) - 1, math.sqrt(5) - 1])


def test_a_group_of_four_weighs_twice_a_group_of_one() -> None:
    weights = fit.row_weights(["a"] * 4 + ["b"])
    assert weights.mean() == pytest.approx(1)
    assert weights[:4].sum() == pytest.approx(2 * weights[4])


def test_every_coefficient_has_a_prior_and_only_those(some: Design) -> None:
    assert set(PRIORS) == {field.name for field in fields(Coefficients)}
    named = {slot.name for slot in fit.slots()}
    assert named == {name for name, prior in PRIORS.items() if prior.fitted}
    at_start = Fitter(some).coefficients(np.zeros(len(fit.slots())))
    for name, prior in PRIORS.items():
        assert np.all(np.asarray(getattr(at_start, name)) == prior.value), name


def test_effects_of_an_engine_reach_its_rows_alone(some: Design) -> None:
    fitter = Fitter(some)
    values = np.zeros(len(fitter.slots))
    place = next(
        index for index, slot in enumerate(fitter.slots) if (slot.name, slot.level) == ("weights_read", "sglang")
    )
    values[place] = math.log(2)
    read = np.asarray(fitter.coefficients(values).weights_read)
    expected = [2.0 if row.engine == "sglang" else 1.0 for row in some.rows]
    assert read == pytest.approx(expected)
    assert {1.0, 2.0} == set(expected)


def test_coefficients_are_found_again_from_times_that_the_formulas_made(some: Design) -> None:
    """Times of known coefficients with 2 % of noise: the fit must explain them and bring each nearer than its prior."""
    draw = np.random.default_rng(8)
    fitter = Fitter(some)
    scale = np.array([slot.spread for slot in fitter.slots])
    true = draw.normal(size=len(scale)) * scale / 2
    clean = fitter.predict(true)
    noisy = [times * np.exp(0.02 * draw.normal(size=len(times))) for times in clean]
    synthetic = Fitter(replace(some, tpot_s=noisy[0], ttft_s=noisy[1]))
    seen = np.arange(len(some.rows)) % 4 != 0
    found = synthetic.fit(seen)
    # Priors pull, so what is left is not the noise alone: a fifth of the residual at which the loss turns linear.
    for ours, expected, turn in zip(
        synthetic.predict(found.values), clean, (fit.SCALE_TPOT, fit.SCALE_TTFT), strict=True
    ):
        errors = np.abs(np.log(ours / expected))
        assert np.median(errors) < turn / 5
        assert np.median(errors[~seen]) < turn / 5  # rows it never saw
    # Spreads are those of noise at the loss's scale, 0.12 and 0.30; the noise here is a sixth of it and less.
    assert np.all(np.abs(found.values - true) < 3 * found.spreads)
    assert np.linalg.norm((found.values - true) / scale) < 0.8 * np.linalg.norm(true / scale)
    for name in ("weights_read", "latent_layer_s", "first_token_s", "prefill_experts", "queue"):
        ours, expected = (np.asarray(getattr(fitter.coefficients(each), name)) for each in (found.values, true))
        before = np.abs(np.log(PRIORS[name].value / expected)).max()
        assert np.abs(np.log(ours / expected)).max() < before, name


def test_what_the_rows_cannot_tell_keeps_the_spread_of_its_prior(some: Design) -> None:
    """A fit on rows of dense LLMs says nothing of experts: value and spread stay the prior's."""
    dense = np.array([row.llm in ("llama-3-1-70b", "llama-3-1-8b", "qwen3-32b") for row in some.rows])
    fitter = Fitter(some)
    found = fitter.fit(dense)
    for index, slot in enumerate(fitter.slots):
        if slot.name in ("experts_read", "expert_agreement", "prefill_experts", "sparse_layer_s", "latent_layer_s"):
            assert found.values[index] == pytest.approx(0, abs=1e-6), slot
            assert found.spreads[index] == pytest.approx(slot.spread, rel=1e-3), slot
