from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from planner.designs import compare
from planner.designs import services as designs
from planner.jobs import compared, runner
from tests.designs import toy

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison(team, alice, queue):
    design = designs.design_create(team=team, user=alice, kind="toy", spec={}, name="Fleet")
    items = [{"design": str(design.id)}, {"kind": "toy", "spec": {"unit_gpus": 8}, "name": "Bigger units"}]
    return designs.comparison_create(team=team, user=alice, items=items)


def simulate(comparison, **how):
    jobs = compared.simulations_start(comparison=comparison, user=None, **how)
    for job in jobs:
        runner.run(job.id)
    return jobs


def shown(comparison):
    view = compare.comparison_view(comparison)
    return compared.simulated_view(view, team=comparison.team)


def test_all_designs_are_simulated_with_the_same_requests(comparison):
    jobs = simulate(comparison, seed=7)
    assert [job.request["seed"] for job in jobs] == [7, 7]
    assert [job.request["spec"]["unit_gpus"] for job in jobs] == [4, 8]
    view = shown(comparison)
    assert (view["seed"], view["jobs"]) == (7, [str(job.id) for job in jobs])
    assert json.loads(json.dumps(view, allow_nan=False)) == view
    (latency,) = view["metrics"]
    assert [row["name"] for row in latency["rows"]] == ["ttft_p99_s", "goodput"]
    # the toy's percentile depends on the seed alone
    assert [cell["value"] for cell in latency["rows"][0]["cells"]] == [1.507, 1.507]
    assert latency["rows"][0]["cells"][1]["delta"]["change"] == "same"


def test_runs_that_met_different_requests_are_not_set_side_by_side(comparison):
    one, two = compared.simulations_start(comparison=comparison, user=None, seed=1)
    runner.run(one.id)
    simulate(comparison, seed=2)
    assert shown(comparison)["seed"] == 2
    runner.run(two.id)
    assert shown(comparison)["seed"] == 2


def test_without_common_runs_there_is_nothing_to_show(comparison):
    one, _two = compared.simulations_start(comparison=comparison, user=None)
    assert shown(comparison) is None
    runner.run(one.id)
    assert shown(comparison) is None


def test_runs_of_an_earlier_spec_do_not_count(comparison, alice, team):
    simulate(comparison)
    design = team.designs.get()
    designs.design_update(design=design, user=alice, expected_revision=1, spec={"rate_rps": 50})
    assert shown(comparison) is None


def test_charts_of_the_runs_are_laid_over_each_other(comparison):
    simulate(comparison)
    (chart,) = shown(comparison)["charts"]
    assert [trace["name"] for trace in chart["traces"]] == ["A Fleet", "B Bigger units"]
    assert toy.charts(toy.ToySpec(), toy.estimate(toy.ToySpec(), toy.ToyCatalog()))[0].name == chart["name"]


def test_only_the_chosen_runs_are_read_whole(comparison):
    for seed in range(5):
        simulate(comparison, seed=seed)
    view = compare.comparison_view(comparison)
    with CaptureQueriesContext(connection) as asked:
        found = compared.simulated_view(view, team=comparison.team)
    assert found["seed"] == 4
    whole = [query["sql"] for query in asked if '"result"' in query["sql"]]
    assert len(whole) == 1
    assert all(job.replace("-", "") in whole[0].replace("-", "") for job in found["jobs"]), whole
    assert len(asked) == 3
