"""Draws and what is told from them, against closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from planner.core.batch import BatchResult, Figures
from planner.core.dials import Dial
from planner.core.draws import Array, Drawn, Spread, places
from planner.core.result import Answer, Metric, MetricDef, Result
from planner.core.uncertainty import Sample, contest, draw, spread_of, summary
from planner.core.variance import first_order, rank_correlation

COST = MetricDef("cost", "Cost", "USD/h", "lower")


def law(name: str, low: float, high: float, *, shape: Any = "uniform", **dial: Any) -> Drawn:
    return Drawn(Dial(name, name.title(), "", (low + high) / 2, **dial), low, high, shape, "the test")


def batch_of(cost: Callable[..., Any]) -> Callable[[Mapping[str, Sequence[Any]]], BatchResult]:
    def evaluate(columns: Mapping[str, Sequence[Any]]) -> BatchResult:
        values = np.asarray(cost(**{name: np.array(column) for name, column in columns.items()}), dtype=float)
        known = np.ones(len(values), dtype=bool)
        limits = Figures(np.full(len(values), 18.0), known)
        status = np.zeros(len(values), dtype=np.int8)
        return BatchResult(
            {"cost": Figures(values, known)}, {"cost": limits}, {"cost": COST}, status, [], np.full(len(values), -1)
        )

    return evaluate


def result(value: float = 16.5, **metric: Any) -> Result:
    return Result({"cost": Metric(COST, value, objective=18.0, **metric)}, Answer("cost", ""))


def sampled(
    cost: Callable[..., Any], *laws: Drawn, seed: int = 1, draws: int = 4096, of: Result | None = None
) -> Sample:
    return draw(laws, result=of or result(), evaluate=batch_of(cost), seed=seed, draws=draws)


def linear(a: Array, b: Array) -> Array:
    found: Array = 3 * a + 5 * b
    return found


def test_a_sum_of_uniform_inputs_has_the_percentiles_of_its_trapezoid() -> None:
    # 3a + 5b of a in (0, 1) and b in (2, 4): P(sum < 10 + x) = x² / 60 up to x = 3, so that P5 is 10 + √3.
    told = summary(sampled(linear, law("a", 0, 1), law("b", 2, 4)), metric=COST, result=result(), labels={})
    exact = {"p5": 10 + math.sqrt(3), "p50": 16.5, "p95": 23 - math.sqrt(3)}
    for name, value in exact.items():
        found = told.percentiles[name]
        assert found.value == pytest.approx(value, abs=max(4 * found.error, 0.05))
        assert 0 < found.error < 0.2
    # Below 18 lie 1.5 + 5 of the width of b: P = (18 - 10 - 1.5) / 10.
    chance = told.chances[0].probability
    assert chance.value == pytest.approx(0.65, abs=4 * chance.error)
    assert told.all_met == chance


def test_shares_of_the_variance_of_a_sum_are_those_of_its_terms() -> None:
    told = summary(sampled(linear, law("a", 0, 1), law("b", 2, 4)), metric=COST, result=result(), labels={})
    parts = {part.name: part for part in told.parts}
    assert parts["b"].index == pytest.approx(100 / 109, abs=0.03)
    assert parts["a"].index == pytest.approx(9 / 109, abs=0.03)
    assert parts["b"].correlation > 0.9


def test_first_order_indices_of_the_ishigami_function() -> None:
    # T. Ishigami, T. Homma, 1990, with a = 7, b = 0.1: S1 = 0.3139, S2 = 0.4424, S3 = 0 (Saltelli et al., 2008, § 4.9).
    at = {name: places(name, seed=1, batches=1, size=4096) for name in ("x1", "x2", "x3")}
    x1, x2, x3 = (math.pi * (2 * each - 1) for each in at.values())
    figures = np.sin(x1) + 7 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)
    for name, index in (("x1", 0.3139), ("x2", 0.4424), ("x3", 0.0)):
        assert first_order(at[name], figures) == pytest.approx(index, abs=0.025)
    # A rank correlation does not see the second input, which works to both sides alike.
    assert abs(rank_correlation(at["x2"], figures)) < 0.03


def test_an_input_keeps_its_draws_whatever_else_is_drawn_and_the_seed_moves_them() -> None:
    first, second = places("rate", seed=7, batches=8, size=64), places("rate", seed=8, batches=8, size=64)
    assert np.array_equal(first, places("rate", seed=7, batches=8, size=64))
    assert not np.array_equal(first, second)
    assert abs(rank_correlation(first, places("price", seed=7, batches=8, size=64))) < 0.15
    for batch in np.split(first, 8):
        assert sorted(int(64 * place) for place in batch) == list(range(64))


def test_common_draws_make_a_difference_narrow() -> None:
    def other(a: Array, b: Array) -> Array:
        return linear(a, b) + 0.5 + 0.2 * a

    laws = law("a", 0, 1), law("b", 2, 4)
    pairs = [[sampled(cost, *laws, seed=seed, draws=64) for cost in (linear, other)] for seed in range(20)]
    common = np.var([np.mean(second.figures["cost"] - first.figures["cost"]) for first, second in pairs])
    # The second of one seed against the first of the next: draws of their own.
    seconds, firsts = [pair[1] for pair in pairs], [pair[0] for pair in pairs[1:] + pairs[:1]]
    apart = np.var([b.figures["cost"].mean() - a.figures["cost"].mean() for a, b in zip(firsts, seconds, strict=True)])
    assert common < apart / 20
    told = contest(*pairs[0], metric=COST)
    assert told.first_is_better.value == 1.0
    assert told.mean.value == pytest.approx(0.6, abs=0.05)
    assert told.mean.error < told.apart_error / 5


def test_the_range_of_a_figure_is_a_factor_with_its_ends_at_a_tenth_and_nine_tenths() -> None:
    of = result(value=10.0, low=8.0, high=15.0, basis="calibrated")
    told = summary(sampled(lambda a: 10 + 0 * a, law("a", 0, 1), of=of), metric=COST, result=of, labels={})
    assert told.percentiles["p50"].value == pytest.approx(10.0, rel=1e-3)
    assert [part.name for part in told.parts if part.index > 0.9] == ["calibration"]
    values = sampled(lambda a: 10 + 0 * a, law("a", 0, 1), of=of).figures["cost"]
    assert np.quantile(values, [0.1, 0.9]) == pytest.approx([8.0, 15.0], rel=0.01)


def test_slower_makes_a_rate_lower_and_a_time_longer() -> None:
    rate = MetricDef("rate", "Rate", "req/s", "higher")
    assert spread_of(Metric(rate, 10.0, low=5.0, high=20.0, basis="calibrated")) == Spread(slow=0.5, quick=2.0)
    assert spread_of(Metric(COST, 10.0, low=5.0, high=20.0, basis="calibrated")) == Spread(slow=2.0, quick=0.5)
    assert spread_of(Metric(COST, 10.0, low=5.0, high=20.0)) == Spread(1.0, 1.0)


def test_a_stated_rate_is_drawn_instead_of_a_range() -> None:
    of = result(value=10.0, low=5.0, high=20.0, basis="assumed")
    rate = Drawn(Dial("rate", "Rate", "", 4.0), 4 / 1.15, 4 * 1.15, "lognormal", "the design", is_rate=True)
    values = sampled(lambda rate: 40 / rate, rate, of=of).figures["cost"]
    assert np.quantile(values, [0.1, 0.9]) == pytest.approx([10 / 1.15, 10 * 1.15], rel=0.01)


@pytest.mark.parametrize("shape", ["triangular", "uniform", "lognormal"])
def test_draws_stay_within_the_bounds_and_whole_inputs_whole(shape: str) -> None:
    units = law("units", 2, 9, shape=shape, is_whole=True, least=3.0, most=8.0)
    drawn = units.at(places("units", seed=1, batches=1, size=256))
    assert drawn.min() == 3.0
    assert drawn.max() == 8.0
    assert np.array_equal(drawn, np.rint(drawn))
