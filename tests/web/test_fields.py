"""Controls of a spec: what is written reads back, and what cannot be read says why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.web.fields import NotRead, fields_of, filled, number_text, read
from tests.web.sample import SAMPLE

CONTROLS = {field.name: field for field in fields_of(SAMPLE)}


def test_controls_follow_from_types():
    sorts = {name: field.control for name, field in CONTROLS.items()}
    assert sorts["peak_rps"] == sorts["gpus"] == sorts["limit_w"] == "number"
    assert (sorts["gpu"], sorts["layout"], sorts["spares"]) == ("entry", "choice", "choice")
    assert (sorts["hours"], sorts["note"]) == ("numbers", "text")
    assert CONTROLS["gpus"].whole
    assert not CONTROLS["peak_rps"].whole
    assert CONTROLS["limit_w"].optional
    assert CONTROLS["spares"].choices == (("true", "kept"), ("false", "not kept"))


def test_a_default_spec_reads_back_from_its_own_texts():
    spec = SAMPLE.spec().model_dump(mode="json")
    for name, control in CONTROLS.items():
        if name == "note":
            continue
        assert read(control, typed=filled(control, value=spec[name]).text) == spec[name], name


@given(
    st.floats(min_value=-1e15, max_value=1e15, allow_nan=False),
    st.sampled_from([("s", "ms"), ("bytes", "GiB"), ("ratio", "%"), ("USD/h", "$/h"), ("req/s", "req/s")]),
)
def test_any_number_reads_back_from_its_text(value, units):
    unit, shown = units
    control = CONTROLS["peak_rps"]
    from dataclasses import replace

    control = replace(control, unit=unit, shown=shown)
    again = read(control, typed=number_text(value, unit=unit, shown=shown))
    assert again == pytest.approx(value, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("input_tokens", "3,000", 3000.0),
        ("slo_s", "50", 0.05),
        ("headroom", "25 %", 0.25),
        ("limit_w", "10.2", 10_200.0),
        ("limit_w", " ", None),
        ("spares", "true", True),
        ("hours", "100; 50", [1.0, 0.5]),
    ],
)
def test_typed_texts_mean_base_units(name, text, value):
    assert read(CONTROLS[name], typed=text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("peak_rps", ""),
        ("peak_rps", "many"),
        ("peak_rps", "NaN"),
        ("peak_rps", "1e999"),
        ("gpus", "1.5"),
        ("layout", "sideways"),
        ("slo_s", "5 GB"),
        ("hours", "1, x"),
    ],
)
def test_what_cannot_be_read_says_why(name, text):
    with pytest.raises(NotRead, match=r"\w+.*\."):
        read(CONTROLS[name], typed=text)
