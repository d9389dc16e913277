"""Inputs that can be moved, whatever the kind."""

from __future__ import annotations

from typing import Literal

import pytest

from planner.core import kind as core
from planner.core.dials import dial_of, dials


class Small(core.Spec):
    rate: float = core.quantity(100.0, label="Rate", group="Load", unit="req/s", ge=0, le=105)
    share: float = core.quantity(0.999, label="Share", group="Load", unit="ratio", gt=0, lt=1)
    units: int = core.quantity(8, label="Units", group="Fleet", unit="units", ge=0, le=9)
    left_out: float | None = core.quantity(None, label="Left out", group="Fleet", unit="s", ge=0)
    layout: Literal["split", "joint"] = core.choice(
        "split", label="Layout", group="Fleet", labels={"split": "Apart", "joint": "Together"}
    )
    is_on: bool = core.choice(True, label="On", group="Fleet", labels={"true": "yes", "false": "no"})
    gpu: str = core.catalog_entry("h100", label="GPU", group="Fleet", table="gpus")


def test_numbers_and_choices_can_be_moved_and_the_others_say_why_not() -> None:
    found, left = dials(Small())
    assert [dial.name for dial in found] == ["rate", "share", "units", "layout", "is_on"]
    assert [(each.name, each.why) for each in left] == [("left_out", "open"), ("gpu", "entry")]


def test_a_choice_goes_through_its_alternatives_in_words() -> None:
    layout, on = dial_of(Small(), "layout"), dial_of(Small(), "is_on")
    assert layout is not None
    assert on is not None
    assert (layout.alternatives, layout.said("joint")) == (("joint",), "Together")
    assert (on.alternatives, on.said(False)) == ((False,), "no")


@pytest.mark.parametrize(
    ("name", "share", "moved", "within"),
    [("rate", 0.1, 110.0, 105.0), ("rate", -0.1, 90.0, 90.0), ("units", 0.1, 9, 9), ("units", 0.01, 9, 9)],
)
def test_a_move_is_a_share_or_a_whole_and_held_to_the_bounds(
    name: str, share: float, moved: float, within: float
) -> None:
    dial = dial_of(Small(), name)
    assert dial is not None
    assert dial.moved(share) == pytest.approx(moved)
    assert dial.within(dial.moved(share)) == pytest.approx(within)


def test_a_bound_that_is_not_included_is_not_reached() -> None:
    share = dial_of(Small(), "share")
    assert share is not None
    assert 0.99999 < share.within(2.0) < 1
    assert 0 < share.within(-1.0) < 0.00001
