from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core import quantities
from planner.core.quantities import convert, delta, full, parse, show, show_parts, shown_unit

# The figures and their texts as the design pages write them (no-break spaces written as "~").
AS_DESIGNED = [
    (0.75556, "USD/M tokens", "$0.756/M~tokens"),
    (1088.0, "USD/h", "$1,088/h"),
    (794_240, "USD", "$794~k"),
    (2, "USD/GPU-h", "$2.00/GPU-h"),
    (1.4996, "s", "1.50~s"),
    (0.03991, "s", "39.9~ms"),
    (0.05, "s", "50~ms"),
    (0.2919, "s", "292~ms"),
    (2700, "s", "45~min"),
    (187.5, "GPUs", "187.5~GPUs"),
    (68, "nodes", "68~nodes"),
    (1, "nodes", "1~node"),
    (22_100_544_000, "bytes", "22.1~GB"),
    (70_272, "B/token", "70,272~B/token"),
    (105e9, "bytes/s", "105~GB/s"),
    (0.867e6, "W", "867~kW"),
    (989e12, "FLOP/s", "989~TFLOP/s"),
    (4000, "tok/s/GPU", "4,000~tok/s/GPU"),
    (1850, "tok/s/GPU", "1,850~tok/s/GPU"),
    (64e6, "1/s", "64~M/s"),
    (500, "req/s", "500~req/s"),
    (554.7, "req/s", "555~req/s"),
    (3000, "tokens", "3,000~tokens"),
    (92.5, "sequences", "92.5~sequences"),
    (0.732, "ratio", "73.2~%"),
    (4 / 3, "ratio", "133~%"),
    (0.5, "ratio", "50~%"),
    (0, "ratio", "0~%"),
    (0, "s", "0~s"),
    (-8.1, "", "−8.10"),
    (-1234, "USD", "−$1,234"),
    (12.3456, "furlongs", "12.3~furlongs"),
    (3, "", "3"),
]


@pytest.mark.parametrize(("value", "unit", "text"), AS_DESIGNED, ids=[f"{row[0]:g} {row[1]}" for row in AS_DESIGNED])
def test_a_figure_reads_as_designed(value: float, unit: str, text: str) -> None:
    assert show(value, unit).replace(quantities.NBSP, "~") == text.replace("M~tokens", "M tokens")


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_a_figure_that_does_not_exist_is_a_dash(value: float | None) -> None:
    assert show(value, "s") == "—"
    assert full(value) == "—"
    assert show_parts(value, "USD/h") == ("—", "")


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.9995, "99.95"), (0.99999, "99.999"), (0.999, "99.9"), (1.0, "100"), (0.994, "99.4"), (0.9999999, "99.99999")],
)
def test_an_availability_never_rounds_up_to_100(share: float, text: str) -> None:
    assert show_parts(share, "ratio") == (text, "%")


def test_rounding_carries_over_into_the_next_prefix() -> None:
    assert show(999_999, "USD") == "$1.00\u00a0M"
    assert show(999.96e9, "bytes") == "1.00\u00a0TB"
    assert show(0.99999, "s") == "1.00\u00a0s"


def test_gib_is_shown_only_when_asked_for() -> None:
    assert show(85e9, "bytes") == "85\u00a0GB"
    assert show(85e9, "bytes", shown="GiB") == "79.2\u00a0GiB"
    assert show(79.2, "GiB") == "79.2\u00a0GiB"


def test_parts_join_without_a_space_after_a_slash() -> None:
    assert show_parts(0.7556, "USD/M tokens") == ("$0.756", "/M tokens")
    assert show_parts(0.0399, "s") == ("39.9", "ms")


@pytest.mark.parametrize(
    ("value", "unit", "shown", "expected"),
    [
        (0.05, "s", "ms", 50),
        (0.57, "ratio", "%", 57),
        (2**30, "bytes", "GiB", 1),
        (1e9, "bytes/s", "GB/s", 1),
        (1e9 / 8, "bytes/s", "Gbit/s", 1),
        (1, "tok/s", "tok/h", 3600),
        (1e-6, "USD/token", "USD/M tokens", 1),
        (2, "USD/h", "$/h", 2),
        (3, "units", "units", 3),
    ],
)
def test_units_of_one_dimension_convert(value: float, unit: str, shown: str, expected: float) -> None:
    assert convert(value, unit, shown) == expected


@pytest.mark.parametrize(("unit", "shown"), [("s", "GB"), ("USD/h", "USD"), ("nodes", "GPUs"), ("ratio", "s")])
def test_units_of_two_dimensions_do_not(unit: str, shown: str) -> None:
    with pytest.raises(ValueError, match="cannot be written in"):
        convert(1, unit, shown)


@pytest.mark.parametrize(
    ("text", "unit", "shown", "value"),
    [
        ("1,088", "USD/h", "", 1088),
        ("1\u00a0500", "req/s", "", 1500),
        ("50", "s", "ms", 0.05),
        ("50 s", "s", "ms", 50),
        ("57", "ratio", "%", 0.57),
        ("57 %", "ratio", "%", 0.57),
        ("−3.5", "", "", -3.5),
        ("$2.00", "USD/GPU-h", "$/GPU-h", 2),
        ("1e6", "", "", 1e6),
        (".5", "ratio", "", 0.5),
        ("85 GiB", "bytes", "GB", 85 * 2**30),
        ("12 µs", "s", "ms", 12e-6),
        ("\uff15\uff10", "s", "ms", 0.05),
    ],
)
def test_what_people_type_is_read(text: str, unit: str, shown: str, value: float) -> None:
    assert parse(text, unit, shown) == value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Give a number."),
        ("  ", "Give a number."),
        ("abc", "not a number"),
        ("1,5", "comma separates thousands"),
        ("1,23,456", "comma separates thousands"),
        ("nan", "finite"),
        ("inf", "finite"),
        ("1e999", "finite"),
        ("5 kg", "not a unit of this field"),
        ("--3", "not a number"),
        ("9" * 100, "too long"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse(text, "s", "ms")


@given(st.floats(min_value=-1e12, max_value=1e12).map(lambda value: float(f"{value:.12g}")))
def test_a_form_gives_back_what_it_was_given(value: float) -> None:
    assert parse(full(convert(value, "ratio", "%")), "ratio", "%") == pytest.approx(value, rel=1e-13)


@given(st.floats(min_value=1e-3, max_value=1e14))
def test_three_digits_are_within_half_a_percent(value: float) -> None:
    number, _ = show_parts(value, "")
    written = number.replace(",", "").split("\u00a0")
    scale = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[written[1] if len(written) > 1 else ""]
    assert float(written[0]) * scale == pytest.approx(value, rel=0.005)


@pytest.mark.parametrize(
    ("a", "b", "unit", "expected"),
    [
        (0.756, 0.956, "USD/M tokens", ("+$0.200", "+26.5~%")),
        (1088, 1376, "USD/h", ("+$288", "+26.5~%")),
        (68, 86, "nodes", ("+18", "+26.5~%")),
        (0.0346, 0.0265, "s", ("−8.10~ms", "−23.4~%")),
        (0.751, 0.501, "ratio", ("−25~points", "")),
        (5, 5, "s", ("±0", "")),
        (22.1e9, 20.55e9, "bytes", ("−1.55~GB", "−7.0~%")),
        (0, 3, "s", ("+3~s", "")),
        (1, 50, "", ("+49", "+49~×")),
        (None, 3, "s", ("—", "")),
        (240, 60, "s", ("−3~min", "−75~%")),
        (1e-14, 0.5, "s", ("+500~ms", "")),
    ],
)
def test_a_delta_is_signed_absolute_then_relative(
    a: float | None, b: float | None, unit: str, expected: tuple[str, str]
) -> None:
    absolute, relative = delta(a, b, unit)
    assert (absolute.replace("\u00a0", "~"), relative.replace("\u00a0", "~")) == expected


def test_a_small_difference_does_not_vanish_by_rounding() -> None:
    assert delta(39.94, 39.91, "") == ("−0.0300", "−0.1\u00a0%")


def test_full_keeps_every_digit_that_carries_meaning() -> None:
    assert full(544.0) == "544"
    assert full(0.7555555555555556) == "0.755555555555556"
    assert full(22_100_544_000) == "22100544000"


def test_the_default_unit_of_a_form() -> None:
    assert [shown_unit(unit) for unit in ("ratio", "bytes", "USD/h", "tok/s")] == ["%", "GB", "$/h", "tok/s"]


@pytest.mark.parametrize(
    ("value", "unit", "text"), [(1_780_849, "EUR", "1.78 M EUR"), (93.75, "EUR/h", "93.8 EUR/h"), (0, "CNY", "0 CNY")]
)
def test_other_currencies_stand_behind_their_amount(value, unit, text):
    assert show(value, unit).replace("\u00a0", " ") == text
