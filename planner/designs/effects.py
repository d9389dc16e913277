"""What one change of a design does: the same kind and catalog, another spec, answered at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from planner.core.compare import lacks
from planner.core.result import Metric
from planner.designs import estimation, figures
from planner.designs.estimation import Estimate
from planner.designs.inputs import show_value

MOST_MOVED = 3
TOLD = 5e-4
"""Relative change from which a figure has moved: less is shown as 0.0 %."""


def changed(estimate: Estimate, *, change: Mapping[str, Any]) -> Estimate:
    """The design with a change applied; raises as `estimation.estimate`."""
    spec = estimation.parse_spec(estimate.kind, spec={**estimate.spec_json, **change})
    return estimation.answer(estimate.kind, spec=spec, catalog=estimate.catalog)


def effect_view(estimate: Estimate, *, change: Mapping[str, Any], moves: Sequence[str] = ()) -> dict[str, Any]:
    """Old and new inputs, and the headline, cost and facts after the change with their deltas.

    ``moved`` are the metrics among ``moves`` that change, the first few. ``ok`` tells whether it meets every objective
    without an error finding. A change that cannot be answered has ``error`` and no figures.
    """
    try:
        after = changed(estimate, change=change)
    except estimation.CANNOT_ANSWER as error:
        return {"error": _reason(error), "ok": False, "changes": []}
    headline = estimate.result.answer
    told = _all_moved(estimate, after=after, names=moves)
    return {
        "error": "",
        "ok": not lacks(after.result),
        "severity": after.result.severity,
        "errors": [finding.message for finding in after.result.findings if finding.severity == "error"],
        "changes": _changes(estimate, after=after),
        "figure": _moved(estimate, after=after, name=headline.metric),
        "cost": _moved(estimate, after=after, name=headline.cost_metric),
        "facts": _all_moved(estimate, after=after, names=headline.facts),
        "moved": [row for row in told if _differs(estimate, row=row)][:MOST_MOVED],
    }


def _all_moved(before: Estimate, *, after: Estimate, names: Sequence[str]) -> list[dict[str, Any]]:
    return [row for name in names if (row := _moved(before, after=after, name=name))]


def _differs(before: Estimate, *, row: Mapping[str, Any]) -> bool:
    """Whether a figure changes, appears or is lost."""
    was = before.result.value(row["name"])
    if row["delta"] is None:
        return bool(was != row["value"])
    if was and row["value"] is not None and abs(row["value"] / was - 1) < TOLD:
        return False
    return bool(row["delta"]["change"] != "same")


def _changes(before: Estimate, *, after: Estimate) -> list[dict[str, Any]]:
    fields = before.kind.spec.model_fields
    old, new = before.spec_json, after.spec_json
    return [
        {
            "name": name,
            "label": field.title or name,
            "before": show_value(field, value=old[name], catalog=before.catalog),
            "after": show_value(field, value=new[name], catalog=after.catalog),
        }
        for name, field in fields.items()
        if old[name] != new[name]
    ]


def _moved(before: Estimate, *, after: Estimate, name: str | None) -> dict[str, Any] | None:
    metric: Metric | None = after.result.metrics.get(name or "")
    if metric is None:
        return None
    delta = figures.delta_view(before.result.metrics.get(metric.definition.name), metric)
    return figures.figure_row(metric) | {"delta": delta}


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(str(problem["msg"]) for problem in error.errors(include_url=False, include_context=False)[:2])
    return str(error)
