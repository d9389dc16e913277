"""Whatever fails and whatever is set: no answer, token or second is lost from the books."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from sims.engine.invariants import InvariantError
from sims.systems.rl_rollout import ENFORCEMENTS, MODES, PLACINGS, SWAPS, TRAINER, Failure, Scoring, simulate
from sims.systems.rl_rollout.audit import audit
from tests.sims.systems.rl_rollout.scene import audited, config, problems

BOOLEAN = st.booleans()
SETUPS = st.fixed_dictionaries(
    {
        "problems": st.sampled_from([1, 3, 8]),
        "answers": st.sampled_from([2, 4]),
        "instances": st.sampled_from([1, 2, 5]),
        "slots": st.sampled_from([1, 3, 8]),
        "train_s": st.sampled_from([0.0, 5.0, 100.0]),
        "step_s_per_kv_token": st.sampled_from([0.0, 1e-4]),
        "kv_tokens": st.sampled_from([math.inf, 200.0, 400.0]),
        "prefill_tokens_per_s": st.sampled_from([math.inf, 100.0]),
        "shared_prompts": BOOLEAN,
        "mode": st.sampled_from(MODES),
        "staleness": st.sampled_from([0, 1, 3]),
        "enforcement": st.sampled_from(ENFORCEMENTS),
        "swap": st.sampled_from(SWAPS),
        "pause_s": st.sampled_from([0.0, 0.5, 8.0]),
        "transfer_s": st.sampled_from([0.0, 3.0]),
        "switch_s": st.sampled_from([0.0, 2.0]),
        "oversample": st.sampled_from([0.0, 0.5]),
        "filtering": BOOLEAN,
        "placing": st.sampled_from(PLACINGS),
        "resume_lost": BOOLEAN,
    }
)
SCORING = st.fixed_dictionaries(
    {
        "servers": st.sampled_from([None, 1, 4]),
        "mean_s": st.sampled_from([0.0, 2.0]),
        "cv": st.sampled_from([0.0, 1.0]),
        "timeout_s": st.sampled_from([math.inf, 3.0]),
        "on_timeout": st.sampled_from(["fail", "drop"]),
        "when": st.sampled_from(["each", "group", "batch"]),
    }
)
FAILURES = st.lists(
    st.builds(Failure, instance=st.just(0), at_s=st.floats(0.0, 100.0), rejoin_s=st.sampled_from([0.5, 20.0])),
    max_size=2,
)


def allowed(setup: dict, scoring: dict) -> tuple[dict, dict]:
    """What goes together."""
    if setup["mode"] == "asynchronous":
        setup = {**setup, "oversample": 0.0}
    if setup["mode"] == "asynchronous" or setup["oversample"] > 0:
        scoring = {**scoring, "when": "each" if scoring["when"] == "batch" else scoring["when"]}
    return setup, scoring


@settings(max_examples=60, deadline=None)
@drawn(setup=SETUPS, scoring=SCORING, failures=FAILURES, seed=st.integers(0, 999))
def test_any_trouble_keeps_the_books(setup: dict, scoring: dict, failures: list[Failure], seed: int) -> None:
    setup, scoring = allowed(setup, scoring)
    found = audited(
        config(**setup, scoring=Scoring(**scoring)),
        problems=problems(prompt_tokens=20.0, prompt_cv=0.5, cap_tokens=100, chance_a=2.0, chance_b=2.0),
        steps=5,
        warmup_steps=1,
        failures=failures,
        seed=seed,
        check_every_s=2.0,
    )
    assert found.ending == "complete"
    rows = found.rows
    assert (rows["generated_tokens"] >= found.tokens_by.sum(axis=1)).all()
    assert sum(found.instance_shares.values()) == pytest.approx(1.0 if found.window_s else 0.0)
    assert sum(found.trainer_shares.values()) == pytest.approx(1.0 if found.window_s else 0.0)
    from_s, to_s = found.drawn_s
    for index in (TRAINER, *range(found.config.instances)):
        spans = [one for one in found.spans if one.index == index]
        assert sum(one.to_s - one.from_s for one in spans) == pytest.approx(to_s - from_s)


def test_all_tokens_are_somewhere_at_the_end() -> None:
    """Generated = trained on + thrown away + in flight; answers opened likewise."""
    found = audited(
        config(mode="asynchronous", staleness=3, enforcement="discard", filtering=True, scoring=Scoring(2, 2.0, 1.0)),
        problems=problems(),
        steps=30,
        warmup_steps=0,
    )
    assert found.counts["generated_tokens"] >= sum(tokens for _, tokens in found.fates.values())
    whole = int(found.rows[-1]["opened"]) - sum(answers for answers, _ in found.fates.values())
    # The answers of the batch that is trained on last were opened too, and are booked.
    assert whole == found.in_flight["answers"]


def test_a_failed_instance_costs_time_and_loses_tokens_only_when_answers_start_anew() -> None:
    failure = [Failure(0, at_s=8.0, rejoin_s=30.0)]
    setup = config(prefill_tokens_per_s=200.0)
    whole = audited(setup, problems=problems(), steps=4, warmup_steps=0)
    resumed = audited(setup, problems=problems(), steps=4, warmup_steps=0, failures=failure)
    restarted = audited(
        replace(setup, resume_lost=False), problems=problems(), steps=4, warmup_steps=0, failures=failure
    )
    assert whole.simulated_s < resumed.simulated_s
    assert resumed.fates["lost"] == (0, 0)
    assert resumed.counts["recomputed_tokens"] > 0
    assert restarted.fates["lost"][1] > 0
    assert restarted.counts["restarted"] > 0
    assert restarted.counts["generated_tokens"] == whole.counts["generated_tokens"] + restarted.fates["lost"][1]
    assert resumed.instance_shares["down"] * resumed.window_s * 3 == pytest.approx(30.0)


def test_without_instances_a_run_is_stuck_and_says_so() -> None:
    found = simulate(config(instances=1), problems=problems(), steps=4, failures=[Failure(0, at_s=3.0)])
    assert found.ending == "stuck"
    assert found.steps == 0
    assert found.step_s is None
    assert found.mean_staleness is None
    assert found.useful_per_gpu_hour is None
    assert found.token_share("discarded") is None
    assert found.parts_s == {}


def test_a_filter_that_drops_everything_is_given_up() -> None:
    hopeless = problems(chance_a=1000.0, chance_b=1e-6)
    found = simulate(config(filtering=True), problems=hopeless, steps=4)
    assert found.ending == "stuck"
    assert found.steps == 0


def test_the_audit_notices_what_is_lost() -> None:
    def lose_token(plane) -> None:
        plane.state.totals[0].generated_tokens -= 1
        audit(plane.state)

    def lose_answer(plane) -> None:
        plane.state.totals[0].opened -= 1
        audit(plane.state)

    def lose_time(plane) -> None:
        plane.state.spent[0, 0] -= 1.0
        audit(plane.state)

    for lose, named in (
        (lose_token, "tokens generated"),
        (lose_answer, "answers opened"),
        (lose_time, "time is not all booked"),
    ):
        with pytest.raises(InvariantError, match=named):
            simulate(config(), problems=problems(), steps=3, check=lose, check_every_s=3.0)
