"""A simulated rollout: the same answers in all modes, shares that add up, the estimate beside it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from planner.catalog import files
from planner.charts import plotly, svg, table
from planner.core.result import Result
from planner.core.simulation import Cancelled, SimulationRequest, Workload
from planner.kinds import get

KIND = get("rl_rollout")
CATALOG = files.load()
assert KIND.simulator is not None
SIMULATOR = KIND.simulator


class Quiet:
    """Hooks that ask for nothing."""

    def __init__(self, *, stop: bool = False) -> None:
        self.stop, self.seen = stop, 0.0

    def progress(self, fraction: float, **_: Any) -> None:
        self.seen = fraction

    def cancelled(self) -> bool:
        return self.stop


def simulated(given: dict[str, Any] | None = None, *, hooks: Quiet | None = None, **request: Any) -> Result:
    spec = KIND.spec.model_validate(given or {})
    return SIMULATOR.run(spec, CATALOG, SimulationRequest(**request), hooks or Quiet())


def expected(given: dict[str, Any] | None = None, **request: Any) -> Result:
    return SIMULATOR.expected(KIND.spec.model_validate(given or {}), CATALOG, SimulationRequest(**request))  # type: ignore[misc]


@pytest.fixture(scope="module")
def reference() -> Result:
    return simulated()


class TestReference:
    def test_every_mode_ran_on_the_same_answers(self, reference: Result) -> None:
        series = reference.series["simulated_modes"]
        assert len(series.column("mode").values) == 4
        assert (reference.value("steps_measured") or 0.0) >= 20

    def test_each_mode_is_close_to_its_estimate(self, reference: Result) -> None:
        series = reference.series["simulated_modes"]
        pairs = zip(series.column("step_s").values, series.column("estimated_step_s").values, strict=True)
        for ours, theirs in pairs:
            assert ours == pytest.approx(theirs, rel=0.05)

    def test_the_parts_sum_to_the_step(self, reference: Result) -> None:
        parts = ("training", "generation", "scoring", "weight_sync", "switch")
        whole = sum(reference.value(f"step_{part}_s") or 0.0 for part in parts)
        assert whole == pytest.approx(reference.value("step_s"), rel=1e-6)

    def test_idle_shares_follow_from_rates(self, reference: Result) -> None:
        tokens_per_s = 16_384_000 / (reference.value("step_s") or 1.0)
        full = 2500.0 * (reference.value("rollout_gpus") or 1.0)
        assert reference.value("utilisation") == pytest.approx(tokens_per_s / full, rel=0.03)
        assert (reference.value("rollout_idle") or 0.0) + (reference.value("utilisation") or 0.0) == pytest.approx(1.0)
        training = (reference.value("step_training_s") or 0.0) / (reference.value("step_s") or 1.0)
        assert (reference.value("trainer_idle") or 0.0) == pytest.approx(1 - training, abs=0.002)

    def test_what_instances_did_adds_up(self, reference: Result) -> None:
        series = reference.series["instance_time"]
        for place in range(len(series.column("mode").values)):
            assert sum(float(column.values[place] or 0.0) for column in series.columns[1:]) == pytest.approx(1.0)

    def test_ages_add_up(self, reference: Result) -> None:
        shares = reference.series["staleness_histogram"].column("share").values
        assert sum(float(share or 0.0) for share in shares) == pytest.approx(1.0)

    def test_stretches_of_a_row_do_not_overlap(self, reference: Result) -> None:
        for name in ("gantt", "gantt_modes"):
            series = reference.series[name]
            rows = list(zip(*(column.values for column in series.columns), strict=True))
            assert {row[0] for row in rows} >= {"trainer"} or name == "gantt_modes"
            for role in {row[0] for row in rows}:
                mine = sorted((float(start), float(end)) for who, _, start, end in rows if who == role)
                assert all(end <= later + 1e-6 for (_, end), (later, _) in pairwise(mine))

    def test_the_same_seed_gives_the_same_answer(self, reference: Result) -> None:
        assert simulated().metrics == reference.metrics

    def test_charts_draw_everywhere(self, reference: Result) -> None:
        charts = list(SIMULATOR.charts(KIND.spec(), expected(), reference))
        assert len(charts) >= 8
        assert {"gantt", "gantt_modes", "staleness_histogram"} <= {chart.name for chart in charts}
        for chart in charts:
            json.dumps(plotly.figure(chart), allow_nan=False)
            assert svg.draw(chart, width=336).startswith("<svg")
            assert table.rows(chart)[1]

    def test_metrics_share_names_with_the_estimate(self, reference: Result) -> None:
        shared = set(reference.metrics) & set(expected().metrics)
        assert {"step_s", "utilisation", "staleness_mean", "trainer_idle", "cost_usd_per_useful_sample"} <= shared


AGREE: dict[str, tuple[dict[str, Any], dict[str, Any], float]] = {
    "synchronous, room for all": ({"mode": "synchronous", "instance_gpus": 4, "rollout_gpus": 64}, {}, 0.03),
    "synchronous, answers wait for room": ({"mode": "synchronous", "rollout_gpus": 25}, {}, 0.06),
    "one step off": ({"mode": "one_step_off", "instance_gpus": 4, "rollout_gpus": 28}, {}, 0.03),
    "co-located": ({"mode": "colocated", "training_gpus": 96}, {}, 0.03),
    "bound of nought": ({"staleness_bound": 0, "rollout_gpus": 40}, {}, 0.07),
    "bound of one": ({"staleness_bound": 1, "rollout_gpus": 40}, {}, 0.08),
    "bound of two": ({"staleness_bound": 2, "rollout_gpus": 40}, {}, 0.04),
    "bound of four": ({"staleness_bound": 4, "rollout_gpus": 40}, {}, 0.02),
    "discard": ({"staleness_bound": 2, "rollout_gpus": 40, "enforcement": "discard"}, {}, 0.06),
    "drained": ({"new_weights": "drain", "rollout_gpus": 40}, {}, 0.05),
    "computed again": ({"new_weights": "recompute", "rollout_gpus": 40}, {}, 0.02),
    "filtered": ({"mode": "synchronous", "instance_gpus": 2, "rollout_gpus": 32, "filtering": "on"}, {}, 0.05),
    "over-sampled": ({"mode": "synchronous", "instance_gpus": 4, "rollout_gpus": 48, "oversampling": 0.2}, {}, 0.07),
    "partial rollouts": (
        {"mode": "synchronous", "instance_gpus": 4, "rollout_gpus": 48, "oversampling": 0.5, "enforcement": "carry"},
        {},
        0.03,
    ),
    "slow scoring": (
        {"mode": "synchronous", "instance_gpus": 2, "rollout_gpus": 32, "score_s": 60.0, "score_cv": 2.0},
        {},
        0.05,
    ),
    "scored at once": (
        {"mode": "synchronous", "instance_gpus": 4, "rollout_gpus": 32, "score_s": 60.0, "scored": "batch"},
        {},
        0.05,
    ),
    "roofline": ({"rate_source": "roofline", "instance_gpus": 4, "rollout_gpus": 48, "mode": "synchronous"}, {}, 0.06),
}


@pytest.mark.parametrize("case", AGREE)
def test_estimate_and_simulation_agree_on_the_step(case: str) -> None:
    given, options, within = AGREE[case]
    request: dict[str, Any] = {"options": {"modes": "chosen", "steps": 30, **options}}
    ours, theirs = simulated(given, **request).value("step_s"), expected(given, **request).value("step_s")
    assert ours == pytest.approx(theirs, rel=within)


class TestShapes:
    """Nothing puts them in: they follow from batches that decay and a gate that counts."""

    @staticmethod
    def step_s(**given: Any) -> float:
        return simulated(given, options={"modes": "chosen", "steps": 20}).value("step_s") or 0.0

    def test_a_bound_tail_leaves_nothing_for_twice_the_gpus(self) -> None:
        once, twice = (self.step_s(mode="synchronous", rollout_gpus=gpus) for gpus in (256, 512))
        assert 0 < 1 - twice / once < 0.03
        free = 1 - self.step_s(rollout_gpus=30) / self.step_s(rollout_gpus=15)
        assert free > 0.4

    def test_the_gain_of_staleness_has_a_knee(self) -> None:
        result = simulated({"rollout_gpus": 40}, options={"modes": "bounds"})
        series = result.series["simulated_modes"]
        steps = dict(zip(series.column("mode").values, series.column("step_s").values, strict=True))
        gains = [float(steps[f"η = {one}"] or 0) - float(steps[f"η = {other}"] or 0) for one, other in ((0, 1), (1, 2))]
        assert min(gains) > 100.0
        assert abs(float(steps["η = 4"] or 0) - float(steps["η = 8"] or 0)) < 1.0

    def test_long_answers_are_staler(self) -> None:
        result = simulated({"staleness_bound": 2, "rollout_gpus": 36}, options={"modes": "chosen"})
        ages = [age for age in result.series["simulated_by_length"].column("age").values if age is not None]
        assert float(ages[-1]) > 1.1 * float(ages[0])


class TestRequests:
    def test_an_instance_that_is_lost_lengthens_its_step(self) -> None:
        given = {"mode": "synchronous", "instance_gpus": 4, "rollout_gpus": 16}
        options = {"modes": "chosen", "steps": 20, "fail_at_s": 8000.0, "rejoin_s": 5000.0}
        result = simulated(given, options=options)
        assert "instance_lost" in {each.code for each in result.findings}
        assert (result.value("step_longest_s") or 0.0) > 1.1 * (result.value("step_s") or 0.0)

    def test_slow_scoring_is_sized_and_aged(self) -> None:
        result = simulated(options={"modes": "chosen", "score_s": 60.0})
        usual = simulated(options={"modes": "chosen"})
        assert (result.value("scorers_busy") or 0.0) > 50 * (usual.value("scorers_busy") or 1.0)
        assert (result.value("staleness_mean") or 0.0) > (usual.value("staleness_mean") or 0.0)

    def test_lengths_of_a_trace_are_scaled_to_the_mean(self) -> None:
        outputs = np.array([100, 200, 400, 1300], dtype=np.int64).repeat(50)
        ones = np.ones(len(outputs))
        trace = Workload("own", np.cumsum(ones), ones.astype(np.int64), outputs)
        result = simulated({"output_tokens": 4000.0}, workload=trace, options={"modes": "chosen"})
        beside = expected({"output_tokens": 4000.0}, workload=trace, options={"modes": "chosen"})
        assert beside.value("longest_tokens") == pytest.approx(10_400.0, rel=0.001)
        assert result.value("step_s") == pytest.approx(beside.value("step_s"), rel=0.05)
        assert result.provenance["workload"] == "own"

    def test_the_duration_and_the_answers_set_the_length(self) -> None:
        few = simulated(requests=2048 * 12, options={"modes": "chosen"})
        assert few.value("steps_measured") == 6
        long = simulated(duration_s=30_000.0, options={"modes": "chosen"})
        assert (long.value("steps_measured") or 0.0) > 50

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            ({"modes": "some"}, "options.modes"),
            ({"staleness_bound": 100}, "options.staleness_bound"),
            ({"lengths": "trace"}, "options.lengths"),
            ({"steps": 5000}, "options.steps"),
            ({"no_such": 1}, "options.no_such"),
        ],
    )
    def test_a_bad_option_is_named(self, options: dict[str, Any], named: str) -> None:
        with pytest.raises(ValueError, match=named):
            simulated(options=options)

    def test_what_a_follow_up_offers_to_simulate_runs(self) -> None:
        spec = KIND.spec()
        offered = [
            each.simulate for each in KIND.advice.follow_ups(spec, KIND.estimate(spec, CATALOG)) if each.simulate
        ]
        assert len(offered) >= 4
        for options in offered:
            assert simulated(options={**options, "steps": 8}).value("step_s")

    @pytest.mark.parametrize("given", [{"problems": 0}, {"weight_bytes": 1e12}])
    def test_nothing_to_run_says_why(self, given: dict[str, Any]) -> None:
        result = simulated(given)
        assert result.findings
        assert result.value("step_s") is None

    def test_a_run_can_be_stopped(self) -> None:
        with pytest.raises(Cancelled):
            simulated({"problems": 512}, hooks=Quiet(stop=True), options={"steps": 400, "modes": "chosen"})

    def test_progress_goes_over_all_modes(self) -> None:
        hooks = Quiet()
        simulated(hooks=hooks)
        assert hooks.seen == pytest.approx(1.0)
