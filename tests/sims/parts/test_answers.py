from __future__ import annotations

import math

import numpy as np
import pytest

from sims.engine.streams import stream
from sims.parts.answers import Lengths, Measured, Problems
from sims.parts.lengths import capped_mean_tokens, median_for_mean


@pytest.mark.parametrize(
    ("cap", "cv", "median", "at_cap", "realised_cv"),
    [
        (16_000, 1.0, 6818, 0.153, 0.608),
        (32_000, 0.5, 7159, 0.0008, 0.497),
        (32_000, 1.0, 5854, 0.0207, 0.845),
        (32_000, 1.5, 4992, 0.0435, 1.012),
        (65_536, 1.0, 5680, 0.0017, 0.961),
    ],
)
def test_a_capped_law_keeps_its_mean(cap: int, cv: float, median: int, at_cap: float, realised_cv: float) -> None:
    """The notes' table of log-normal lengths with a mean of 8,000 after the cap."""
    sigma = math.sqrt(math.log1p(cv * cv))
    found = median_for_mean(8000.0, sigma=sigma, most_tokens=cap)
    assert found == pytest.approx(median, abs=0.5)
    assert capped_mean_tokens(found, sigma=sigma, most_tokens=cap) == pytest.approx(8000.0, rel=1e-9)
    drawn = Lengths(8000.0, cv=cv, cap_tokens=cap).draw(stream(1, name="test"), groups=200_000, answers=1)
    assert drawn.mean() == pytest.approx(8000, rel=0.01)
    assert (drawn == cap).mean() == pytest.approx(at_cap, rel=0.1, abs=2e-4)
    assert drawn.std() / drawn.mean() == pytest.approx(realised_cv, rel=0.02)


def test_without_spread_all_answers_are_the_mean() -> None:
    assert (Lengths(7.0, cv=0.0).draw(stream(1, name="test"), groups=3, answers=2) == 7).all()


def test_answers_of_a_problem_can_be_alike() -> None:
    alike = Lengths(8000.0, correlation=1.0).draw(stream(1, name="test"), groups=50, answers=4)
    assert (alike == alike[:, :1]).all()
    law = Lengths(8000.0, correlation=0.5, cap_tokens=10**9)
    logs = np.log(law.draw(stream(1, name="test"), groups=40_000, answers=2))
    assert np.corrcoef(logs.T)[0, 1] == pytest.approx(0.5, abs=0.02)


def test_a_trace_is_drawn_from_or_followed() -> None:
    trace = np.array([3, 5, 9])
    drawn = Measured(trace).draw(stream(1, name="test"), groups=1000, answers=3)
    assert set(drawn.ravel().tolist()) == {3, 5, 9}
    followed = Problems(Measured(trace, in_order=True)).chunks(1, groups=2, answers=2, score_mean_s=0.0, score_cv=0.0)
    assert [next(followed).length.tolist() for _ in range(2)] == [[3, 5, 9, 3], [5, 9, 3, 5]]
