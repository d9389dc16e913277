"""The form of a spec: texts to values, problems at their fields, nothing typed lost."""

from __future__ import annotations

import pytest

from planner.web.forms import form_of, form_read
from tests.web.sample import SAMPLE

DEFAULTS = SAMPLE.spec().model_dump(mode="json")
pytestmark = pytest.mark.django_db


def read(typed, **changes):
    return form_read(SAMPLE, data=typed | changes, base=DEFAULTS, team=None)


def test_an_untouched_form_gives_the_spec_it_was_written_from(typed):
    form = read(typed)
    assert form.ok
    assert dict(form.spec) == DEFAULTS
    assert form.changed == []


def test_a_value_with_more_digits_than_shown_survives_untouched(typed):
    third = DEFAULTS | {"headroom": 1 / 3}
    text = next(
        field.text for field in form_of(SAMPLE, spec=third, base=DEFAULTS, team=None).fields if field.name == "headroom"
    )
    form = form_read(SAMPLE, data=typed | {"headroom": text}, base=third, team=None)
    assert form.spec["headroom"] == 1 / 3


def test_changes_are_counted_against_the_base(typed):
    form = read(typed, gpus="16", slo_s="40")
    assert form.changed == ["gpus", "slo_s"]
    assert form.spec["slo_s"] == 0.04


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gpus", "0", "at least 1 GPUs"),
        ("gpus", "2.5", "whole number"),
        ("slo_s", "0", "more than 0 ms"),
        ("slo_s", "61,000", "at most 60,000 ms"),
        ("input_tokens", "", "Give a number"),
        ("layout", "sideways", "offered values"),
        ("peak_rps", "fast", "not a number"),
        ("note", "x" * 300, "at most 200 characters"),
    ],
)
def test_a_problem_stands_at_its_field_and_keeps_what_was_typed(typed, name, text, message):
    form = read(typed, **{name: text})
    (wrong,) = form.wrong
    assert (wrong.name, wrong.text) == (name, text)
    assert message in wrong.error.replace("\u00a0", " ")
    assert not form.ok


def test_all_problems_are_told_at_once(typed):
    form = read(typed, gpus="0", slo_s="x", input_tokens="0")
    assert {field.name for field in form.wrong} == {"gpus", "slo_s", "input_tokens"}


def test_a_rule_between_fields_is_a_problem_of_the_form(typed):
    form = read(typed, layout="joint", gpus="1")
    assert form.problems == ("one GPU cannot be joint",)
    assert not form.ok


def test_a_closed_group_reads_in_a_line(typed):
    group = next(group for group in read(typed).groups if group.name == "Workload")
    assert group.line.replace("\u00a0", " ") == "500 req/s · 3,000 tokens"


def test_entries_of_the_catalog_are_offered_and_an_unknown_one_is_kept(typed):
    gpu = next(field for field in read(typed, gpu="own-gpu").fields if field.name == "gpu")
    slugs = dict(gpu.choices)
    assert {"h100-sxm", "h200-sxm", "own-gpu"} <= set(slugs)
