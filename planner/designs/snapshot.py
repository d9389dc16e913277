"""The complete picture of a design as strict JSON: the one builder behind page, share, report and API.

::

    design      {id, name, description, tags, revision, saved_at, saved_by, example}
    kind        {slug, label, question}
    spec        the complete spec, as the API takes it
    inputs      {groups: [{name, line, changed, advanced, fields: [{name, label, value, shown, unit, changed,
                default_shown, help, catalog, source, advanced}]}], changed, total}
    answer      {figure: ROW, sentence, note, severity, ok, facts: [ROW]}
    findings    [{code, severity, message, metric?, suggestion?, change?, effect?: EFFECT}]
    metrics     [{name: group, rows: [ROW]}]
    charts      [chart as `charts.codec` reads]     diagram  as `charts.codec` reads
    questions   [{text, state, present, changes, field}]  follow_ups [{question, answer, simulate}]
    evidence    [EVIDENCE]: the nearest published measurements
    variants    [{label, change} + EFFECT]                provenance {kind, spec_version, catalog_digest, …}
    simulator   {options: [...], default_duration_s} or null

    ROW     {name, label, group, unit, direction, basis, value, low?, high?, objective?, met?, text, unit_text, shown,
            full, range, objective_text, verdict, help, formula, working, whole}
    EVIDENCE {id, subject, configuration, differs, distance, figures: [{name, label, unit, measured, estimate}], source,
            source_url, said, place: {llm, gpu, engine}, series, distance_text, distance_words, differs_text,
            rows: [{name, label, measured, estimate, delta, …_full}], table: {label, header, rows} or null}
    EFFECT  {ok, error, severity, errors, changes: [{name, label, before, after}], figure: ROW + {delta}, cost, facts,
            moved}
            where delta is {absolute, relative, change: better|worse|same|none, amount, share, text} or null
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from planner.charts import codec
from planner.core.compare import lacks
from planner.core.result import Finding, Metric, Result
from planner.designs import estimation, figures, serial
from planner.designs.effects import effect_view
from planner.designs.estimation import Estimate
from planner.designs.evidence import evidence_view
from planner.designs.inputs import groups_view
from planner.designs.models import Design, Revision


def design_view(design: Design, *, effects: bool = True) -> dict[str, Any]:
    """The picture of a saved design; raises as `estimation.estimate`."""
    estimate = estimation.estimate(kind=design.kind, spec=design.spec, team=design.team)
    return view(estimate, **meta(design), effects=effects)


def meta(design: Design | Revision) -> dict[str, Any]:
    """What a saved design says about itself."""
    if isinstance(design, Revision):
        return {
            "id": str(design.design_id),
            "name": design.name,
            "description": design.description,
            "tags": design.tags,
            "revision": design.number,
            "saved_at": design.at.isoformat(),
        }
    return {
        "id": str(design.id),
        "name": design.name,
        "description": design.description,
        "tags": design.tags,
        "revision": design.revision,
        "saved_at": design.updated_at.isoformat(),
        "saved_by": design.updated_by.get_username() if design.updated_by else "",
        "example": design.example,
    }


def view(
    estimate: Estimate,
    *,
    name: str,
    id: str | None = None,
    description: str = "",
    tags: Sequence[str] = (),
    revision: int | None = None,
    saved_at: str = "",
    saved_by: str = "",
    example: str = "",
    effects: bool = True,
) -> dict[str, Any]:
    """The picture of any estimate. ``effects=False`` leaves out what variants and findings' changes would do."""
    kind, result = estimate.kind, estimate.result
    groups = groups_view(kind, spec=estimate.spec, catalog=estimate.catalog)
    return {
        "design": {
            "id": id,
            "name": name,
            "description": description,
            "tags": list(tags),
            "revision": revision,
            "saved_at": saved_at,
            "saved_by": saved_by,
            "example": example,
        },
        "kind": {"slug": kind.slug, "label": kind.label, "question": kind.question},
        "spec": estimate.spec_json,
        "inputs": {
            "groups": groups,
            "changed": sum(group["changed"] for group in groups),
            "total": sum(len(group["fields"]) for group in groups),
        },
        "answer": answer_view(result),
        "findings": [_finding(estimate, finding=finding, effects=effects) for finding in result.findings],
        "metrics": metric_groups(list(result.metrics.values())),
        "charts": [codec.to_dict(chart) for chart in kind.charts(estimate.spec, result)],
        "evidence": evidence_view(result),
        "diagram": codec.to_dict(kind.architecture(estimate.spec, result)),
        **_advice(estimate, effects=effects),
        "simulator": _simulator(estimate),
        "provenance": serial.plain(result.provenance),
    }


def effects_view(estimate: Estimate) -> dict[str, Any]:
    """What ``view(effects=False)`` left out: ``variants`` as in `view`, and of each finding its EFFECT or null."""
    effects = [
        effect_view(estimate, change=found.change) if found.change else None for found in estimate.result.findings
    ]
    return {"variants": _variants(estimate, effects=True), "findings": effects}


def answer_view(result: Result) -> dict[str, Any]:
    """The answer card: figure, sentence, worst severity and facts with their verdicts."""
    answer = result.answer
    return {
        "figure": figures.figure_row(result.metrics[answer.metric]),
        "sentence": answer.sentence,
        "note": answer.note,
        "severity": result.severity,
        "ok": not lacks(result),
        "facts": [figures.figure_row(result.metrics[name]) for name in answer.facts if name in result.metrics],
    }


def metric_groups(metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """Rows by group, both in the order the kind gives them."""
    names = dict.fromkeys(metric.definition.group for metric in metrics)
    return [
        {"name": name, "rows": [figures.figure_row(found) for found in metrics if found.definition.group == name]}
        for name in names
    ]


def _finding(estimate: Estimate, *, finding: Finding, effects: bool) -> dict[str, Any]:
    written = serial.finding_json(finding)
    if finding.change and effects:
        written["effect"] = effect_view(estimate, change=finding.change)
    return written


def _advice(estimate: Estimate, *, effects: bool) -> dict[str, Any]:
    advice, spec, result = estimate.kind.advice, estimate.spec, estimate.result
    return {
        "questions": [serial.plain(asdict(question)) for question in advice.questions(spec, result)],
        "variants": _variants(estimate, effects=effects),
        "follow_ups": [serial.plain(asdict(found)) for found in advice.follow_ups(spec, result)],
    }


def _variants(estimate: Estimate, *, effects: bool) -> list[dict[str, Any]]:
    found = []
    for variant in estimate.kind.advice.variants(estimate.spec, estimate.result):
        change = serial.plain(variant.change)
        effect = effect_view(estimate, change=change, moves=variant.moves) if effects else {}
        found.append({"label": variant.label, "change": change, **effect})
    return found


def _simulator(estimate: Estimate) -> dict[str, Any] | None:
    simulator = estimate.kind.simulator
    if simulator is None:
        return None
    return {
        "options": [serial.plain(asdict(option)) for option in simulator.options],
        "default_duration_s": simulator.default_duration_s,
    }
