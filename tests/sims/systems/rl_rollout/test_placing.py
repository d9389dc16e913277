"""Which instance gets which answer."""

from __future__ import annotations

import numpy as np
import pytest

from sims.systems.rl_rollout import PLACINGS, Failure, simulate
from tests.sims.systems.rl_rollout.scene import LONG_TAIL, audited, config, given, problems, reference


def test_least_loaded_and_round_robin_spread_a_batch_evenly() -> None:
    for placing in ("least_loaded", "round_robin"):
        found = audited(config(placing=placing, instances=4, slots=4), problems=given(50), steps=1, warmup_steps=0)
        spent = found.spent_s[1]
        # Four on each: all end at the same moment, so nobody idles before training.
        assert spent[0] == pytest.approx(4 * 5.0)


def test_a_group_stays_together_and_shares_its_prompt() -> None:
    load = problems(prompt_tokens=20.0)
    tokens = {}
    for placing in PLACINGS:
        setup = config(placing=placing, instances=4, slots=8, prefill_tokens_per_s=100.0)
        tokens[placing] = audited(setup, problems=load, steps=5, warmup_steps=0).counts["prefilled_tokens"]
    assert tokens["grouped"] == 5 * 4 * 20
    assert tokens["round_robin"] == tokens["least_loaded"] == 5 * 16 * 20


def test_answers_that_wait_for_the_first_free_slot_end_sooner() -> None:
    """More answers than slots: bound in advance, one instance is left with the longest."""
    ends = {
        placing: simulate(
            reference(mode="synchronous", placing=placing, instances=8), problems=LONG_TAIL, steps=20, warmup_steps=0
        ).parts_s["generate"]
        for placing in PLACINGS
    }
    assert ends["least_loaded"] < ends["round_robin"] < ends["grouped"]


def test_the_dead_are_passed_over() -> None:
    for placing in PLACINGS:
        setup = config(placing=placing, instances=3, slots=8)
        found = audited(setup, problems=problems(), steps=6, warmup_steps=0, failures=[Failure(1, at_s=0.5)])
        assert found.ending == "complete"
        assert found.instance_shares["down"] == pytest.approx(1 / 3, abs=0.01)
        assert np.isfinite(found.tokens_per_s)
