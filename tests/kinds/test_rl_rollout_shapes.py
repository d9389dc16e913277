"""Shapes of a rollout that nothing puts in, and designs at the edge: reasons, ranges near balance, odd inputs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from planner.catalog import files
from planner.core.result import Result
from planner.core.simulation import SimulationRequest
from planner.kinds import get

KIND = get("rl_rollout")
CATALOG = files.load()
assert KIND.simulator is not None
SIMULATOR = KIND.simulator
FLEETS = (6, 9, 13, 19, 27, 34, 38, 48, 68, 96, 192)


class Quiet:
    """Hooks that ask for nothing."""

    def progress(self, *_: object, **__: object) -> None:
        return None

    def cancelled(self) -> bool:
        return False


def answer(**given: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(given), CATALOG)


def simulated(given: dict[str, Any], **options: Any) -> Result:
    request = SimulationRequest(options={"modes": "chosen", **options})
    return SIMULATOR.run(KIND.spec.model_validate(given), CATALOG, request, Quiet())


def value(result: Result, name: str) -> float:
    found = result.value(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "synchronous"},
        {"mode": "one_step_off"},
        {"mode": "synchronous", "oversampling": 0.3},
        {"mode": "synchronous", "filtering": "on"},
        {},
        {"staleness_bound": 0},
        {"staleness_bound": 1},
        {"staleness_bound": 1, "enforcement": "discard"},
        {"staleness_bound": 2, "enforcement": "discard"},
        {"enforcement": "discard", "filtering": "on"},
        {"staleness_bound": 1, "enforcement": "carry"},
        {"new_weights": "drain"},
        {"new_weights": "recompute"},
    ],
)
def test_more_gpus_never_lengthen_a_step(given: dict[str, Any]) -> None:
    steps = [value(answer(**given, rollout_gpus=gpus), "step_s") for gpus in FLEETS]
    # Weights reach more instances in a little more time.
    assert all(more <= fewer * 1.002 + 0.3 for fewer, more in pairwise(steps)), steps


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {"output_tokens": 50.0, "max_output_tokens": 100.0, "problems": 16, "train_step_s": 5.0}
            | {"sync_fixed_s": 20.0, "reshard_s": 0.0},
            "weight sync stops it for",
        ),
        (
            {"training_gpus": 1, "rollout_gpus": 8, "length_cv": 0.5, "staleness_bound": 2, "problems": 512}
            | {"train_exponent": 0.5, "max_output_tokens": 9600.0},
            "hardly a tail",
        ),
        (
            {"train_step_s": 5.0, "rollout_gpus": 2, "output_tokens": 2000.0, "max_output_tokens": 2400.0}
            | {"length_cv": 0.1, "staleness_bound": 1, "new_weights": "recompute", "sync_fixed_s": 30.0}
            | {"train_exponent": 0.5},
            "much longer than training",
        ),
        (
            {"train_step_s": 20.0, "training_gpus": 32, "rollout_gpus": 64, "output_tokens": 500.0}
            | {"max_output_tokens": 1000.0, "length_cv": 0.1, "staleness_bound": 1, "new_weights": "recompute"}
            | {"sync_fixed_s": 5.0},
            "is lost again",
        ),
    ],
)
def test_each_reason_why_asynchrony_does_not_pay(given: dict[str, Any], reason: str) -> None:
    told = [each.message for each in answer(**given).findings if each.code == "async_does_not_pay"]
    assert len(told) == 1
    assert reason in told[0]


class TestNearBalance:
    def test_a_fleet_that_keeps_up_just_so_has_a_range(self) -> None:
        age = answer().metrics["staleness_mean"]
        assert age.low is not None
        assert age.high is not None
        assert age.high - age.low > 1
        assert "near_balance" in {each.code for each in answer().findings}

    def test_the_simulated_age_is_within_it_from_the_start_to_the_end(self) -> None:
        age = answer().metrics["staleness_mean"]
        early, late = (value(simulated({}, steps=80, warmup_steps=warm), "staleness_mean") for warm in (20, 600))
        assert (age.low or 0.0) <= early < late <= (age.high or 0.0)
        assert late - early > 0.3

    @pytest.mark.parametrize("gpus", [32, 40, 60])
    def test_elsewhere_there_is_one_figure_and_the_run_has_it(self, gpus: int) -> None:
        result = answer(rollout_gpus=gpus)
        assert result.metrics["staleness_mean"].low is None
        run = simulated({"rollout_gpus": gpus}, steps=60)
        assert value(run, "staleness_mean") == pytest.approx(value(result, "staleness_mean"), abs=0.1)


def test_answers_of_a_window_add_up() -> None:
    for given in (
        {},
        {"filtering": "on", "enforcement": "discard", "score_s": 20.0, "score_timeout_s": 30.0, "timed_out": "drop"},
        {"mode": "synchronous", "oversampling": 0.3, "instance_gpus": 2},
    ):
        run = simulated(given, steps=10)
        came = value(run, "requests_in_flight_before") + value(run, "requests_arrived")
        went = value(run, "requests_finished") + value(run, "requests_rejected") + value(run, "requests_in_flight")
        assert came == went


ODD: dict[str, dict[str, Any]] = {
    "one answer a problem": {"answers_per_problem": 1},
    "cap at the mean": {"max_output_tokens": 8000.0},
    "cap of ten million": {"max_output_tokens": 1e7},
    "all alike": {"length_cv": 0.0},
    "one GPU": {"rollout_gpus": 1, "training_gpus": 1, "problems": 4},
    "a hundred thousand GPUs": {"rollout_gpus": 100_000},
    "latent attention": {"llm": "deepseek-v3", "weight_bytes": None, "instance_gpus": 16, "gpu": "h200-sxm"},
    "experts": {"llm": "gpt-oss-120b", "weight_bytes": None, "instance_gpus": 4},
    "short trace": {"lengths": "trace", "workload": "azure-2023-code", "output_tokens": 30.0},
}


@pytest.mark.parametrize("name", ODD)
def test_odd_designs_have_finite_figures_in_estimate_and_run(name: str) -> None:
    result = answer(**ODD[name])  # figures that are not finite are refused where they are made
    assert value(result, "step_s") > 0
    assert dict(result.series)
    assert value(simulated(ODD[name], steps=4, warmup_steps=2), "step_s") > 0
