from __future__ import annotations

import itertools

import numpy as np
import pytest

from planner.charts.drawing.labels import Area, Labels, area, around

BORDER = Area(0, 0, 470, 250)


def dots(path):
    """A line as points at most 4 units apart, ends included."""
    found = list(path[:1])
    for (x0, y0), (x1, y1) in itertools.pairwise(path):
        steps = max(1, int(max(abs(x1 - x0), abs(y1 - y0)) / 4))
        found += [(x0 + (x1 - x0) * n / steps, y0 + (y1 - y0) * n / steps) for n in range(1, steps + 1)]
    return found


def under(here, path, *, near=0.0):
    return sum(
        here.left - near <= x <= here.right + near and here.top - near <= y <= here.bottom + near for x, y in dots(path)
    )


def test_a_label_stands_above_its_point_where_nothing_is_in_the_way():
    assert Labels(border=BORDER).place("Reference", around(200, 100)) == around(200, 100)[0]


def test_a_text_is_never_covered():
    labels = Labels(border=BORDER)
    first = labels.place("one", [(100, 100, "start")])
    assert first == (100, 100, "start")
    assert labels.place("two", [(104, 102, "start")]) is None
    assert labels.place("two", [(104, 102, "start"), (104, 140, "start")]) == (104, 140, "start")


def test_nothing_is_written_beyond_the_border():
    assert Labels(border=BORDER).place("too far right", [(460, 100, "start")]) is None


@pytest.mark.parametrize("seed", range(12))
def test_the_place_taken_covers_least_of_the_lines(seed):
    chance = np.random.default_rng(seed)
    paths = {
        name: [(x, float(chance.uniform(10, 240))) for x in range(0, 480, int(chance.choice((2, 15, 60))))]
        for name in ("A", "B")
    }
    labels = Labels(border=BORDER)
    for name, path in paths.items():
        labels.draw_over(path, owner=name)
    labels.draw_over([(0, 50), (470, 50)])
    places = [(float(x), float(y), "middle") for x, y in chance.uniform((40, 20), (400, 230), (30, 2))]

    def cost(index, place):
        here = area("A", place)
        covered = sum(under(here, path) for path in (*paths.values(), [(0, 50), (470, 50)]))
        return covered + 0.35 * under(here, paths["B"], near=11.0) + 0.1 * index

    costs = [cost(index, place) for index, place in enumerate(places)]
    taken = labels.place("A", places, owner="A")
    assert costs[places.index(taken)] == pytest.approx(min(costs))


def test_a_name_gives_up_where_other_curves_crowd():
    labels = Labels(border=BORDER)
    for y in range(90, 112, 2):
        labels.draw_over([(0, y), (470, y)], owner="other")
    assert labels.place("mine", [(200, 104, "middle")], owner="mine", crowded=False) is None
    assert labels.place("mine", [(200, 104, "middle")], owner="mine") == (200, 104, "middle")
