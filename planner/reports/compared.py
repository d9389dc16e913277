"""The report of a comparison as data: the verdict first, then the figures side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner.charts import paper
from planner.designs import badges
from planner.reports import parts
from planner.reports.content import words


def comparison_content(view: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the picture of a comparison (`designs.compare`) into what template/comparison.typ prints."""
    verdict = view["verdict"]
    return {
        "words": words()
        | {
            "beside": _("Side by side"),
            "differ": _("Inputs that differ"),
            "alike": _("%(number)s equal inputs are left out.") % {"number": len(view["inputs"]["equal"])},
            "legend": _("Blue is better, orange worse, than %(first)s; the best of a row is underlined.")
            % {"first": view["items"][0]["label"]},
            "findings": _("What stands against each"),
            "nearest": _("Nearest published measurements"),
            "simulated": _("Simulated on the same requests"),
            "phases": _("Before, during, after"),
        },
        "running": _("Fleet planner, comparison report"),
        "title": view["name"],
        "crumb": _("%(number)s designs") % {"number": len(view["items"])},
        "date": parts.day(view.get("created_at", "")),
        "claim": parts.runs(verdict["sentence"] if isinstance(verdict, Mapping) else str(verdict)),
        "items": [_item(item) for item in view["items"]],
        "differing": [_inputs(row) for row in view["inputs"]["differing"]],
        "metrics": [
            {"name": group["name"], "rows": [_metric(row) for row in group["rows"]]} for group in view["metrics"]
        ],
        "drill": _drill(view.get("drill")),
        "simulated": [
            {"name": group["name"], "rows": [_metric(row) for row in group["rows"]]}
            for group in (view.get("drill") or view.get("simulated") or {}).get("metrics", ())
        ],
        "evidence": [
            {"title": f"{item['label']} {parts.evidence_title(found)}", **parts.evidence(found)}
            for item in view["items"]
            for found in item.get("evidence", ())
        ],
        "charts": parts.charts(view["charts"]),
        "versions": parts.versions(view.get("provenance", {})),
    }


def _drill(found: Mapping[str, Any] | None) -> parts.Text | None:
    """What a drill asked, its answer, and each run before, during and after (`jobs.drilled.found_of`)."""
    if not found:
        return None
    phases = found["phases"] or {"columns": [], "rows": []}
    return {
        "question": found["question"],
        "answer": parts.runs(found["answer"] or ""),
        "columns": list(phases["columns"]),
        "runs": [
            {
                "name": f"{run['label']} {run['name']}",
                "rows": [row["cells"] for row in phases["rows"] if row["order"] == run["order"]],
            }
            for run in found["runs"]
        ],
    }


def _item(item: Mapping[str, Any]) -> parts.Text:
    design = item.get("design") or {}
    basis = {"measured": _("measured"), "simulated": _("simulated")}.get(item.get("basis", ""))
    said = [basis or item["kind"]["label"]]
    if design.get("revision"):
        said.append(_("revision %(number)s") % {"number": design["revision"]})
    said += [item[name] for name in ("about", "scaled") if item.get(name)]
    return {
        "label": item["label"],
        "name": item["name"],
        "about": ", ".join(said),
        "key": paper.key(item["order"]).decode(),
        "claim": parts.runs(item["answer"]["sentence"]),
        "figure": parts.fact(item["answer"]["figure"]),
        "errors": list(item.get("errors", ())),
    }


def _inputs(row: Mapping[str, Any]) -> parts.Text:
    cells = [
        {"text": cell["shown"] if cell else "—", "differs": bool(cell and cell["differs"])} for cell in row["cells"]
    ]
    return {"label": row["label"], "cells": cells}


def _metric(row: Mapping[str, Any]) -> parts.Text:
    """A unit that all designs share moves to the label."""
    units = {str(cell.get("unit_text", "")) for cell in row["cells"] if cell and cell["value"] is not None}
    tail = units.pop() if len(units) == 1 and min(units).startswith("/") else ""
    return {"label": row["label"], "unit": tail, "cells": [_cell(cell, tail=tail) for cell in row["cells"]]}


def _cell(cell: Mapping[str, Any] | None, *, tail: str) -> parts.Text:
    if cell is None:
        return {"text": "—", "verdict": "", "delta": "", "change": "", "best": False, "range": ""}
    delta = cell.get("delta") or {}
    moved = delta.get("text", "") if delta.get("change") != "same" else ""
    best, verdict = bool(cell.get("best")), cell.get("verdict", "")
    shown = cell["text"] if tail else cell["shown"]
    basis = badges.words(cell["basis"]) if cell.get("basis", "exact") != "exact" and cell["value"] is not None else ""
    said = " · ".join(part for part in (basis, cell.get("range", "")) if part)
    change = delta.get("change", "")
    return {"text": shown, "verdict": verdict, "delta": moved, "change": change, "best": best, "range": said}
