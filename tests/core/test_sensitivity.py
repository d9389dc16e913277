"""The tornado against derivatives, and what would change the decision against arithmetic by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.core import kind as core
from planner.core.fleet import Fleet, Pool
from planner.core.flip_judge import Judge, Rival
from planner.core.flips import Flip, flips
from planner.core.probing import Point, Probe
from planner.core.result import Answer, Finding, Metric, MetricDef, Result
from planner.core.sensitivity import Bar, Span, Tornado, tornado

COST = MetricDef("cost", "Cost", "USD/h", "lower")
TIME = MetricDef("time_s", "Time", "s", "lower")


class Plain(core.Spec):
    """Cost = price × number^2 / speed; time = 8 / speed + (rate − 3)², which has a valley."""

    price: float = core.quantity(2.0, label="Price", group="Money", unit="USD/h", ge=0, le=2.1)
    number: float = core.quantity(10.0, label="Number", group="Load", unit="", gt=0)
    speed: float = core.quantity(4.0, label="Speed", group="Load", unit="", gt=0)
    rate: float = core.quantity(3.0, label="Rate", group="Load", unit="req/s", ge=0)
    units: int = core.quantity(3, label="Units", group="Load", unit="units", ge=3, le=40)
    idle: float = core.quantity(1.0, label="Idle", group="Load", unit="")
    spare: float = core.quantity(0.0, label="Spare", group="Load", unit="")


def estimate(spec: Plain, _catalog: object) -> Result:
    cost = spec.price * spec.number**2 / spec.speed
    time_s = 8 / spec.speed + (spec.rate - 3) ** 2
    findings = (Finding("few", "error", "Too few units."),) if spec.units > 5 else ()
    metrics = {
        "cost": Metric(COST, None if spec.units > 5 else cost),
        "time_s": Metric(TIME, time_s, objective=3.0),
    }
    return Result(metrics, Answer("cost", "", cost_metric="cost"), findings)


def probe(**spec: Any) -> Probe:
    return Probe(Plain(**spec), estimate=estimate, catalog=None)  # type: ignore[arg-type]


def bar(found: Tornado, name: str) -> Bar:
    return next(each for each in found.bars if each.dial.name == name)


def test_elasticities_are_the_derivatives_of_a_product_of_powers() -> None:
    found = tornado(probe(), metric=COST, spans={"price": Span(1.98, 2.02), "number": Span(9.99, 10.01)})
    assert bar(found, "price").elasticity == pytest.approx(1.0)
    assert bar(found, "number").elasticity == pytest.approx(2.0)
    # An arc of ±10 % about 1/x: (1/0.9 - 1/1.1) / 0.2 = 1 / 0.99.
    assert bar(found, "speed").elasticity == pytest.approx(-1 / 0.99)


def test_bars_are_sorted_by_swing_and_what_changes_nothing_is_counted() -> None:
    found = tornado(probe(), metric=COST)
    assert [each.dial.name for each in found.bars] == ["number", "speed", "price"]
    assert bar(found, "number").swing == pytest.approx(50 * (1.21 - 0.81))
    assert [dial.name for dial in found.still] == ["rate", "units", "idle"]
    assert [(each.name, each.why) for each in found.unmoved] == [("spare", "zero")]


def test_an_end_beyond_a_bound_is_clipped_and_says_so() -> None:
    low, high = bar(tornado(probe(), metric=COST), "price").ends
    assert (low.value, low.is_clipped) == (1.8, False)
    assert (high.value, high.is_clipped) == (2.1, True)


def test_an_end_without_the_figure_carries_the_reason() -> None:
    low, high = bar(tornado(probe(units=5), metric=COST), "units").ends
    assert (low.value, low.figure) == (4, 50.0)
    assert (high.figure, high.point.status, high.point.reason) == (None, "infeasible", "Too few units.")


def of_input(found: tuple[Flip, ...], name: str) -> list[float]:
    return [flip.holds for flip in found if flip.dial.name == name]


def test_flips_are_found_to_both_sides_of_a_valley() -> None:
    found = flips(Judge(probe()))
    assert sorted(of_input(found.found, "rate")) == pytest.approx([2.0, 4.0], abs=2e-3)
    assert of_input(found.found, "speed") == pytest.approx([8 / 3], rel=1e-3)
    assert "price" in {dial.name for dial in found.steady}


def test_a_rival_is_cheaper_from_where_the_prices_meet() -> None:
    rival = Rival("Fixed speed", {"speed": 3.2})
    found = flips(Judge(probe(), cost="cost", rival=rival), only=["speed", "price"])
    assert of_input(found.found, "speed") == pytest.approx([3.2, 8 / 3], rel=1e-3)
    first = next(flip for flip in found.found if flip.events[0].turn == "rival")
    assert first.said == (
        "The decision holds until “Speed” falls below 3.20 (−20\u00a0%): then “Fixed speed” is cheaper."
    )


# The reference fleet by hand: 500 req/s, 3,000 in (half of it cached), 800 out; 4,000 and 1,850 tok/s a GPU; units of
# 32 and 144 GPUs; headroom 20 %. Decode needs 500 · 800 / 1850 · 1.2 / 144 = 1.8018 units, prefill 7.03.
DECODE_RATE_FOR_TWO = 2 * 144 * 1850 / (800 * 1.2)
PREFILL_RATE_FOR_SEVEN = 7 * 32 * 4000 / (1500 * 1.2)
HEADROOM_FOR_TWO = 2 * 144 / (500 * 800 / 1850) - 1


def reference_fleet(point: Point) -> Fleet:
    value = {name: point.value(name) or 0.0 for name in ("prefill_units", "decode_units")}
    needed = {"prefill": (point.value("prefill_gpus_needed") or 0) / 32}
    needed["decode"] = (point.value("decode_gpus_needed") or 0) / 144
    return Fleet(
        pools=tuple(
            Pool(name, name.title(), f"{name} unit", units=int(value[f"{name}_units"]), needed_units=needed[name])
            for name in ("prefill", "decode")
        )
    )


@pytest.fixture(scope="module")
def reference() -> tuple[Flip, ...]:
    kind = kinds.get("llm_serving")
    asked = Probe(kind.spec(), estimate=kind.estimate, catalog=files.load())
    judge = Judge(asked, fleet=reference_fleet, cost="cost_usd_per_h")
    return flips(judge, only=["peak_rps", "headroom", "gpu_price_usd_per_h"]).found


def test_units_of_the_reference_step_where_the_arithmetic_says(reference: tuple[Flip, ...]) -> None:
    units = {
        (flip.dial.name, flip.value > flip.dial.value): flip for flip in reference if flip.events[0].turn == "units"
    }
    assert units["peak_rps", True].holds == pytest.approx(DECODE_RATE_FOR_TWO, rel=1e-3)
    assert units["peak_rps", False].value == pytest.approx(PREFILL_RATE_FOR_SEVEN, rel=1e-3)
    assert units["headroom", True].holds == pytest.approx(HEADROOM_FOR_TWO, rel=1e-3)
    # 8 prefill units and now 3 of decode: 256 + 432 GPUs at $2.
    assert "3 decode units instead of 2 are bought, at $1,376/h instead of $1,088/h" in units["peak_rps", True].said


def test_a_third_decode_unit_also_wins_n_plus_1_though_only_for_a_stretch(reference: tuple[Flip, ...]) -> None:
    # Of 3 units 2 are left: they carry 666 req/s, so from 555 to 666 req/s the loss of one is survived.
    assert math.isclose(2 * 144 * 1850 / 800, 666)
    more = next(flip for flip in reference if flip.dial.name == "peak_rps" and flip.value > 500)
    assert ("objective", "decode_n_plus_1") in {(event.turn, event.name) for event in more.events}


def test_a_price_turns_over_no_objective_and_no_unit(reference: tuple[Flip, ...]) -> None:
    assert not of_input(reference, "gpu_price_usd_per_h")
