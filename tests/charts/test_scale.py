from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.charts.scale import Scale, nice_step, outward, tick_texts, title_of, unit_of
from planner.core.chart import Axis

FINITE = st.floats(min_value=1e-9, max_value=1e12)


@given(FINITE, st.integers(min_value=1, max_value=12))
def test_a_step_is_round_and_cuts_no_finer_than_asked(span: float, count: int) -> None:
    step = nice_step(span, count)
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert any(mantissa == pytest.approx(round_one) for round_one in (1, 2, 2.5, 5))
    assert span / step <= count * (1 + 1e-6)


@given(st.floats(min_value=-1e6, max_value=1e6), st.floats(min_value=1e-3, max_value=1e12))
def test_an_outward_range_holds_what_it_was_given(low: float, span: float) -> None:
    high = low + span
    start, end = outward(low, high, count=5)
    assert start <= low + 1e-6 * span
    assert end >= high - 1e-6 * span


def test_ticks_lie_inside_and_evenly() -> None:
    assert Scale(0.5, 1.5, 0, 1).ticks(4) == [0.5, 0.75, 1.0, 1.25, 1.5]
    assert Scale(45, 900, 0, 1).ticks(4) == [250, 500, 750]
    assert Scale(1, 1000, 0, 1, log=True).ticks(3) == [1, 10, 100, 1000]


def test_ticks_share_their_decimals_and_prefix() -> None:
    assert tick_texts([0.5, 0.75, 1.0], "$/M tokens") == ["0.50", "0.75", "1.00"]
    assert tick_texts([0, 250_000, 500_000], "tok/s") == ["0", "250\u00a0k", "500\u00a0k"]
    assert tick_texts([0, 50, 100], "%") == ["0\u00a0%", "50\u00a0%", "100\u00a0%"]
    assert tick_texts([-2, 0, 2], "") == ["−2", "0", "2"]
    assert tick_texts([2e-5, 1e-4, 1], "$/M tokens", log=True) == ["2×10⁻⁵", "0.0001", "1"]
    assert tick_texts([1, 1000, 1e5], "", log=True) == ["1", "1,000", "100\u00a0k"]


@pytest.mark.parametrize(
    ("axis", "largest", "unit"),
    [
        (Axis("TTFT", "s"), 0.3, "ms"),
        (Axis("TTFT", "s"), 3.0, "s"),
        (Axis("TTFT", "s", "s"), 0.3, "s"),
        (Axis("memory", "bytes"), 85e9, "GB"),
        (Axis("memory", "bytes", "GiB"), 85e9, "GiB"),
        (Axis("link", "bytes/s"), 4e12, "TB/s"),
        (Axis("share", "ratio"), 0.5, "%"),
        (Axis("cost", "USD/h"), 1e6, "$/h"),
        (Axis("rate", "req/s"), 500, "req/s"),
    ],
)
def test_the_unit_of_an_axis_follows_its_largest_figure(axis: Axis, largest: float, unit: str) -> None:
    assert unit_of(axis, [0.0, largest]) == unit


def test_a_title_names_a_unit_once() -> None:
    assert title_of(Axis("TTFT P99", "s"), "s") == "TTFT P99, s"
    assert title_of(Axis("nodes", "nodes"), "nodes") == "nodes"
    assert title_of(Axis("share", "ratio"), "%") == "share"
    assert title_of(Axis("simulated time", "s"), "s") == "simulated time, s"
    assert title_of(Axis("rate", "req/s", log=True), "req/s") == "rate, req/s, log scale"


@given(st.lists(st.floats(min_value=-1e3, max_value=1e6)), st.booleans())
def test_many_values_lie_where_each_of_them_lies(values: list[float], log: bool) -> None:
    scale = Scale(0.5, 2e4, 30, 456, log=log)
    assert scale.along(values) == [scale(value) for value in values]
