"""Units that share what they stand on, against every combination of what is up."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from planner.formulas.reliability import at_least_up
from planner.formulas.reliability_domains import (
    Level,
    most_together,
    nested,
    short_of,
    spares_for,
    unit_up,
    units_up,
)


def enumerated(groups: list[list[list[int]]], *, own: float, node: float, rack: float, zone: float) -> np.ndarray:
    """Units up, by summing over all states of a zone's racks' nodes' units; each number is the units of a node."""
    found = np.zeros(sum(sum(map(sum, racks)) for racks in groups) + 1)
    zones, racks = len(groups), [len(each) for each in groups]
    nodes = [len(one) for each in groups for one in each]
    for zone_is in itertools.product((0, 1), repeat=zones):
        for rack_is in itertools.product((0, 1), repeat=sum(racks)):
            for node_is in itertools.product((0, 1), repeat=sum(nodes)):
                weight = math.prod(zone if up else 1 - zone for up in zone_is)
                weight *= math.prod(rack if up else 1 - rack for up in rack_is)
                weight *= math.prod(node if up else 1 - node for up in node_is)
                rack_of, node_of, held = iter(rack_is), iter(node_is), 0
                for which, in_zone in enumerate(groups):
                    for in_rack in in_zone:
                        rack_up = next(rack_of)
                        held += sum(units * (zone_is[which] and rack_up and next_up) for units, next_up in
                                    zip(in_rack, [next(node_of) for _ in in_rack], strict=True))  # fmt: skip
                for up in range(held + 1):
                    found[up] += weight * math.comb(held, up) * own**up * (1 - own) ** (held - up)
    return found


SHARES = {"own": 0.9, "node": 0.8, "rack": 0.7, "zone": 0.6}


@pytest.mark.parametrize(
    ("units", "racks", "zones", "groups"),
    [
        # Two units a node, two nodes a rack, two racks a zone: filled one by one.
        (7, 1, 1, [[[2, 2], [2, 1]]]),
        (9, 1, 1, [[[2, 2], [2, 2]], [[1]]]),
        # Dealt over two zones, and over two racks in each.
        (7, 1, 2, [[[2, 1]], [[2, 2]]]),
        (6, 4, 2, [[[1], [2]], [[2], [1]]]),
        # More than two zones hold are not dealt evenly: they fill what there is.
        (17, 1, 2, None),
    ],
)
def test_every_combination_of_what_is_up_gives_the_same(
    units: int, racks: int, zones: int, groups: list[list[list[int]]] | None
) -> None:
    levels = nested(
        nodes_per_unit=1, units_per_node=2, nodes_per_rack=2, racks_per_zone=2, own_up=SHARES["own"],
        node_up=SHARES["node"], rack_up=SHARES["rack"], zone_up=SHARES["zone"], racks=racks, zones=zones,
    )  # fmt: skip
    found = units_up(units, levels=levels)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert found @ np.arange(units + 1) == pytest.approx(units * unit_up(levels), rel=1e-12)
    if groups is not None:
        assert found == pytest.approx(enumerated(groups, **SHARES), abs=1e-12)


def test_units_with_nothing_in_common_are_binomial() -> None:
    levels = nested(
        nodes_per_unit=3, units_per_node=1, nodes_per_rack=4, racks_per_zone=8, own_up=0.99, node_up=1.0, rack_up=1.0,
        zone_up=1.0,
    )  # fmt: skip
    for units, needed in ((4, 3), (60, 57), (5000, 4930)):
        alone = 1 - at_least_up(needed, units=units, availability=0.99)
        assert short_of(needed, units=units, levels=levels) == pytest.approx(alone, rel=1e-9)


def test_what_is_larger_than_a_rack_or_a_zone_has_some_of_its_own() -> None:
    wide = {"units_per_node": 1, "own_up": 1.0, "node_up": 1.0, "rack_up": 0.9, "zone_up": 0.5}
    _, _, rack, zone = nested(nodes_per_unit=9, nodes_per_rack=4, racks_per_zone=2, **wide)
    assert (rack.units, zone.units) == (1, 1)
    assert (rack.up, zone.up) == (pytest.approx(0.9**3), 0.25)


def test_another_unit_never_carries_less() -> None:
    for racks, zones in ((1, 1), (3, 2), (9, 3)):
        levels = nested(
            nodes_per_unit=1, units_per_node=2, nodes_per_rack=2, racks_per_zone=2, own_up=0.95, node_up=0.9,
            rack_up=0.9, zone_up=0.8, racks=racks, zones=zones,
        )  # fmt: skip
        short = [short_of(5, units=units, levels=levels) for units in range(5, 40)]
        assert all(later <= sooner + 1e-12 for sooner, later in itertools.pairwise(short))
        wanted = spares_for(5, levels=levels, target=0.6, at_most=100)
        assert wanted is not None
        assert short[wanted] <= 0.4 < short[wanted - 1]
        assert spares_for(5, levels=levels, target=1 - 1e-15, at_most=3) is None


def test_a_failure_takes_no_more_than_its_place_holds() -> None:
    levels = (Level(1, 1.0), Level(2, 1.0), Level(8, 1.0, at_least=2), Level(32, 1.0, at_least=3))
    assert most_together(1, levels=levels) == (1, 1, 1, 1)
    assert most_together(10, levels=levels) == (1, 2, 2, 4)
    assert most_together(100, levels=levels) == (1, 2, 8, 32)


def test_a_place_that_could_hold_more_than_there_is_costs_what_there_is() -> None:
    levels = (Level(1, 0.99), Level(1000, 0.9), Level(80_000_000, 0.8))
    assert units_up(3, levels=levels) == pytest.approx(units_up(3, levels=(Level(1, 0.99), Level(3, 0.72))))
