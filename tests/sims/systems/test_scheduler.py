"""What an engine computes in which step, by exact arithmetic: steps last 1 s and a millisecond a prompt token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sims.parts.arrivals import Lengths, Table
from sims.parts.traces import Trace
from sims.systems.llm_serving import Config, Outcome, UnitClass, simulate
from tests.sims.systems.scene import audited, config, poisson


def engine(**changes: Any) -> Config:
    """One engine with 1,000 tokens of KV in blocks of 4."""
    values: dict[str, Any] = {
        "aggregated": True,
        "decode_units": 1,
        "step_s": 1.0,
        "step_s_per_sequence": 0.0,
        "step_s_per_kv_token": 0.0,
        "prefill_s_per_token": 0.001,
        "prefill_budget_tokens": 100,
        "kv_capacity_tokens": 1000,
        "block_tokens": 4,
    }
    return Config(**{**values, **changes})


def served(setup: Config, *requests: tuple[int, int], at_s: tuple[float, ...] = ()) -> Outcome:
    """A run of (input, output) requests that come at once, or when told."""
    prompts, answers = (np.array(column) for column in zip(*requests, strict=True))
    moments = np.array(at_s) if at_s else np.zeros(len(requests))
    return audited(setup, arrivals=Trace(Table(at_s=moments, input=prompts, output=answers)), samples=40)


def sums(found: Outcome) -> tuple[float, float]:
    """Over all requests: time to the first token, and to the last."""
    return float(found.batches.ttft_sum_s.sum()), float(found.batches.e2e_sum_s.sum())


@pytest.fixture(params=[10**9, 1], ids=["macro", "single"])
def most_steps(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_two_prompts_share_a_step_and_the_second_goes_on_beside_the_first_ones_decoding(most_steps: int) -> None:
    """60 + 40 of 80; then a token and the other 40; then a token."""
    found = served(engine(most_steps=most_steps), (60, 2), (80, 2))
    assert sums(found) == pytest.approx((1.1 + 2.14, 2.14 + 3.14), rel=1e-12)
    assert found.preempted == 0


def test_a_sequence_that_decodes_takes_a_token_of_the_budget(most_steps: int) -> None:
    """With a budget of 10 the second prompt gets 9 a step beside the first one's tokens: 27 in three steps."""
    found = served(engine(prefill_budget_tokens=10, most_steps=most_steps), (10, 9), (27, 1))
    assert sums(found)[0] == pytest.approx(1.01 + 1.01 + 3 * 1.009, rel=1e-12)


def test_the_last_admitted_gives_up_its_blocks_and_computes_prompt_and_answer_again(most_steps: int) -> None:
    """Four blocks of 4; two prompts of 4 with 9 tokens each: both hold two blocks after their fifth token.

    The second goes when both want a third, waits for the first to end with its ninth token, and fills its 9 tokens.
    """
    found = served(engine(kv_capacity_tokens=16, most_steps=most_steps), (4, 9), (4, 9))
    first = 1.008
    again = first + 8 + 1.009
    assert sums(found) == pytest.approx((2 * first, first + 8 + again + 3), rel=1e-12)
    assert (found.preempted, found.preempted_tokens) == (1, 8)
    gaps = found.pooled("itl")
    assert gaps.sum() == 16
    assert np.flatnonzero(gaps)[-1] == int(np.log10((again - first - 4) / 1e-6) * 256)


def test_blocks_are_whole(most_steps: int) -> None:
    """Prompts of 5 and 9 tokens hold two and three blocks of four, so that of 5 blocks none is left for a third."""
    found = served(engine(kv_capacity_tokens=20, most_steps=most_steps), (5, 3), (9, 3), (1, 1))
    first = 1.014
    assert sums(found)[0] == pytest.approx(2 * first + first + 2 + 1.001, rel=1e-12)
    roomy = served(engine(kv_capacity_tokens=24, most_steps=most_steps), (5, 3), (9, 3), (1, 1))
    assert sums(roomy)[0] == pytest.approx(3 * 1.015, rel=1e-12)


def test_the_head_of_the_queue_holds_up_those_that_would_fit(most_steps: int) -> None:
    """40 of 48 tokens are taken: a prompt of 20 waits, and so does one of 4 behind it."""
    found = served(engine(kv_capacity_tokens=48, most_steps=most_steps), (36, 5), (20, 1), (4, 1))
    first = 1.036
    assert sums(found)[0] == pytest.approx(first + 2 * (first + 4 + 1.024), rel=1e-12)


@pytest.mark.parametrize(("reserve", "filled", "preempted"), [(True, 12, 0), (False, 3 + 3 + 3 + 12, 2)])
def test_a_prompt_is_let_in_when_all_of_it_fits_or_only_its_first_chunk(
    reserve: bool, filled: int, preempted: int, most_steps: int
) -> None:
    """Budget 4, four blocks of 4. The first request needs six steps, the last one a third block.

    If only the chunk must fit, 3 tokens of the second prompt ride on steps 2, 3 and 5; it lacks a block in 4 and 6.
    """
    setup = engine(kv_capacity_tokens=16, prefill_budget_tokens=4, reserve_full_prompt=reserve, most_steps=most_steps)
    found = served(setup, (4, 6), (12, 1))
    assert sums(found)[0] == pytest.approx(1.004 + 9 + 0.001 * (4 + filled), rel=1e-12)
    assert found.preempted == preempted


def test_no_more_run_than_the_cap_and_the_next_comes_in_with_the_step_after_an_end(most_steps: int) -> None:
    found = served(engine(max_running=2, most_steps=most_steps), (10, 4), (10, 3), (10, 2))
    first = 1.02
    third = first + 2 + 1.01
    assert sums(found) == pytest.approx((2 * first + third, first + 2 + third + third + 1), rel=1e-12)


def test_an_arrival_is_let_in_at_the_next_end_of_a_step(most_steps: int) -> None:
    found = served(engine(most_steps=most_steps), (10, 9), (20, 1), at_s=(0.0, 3.5))
    assert sums(found)[0] == pytest.approx(1.01 + (4.01 - 3.5) + 1.02, rel=1e-12)


def test_ranks_step_together_as_long_as_the_slowest(most_steps: int) -> None:
    """Prompts of 50 and 30 lie on two ranks. Alone, a rank reads twice what it would of evenly spread KV."""
    setup = engine(prefill_ranks=2, step_s_per_kv_token=1e-4, most_steps=most_steps)
    found = served(setup, (50, 4), (30, 2))
    first = 1.05
    steps = [1 + 2e-4 * (50 + made) for made in (1, 2, 3)]
    assert sums(found) == pytest.approx((2 * first, first + sum(steps) + first + steps[0]), rel=1e-12)


def test_a_rank_with_more_sequences_overtakes_one_with_more_kv(most_steps: int) -> None:
    """One sequence of 30 tokens against two of 10: 31 + j a step against 22 + 2j, which is more from j = 10 on."""
    setup = engine(prefill_ranks=2, step_s_per_kv_token=1e-4, router="round_robin", most_steps=most_steps)
    found = served(setup, (30, 15), (10, 15), (10, 15))
    steps = [1 + 2e-4 * max(31 + done, 22 + 2 * done) for done in range(14)]
    assert sums(found)[1] == pytest.approx(3 * (1.03 + sum(steps)), rel=1e-12)


def test_a_table_and_the_attention_of_prompts_make_the_step(most_steps: int) -> None:
    """150 tokens in chunks of 100 and 50: pairs 100·50 and 50·(100 + 25); then steps of one token."""
    setup = engine(step_s=0.5, step_table=((1, 0.1), (101, 1.1)), prefill_s_per_token_pair=1e-6, most_steps=most_steps)
    found = served(setup, (150, 3))
    chunks = [0.5 + 1.09 + 0.1 + 5000e-6, 0.5 + 0.59 + 0.05 + 6250e-6]
    assert sums(found) == pytest.approx((sum(chunks), sum(chunks) + 2 * 0.6), rel=1e-12)


def test_units_of_two_sorts_each_take_their_own_time() -> None:
    base = {"step_s_per_sequence": 0.0, "step_s_per_kv_token": 0.0, "prefill_budget_tokens": 100}
    classes = tuple(
        UnitClass(count=1, step_s=step_s, prefill_s_per_token=each_s, kv_capacity_tokens=400, **base)
        for step_s, each_s in ((1.0, 0.001), (3.0, 0.002))
    )
    setup = engine(decode_classes=classes, router="round_robin")
    assert setup.decode_units == 2
    assert setup.kv_tokens == 800
    found = served(setup, (10, 3), (10, 3))
    assert sums(found) == pytest.approx((1.01 + 3.02, 3.01 + 9.02), rel=1e-12)


@pytest.mark.parametrize("reserve", [True, False])
def test_macro_steps_are_the_steps_one_by_one_when_kv_is_short(reserve: bool) -> None:
    """Preemptions too come at the same steps."""
    lengths = Lengths(input_tokens=150, output_tokens=80, input_sigma=0.7, output_sigma=0.8)
    macro, single = (
        simulate(
            config(
                aggregated=True,
                kv_capacity_tokens=4000,
                prefill_ranks=ranks,
                reserve_full_prompt=reserve,
                most_steps=most,
            ),
            arrivals=poisson(rate=25.0, lengths=lengths, requests=300),
        )
        for ranks, most in ((2, 10**9), (2, 1))
    )
    assert macro.preempted == single.preempted > 10
    assert macro.preempted_tokens == single.preempted_tokens
    assert macro.simulated_s == pytest.approx(single.simulated_s, rel=1e-9)
    for one, two in zip(sums(macro), sums(single), strict=True):
        assert one == pytest.approx(two, rel=1e-9)


def test_drafts_that_are_always_accepted_come_in_pairs(most_steps: int) -> None:
    """9 tokens after the first in 5 steps of two; the last one is one too many and is not given."""
    found = served(engine(tokens_per_step=2.0, most_steps=most_steps), (10, 10))
    assert sums(found) == pytest.approx((1.01, 6.01), rel=1e-12)
    assert found.batches.tpot_sum_s.sum() == pytest.approx(5 / 9, rel=1e-12)
    assert found.batches.output_tokens.sum() == 10
    gaps = found.pooled("itl")
    assert (gaps[0], gaps[1:].sum()) == (5, 5)


def test_speculation_shortens_answers_by_its_mean_and_keeps_the_books_when_kv_is_short() -> None:
    lengths = Lengths(input_tokens=150, output_tokens=80, input_sigma=0.7, output_sigma=0.8)
    setup = config(aggregated=True, kv_capacity_tokens=4000, prefill_ranks=1, tokens_per_step=1.6)
    tight = audited(setup, arrivals=poisson(rate=30.0, lengths=lengths, requests=300), samples=60)
    assert tight.preempted > 10
    assert tight.finished == 300
    roomy = {
        each: simulate(
            engine(tokens_per_step=each, kv_capacity_tokens=10**7, prefill_budget_tokens=10**5),
            arrivals=poisson(rate=0.05, lengths=lengths, requests=400),
        ).batches
        for each in (1.0, 1.6)
    }
    tpot = {each: rows.tpot_sum_s.sum() / rows.tpot_n.sum() for each, rows in roomy.items()}
    # A mean of 1.6 tokens a step, and part of an answer's last step is wasted.
    assert 1 / 1.6 < tpot[1.6] / tpot[1.0] < 1.06 / 1.6


def test_macro_steps_are_the_steps_one_by_one_with_speculation() -> None:
    lengths = Lengths(input_tokens=150, output_tokens=80, input_sigma=0.7, output_sigma=0.8)
    macro, single = (
        simulate(
            config(aggregated=True, kv_capacity_tokens=4000, tokens_per_step=1.7, most_steps=most),
            arrivals=poisson(rate=30.0, lengths=lengths, requests=200),
        )
        for most in (10**9, 1)
    )
    assert macro.preempted == single.preempted > 0
    for one, two in zip(sums(macro), sums(single), strict=True):
        assert one == pytest.approx(two, rel=1e-9)
    assert macro.batches.output_tokens.sum() == single.batches.output_tokens.sum()
