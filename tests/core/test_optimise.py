"""Searching for the cheapest: the same as trying everything, and honest about what it did not take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core import kind as core
from planner.core import optimise
from planner.core.batch import changed
from planner.core.kind import DesignKind
from planner.core.result import Answer, Finding, Metric, MetricDef, Result
from planner.core.search import Candidate, Search, Space
from planner.core.sweep import Goal, Limit

COST = MetricDef("cost_usd_per_h", "Cost", "USD/h", "lower")
WAIT = MetricDef("wait_s", "Wait", "s", "lower")
MACHINES = {"slow": (1.0, 1.0), "fast": (3.0, 2.2), "huge": (20.0, 30.0)}
"""Requests a second of a machine, and its price."""
SIZES = (1, 2, 3, 5)


class ShopSpec(core.Spec):
    rate_rps: float = core.quantity(10.0, label="Rate", group="Load", unit="req/s", ge=0)
    machine: str = core.text("slow", label="Machine", group="Fleet")
    size: int = core.quantity(1, label="Machines a unit", group="Fleet", unit="machines", ge=1, le=4)
    spare: int = core.quantity(0, label="Spare units", group="Fleet", unit="units", ge=0)
    wait_slo_s: float = core.quantity(0.5, label="Wait, at most", group="Objectives", unit="s", gt=0)


def units(spec: ShopSpec) -> int:
    return math.ceil(spec.rate_rps / MACHINES[spec.machine][0] / spec.size)


def estimate(spec: ShopSpec, _catalog: Any) -> Result:
    rate, price = MACHINES[spec.machine]
    bought = units(spec) + spec.spare
    carried = bought * spec.size * rate
    wait_s = 1 / (carried - spec.rate_rps) if carried > spec.rate_rps else None
    findings = []
    if (bought - 1) * spec.size * rate < spec.rate_rps:
        findings.append(
            Finding("not_n_plus_1", "error", "One lost unit is too many.", change={"spare": spec.spare + 1})
        )
    if wait_s is None or wait_s > spec.wait_slo_s:
        told = "Too slow." if wait_s else "It never ends."
        findings.append(Finding("slow", "error", told, metric="wait_s", change={"spare": spec.spare + 1}))
    metrics = {
        "cost_usd_per_h": Metric(COST, bought * spec.size * price if spec.rate_rps else None),
        "wait_s": Metric(WAIT, wait_s, objective=spec.wait_slo_s),
    }
    return Result(metrics, Answer("cost_usd_per_h", "Done."), tuple(findings))


def candidates(spec: ShopSpec) -> Iterator[Candidate]:
    for machine, size in itertools.product(MACHINES, SIZES):
        change = {"machine": machine, "size": size}
        if size > 4:
            yield Candidate(change, group=machine, rejected="Too large for a room.")
            continue
        made = spec.model_copy(update=change)
        yield Candidate(change, group=machine, least=units(made) * size * MACHINES[machine][1])


def space(spec: ShopSpec, _result: Result, _catalog: Any) -> Space:
    found = list(candidates(spec))
    stream = sorted((one for one in found if not one.rejected), key=lambda one: one.least)
    rejected = [one for one in found if one.rejected]
    groups = {name: [one for one in stream if one.group == name] for name in MACHINES}
    return Space(("machine", "size", "spare"), stream, groups, rejected, len(found))


def words(spec: ShopSpec, _result: Result, _catalog: Any) -> str:
    return f"{units(spec) + spec.spare} units of {spec.size} {spec.machine}"


KIND = DesignKind(
    "shop",
    "Shop",
    "?",
    ShopSpec,
    (COST, WAIT),
    estimate,
    lambda *_: (),
    lambda *_: None,  # type: ignore[arg-type]
    SimpleNamespace(),
)
SEARCH = Search("cost_usd_per_h", space, words, mends=("spare",))


def goal(*limits: Limit) -> Goal:
    return Goal(COST, WAIT, limits, (), {COST.name: COST, WAIT.name: WAIT})


def found(spec: Mapping[str, Any], *limits: Limit, **options: Any) -> optimise.Found:
    base = ShopSpec.model_validate(spec)
    return optimise.find(KIND, base=base, search=SEARCH, goal=goal(*limits), catalog=None, **options)  # type: ignore[arg-type]


def cheapest_of_all(spec: ShopSpec, *, most_spare: int) -> float | None:
    holding = [
        result.value("cost_usd_per_h")
        for machine, size, spare in itertools.product(MACHINES, SIZES[:-1], range(most_spare))
        if not (
            result := estimate(spec.model_copy(update={"machine": machine, "size": size, "spare": spare}), None)
        ).findings
    ]
    return min((value for value in holding if value is not None), default=None)


@given(rate=st.floats(0.5, 200.0), wait=st.floats(0.05, 2.0))
def test_it_finds_what_trying_everything_finds(rate: float, wait: float) -> None:
    spec = {"rate_rps": rate, "wait_slo_s": wait}
    assert found(spec).value == cheapest_of_all(ShopSpec.model_validate(spec), most_spare=40)


@given(rate=st.floats(0.5, 200.0), machine=st.sampled_from(sorted(MACHINES)), spare=st.integers(0, 9))
def test_the_best_is_never_worse_than_a_present_design_that_holds(rate: float, machine: str, spare: int) -> None:
    spec = {"rate_rps": rate, "machine": machine, "spare": spare}
    answer = found(spec)
    present = answer.sweep.points.figures["cost_usd_per_h"][0]
    assert answer.sweep.points.status[0] != "ok" or (answer.value or 0.0) <= (present or 0.0)


@given(rate=st.floats(0.5, 200.0), wait=st.floats(0.05, 2.0))
def test_every_point_is_what_its_change_of_the_base_answers(rate: float, wait: float) -> None:
    base = ShopSpec(rate_rps=rate, wait_slo_s=wait)
    sweep = found({"rate_rps": rate, "wait_slo_s": wait}).sweep
    for place, status in enumerate(sweep.points.status):
        if sweep.points.reasons[place] == "Too large for a room.":
            continue
        again = estimate(changed(base, sweep.points.change(place)), None)  # type: ignore[arg-type]
        assert again.value("cost_usd_per_h") == sweep.points.figures["cost_usd_per_h"][place]
        assert (status == "ok") == (not again.findings)
        assert (status == "ok") == (sweep.points.reasons[place] is None)


def test_a_limit_of_the_goal_counts_like_an_objective() -> None:
    free, held = found({}), found({}, Limit(WAIT, at_most=0.02))
    waits = held.sweep.points.figures["wait_s"]
    assert held.sweep.best is not None
    assert (waits[held.sweep.best] or 0.0) <= 0.02
    assert (held.value or 0.0) > (free.value or 0.0)


def test_what_was_not_searched_is_said() -> None:
    assert found({}).provenance["is_whole"]
    assert not found({"rate_rps": 177.0, "wait_slo_s": 0.01}, most=3).provenance["is_whole"]


def test_the_present_design_stays_where_nothing_is_cheaper() -> None:
    best = found({})
    assert best.sweep.best is not None
    again = found(best.sweep.points.change(best.sweep.best))
    assert (again.sweep.best, again.value) == (0, best.value)
    assert again.sentence.startswith("**The present design is the best**")


def test_without_load_nothing_has_a_price() -> None:
    answer = found({"rate_rps": 0.0})
    assert (answer.sweep.best, answer.value) == (None, None)
    assert answer.sentence.startswith("**None of")


def test_runners_up_name_what_keeps_each_group_from_being_taken() -> None:
    answer = found({"rate_rps": 10.0})
    told = {row.reason.split(":")[0] for row in answer.sweep.runners_up}
    best = answer.sweep.best
    assert best is not None
    assert told == {"The present design", *MACHINES} - {answer.sweep.points.values["machine"][best]}


def test_the_hooks_see_every_estimate_and_may_stop_it() -> None:
    seen: list[int] = []
    found({}, each=seen.append)
    assert seen == list(range(1, len(seen) + 1))

    def stop(count: int) -> None:
        if count == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        found({}, each=stop)
