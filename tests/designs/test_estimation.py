from __future__ import annotations

import math
from dataclasses import replace

import pytest
from pydantic import ValidationError

from planner import kinds
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.designs import estimation, services
from tests.designs import toy


def problem(spec):
    with pytest.raises(ValidationError) as caught:
        services.estimate(kind="toy", spec=spec, team=None)
    return {(error["loc"], error["type"]) for error in caught.value.errors()}


def test_an_empty_spec_is_the_default_design():
    found = services.estimate(kind="toy", spec={}, team=None)
    assert found.result.value("gpus") == 12  # ceil(95 / 10 / 4) units of 4
    assert found.spec == toy.ToySpec()


def test_findings_come_with_errors_first():
    found = services.estimate(kind="toy", spec={"unit_gpus": 64}, team=None)
    assert [finding.severity for finding in found.result.findings] == ["error", "info"]


def test_the_answer_names_what_made_it(settings, toy_world):
    assert services.estimate(kind="toy", spec={}, team=None).result.provenance == {
        "kind": "toy",
        "spec_version": 1,
        "catalog_digest": "d1",
        "catalog_as_of": "2026-11-24",
        "code_version": settings.VERSION,
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"rate_rps": "95"}, (("rate_rps",), "float_type")),
        ({"unit_gpus": True}, (("unit_gpus",), "int_type")),
        ({"unit_gpus": 4.5}, (("unit_gpus",), "int_type")),
        ({"rate_rps": math.nan}, (("rate_rps",), "finite_number")),
        ({"rate_rps": math.inf}, (("rate_rps",), "finite_number")),
        ({"rate_rps": 0}, (("rate_rps",), "greater_than")),
        ({"unit_gpus": 10**400}, (("unit_gpus",), "less_than_equal")),
        ({"layout": "sideways"}, (("layout",), "literal_error")),
        ({"colour": 1}, (("colour",), "extra_forbidden")),
        ({"rate_rps": None}, (("rate_rps",), "float_type")),
        ({"note": "x" * 201}, (("note",), "string_too_long")),
        ([1], ((), "model_type")),
    ],
)
def test_bad_input_is_refused_at_its_field(spec, expected):
    assert expected in problem(spec)


def test_a_whole_number_may_be_written_with_a_point():
    assert services.estimate(kind="toy", spec={"unit_gpus": 8.0}, team=None).spec.unit_gpus == 8


def test_unknown_kinds_entries_and_figures_are_told_apart():
    with pytest.raises(kinds.UnknownKind):
        services.estimate(kind="nothing", spec={}, team=None)
    with pytest.raises(UnknownEntry):
        services.estimate(kind="toy", spec={"gpu": "toy-9"}, team=None)
    with pytest.raises(MissingFigure):
        services.estimate(kind="toy", spec={"gpu": "toy-bare"}, team=None)


@pytest.fixture
def counted(monkeypatch):
    calls = []

    def counting(spec, catalog):
        calls.append(spec)
        return toy.estimate(spec, catalog)

    kind = replace(toy.TOY, estimate=counting)
    monkeypatch.setattr(kinds, "all_kinds", lambda: {"toy": kind})
    return calls


def test_the_same_question_is_answered_once(counted, toy_world, monkeypatch):
    services.estimate(kind="toy", spec={}, team=None)
    services.estimate(kind="toy", spec={"rate_rps": 95}, team=None)
    assert len(counted) == 1
    services.estimate(kind="toy", spec={"rate_rps": 96}, team=None)
    assert len(counted) == 2
    monkeypatch.setattr(toy.ToyCatalog, "digest", "d2")
    services.estimate(kind="toy", spec={}, team=None)
    assert len(counted) == 3


def test_only_the_last_answers_are_kept(counted, monkeypatch):
    monkeypatch.setattr(estimation, "CACHED_ESTIMATES", 2)
    for rate in (1, 2, 3, 1):
        services.estimate(kind="toy", spec={"rate_rps": rate}, team=None)
    assert [spec.rate_rps for spec in counted] == [1, 2, 3, 1]
