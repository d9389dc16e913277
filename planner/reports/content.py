"""The report of one design as data: claim first, then what to decide, the evidence, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from planner.charts import codec, paper
from planner.designs import badges
from planner.designs.evidence import SHOWN_APART
from planner.reports import parts

_VERSION_KEYS = ("kind", "spec_version", "catalog", "catalog_digest", "catalog_as_of", "code_version")


def design_content(view: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the picture of a design (`designs.snapshot`) into what template/design.typ prints."""
    answer, design, provenance = view["answer"], view["design"], view.get("provenance", {})
    return {
        "words": words(),
        "running": _("Fleet planner, design report"),
        "title": design["name"],
        "crumb": _crumb(view),
        "date": parts.day(design.get("saved_at", "")),
        "description": design.get("description", ""),
        "claim": parts.runs(answer["sentence"]),
        "figure": {**parts.fact(answer["figure"]), "note": answer.get("note", ""), "range": answer["figure"]["range"]},
        "severity": answer.get("severity") or "ok",
        "facts": [parts.fact(row) for row in answer["facts"]],
        "findings": [parts.finding(found) for found in view["findings"]],
        "charts": parts.charts(view["charts"]),
        "evidence": [
            {"title": parts.evidence_title(found), **parts.evidence(found)} for found in view.get("evidence", ())
        ],
        "sensitivity": _sensitivity(view.get("sensitivity")),
        "questions": [_question(found) for found in view.get("questions", ())],
        "inputs": [_group(group) for group in view["inputs"]["groups"]],
        "metrics": [
            {"name": group["name"], "rows": [_metric(row) for row in group["rows"]]} for group in view["metrics"]
        ],
        "badges": badges.legend(row.get("basis", "") for group in view["metrics"] for row in group["rows"]),
        "diagram": _diagram(view.get("diagram")),
        "variants": [_variant(found) for found in view.get("variants", ())],
        "variant_facts": _variant_facts(view.get("variants", ())),
        "follow_ups": [{"question": f["question"], "answer": f["answer"]} for f in view.get("follow_ups", ())],
        "workings": _workings(view["metrics"]),
        "sources": parts.sources(provenance, skip=(*_VERSION_KEYS, *SHOWN_APART)),
        "versions": parts.versions(provenance),
    }


def words() -> dict[str, str]:
    """The headings and column heads of the template, in the active language."""
    return {
        "decide": _("What to decide"),
        "nothing": _("Nothing stands against this design."),
        "charts": _("The evidence"),
        "there": _("Measured there"),
        "here": _("Estimated here"),
        "sensitivity": _("What moves the answer"),
        "turns": _("What would change the decision"),
        "assumptions": _("Assumptions and their sources"),
        "asked": _("Asked, answered, assumed"),
        "metrics": _("Metrics"),
        "architecture": _("Architecture"),
        "tradeoffs": _("Trade-offs: one change each"),
        "followups": _("What a reviewer asks next"),
        "method": _("How the figures are made"),
        "sources": _("Sources"),
        "versions": _("Versions"),
        "input": _("Input"),
        "value": _("Value"),
        "source": _("Source"),
        "metric": _("Metric"),
        "range": _("80 % range"),
        "objective": _("Objective"),
        "basis": _("Basis"),
        "change": _("Change"),
        "verdict": _("Objectives"),
        "met": _("met"),
        "missed": _("missed"),
        "page": _("page"),
        "of": _("of"),
        "error": _("Error"),
        "warning": _("Warning"),
        "info": _("Note"),
        "changed": _("changed from"),
        "formula": _("Formula"),
        "working": _("With this design’s figures"),
    }


def _crumb(view: Mapping[str, Any]) -> str:
    said = [view["kind"]["label"]]
    if view["design"].get("revision"):
        said.append(_("revision %(number)s") % {"number": view["design"]["revision"]})
    return ", ".join([*said, *view["design"].get("tags", [])])


def _question(found: Mapping[str, Any]) -> parts.Text:
    states = {"answered": _("answered"), "assumed": _("assumed"), "open": _("open")}
    state = states.get(found["state"], found["state"])
    return {"text": found["text"], "state": state, "present": found["present"], "changes": found["changes"]}


def _group(group: Mapping[str, Any]) -> parts.Text:
    return {"name": group["name"], "rows": [_input(field) for field in group["fields"]]}


def _input(field: Mapping[str, Any]) -> parts.Text:
    return {
        "label": field["label"],
        "value": field["shown"] or "—",
        "source": field.get("source") or (_("stated") if field["changed"] else _("default")),
        "from": field.get("default_shown", "") if field["changed"] else "",
    }


def _metric(row: Mapping[str, Any]) -> parts.Text:
    return {
        **parts.fact(row),
        "range": row.get("range", ""),
        "basis": badges.words(row.get("basis", "")),
        "mark": row.get("basis", ""),
    }


def _sensitivity(found: Mapping[str, Any] | None) -> parts.Text | None:
    """What moves the headline and what would change the decision; a picture frozen without it has none."""
    if not found or not found["chart"]:
        return None
    return {
        "claim": parts.runs(found["claim"]),
        "charts": parts.charts([found["chart"]], wide=True),
        "flips": found["flips"],
    }


def _diagram(stored: Mapping[str, Any] | None) -> parts.Text | None:
    if not stored or not stored.get("boxes"):
        return None
    picture = codec.diagram_from_dict(stored)
    return {"svg": paper.diagram(picture).decode(), "alt": picture.summary or picture.title}


def _variant(found: Mapping[str, Any]) -> parts.Text:
    cells = [_moved(found.get(name)) for name in ("figure", "cost")]
    return {"label": found["label"], "cells": cells, "ok": bool(found.get("ok")), "error": found.get("error", "")}


def _moved(row: Mapping[str, Any] | None) -> dict[str, str]:
    if row is None:
        return {"text": "—", "delta": "", "change": ""}
    delta = row.get("delta") or {}
    said = delta.get("share") or delta.get("amount", "")
    return {"text": row["text"] if _is_tail(row) else row["shown"], "delta": said, "change": delta.get("change", "")}


def _is_tail(row: Mapping[str, Any]) -> bool:
    """Whether the unit is the same in every row ("/h"), so that the head of the column can say it."""
    return str(row.get("unit_text", "")).startswith("/")


def _variant_facts(variants: Sequence[Mapping[str, Any]]) -> list[str]:
    """Column heads of the variants: what their figure and their cost are called."""
    answered = next((found for found in variants if found.get("figure")), {})
    rows = [answered.get(name) or {"label": ""} for name in ("figure", "cost")]
    return [f"{row['label']}, {row['unit_text']}" if _is_tail(row) else row["label"] for row in rows]


def _workings(groups: Sequence[Mapping[str, Any]]) -> list[parts.Text]:
    rows = [row for group in groups for row in group["rows"]]
    return [
        {"label": row["label"], "formula": row.get("formula", ""), "working": row.get("working", "")}
        for row in rows
        if row.get("formula") or row.get("working")
    ]
