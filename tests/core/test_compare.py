"""Expected values are worked by hand from the figures of each test."""

from __future__ import annotations

import pytest

from planner.core.compare import Compared, Input, compare, difference, lacks
from planner.core.quantities import delta
from planner.core.result import Answer, Finding, Metric, MetricDef, Result

COST = MetricDef("cost", "Cost", "USD/h", "lower", "Money")
SPEED = MetricDef("speed", "Speed", "tok/s", "higher", "Load")
LOAD = MetricDef("load", "Load", "ratio", "none", "Load")
TTFT = MetricDef("ttft", "TTFT", "s", "lower", "Latency")


def item(name="x", *, kind="k", inputs=None, findings=(), answer="cost", cost_metric="cost", ttft_slo=None, **values):
    definitions = {"cost": COST, "speed": SPEED, "load": LOAD, "ttft": TTFT}
    metrics = {
        key: Metric(definitions[key], value, objective=ttft_slo if key == "ttft" else None)
        for key, value in values.items()
    }
    shown = {key: Input(key, key.title(), "G", value, str(value)) for key, value in (inputs or {}).items()}
    return Compared(name, kind, shown, Result(metrics, Answer(answer, "", cost_metric=cost_metric), tuple(findings)))


def row(comparison, name):
    return next(row for rows in comparison.groups.values() for row in rows if row.definition.name == name)


@pytest.mark.parametrize(
    ("definition", "a", "b", "absolute", "relative", "change"),
    [
        (COST, 100.0, 125.0, 25.0, 0.25, "worse"),
        (COST, 100.0, 75.0, -25.0, -0.25, "better"),
        (SPEED, 100.0, 125.0, 25.0, 0.25, "better"),
        (SPEED, 100.0, 75.0, -25.0, -0.25, "worse"),
        (LOAD, 0.5, 0.75, 0.25, 0.5, "none"),
        (COST, 0.0, 5.0, 5.0, None, "worse"),
        (COST, -10.0, -5.0, 5.0, 0.5, "worse"),
        (COST, 0.1 + 0.2, 0.3, 0.0, 0.0, "same"),
        (LOAD, 1.0, 1.0, 0.0, 0.0, "same"),
    ],
)
def test_a_delta_is_judged_by_the_direction_of_its_metric(definition, a, b, absolute, relative, change):
    found = difference(Metric(definition, a), Metric(definition, b))
    assert (found.absolute, found.relative, found.change) == (absolute, relative, change)


@pytest.mark.parametrize("apart", [1e-15, 1e-10, 5e-10, 2e-9, 1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("definition", [COST, SPEED])
def test_what_is_written_as_no_difference_is_neither_better_nor_worse(definition, apart):
    a, b = 3.7, 3.7 * (1 + apart)
    found = difference(Metric(definition, a), Metric(definition, b))
    written, _share = delta(a, b, definition.unit)
    assert (found.change == "same") == (written == "±0") == (apart < 1e-9)


@pytest.mark.parametrize(("a", "b"), [(None, 1.0), (1.0, None), (None, None)])
def test_an_unknown_figure_has_no_delta(a, b):
    assert difference(Metric(COST, a), Metric(COST, b)) is None


def test_figures_at_the_ends_of_the_range_give_no_infinite_delta():
    assert difference(Metric(COST, -1.7e308), Metric(COST, 1.7e308)) is None
    assert difference(Metric(COST, 5e-324), Metric(COST, 1e300)).relative is None


def test_inputs_are_split_into_those_that_differ_from_the_first_and_the_equal_ones():
    found = compare(
        [item(inputs={"rate": 5, "unit": 8}), item(inputs={"rate": 5, "unit": 4}), item(inputs={"rate": 5, "unit": 8})]
    )
    assert [row.name for row in found.equal] == ["rate"]
    assert [(row.name, row.differs) for row in found.differing] == [("unit", (False, True, False))]


def test_inputs_that_only_some_designs_have_are_left_out():
    found = compare([item(kind="a", inputs={"rate": 1, "deep": 2}), item(kind="b", inputs={"rate": 2})])
    assert [row.name for row in (*found.differing, *found.equal)] == ["rate"]


def test_best_follows_the_direction_and_skips_what_is_unknown():
    found = compare([item(cost=3.0, speed=3.0), item(cost=2.0, speed=4.0), item(cost=None, speed=1.0)])
    assert row(found, "cost").best == (1,)
    assert row(found, "speed").best == (1,)


def test_ties_share_the_best_but_equal_rows_and_rows_without_direction_have_none():
    found = compare(
        [item(cost=2.0, load=1.0, speed=5.0), item(cost=2.0, load=2.0, speed=5.0), item(cost=3.0, load=3.0, speed=5.0)]
    )
    assert row(found, "cost").best == (0, 1)
    assert row(found, "load").best == ()
    assert row(found, "speed").best == ()


def test_one_kind_shows_every_metric_and_different_kinds_only_the_shared_ones():
    same = compare([item(cost=1.0, speed=1.0), item(cost=1.0)])
    assert row(same, "speed").metrics[1] is None
    mixed = compare([item(kind="a", cost=1.0, speed=1.0), item(kind="b", cost=1.0)])
    assert [found.definition.name for rows in mixed.groups.values() for found in rows] == ["cost"]


def test_a_name_shared_by_different_units_is_not_a_shared_metric():
    odd = Compared("y", "b", {}, Result({"cost": Metric(MetricDef("cost", "Cost", "ratio"), 1.0)}, Answer("cost", "")))
    assert compare([item(kind="a", cost=1.0), odd]).groups == {}


def test_metrics_keep_their_groups_in_the_order_of_the_kind():
    found = compare([item(speed=1.0, cost=1.0, load=0.5), item(speed=1.0, cost=1.0, load=0.5)])
    assert {name: [row.definition.name for row in rows] for name, rows in found.groups.items()} == {
        "Load": ["speed", "load"],
        "Money": ["cost"],
    }


def test_the_cheapest_suitable_design_is_recommended_not_the_cheapest():
    failing = Finding("n1", "error", "Not N+1.")
    found = compare([item(cost=1.0, findings=[failing]), item(cost=3.0), item(cost=2.0)]).verdict
    assert (found.suitable, found.best, found.cost.definition.name) == ((1, 2), 2, "cost")
    assert found.lacks[0][0].message == "Not N+1."
    assert found.lacks[1] == found.lacks[2] == ()


def test_a_missed_objective_makes_a_design_unsuitable_and_warnings_do_not():
    found = compare(
        [
            item(cost=1.0, ttft=2.5, ttft_slo=2.0),
            item(cost=2.0, ttft=1.5, ttft_slo=2.0, findings=[Finding("w", "warning", "Tight.")]),
        ]
    ).verdict
    assert found.best == 1
    assert found.lacks[0][0].metric.value == 2.5


def test_none_is_recommended_when_none_is_suitable():
    bad = Finding("e", "error", "No.")
    found = compare([item(cost=1.0, findings=[bad]), item(cost=2.0, findings=[bad])]).verdict
    assert (found.suitable, found.best) == ((), None)


def test_without_a_shared_price_nothing_is_ranked():
    found = compare([item(kind="a", cost=1.0, ttft=1.0), item(kind="b", ttft=1.0)]).verdict
    assert (found.suitable, found.best, found.cost) == ((0, 1), None, None)


def test_a_design_whose_price_is_unknown_is_not_the_cheapest():
    assert compare([item(cost=None), item(cost=4.0)]).verdict.best == 1


def test_an_error_about_a_missed_objective_is_told_once():
    told = Finding("slow", "error", "TTFT is too long.", metric="ttft")
    found = lacks(item(ttft=3.0, ttft_slo=2.0, findings=[told]).result)
    assert [(lack.metric is not None, lack.message) for lack in found] == [(True, "")]


def test_a_comparison_needs_two_designs():
    with pytest.raises(ValueError, match="two"):
        compare([item(cost=1.0)])
