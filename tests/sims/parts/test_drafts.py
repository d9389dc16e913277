from __future__ import annotations

import numpy as np
import pytest

from sims.engine.streams import stream
from sims.parts.drafts import steps_drawn


def drawn(tokens: int, *, tokens_per_step: float, count: int = 20_000) -> np.ndarray:
    return steps_drawn(stream(1, name="drafts"), tokens=np.full(count, tokens), tokens_per_step=tokens_per_step)


@pytest.mark.parametrize("tokens_per_step", [1.2, 1.8, 2.0, 2.7])
def test_a_step_gives_the_mean_that_was_asked_for(tokens_per_step: float) -> None:
    """Renewal theory: the mean number of steps to n tokens is n/m plus at most one step."""
    steps = drawn(3000, tokens_per_step=tokens_per_step)
    assert 3000 / tokens_per_step <= steps.mean() <= 3000 / tokens_per_step + 1


def test_two_tokens_take_one_step_with_the_chance_of_an_accepted_draft() -> None:
    steps = drawn(2, tokens_per_step=1.7)
    assert set(steps) == {1, 2}
    assert np.mean(steps == 1) == pytest.approx(0.7, abs=4 * np.sqrt(0.7 * 0.3 / len(steps)))


def test_the_spread_is_that_of_independent_drafts() -> None:
    """Steps to n tokens of bursts with mean m and variance v: variance n·v/m³ for large n."""
    steps = drawn(3000, tokens_per_step=1.5)
    assert steps.var() == pytest.approx(3000 * 0.25 / 1.5**3, rel=0.05)


def test_drafts_that_are_always_accepted_halve_the_steps_and_no_token_takes_none() -> None:
    assert set(drawn(9, tokens_per_step=2.0)) == {5}
    assert set(drawn(0, tokens_per_step=1.5)) == {0}
