"""The reference of a rollout: every figure quoted from its specification, and what goes beyond it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

from planner.catalog import files
from planner.core.result import Finding, Result
from planner.kinds import examples, get

KIND = get("rl_rollout")
CATALOG = files.load()


def answer(**given: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(given), CATALOG)


def found(result: Result, code: str) -> Finding:
    return next(each for each in result.findings if each.code == code)


def codes(result: Result) -> set[str]:
    return {each.code for each in result.findings}


@pytest.fixture(scope="module")
def reference() -> Result:
    return answer()


class TestReference:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("tokens_per_step", 16_384_000),
            ("rollout_gpus_sync", 73),
            ("rollout_gpus_async", 25),
            ("weight_sync_s", 0.08),
            ("weight_bytes", 32e9),
        ],
    )
    def test_a_quoted_figure_comes_out_exactly(self, reference: Result, name: str, value: float) -> None:
        assert reference.value(name) == value

    @pytest.mark.parametrize(
        ("name", "value"), [("rollout_gpus_sync_needed", 72.8178), ("rollout_gpus_async_needed", 24.2726)]
    )
    def test_the_fractions_of_gpus_have_the_digits_quoted(self, reference: Result, name: str, value: float) -> None:
        assert round(reference.value(name) or 0.0, 4) == value

    def test_the_rounding_of_the_notes_is_told(self, reference: Result) -> None:
        message = found(reference, "rule_rounds_up").message
        assert "24.3" in message
        assert "25 GPUs" in message

    def test_asynchrony_cuts_the_rule_to_a_third(self, reference: Result) -> None:
        assert "a third" in found(reference, "rule_async_third").message


class TestWhatTheReferenceOverlooks:
    def test_the_synchronous_step_is_generation_plus_training(self, reference: Result) -> None:
        assert "10\u00a0min" in found(reference, "sync_step_is_sum").message
        synchronous = answer(mode="synchronous", instance_gpus=2)
        step_s = synchronous.value("step_s") or 0.0
        assert step_s == pytest.approx(600.0, rel=0.05)  # sized for a window of 300 s
        assert step_s >= 300.0 + (synchronous.value("generation_s") or 0.0)

    @pytest.mark.parametrize(("dtype", "held", "rate", "gpus"), [("fp8", 38.4, 1441, 42.1), ("bf16", 19.2, 720, 84.3)])
    def test_memory_holds_no_batch_for_the_stated_rate(self, dtype: str, held: float, rate: float, gpus: float) -> None:
        result = answer(kv_dtype=dtype)
        assert result.value("memory_answers") == pytest.approx(held, rel=0.005)
        assert result.value("memory_rate_tokens_per_s") == pytest.approx(rate, rel=0.005)
        assert result.value("rollout_gpus_by_memory") == pytest.approx(gpus, rel=0.005)
        assert "128 running answers" in found(result, "rate_batch_memory").message

    def test_the_stated_utilisation_is_one_point_of_a_curve(self, reference: Result) -> None:
        message = found(reference, "utilisation_in_part").message
        assert "19,345" in message  # 19,400 tokens give 0.3 where a is rounded to 11.9 ms
        assert "no number of GPUs" in message  # 32,000 take 381 s alone

    def test_a_rate_beyond_the_bandwidth_is_told(self, reference: Result) -> None:
        assert "51.2" in found(reference, "rate_beyond_bandwidth").message
        assert "rate_beyond_bandwidth" not in codes(answer(rate_tokens_per_s=1500.0))

    def test_the_ideal_sync_is_a_bound(self, reference: Result) -> None:
        assert 0.6 <= (reference.value("weight_sync_expected_s") or 0.0) <= 1.5
        assert "sync_is_a_bound" in codes(reference)


class TestStep:
    @pytest.mark.parametrize("mode", ["synchronous", "one_step_off", "asynchronous", "colocated"])
    @pytest.mark.parametrize(
        "given", [{}, {"score_s": 60.0, "scorers": 60}, {"staleness_bound": 0}, {"instance_gpus": 8}]
    )
    def test_the_parts_sum_to_it(self, mode: str, given: dict[str, Any]) -> None:
        result = answer(mode=mode, **given)
        parts = [
            result.value(f"step_{part}_s") for part in ("training", "generation", "scoring", "weight_sync", "switch")
        ]
        assert sum(part or 0.0 for part in parts) == pytest.approx(result.value("step_s"), rel=1e-9)

    def test_the_parts_of_the_bill_sum_to_it_to_the_last_bit(self) -> None:
        for given in ({}, {"mode": "colocated"}, {"mode": "synchronous", "scorer_usd_per_h": 0.3}):
            result = answer(**given)
            names = ("rollout_used", "rollout_idle", "training_used", "training_idle", "scoring")
            parts = [result.value(f"{name}_usd_per_h") or 0.0 for name in names]
            assert sum(parts) == result.value("cost_usd_per_h")

    def test_the_split_of_published_times(self) -> None:
        """300 s on 64 GPUs and 7,281.8 GPU-seconds of generation: 46.4 train and 17.6 generate, 413.8 s."""
        # Answers all alike with slots for as many as the rate is stated at: rollout works at 2,500 x 0.9.
        result = answer(
            rate_tokens_per_s=2250.0, kv_memory_bytes_per_gpu=1e13, running_cap=128, length_cv=0.0, prompt_tokens=1.0,
            training_gpus=46, train_step_gpus=64, rollout_gpus=18,
        )  # fmt: skip
        assert (result.value("best_training_gpus"), result.value("best_rollout_gpus")) == (46, 18)
        assert result.value("best_step_s") == pytest.approx(413.8, rel=0.02)

    def test_filtered_groups_are_two_in_seventeen(self) -> None:
        assert answer(filtering="on").value("filtered_share") == pytest.approx(2 / 17)


class TestShapes:
    def test_a_bound_tail_leaves_nothing_for_twice_the_gpus(self) -> None:
        once = answer(mode="synchronous", rollout_gpus=256)
        twice = answer(mode="synchronous", rollout_gpus=512)
        saved = 1 - (twice.value("step_s") or 0.0) / (once.value("step_s") or 1.0)
        assert 0 < saved < 0.03
        assert "tail_binds" in codes(once)
        free = 1 - (answer(rollout_gpus=30).value("step_s") or 0.0) / (answer(rollout_gpus=15).value("step_s") or 1.0)
        assert free > 0.4

    def test_the_gain_of_staleness_has_a_knee(self, reference: Result) -> None:
        steps = reference.series["staleness_knee"].column("step_s").values
        gains = [float(one or 0.0) - float(other or 0.0) for one, other in pairwise(steps)]
        assert gains[0] > 200.0
        assert gains[1] > 50.0
        assert abs(gains[-1]) < 1.0

    def test_staleness_concentrates_in_long_answers(self) -> None:
        series = answer(rollout_gpus=36, staleness_bound=2).series["staleness_by_length"]
        ages = [float(age or 0.0) for age in series.column("age").values]
        assert ages[-1] > 1.1 * ages[0]

    def test_the_cap_decides_the_synchronous_utilisation(self) -> None:
        series = answer(mode="synchronous").series["utilisation_by_cap"]
        used = [float(share or 0.0) for share in series.column("utilisation").values]
        assert used[0] > 1.8 * used[-1]


class TestModes:
    def test_asynchrony_does_not_pay_without_a_tail(self) -> None:
        example = next(each for each in examples() if each.slug == "rl-rollout-no-gain")
        message = found(answer(**example.spec), "async_does_not_pay").message
        assert "hardly a tail" in message
        assert "co-located" in message

    def test_asynchrony_does_not_pay_where_a_sync_takes_longer_than_generation(self) -> None:
        result = answer(
            output_tokens=50.0, max_output_tokens=100.0, problems=16, train_step_s=5.0, sync_fixed_s=20.0, reshard_s=0.0
        )
        assert "weight sync stops it for" in found(result, "async_does_not_pay").message

    def test_the_reference_pays(self, reference: Result) -> None:
        assert "async_does_not_pay" not in codes(reference)
        assert (reference.value("async_gain") or 0.0) > 2

    def test_the_cheapest_mode_is_named(self) -> None:
        result = answer(mode="synchronous", instance_gpus=2)
        assert (found(result, "mode_recommended").change or {})["mode"] == "asynchronous"

    def test_a_window_shorter_than_the_longest_answer_is_an_answer_with_an_error(self) -> None:
        result = answer(mode="synchronous")
        assert found(result, "tail_longer_than_window").severity == "error"
        assert result.value("rollout_gpus_needed") is None
        assert result.value("step_s") is not None

    def test_weights_that_do_not_fit_leave_the_rule_of_thumb(self) -> None:
        result = answer(weight_bytes=1e12)
        assert found(result, "does_not_fit").severity == "error"
        assert result.value("rollout_gpus_async") == 25
        assert result.value("step_s") is None

    def test_zero_problems_are_an_answer(self) -> None:
        result = answer(problems=0)
        assert codes(result) >= {"no_load"}
        assert result.value("tokens_per_step") == 0
        assert result.value("cost_usd_per_useful_sample") is None


class TestServices:
    def test_sandboxes_of_the_published_pool(self) -> None:
        """2,048 answers in 300 s, 30 s each with a cv of 2 cut at 120 s: 25.35 s, 4.2 % at the timeout."""
        result = answer(scorer="sandbox", score_s=30.0, score_cv=2.0, score_timeout_s=120.0)
        assert result.value("score_service_s") == pytest.approx(25.350, abs=0.001)
        assert result.value("score_timeout_share") == pytest.approx(0.0421, abs=0.0001)
        assert "slow_scoring" in codes(result)

    def test_too_few_scorers_are_an_error(self) -> None:
        assert found(answer(score_s=30.0, scorers=20), "scorers_too_few").severity == "error"

    @pytest.mark.parametrize(
        ("llm", "width", "routing"),
        [("qwen3-30b-a3b", 1, 384), ("qwen3-30b-a3b", 4, 1536), ("deepseek-v3", 2, 928)],
    )
    def test_returned_routing(self, llm: str, width: int, routing: float) -> None:
        result = answer(llm=llm, routing_returned="on", routing_index_bytes=width)
        assert result.value("routing_bytes_per_token") == routing
        assert result.value("returned_bytes_per_token") == routing + 8
        assert "routing_dominates" in codes(result)

    @pytest.mark.parametrize(("llm", "tensors"), [("qwen3-30b-a3b", 18_867), ("qwen3-235b-a22b", 36_945)])
    def test_tensors_of_published_checkpoints(self, llm: str, tensors: int) -> None:
        assert answer(llm=llm).value("sync_tensors_counted") == tensors

    def test_a_delta_is_a_thirty_third(self) -> None:
        result = answer(weight_dtype="bf16", weight_bytes=64e9, sync_method="delta")
        assert 64e9 / (result.value("sync_bytes") or 1.0) == pytest.approx(33.3, abs=0.1)


class TestRefused:
    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"output_tokens": 40_000.0}, "output_tokens"),
            ({"lengths": "trace"}, "workload"),
            ({"scored": "batch"}, "scored"),
            ({"mode": "sometimes"}, "mode"),
            ({"staleness_bound": -1}, "staleness_bound"),
        ],
    )
    def test_a_bad_input_names_its_field(self, given: dict[str, Any], field: str) -> None:
        with pytest.raises(ValidationError, match=field):
            answer(**given)


def test_figures_of_another_llm_are_told_and_taken_from_the_chosen_one() -> None:
    assert "policy_differs" not in codes(answer())
    told = found(answer(llm="gpt-oss-20b"), "policy_differs")
    assert "gpt-oss-20b has 22.1" in told.message
    assert "policy_differs" not in codes(answer(llm="gpt-oss-20b", **dict(told.change or {})))


@pytest.mark.parametrize(("alpha", "told"), [(1.0, False), (0.1, True)])
def test_an_asynchronous_step_with_many_filtered_groups_is_said_to_be_estimated_short(alpha: float, told: bool) -> None:
    """z = 2/17 for a uniform law of success; with most of it at the ends, most groups are dropped."""
    result = answer(filtering="on", success_alpha=alpha, success_beta=alpha)
    assert ("filtering_estimated_short" in codes(result)) == told


def test_work_that_takes_just_as_long_as_training_is_no_matter() -> None:
    # A cycle of hardly a token: the versions under way in it are beyond counting, and need not be counted.
    assert answer(mode="synchronous", weight_bytes=25.125e9).value("step_s") is not None
