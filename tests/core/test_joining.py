"""Joined designs: the order they are answered in, and units lent at night, by hand."""

from __future__ import annotations

import pytest

from planner.core.fleet import Fleet, Pool
from planner.core.joining import Cycle, Join, Night, idle_at_night, in_order, lend


def pool(name: str = "decode", **changes: object) -> Pool:
    return Pool(**{"name": name, "label": name, "noun": name, "units": 4, "needed_units": 3.0, **changes})  # type: ignore[arg-type]


def test_each_comes_after_those_that_feed_it() -> None:
    joins = [Join("b", "c", "x"), Join("a", "c", "x"), Join("a", "b", "x")]
    assert in_order(["c", "b", "a"], joins=joins) == ["a", "b", "c"]


def test_a_ring_has_no_order() -> None:
    with pytest.raises(Cycle) as caught:
        in_order(["a", "b"], joins=[Join("a", "b", "x"), Join("b", "a", "x")])
    assert {"a", "b"} <= set(caught.value.names)


@pytest.mark.parametrize(
    ("changes", "share", "idle"),
    [
        ({}, 0.3, 3),  # 0.9 units of 4 are needed
        ({"headroom": 0.2}, 0.3, 2),  # 1.08 are two
        ({"spare_units": 1}, 0.3, 2),  # the spare stays
        ({}, 1.0, 1),
        ({"needed_units": None}, 0.3, 0),  # overloaded: nothing is to spare
        ({"follows_demand": False}, 0.3, 0),
    ],
)
def test_units_the_night_does_not_need(changes: dict[str, object], share: float, idle: int) -> None:
    assert idle_at_night(pool(**changes), share=share) == idle


def lending(night: Night, *, gpu: str = "h800", units: int = 36) -> list[object]:
    lender = Fleet((pool(unit_gpus=16, gpu="h800"),))
    wanted = pool("rollout", units=units, unit_gpus=1, gpu=gpu, unit_usd_per_h=2.0, borrows=True)
    return list(lend(lender, borrower=Fleet((wanted,)), night=night))


def test_lent_units_do_the_work_of_bought_ones() -> None:
    """Three idle units of 16 GPUs hold 48 instances of one; 36 are wanted, which three units (2.25) hold.
    8 h less two changes of 15 min are 7.5 h: 36 × $2 × 7.5 / 24 = $22.50 an hour."""
    (lent,) = lending(Night(hours=8, share=0.3, switch_s=900))
    assert (lent.idle_units, lent.lent_units, lent.replaced_units, lent.hours) == (3, 3, 36, 7.5)  # type: ignore[attr-defined]
    assert lent.saved_usd_per_h == 22.5  # type: ignore[attr-defined]


def test_no_more_is_lent_than_is_idle() -> None:
    (lent,) = lending(Night(), units=100)
    assert (lent.lent_units, lent.replaced_units) == (3, 48)  # type: ignore[attr-defined]


def test_other_gpus_and_short_nights_lend_nothing() -> None:
    assert lending(Night(), gpu="h100") == []
    assert lending(Night(hours=0.5, switch_s=900)) == []
