"""Values of a varied field as people type them."""

from __future__ import annotations

import pytest

from planner.web.fields import NotRead, fields_of
from planner.web.sweep_values import choices_read, values_read, values_text
from tests.web.sample import SAMPLE

FIELDS = {field.name: field for field in fields_of(SAMPLE)}


@pytest.mark.parametrize(
    ("name", "typed", "values"),
    [
        ("gpus", "24, 32, 64", [24, 32, 64]),
        ("gpus", "24, 32 … 64", [24, 32, 40, 48, 56, 64]),
        ("gpus", "24; 32 ... 50", [24, 32, 40, 48]),
        ("gpus", "10..40 step 10", [10, 20, 30, 40]),
        ("gpus", "40 .. 10 step 10, 2", [40, 30, 20, 10, 2]),
        ("gpus", "8, 8, 9", [8, 9]),
        ("gpus", "8，16", [8, 16]),
        ("headroom", "0..30 step 10", [0, 0.1, 0.2, 0.3]),
        ("headroom", "10 %, 20%", [0.1, 0.2]),
        ("slo_s", "20..50 ms step 15", [0.02, 0.035, 0.05]),
        ("slo_s", "1 s, 50", [1, 0.05]),
        ("price_usd_per_h", "$1.5, 2", [1.5, 2]),
    ],
)
def test_lists_and_ranges_are_read_in_the_unit_of_the_form(name, typed, values):
    assert values_read(FIELDS[name], typed=typed) == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "typed", "why"),
    [
        ("gpus", "", "Give values"),
        ("gpus", "8..16", "Give a step"),
        ("gpus", "8 step 4", "needs a range"),
        ("gpus", "..16", "a start and an end"),
        ("gpus", "8, 16 … 4", "leads away"),
        ("gpus", "8..16 step 0", "leads away"),
        ("gpus", "1..2..3 step 1", "one range"),
        ("gpus", "1..3 step 1 step 2", "one step"),
        ("gpus", "1..1e9 step 1", "at most 10,000"),
        ("gpus", "8, x", "“x” is not a number"),
        ("gpus", "8.5", "whole number"),
        ("slo_s", "1 s..2 s step 1", "in ms"),
        ("gpus", "9" * 5000, "at most 4000 characters"),
    ],
)
def test_what_is_no_list_of_values_says_why(name, typed, why):
    with pytest.raises(NotRead, match=why):
        values_read(FIELDS[name], typed=typed)


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("headroom", [0.1, 0.15, 0.2], "10, 15, 20"),
        ("gpus", list(range(8, 80, 8)), "8, 16 … 72"),
        ("gpus", [1, 2, 4, 8, 16, 32, 64, 128], "1, 2, 4, 8, 16, 32, 64, 128"),
        ("gpus", [1024], "1024"),
    ],
)
def test_values_are_written_so_that_they_read_back(name, values, text):
    assert values_text(FIELDS[name], values=values) == text
    assert values_read(FIELDS[name], typed=text) == values


def test_choices_are_read_as_the_spec_has_them():
    assert choices_read(FIELDS["spares"], picked=["true", "false", "true"]) == [True, False]
    assert choices_read(FIELDS["layout"], picked=["joint"]) == ["joint"]
    with pytest.raises(NotRead, match="at least one"):
        choices_read(FIELDS["layout"], picked=[])
    with pytest.raises(NotRead, match="offered values"):
        choices_read(FIELDS["layout"], picked=["ring"])
