"""Over-sampling, filtering and the split of the roles, against draws, enumeration and figures of the notes."""

from __future__ import annotations

import numpy as np
import pytest

from planner.formulas.answer_lengths import answer_lengths
from planner.formulas.oversampling import early_stop

LAW = answer_lengths(mean_tokens=8000.0, variation=1.0, cap_tokens=32_000.0)


@pytest.mark.parametrize(
    ("excess", "steps", "kept", "wasted"), [(0.1, 17_792, 6_306, 0.220), (0.25, 11_797, 5_212, 0.361)]
)
def test_stopping_early_at_a_cap_of_32000(excess: float, steps: float, kept: float, wasted: float) -> None:
    found = early_stop(LAW, excess=excess)
    assert found.steps == pytest.approx(steps, abs=1)
    assert found.kept_mean_tokens == pytest.approx(kept, abs=1)
    assert found.wasted == pytest.approx(wasted, abs=5e-4)


@pytest.mark.parametrize("group", [1, 16])
@pytest.mark.parametrize("excess", [0.05, 0.25])
def test_stopping_early_agrees_with_draws(group: int, excess: float) -> None:
    random, needed, steps, kept, wasted = np.random.default_rng(4), 2048 // group, [], [], []
    for _ in range(60):
        lengths = np.asarray(LAW.quantile(random.random((round(needed * (1 + excess)), group))))
        ends = np.sort(lengths.max(axis=1))
        stop = ends[needed - 1]
        of_kept = lengths[np.argsort(lengths.max(axis=1), kind="stable")[:needed]]
        steps.append(stop)
        kept.append(of_kept.mean())
        wasted.append(1 - of_kept.sum() / np.minimum(lengths, stop).sum())
    found = early_stop(LAW, excess=excess, group=group)
    assert found.steps == pytest.approx(np.mean(steps), rel=0.02)
    assert found.kept_mean_tokens == pytest.approx(np.mean(kept), rel=0.02)
    assert found.wasted == pytest.approx(np.mean(wasted), abs=0.01)


def test_nothing_in_excess_waits_for_the_longest_and_wastes_nothing() -> None:
    found = early_stop(LAW, excess=0.0)
    assert found.steps == 32_000
    assert found.wasted == pytest.approx(0.0, abs=1e-9)
    assert found.kept_mean_tokens == pytest.approx(8000.0)
