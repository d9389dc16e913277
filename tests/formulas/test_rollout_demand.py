"""Tokens of a step and the GPUs of the rule of thumb."""

from __future__ import annotations

from fractions import Fraction

import pytest

from planner.formulas import rollout_demand, sizing

TOKENS = 128 * 16 * 8000


def test_the_tokens_of_the_published_step() -> None:
    assert rollout_demand.step_tokens(128, answers_per_problem=16, mean_tokens=8000.0) == TOKENS == 16_384_000


@pytest.mark.parametrize(("utilisation", "shown", "bought"), [("0.3", 72.8178, 73), ("0.9", 24.2726, 25)])
def test_the_gpus_of_the_published_rule(utilisation: str, shown: float, bought: int) -> None:
    found = rollout_demand.gpus_to_keep_up(
        float(TOKENS), tokens_per_s_per_gpu=2500.0, utilisation=float(utilisation), window_s=300.0
    )
    assert found == pytest.approx(float(Fraction(TOKENS) / (2500 * Fraction(utilisation) * 300)), rel=1e-14)
    assert round(found, 4) == shown
    assert sizing.whole(found) == bought
