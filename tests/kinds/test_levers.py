"""Every kind's search for its cheapest design: the same as trying everything, with bounds and reasons that hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.core import optimise
from planner.core.batch import changed
from planner.core.catalog import Catalog, Gpu
from planner.core.compare import lacks
from planner.core.kind import Spec
from planner.core.result import Result
from planner.core.search import Search
from planner.core.sweep_goal import read_goal

CATALOG = files.load()
KINDS = sorted(kinds.all_kinds())
SMALL = [slug for slug in KINDS if kinds.planning(slug).search and slug != "llm_serving"]
"""Kinds whose candidates can all be tried; the fleet of one LLM has a test of its own."""


class FewGpus:
    """The catalog with some of its GPUs only."""

    def __init__(self, *slugs: str) -> None:
        self._slugs = slugs

    def __getattr__(self, name: str) -> Any:
        return getattr(CATALOG, name)

    def gpus(self) -> Sequence[Gpu]:
        return [CATALOG.gpu(slug) for slug in self._slugs]


FEW: Catalog = FewGpus("h100-sxm", "l40s")


def search_of(slug: str) -> Search:
    found = kinds.planning(slug).search
    assert found is not None
    return found


def result_of(slug: str, base: Spec, change: dict[str, Any]) -> Result:
    return kinds.get(slug).estimate(changed(base, change) if change else base, FEW)


@cache
def searched(slug: str) -> optimise.Found:
    kind, search = kinds.get(slug), search_of(slug)
    base = kind.spec()
    goal = read_goal(kind, result=kind.estimate(base, FEW), objective=search.objective)
    return optimise.find(kind, base=base, search=search, goal=goal, catalog=FEW)


def least_with_spares(slug: str, base: Spec, change: dict[str, Any]) -> float | None:
    """The cost of a candidate with the fewest spare units with which it holds, tried one after the other."""
    mends = search_of(slug).mends
    for more in range(4):
        raised = {name: changed(base, change).model_dump()[name] + more for name in mends}
        result = result_of(slug, base, {**change, **raised})
        if not lacks(result):
            return result.value(search_of(slug).objective)
        if not mends:
            break
    return None


@pytest.mark.parametrize("slug", KINDS)
def test_every_kind_can_be_searched_by_a_metric_of_its_own_that_is_better_low(slug: str) -> None:
    search = search_of(slug)
    metric = next(metric for metric in kinds.get(slug).metrics if metric.name == search.objective)
    assert metric.direction == "lower"
    assert set(search.mends) <= kinds.get(slug).spec.model_fields.keys()


@pytest.mark.parametrize("slug", SMALL)
def test_it_is_as_cheap_as_trying_every_candidate(slug: str) -> None:
    base = kinds.get(slug).spec()
    space = search_of(slug).space(base, result_of(slug, base, {}), FEW)
    tried = [least_with_spares(slug, base, dict(one.change)) for one in space.stream]
    best = min(value for value in tried if value is not None)
    found = searched(slug)
    assert found.provenance["is_whole"]
    assert found.value is not None
    # Present designs count too, and a load that is a lever is searched to two per cent.
    assert found.value <= best * (1 + 1e-9)
    assert found.sweep.best == 0 or found.value == pytest.approx(best)


@pytest.mark.parametrize("slug", SMALL)
def test_bounds_and_reasons_hold_when_candidates_are_worked_out(slug: str) -> None:
    base, search = kinds.get(slug).spec(), search_of(slug)
    space = search.space(base, result_of(slug, base, {}), FEW)
    stream = list(space.stream)
    for one in stream[:: max(1, len(stream) // 12)]:
        value = result_of(slug, base, dict(one.change)).value(search.objective)
        assert value is None or value >= one.least * (1 - 1e-9), one
    for one in list(space.rejected)[:6]:
        assert lacks(result_of(slug, base, dict(one.change))), one.rejected


@pytest.mark.parametrize("slug", SMALL)
def test_points_open_as_designs_with_the_figures_they_show(slug: str) -> None:
    points, base, objective = searched(slug).sweep.points, kinds.get(slug).spec(), search_of(slug).objective
    assert "refused" not in points.status
    for place in range(0, len(points), max(1, len(points) // 10)):
        if points.figures[objective][place] is None:
            continue
        result = result_of(slug, base, points.change(place))
        assert result.value(objective) == points.figures[objective][place]
        assert (points.status[place] == "ok") == (not lacks(result))
        assert (points.reasons[place] is None) == (points.status[place] == "ok")


@pytest.mark.parametrize("slug", SMALL)
def test_the_answer_holds_and_is_not_worse_than_the_present_design(slug: str) -> None:
    found = searched(slug)
    best, points = found.sweep.best, found.sweep.points
    assert best is not None
    present = points.figures[search_of(slug).objective][0]
    assert points.status[0] != "ok" or (found.value or 0.0) <= (present or 0.0)
    assert best in found.sweep.front
    assert found.sentence.startswith("**")
    assert all(row.reason and row.place != best for row in found.sweep.runners_up)


def test_rates_and_prices_of_another_gpu_come_with_it() -> None:
    def all_of(slug: str, name: str, gpu: str) -> set[Any]:
        points = searched(slug).sweep.points
        changes = [points.change(place) for place in range(1, len(points))]
        return {change[name] for change in changes if change.get("gpu") == gpu}

    assert all_of("rl_rollout", "rate_source", "l40s") == {"roofline"}
    assert all_of("rl_rollout", "training_gpu_price_usd_per_h", "l40s") == {2.5}
    assert all_of("kv_pool", "gpu_flops_per_s", "l40s") == {None}
    for slug in ("engine_instance", "kv_pool", "multi_lora", "rl_rollout"):
        told = searched(slug).provenance["prices"]["l40s"]
        assert all_of(slug, "gpu_price_usd_per_h", "l40s") == {told["usd_per_h"]}
        assert told["as_of"]
