from __future__ import annotations

import pytest

from sims.parts.scaling import Policy, Scaler


def scaler(**changes: float) -> Scaler:
    values = {"target": 10.0, "least": 1, "most": 8, "calm_s": 60.0}
    return Scaler(Policy(**{**values, **changes}))  # type: ignore[arg-type]


def test_a_load_asks_for_whole_units_at_the_target() -> None:
    """The example of the Kubernetes documentation: 200 m at a target of 100 m doubles, 50 m halves."""
    assert scaler(target=100.0).wanted(200.0, units=1, now_s=0.0) == 2
    assert scaler(target=100.0).wanted(2 * 50.0, units=2, now_s=0.0) == 1
    assert scaler().wanted(31.0, units=2, now_s=0.0) == 4


def test_within_the_tolerance_nothing_changes() -> None:
    assert scaler().wanted(21.9, units=2, now_s=0.0) == 2
    assert scaler().wanted(22.1, units=2, now_s=0.0) == 3
    assert scaler().wanted(18.1, units=2, now_s=0.0) == 2


def test_units_go_only_when_fewer_were_wanted_for_a_while() -> None:
    one = scaler()
    assert one.wanted(40.0, units=4, now_s=0.0) == 4
    assert one.wanted(10.0, units=4, now_s=30.0) == 4
    assert one.wanted(20.0, units=4, now_s=59.0) == 4
    # The wish for four has grown old; in the last minute the most was two.
    assert one.wanted(10.0, units=4, now_s=61.0) == 2
    assert one.wanted(10.0, units=2, now_s=120.0) == 1


def test_a_policy_keeps_its_bounds() -> None:
    assert scaler().wanted(1e6, units=4, now_s=0.0) == 8
    assert scaler(least=2).wanted(0.0, units=2, now_s=0.0) == 2
    assert scaler(least=0).wanted(0.0, units=0, now_s=0.0) == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [({"target": 0.0}, "target"), ({"least": 9}, "least"), ({"calm_s": -1.0}, "calm_s")],
)
def test_an_impossible_policy_is_refused_by_name(change: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        scaler(**change)
