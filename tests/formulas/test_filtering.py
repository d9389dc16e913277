"""Groups all right or all wrong against quadrature and exact fractions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from planner.formulas.filtering import beta_of_mean, share_alike, share_alike_of_rates, work_of_filtering


@pytest.mark.parametrize(("shape", "expected"), [(1.0, 2 / 17), (0.5, 0.27990), (2.0, 0.03509), (0.3, 0.43374)])
def test_groups_of_sixteen(shape: float, expected: float) -> None:
    assert share_alike(group=16, right=shape, wrong=shape) == pytest.approx(expected, abs=6e-6)


def test_unequal_shapes_agree_with_quadrature() -> None:
    law = beta(1.4, 3.2)
    expected = quad(lambda p: (p**8 + (1 - p) ** 8) * law.pdf(p), 0, 1)[0]
    assert share_alike(group=8, right=1.4, wrong=3.2) == pytest.approx(expected)


def test_measured_rates_are_their_mean() -> None:
    rates = np.random.default_rng(1).beta(0.5, 0.5, size=200_000)
    assert share_alike_of_rates(list(rates), group=16) == pytest.approx(0.27990, abs=0.004)


def test_work_is_that_of_the_groups_dropped() -> None:
    assert work_of_filtering(2 / 17) == pytest.approx(17 / 15)
    assert work_of_filtering(0.0) == 1.0
    assert work_of_filtering(1.0) is None


def test_a_mean_and_a_concentration_are_a_law() -> None:
    right, wrong = beta_of_mean(0.3, concentration=4.0)
    assert beta(right, wrong).mean() == pytest.approx(0.3)
