"""The grid, the verdicts, the front and the best of a sweep, held against counting everything out."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.sweep import decided, joined, worked_out
from planner.core.sweep_axes import MOST_POINTS, BadSweep, columns_of, count_of, read_axes
from planner.core.sweep_front import Order, best_of, front_of
from planner.core.sweep_goal import own_limits, read_goal
from planner.core.sweep_result import points_table, sweep_json
from tests.designs import toy

CATALOG = toy.ToyCatalog()
figure = st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-10, 10))
pairs = st.lists(st.tuples(figure, figure), max_size=30)
orders = st.builds(Order, lower=st.booleans(), lower_against=st.booleans())


def read(vary, *, base=None, kind=toy.TOY):
    return read_axes(kind, base=base or kind.spec(), vary=vary, catalog=CATALOG)


def goal_of(base=None, **asked):
    base = base or toy.TOY.spec()
    return read_goal(toy.TOY, result=toy.TOY.estimate(base, CATALOG), **asked)


def swept(vary, *, base=None, **asked):
    base = base or toy.TOY.spec()
    axes, goal = read(vary, base=base), goal_of(base, **asked)
    columns = columns_of(axes, places=range(count_of(axes)))
    points = worked_out(toy.TOY, base=base, columns=columns, goal=goal, catalog=CATALOG)
    return decided(points, fields=[axis.field for axis in axes], goal=goal)


def beats(one, other, order):
    """Whether a pair of figures dominates another, straight from the definition."""
    signs = (1 if order.lower else -1, 1 if order.lower_against else -1)
    better = [sign * a <= sign * b for sign, a, b in zip(signs, one, other, strict=True)]
    return all(better) and one != other


@given(pairs, orders)
def test_a_point_is_on_the_front_just_when_no_other_dominates_it(points, order):
    objective, against = [a for a, _ in points], [b for _, b in points]
    front = front_of(range(len(points)), objective=objective, against=against, order=order)
    whole = [place for place, pair in enumerate(points) if None not in pair]
    free = [place for place in whole if not any(beats(points[other], points[place], order) for other in whole)]
    assert sorted(front) == free
    assert [against[place] for place in front] == sorted(against[place] for place in front)


@given(pairs, orders, st.randoms(use_true_random=False))
def test_front_and_best_do_not_depend_on_the_order_of_looking(points, order, random):
    objective, against = [a for a, _ in points], [b for _, b in points]
    places = list(range(len(points)))
    looked = random.sample(places, len(places))
    how = {"objective": objective, "against": against, "order": order}
    assert front_of(looked, **how) == front_of(places, **how)
    assert best_of(looked, **how) == best_of(places, **how)


def test_without_another_metric_the_best_ones_are_the_front():
    assert front_of(range(4), objective=[2.0, 1.0, None, 1.0]) == (1, 3)
    assert best_of(range(4), objective=[2.0, 1.0, None, 1.0]) == 1
    assert best_of(range(2), objective=[1.0, 3.0], order=Order(lower=False)) == 1
    assert best_of([], objective=[]) is None


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_the_grid_is_the_product_of_its_values(counts):
    names = ["rate_rps", "price_usd_per_h", "unit_gpus", "ttft_slo_s"]
    vary = [
        {"field": name, "values": [place + 1 for place in range(n)]} for name, n in zip(names, counts, strict=False)
    ]
    axes = read(vary)
    columns = columns_of(axes, places=range(count_of(axes)))
    rows = list(zip(*columns.values(), strict=True))
    assert rows == list(itertools.product(*[axis.values for axis in axes]))


def test_a_range_counts_in_decimals_and_keeps_its_end():
    (axis,) = read([{"field": "price_usd_per_h", "start": 0.1, "stop": 0.5, "step": 0.1}])
    assert axis.values == (0.1, 0.2, 0.3, 0.4, 0.5)
    (axis,) = read([{"field": "unit_gpus", "start": 1, "stop": 8, "step": 3}])
    assert axis.values == (1, 4, 7)
    assert all(type(value) is int for value in axis.values)


def test_every_kind_of_field_varies_null_among_them():
    vary = [
        {"field": "gpu", "values": ["toy-1", "toy-2"]},
        {"field": "layout", "values": ["split", "joint"]},
        {"field": "ttft_slo_s", "values": [None, 1.5]},
    ]
    assert [axis.values for axis in read(vary)] == [("toy-1", "toy-2"), ("split", "joint"), (None, 1.5)]


@pytest.mark.parametrize(
    ("vary", "field", "says"),
    [
        ([], "vary", "1 to 4"),
        ([{"field": "rate_rps", "values": [1]}] * 2, "vary/1/field", "already"),
        ([{"field": "speed", "values": [1]}], "vary/0/field", "No such field"),
        ([{"field": "rate_rps"}], "vary/0", "Give either"),
        ([{"field": "rate_rps", "values": [1], "start": 1}], "vary/0", "Give either"),
        ([{"field": "rate_rps", "values": []}], "vary/0/values", "list"),
        ([{"field": "rate_rps", "values": [1, -2]}], "vary/0/values/1", "greater than 0"),
        ([{"field": "rate_rps", "values": [1, "2"]}], "vary/0/values/1", "number"),
        ([{"field": "rate_rps", "values": [1, [2]]}], "vary/0/values/1", "single"),
        ([{"field": "rate_rps", "values": [4, 4.0]}], "vary/0/values/1", "twice"),
        ([{"field": "unit_gpus", "values": [1.5]}], "vary/0/values/0", "integer"),
        ([{"field": "layout", "values": ["split", "none"]}], "vary/0/values/1", "split"),
        ([{"field": "gpu", "values": ["toy-1", "toy-9"]}], "vary/0/values/1", "toy-9"),
        ([{"field": "rate_rps", "start": 1, "stop": 2, "step": 0}], "vary/0/step", "above 0"),
        ([{"field": "rate_rps", "start": 3, "stop": 2, "step": 1}], "vary/0/stop", "below the start"),
        ([{"field": "rate_rps", "start": 1, "stop": 2}], "vary/0/step", "number"),
        ([{"field": "rate_rps", "start": 1, "stop": 2, "step": 1e-9}], "vary/0/step", "more than"),
        ([{"field": "layout", "start": 1, "stop": 2, "step": 1}], "vary/0/start", "split"),
        ([{"field": "unit_gpus", "start": 1, "stop": 5000, "step": 1}], "vary/0/stop", "less than"),
    ],
)
def test_a_bad_axis_is_named_where_it_was_given(vary, field, says):
    with pytest.raises(BadSweep) as caught:
        read(vary)
    assert caught.value.field == field
    assert says in caught.value.message


def test_a_grid_that_is_too_large_is_refused_before_it_is_made():
    vary = [
        {"field": "rate_rps", "start": 1, "stop": 500, "step": 1},
        {"field": "price_usd_per_h", "start": 1, "stop": 201, "step": 1},
    ]
    with pytest.raises(BadSweep) as caught:
        read(vary)
    assert caught.value.message.startswith("500 × 201 = 100,500 points; a sweep has at most 100,000.")
    vary[1]["stop"] = 200
    assert count_of(read(vary)) == MOST_POINTS


def test_the_goal_is_the_headline_price_against_the_latency_with_an_objective():
    goal = goal_of()
    assert (goal.objective.name, goal.against.name) == ("cost_usd_per_m_requests", "ttft_p99_s")
    assert goal.shown == ("cost_usd_per_m_requests", "ttft_p99_s", "cost_usd_per_h", "gpus")
    assert goal_of(against="").against is None
    assert goal_of(objective="goodput", against="gpus").order == Order(lower=False)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"objective": "speed"}, "objective"),
        ({"objective": "utilisation"}, "objective"),
        ({"against": "speed"}, "against"),
        ({"constraints": [{"metric": "speed", "at_most": 1}]}, "constraints/0/metric"),
        ({"constraints": [{"metric": "gpus"}]}, "constraints/0"),
        ({"constraints": [{"metric": "gpus", "at_most": 1, "at_least": 1}]}, "constraints/0"),
        ({"constraints": [{"metric": "gpus", "at_most": True}]}, "constraints/0/at_most"),
        ({"constraints": [{"metric": "gpus", "at_most": 1}] * 9}, "constraints"),
    ],
)
def test_a_bad_goal_is_named_where_it_was_given(asked, field):
    with pytest.raises(BadSweep) as caught:
        goal_of(**asked)
    assert caught.value.field == field


def plain(text):
    return text.replace("\u00a0", " ")


UNITS = {"field": "unit_gpus", "values": [1, 2, 4, 8, 16]}


def test_every_point_has_the_figures_of_its_own_estimate():
    found = swept([UNITS, {"field": "rate_rps", "values": [35, 95]}])
    for place in range(len(found.points)):
        result = toy.TOY.estimate(toy.ToySpec(**found.points.change(place)), CATALOG)
        for name, column in found.points.figures.items():
            assert column[place] == result.value(name)


def test_what_is_refused_infeasible_or_missed_says_why_and_the_best_is_none_of_them():
    vary = [{"field": "gpu", "values": ["toy-1", "toy-bare"]}, UNITS, {"field": "ttft_slo_s", "values": [None, 1.9]}]
    found = swept(vary, base=toy.ToySpec(rate_rps=35))
    told = dict(
        zip(
            zip(*found.points.values.values(), strict=True),
            zip(found.points.status, found.points.reasons, strict=True),
            strict=True,
        )
    )
    assert told["toy-bare", 1, None] == ("refused", "the catalog has no figure “bf16_flops_per_s” for toy-bare (gpus)")
    assert told["toy-1", 4, None] == ("infeasible", "One failed unit leaves nothing.")
    assert told["toy-1", 2, None] == ("ok", None)
    # 35 req/s on 4 GPUs of 10 req/s: TTFT P99 is 1 + 35/40 s.
    assert told["toy-1", 2, 1.9] == ("ok", None)
    tight = swept([UNITS], base=toy.ToySpec(rate_rps=35, ttft_slo_s=1.8))
    assert plain(tight.points.reasons[1]) == "TTFT P99: 1.88 s, above the 1.80 s asked for."
    assert tight.best is None
    assert [(one.place, one.binding.metric.name) for one in tight.runners_up] == [(0, "ttft_p99_s"), (1, "ttft_p99_s")]


def test_a_given_constraint_holds_too_and_binds_the_cheaper_ones():
    free = swept([UNITS])
    assert free.points.figures["gpus"] == [10, 10, 12, 16, 16]
    held = swept([UNITS], constraints=[{"metric": "gpus", "at_least": 12}])
    assert (free.best, held.best) == (0, 2)
    rejected = [one for one in held.runners_up if one.binding]
    assert [(one.place, plain(one.reason)) for one in rejected] == [
        (0, "GPUs: 10 GPUs, below the 12 GPUs asked for."),
        (1, "GPUs: 10 GPUs, below the 12 GPUs asked for."),
    ]
    assert rejected[0].binding.limit == 12
    assert held.runners_up[-1].reason.startswith("Cost, requests: +$")


def test_a_constraint_on_a_figure_that_does_not_exist_is_not_met():
    found = swept([UNITS], constraints=[{"metric": "margin", "at_least": 1}])
    assert found.points.reasons[0] == "Margin has no figure; $1.00/h is asked for."
    assert found.best is None


def test_points_in_pieces_are_the_points_in_one():
    whole = swept([UNITS, {"field": "ttft_slo_s", "values": [None, 1.5]}])
    axes = read([UNITS, {"field": "ttft_slo_s", "values": [None, 1.5]}])
    pieces = [
        worked_out(
            toy.TOY, base=toy.TOY.spec(), columns=columns_of(axes, places=part), goal=whole.goal, catalog=CATALOG
        )
        for part in ([0], range(1, 4), range(4, 10))
    ]
    together = decided(joined(pieces), fields=whole.fields, goal=whole.goal)
    assert together == whole


def test_the_table_has_a_row_a_point():
    found = swept([UNITS])
    result = sweep_json(found, kind=toy.TOY, own=own_limits(toy.TOY.estimate(toy.ToySpec(ttft_slo_s=2.0), CATALOG)))
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["constraints"] == [
        {"metric": "ttft_p99_s", "label": "TTFT P99", "unit": "s", "at_most": 2.0, "own": True}
    ]
    file = io.StringIO()
    csv.writer(file).writerows(points_table({**result, "verified": [{"place": 0, "state": "succeeded"}]}))
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert len(rows) == len(found.points) == 5
    assert [row["unit_gpus [GPUs]"] for row in rows] == ["1", "2", "4", "8", "16"]
    assert [place for place, row in enumerate(rows) if row["front"]] == sorted(found.front)
    assert (rows[0]["best"], rows[0]["verified"], rows[1]["verified"]) == ("yes", "succeeded", "")


def test_points_of_no_grid_tell_their_whole_change():
    whole = swept([UNITS])
    points = dataclasses.replace(whole.points, changes=[{"unit_gpus": 1}, {"layout": "joint"}, {}, {}, {}])
    assert points.change(1) == {"layout": "joint"}
    assert joined([points, points]).changes == [*points.changes, *points.changes]
