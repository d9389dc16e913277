"""Every kind is held to the same contract on every surface, the day it exists."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from pydantic import ValidationError

from planner import kinds
from planner.catalog import files
from planner.charts import plotly, svg, table
from planner.core.kind import DesignKind
from planner.core.result import Result

SLUGS = list(kinds.all_kinds())
EXAMPLES = [(example.kind, example) for example in kinds.examples()]
CATALOG = files.load()


def patched(kind: DesignKind, spec: Any, change: dict[str, Any]) -> Any:
    return kind.spec.model_validate({**spec.model_dump(mode="json"), **change})


def default(slug: str) -> tuple[DesignKind, Any, Result]:
    kind = kinds.get(slug)
    spec = kind.spec()
    return kind, spec, kind.estimate(spec, CATALOG)


def assert_sound(kind: DesignKind, result: Result) -> None:
    """Finite figures, defined metrics, a null only with a finding, an answer that points at a metric."""
    defined = {metric.name for metric in kind.metrics}
    assert set(result.metrics) <= defined
    assert result.answer.metric in defined
    assert set(result.answer.facts) <= defined
    assert result.answer.sentence
    for name, metric in result.metrics.items():
        assert metric.value is None or math.isfinite(metric.value), name
        if metric.value is not None and metric.low is not None and metric.high is not None:
            assert metric.low <= metric.value <= metric.high, name
    if result.metrics[result.answer.metric].value is None:
        assert result.findings, "a missing answer needs a reason"
    for finding in result.findings:
        assert finding.severity in {"info", "warning", "error"}
        assert finding.message.strip().endswith((".", "?", "!"))
    for series in result.series.values():
        lengths = {len(column.values) for column in series.columns}
        assert len(lengths) == 1, series.name


@pytest.mark.parametrize("slug", SLUGS)
def test_the_default_design_has_an_answer(slug: str) -> None:
    kind, _, result = default(slug)
    assert_sound(kind, result)
    assert result.metrics[result.answer.metric].value is not None


@pytest.mark.parametrize("slug", SLUGS)
def test_the_same_spec_gives_the_same_answer(slug: str) -> None:
    kind, spec, result = default(slug)
    assert kind.estimate(spec, CATALOG) == result


@pytest.mark.parametrize(("slug", "example"), EXAMPLES, ids=lambda value: getattr(value, "slug", value))
def test_each_example_opens_with_figures_and_charts(slug: str, example: kinds.Example) -> None:
    kind = kinds.get(slug)
    spec = kind.spec.model_validate(example.spec)
    result = kind.estimate(spec, CATALOG)
    assert_sound(kind, result)
    assert result.metrics[result.answer.metric].value is not None
    assert list(kind.charts(spec, result))


@pytest.mark.parametrize("slug", SLUGS)
def test_each_chart_draws_everywhere_and_has_its_table(slug: str) -> None:
    kind, spec, result = default(slug)
    charts = list(kind.charts(spec, result))
    assert charts
    assert len({chart.name for chart in charts}) == len(charts)
    for chart in charts:
        assert chart.title
        assert chart.subtitle
        json.dumps(plotly.figure(chart), allow_nan=False)
        for width in (336, 470):
            drawn = svg.draw(chart, width=width)
            assert drawn.startswith("<svg")
            assert " style=" not in drawn
            assert not re.search(r"(?<![a-z])nan(?![a-z])", drawn.lower())
        header, rows = table.rows(chart)
        assert header
        assert rows


@pytest.mark.parametrize("slug", SLUGS)
def test_some_chart_of_each_kind_can_be_compared(slug: str) -> None:
    kind, spec, result = default(slug)
    shared = {chart.name for chart in kind.charts(spec, result) if chart.compare}
    assert "cost_per_m_output_tokens" in shared
    # a comparison draws objectives once for all kinds, from the metrics that have one
    assert "slo_latency" not in shared
    assert any(metric.objective is not None for metric in result.metrics.values())


@pytest.mark.parametrize("slug", SLUGS)
def test_the_architecture_draws(slug: str) -> None:
    kind, spec, result = default(slug)
    diagram = kind.architecture(spec, result)
    names = {box.name for box in diagram.boxes}
    assert all(flow.source in names and flow.target in names for flow in diagram.flows)
    for vertical in (False, True):
        assert svg.diagram(diagram, vertical=vertical).startswith("<svg")


@pytest.mark.parametrize("slug", SLUGS)
def test_each_piece_of_advice_fits_the_spec(slug: str) -> None:
    kind, spec, result = default(slug)
    fields = set(kind.spec.model_fields)
    questions = kind.advice.questions(spec, result)
    assert questions
    for question in questions:
        assert question.state in {"answered", "assumed", "open"}
        assert question.field is None or question.field in fields
    variants = kind.advice.variants(spec, result)
    assert variants
    for variant in variants:
        assert_sound(kind, kind.estimate(patched(kind, spec, dict(variant.change)), CATALOG))
    assert kind.advice.follow_ups(spec, result)
    for finding in result.findings:
        if finding.change:
            assert_sound(kind, kind.estimate(patched(kind, spec, dict(finding.change)), CATALOG))


@pytest.mark.parametrize("slug", SLUGS)
def test_unknown_fields_and_silly_numbers_are_refused_by_name(slug: str) -> None:
    kind = kinds.get(slug)
    with pytest.raises(ValidationError, match="no_such_field"):
        kind.spec.model_validate({"no_such_field": 1})
    numbers = [name for name, field in kind.spec.model_fields.items() if field.annotation in {float, int}]
    assert numbers
    for name in numbers:
        for silly in (float("nan"), float("inf"), "many"):
            with pytest.raises(ValidationError, match=name):
                kind.spec.model_validate({name: silly})


def corners(kind: DesignKind) -> list[tuple[str, float]]:
    """Each number at the ends of what the spec lets in, and just above zero."""
    found = []
    for name, described in kind.spec.model_json_schema()["properties"].items():
        shapes = described.get("anyOf", [described])
        for shape in shapes:
            if shape.get("type") in {"number", "integer"}:
                ends = {shape.get("minimum"), shape.get("maximum")}
                if shape["type"] == "number" and shape.get("minimum") == 0:
                    ends |= {1e-300, 1e-12}
                found += [(name, end) for end in ends if end is not None]
    return found


@pytest.mark.parametrize("slug", SLUGS)
def test_every_corner_of_the_spec_has_an_answer(slug: str) -> None:
    kind = kinds.get(slug)
    for name, value in corners(kind):
        try:
            spec = kind.spec.model_validate({name: value})
        except ValidationError:
            continue  # two fields that exclude each other
        result = kind.estimate(spec, CATALOG)
        assert_sound(kind, result)
        assert dict(result.series), (name, value)
        assert list(kind.charts(spec, result)), (name, value)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_field_is_labelled_and_grouped_and_survives_a_round_trip(slug: str) -> None:
    kind = kinds.get(slug)
    spec = kind.spec()
    assert kind.spec.model_validate(json.loads(spec.model_dump_json())) == spec
    schema = kind.spec.model_json_schema()
    for name, described in schema["properties"].items():
        assert described["title"], name
        assert described["group"], name


@pytest.mark.parametrize("slug", SLUGS)
def test_the_method_names_its_sources(slug: str) -> None:
    text = kinds.method(slug)
    assert len(text) > 1500
    assert "arXiv" in text or "doi" in text.lower() or "http" in text


@pytest.mark.parametrize("slug", SLUGS)
def test_options_of_a_simulation_depend_on_options_there_are(slug: str) -> None:
    """A condition that can never hold would hide an option for good."""
    simulator = kinds.get(slug).simulator
    options = {option.name: option for option in simulator.options} if simulator else {}
    for option in options.values():
        assert len(option.labelled_choices) == len(option.choices)
        assert not option.choices or option.default in option.choices
        if option.only_with:
            other, values = options[option.only_with[0]], option.only_with[1]
            assert set(values) <= set(other.choices)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_simulator_can_be_made_ready_before_the_first_job(slug: str) -> None:
    simulator = kinds.get(slug).simulator
    assert simulator is None or simulator.warm is not None
