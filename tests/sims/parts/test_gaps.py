from __future__ import annotations

import numpy as np
import pytest

from planner.formulas import gaps as formulas
from planner.formulas.eviction import return_rate_per_s
from sims.parts.gaps import Exponential, GapLaw, Hyperexponential, LogNormal, Observed, mean_s, return_rate

AGES = np.array([0.0, 0.5, 10.0, 119.0, 600.0, 1e5])
PAIRS: list[tuple[GapLaw, formulas.GapLaw]] = [
    (Exponential(300.0), formulas.Exponential(300.0)),
    (LogNormal(120.0, 1.5), formulas.LogNormal(120.0, 1.5)),
    (Hyperexponential(0.8, 10.0, 600.0), formulas.hyperexponential([0.8, 0.2], means_s=[10.0, 600.0])),
]


@pytest.mark.parametrize(("mine", "theirs"), PAIRS, ids=["exponential", "lognormal", "hyperexponential"])
def test_laws_are_those_of_the_formulas(mine: GapLaw, theirs: formulas.GapLaw) -> None:
    """Written twice, as simulators and formulas do not import each other."""
    assert mine.beyond(AGES) == pytest.approx(theirs.survival(AGES), rel=1e-9, abs=1e-12)
    assert mine.density(AGES) == pytest.approx(theirs.density_per_s(AGES), rel=1e-9, abs=1e-12)
    for follow in (0.0, 0.8):
        expected = return_rate_per_s(AGES, gaps=theirs, follow_share=follow)
        assert return_rate(mine, follow=follow, age_s=AGES) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("mine", "theirs"), PAIRS, ids=["exponential", "lognormal", "hyperexponential"])
def test_draws_follow_their_law(mine: GapLaw, theirs: formulas.GapLaw) -> None:
    """Kolmogorov-Smirnov: the largest distance of 200,000 draws stays below 1.63/√n in 99 of 100 samples."""
    drawn = np.sort(mine.draw(np.random.default_rng(5), count=200_000))
    distance = np.abs(theirs.cdf(drawn) - (np.arange(len(drawn)) + 0.5) / len(drawn)).max()
    assert distance < 1.63 / np.sqrt(len(drawn))


def test_equal_gaps_return_exactly_then() -> None:
    law = LogNormal(60.0, 0.0)
    assert law.draw(np.random.default_rng(1), count=3).tolist() == [60.0] * 3
    assert law.beyond(np.array([59.0, 60.0])).tolist() == [1.0, 0.0]
    assert np.all(return_rate(law, follow=1.0, age_s=AGES) == 0.0)


def test_observed_gaps_are_drawn_and_have_the_hazard_of_their_law() -> None:
    seen = np.random.default_rng(2).exponential(100.0, 50_000)
    law = Observed(tuple(seen.tolist()))
    assert np.isin(law.draw(np.random.default_rng(3), count=1000), seen).all()
    ages = np.array([5.0, 50.0, 150.0])
    assert return_rate(law, follow=1.0, age_s=ages) == pytest.approx([0.01] * 3, rel=0.08)


@pytest.mark.parametrize(("mine", "theirs"), PAIRS, ids=["exponential", "lognormal", "hyperexponential"])
def test_means_are_those_of_the_laws(mine: GapLaw, theirs: formulas.GapLaw) -> None:
    assert mean_s(mine) == pytest.approx(theirs.mean_s, rel=1e-4)


def test_silence_makes_the_end_of_a_session_likelier() -> None:
    """Gaps of a constant hazard: the rate of return falls only because the session may be over."""
    rates = return_rate(Exponential(10.0), follow=0.5, age_s=np.array([0.0, 10.0, 50.0]))
    assert rates[0] == pytest.approx(0.05)
    assert rates[0] > rates[1] > rates[2]
