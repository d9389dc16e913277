from __future__ import annotations

from typing import Any

import pytest

from planner.core.result import Finding, MetricDef
from planner.core.simulated import PartHooks, how_much, measured, nothing_ran
from planner.core.simulation import SimulationRequest
from sims.engine.interval import Interval

TIME = MetricDef("ttft_p99_s", "TTFT P99", "s", "lower")
SHARE = MetricDef("hit_share", "Hits", "ratio", "higher")
COUNTS = tuple(
    MetricDef(f"requests_{what}", what, "requests") for what in ("arrived", "finished", "rejected", "in_flight")
)


@pytest.mark.parametrize(
    ("definition", "interval", "ends"),
    [
        (TIME, Interval(1.0, -0.5, 2.5, 16), (0.0, 2.5)),
        (SHARE, Interval(0.9, 0.7, 1.1, 16), (0.7, 1.0)),
        (TIME, Interval(1.0, 1.0, 1.0, 1, "fewer than two batches"), (None, None)),
    ],
)
def test_intervals_stay_within_what_a_figure_can_be(definition: MetricDef, interval: Interval, ends: Any) -> None:
    found = measured(definition, interval=interval, objective=0.5)
    assert (found.value, (found.low, found.high)) == (interval.value, ends)
    assert (found.basis, found.objective) == ("simulated", 0.5)


def test_a_figure_without_observations_does_not_exist_and_keeps_its_objective() -> None:
    found = measured(TIME, interval=None, objective=2.0)
    assert (found.value, found.low, found.high, found.objective) == (None, None, None, 2.0)


def test_the_note_counts_one_request_as_one_and_tells_what_was_cut() -> None:
    assert how_much(1, simulated_s=600.0, warmup_s=0.0) == "1 request over 10\u00a0min."
    cut = how_much(1234, simulated_s=600.0, warmup_s=150.0)
    assert cut == "1,234 requests over 10\u00a0min; the first 2.50\u00a0min are warm-up and not counted."


def test_nothing_ran_is_a_result_that_says_why() -> None:
    found = nothing_ran(
        {each.name: each for each in (TIME, *COUNTS)},
        unknown=[TIME.name],
        finding=Finding("no_requests", "info", "Nobody came."),
        metric=TIME.name,
        request=SimulationRequest(seed=5),
        catalog_digest="abc",
    )
    assert {name: each.value for name, each in found.metrics.items()} == {
        TIME.name: None,
        **{each.name: 0.0 for each in COUNTS},
    }
    assert "Nobody came." in found.answer.sentence
    assert found.provenance == {"seed": 5, "catalog": "abc"}


class Listener:
    def __init__(self) -> None:
        self.told: list[float] = []

    def progress(self, fraction: float, **others: Any) -> None:
        self.told.append(fraction)

    def cancelled(self) -> bool:
        return True


def test_a_part_tells_how_far_the_whole_is() -> None:
    listener = Listener()
    part = PartHooks(listener, place=1, count=4)
    for fraction in (0.0, 0.5, 1.0, 1.7):
        part.progress(fraction, simulated_s=1.0, events=1)
    assert listener.told == [0.25, 0.25, 0.375, 0.5, 0.5], "the first says that this part begins"
    assert part.cancelled()
