"""What theory and the notes' prototypes say, against runs."""

from __future__ import annotations

import pytest

from sims.systems.rl_rollout import simulate
from tests.sims.systems.rl_rollout.scene import LONG_TAIL, RATED, audited, config, given, reference


def test_four_answers_take_exactly_nine_seconds() -> None:
    """a·K + b·ΣL with lengths 1, 2, 3, 4: 1·4 + 0.5·10."""
    one = config(problems=1, answers=4, instances=1, slots=4, step_s=1.0, step_s_per_sequence=0.5, train_s=2.0)
    found = audited(one, problems=given(1, 2, 3, 4), steps=3, warmup_steps=0)
    assert found.parts_s["generate"] == pytest.approx(9.0, abs=1e-12)
    assert found.step_s is not None
    assert found.step_s.value == pytest.approx(11.0, abs=1e-12)


@pytest.mark.parametrize(
    ("staleness", "step_s", "utilisation", "older"),
    [(0, 922.0, 0.284, 0.0), (1, 527.0, 0.500, 0.14), (2, 403.0, 0.651, 0.20), (4, 301.0, 0.866, 0.36)],
)
def test_asynchronous_training_is_as_the_notes_measured(
    staleness: int, step_s: float, utilisation: float, older: float
) -> None:
    """Another prototype with other draws: 2 % on times and utilisation, 2 points on the share older than the bound."""
    found = simulate(reference(staleness=staleness), problems=LONG_TAIL, steps=60, warmup_steps=10)
    assert found.step_s is not None
    assert found.step_s.value == pytest.approx(step_s, rel=0.02)
    assert found.utilisation(RATED) == pytest.approx(utilisation, rel=0.02)
    assert found.late_share == pytest.approx(older, abs=0.02)
    assert found.mean_staleness == pytest.approx(staleness, abs=0.02)
