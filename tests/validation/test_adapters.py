"""S-LoRA's runs: every line is answered for, settings are those of its scripts, and no fit is tested on its own run."""

from __future__ import annotations

import numpy as np
import pytest

from planner.core.validation import summary
from tests.validation import adapter_runs as runs
from tests.validation import adapters
from tests.validation.rows import Row


@pytest.fixture(scope="module")
def made() -> list[Row]:
    return list(adapters.lora_throughput())


def test_every_line_of_the_table_is_compared_or_told_why_not(made: list[Row]) -> None:
    apart = sum(int(row.conditions.removesuffix(" runs")) for row in made if row.status != "compared")
    compared = {row.id for row in made if row.status == "compared"}
    own = [run for run in adapters.steady() if run.is_saturated or run.is_below]
    assert {run.name for run in own} == compared
    assert apart + len(own) == len(runs.lines()) == 1136


def test_a_row_that_is_not_compared_says_why_in_a_sentence(made: list[Row]) -> None:
    assert all(row.reason.endswith(".") for row in made if row.status != "compared")


def test_lengths_and_popularity_are_those_that_the_scripts_draw() -> None:
    draws = np.random.default_rng(1)
    tokens = draws.integers(8, 512, 200_000)
    assert tokens.mean() == pytest.approx(runs.MEAN_TOKENS, rel=0.01)
    assert (tokens.std() / tokens.mean()) ** 2 == pytest.approx(runs.VARIATION, rel=0.02)
    drawn = (draws.power(1, 200_000) * 20).astype(int)
    assert np.bincount(drawn) / len(drawn) == pytest.approx(np.full(20, 0.05), abs=0.003)


def test_pages_of_adapters_take_their_share_of_the_pool() -> None:
    """Against the fixed point worked out apart: cells of a token hold a row of A and one of B."""
    run = next(run for run in adapters.saturated() if (run.gpu, run.setting, run.adapters) == ("a10g", "S2", 200))
    batch = run.pool_tokens / 430.0
    for _ in range(100):
        cells = sum(4 * (64, 32, 16, 8)[each % 4] * -np.expm1(-batch / 200) for each in range(200))
        batch = (batch + (run.pool_tokens - cells) / (259.5 + 259.5 * (1 + runs.VARIATION) / 2)) / 2
    assert runs.replica_of(run).memory.places == pytest.approx(batch, rel=0.02)


def test_the_fixed_part_of_a_step_reproduces_the_run_it_comes_from() -> None:
    for fewest, *_ in adapters.series():
        overhead_s = runs.overhead_of(fewest)
        assert overhead_s > 0
        assert runs.capacity_rps(fewest, overhead_s=overhead_s) == pytest.approx(fewest.throughput_rps, rel=1e-6)


def test_more_adapters_cost_what_they_cost_in_the_runs(made: list[Row]) -> None:
    found = summary(row for row in made if row.group == adapters.MORE)
    assert found.n >= 30
    assert found.median is not None
    assert found.median < 5
    assert found.largest is not None
    assert found.largest < 15


def test_only_one_pair_gave_a_constant_and_it_is_shown_apart(made: list[Row]) -> None:
    fitted = [row for row in made if row.group == adapters.FITTED]
    assert [row.id for row in fitted] == ["ablation_mem_a10g_S2_dm, 1 adapters, 2.5/s"]
    others = {row.id for row in made if row.group in (adapters.MORE, adapters.FIRST)}
    assert not others & {row.id for row in fitted}


def test_an_engine_of_2023_is_slower_than_the_defaults_say(made: list[Row]) -> None:
    blind = [row for row in made if row.group == adapters.BLIND]
    assert all(row.predicted > row.measured for row in blind if row.predicted and row.measured)


def test_steps_with_adapters_of_an_engine_that_gave_no_constant() -> None:
    found = list(adapters.lora_steps())
    limits = {adapters.WHOLE: 10, adapters.ADDED: 40}
    for group, limit in limits.items():
        errors = [row.error for row in found if row.group == group]
        assert len(errors) == 4
        assert all(error is not None and error < limit for error in errors)


def test_a_design_that_says_adapters_are_free_would_be_further_off(made: list[Row]) -> None:
    """Ratios near one are easy: the model has to do better than the number one."""
    more = [row for row in made if row.group == adapters.MORE]
    free = sorted(abs(1 / row.measured - 1) * 100 for row in more if row.measured)
    ours = sorted(row.error for row in more if row.error is not None)
    assert len(free) == len(ours)
    assert ours[len(ours) // 2] < 0.7 * free[len(free) // 2]
    assert ours[-1] < 0.6 * free[-1]


def test_the_first_engine_is_not_explained_by_launches() -> None:
    (old,) = (row for row in adapters.lora_steps() if row.group == adapters.OLDER)
    assert old.error is not None
    assert old.error > 30
