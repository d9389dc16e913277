"""A sweep as JSON and as a table: what is stored, answered and downloaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.core.kind import DesignKind
from planner.core.result import MetricDef
from planner.core.sweep import Binding, Limit, Points, RunnerUp, Sweep


def sweep_json(sweep: Sweep, *, kind: DesignKind, own: Sequence[Limit] = ()) -> dict[str, Any]:
    """The part of a sweep's result that follows from its points; ``own`` are the objectives of the base itself.

    ::

        fields [{name, label, unit, shown_unit}], objective, against {metric, label, unit, direction},
        constraints [{metric, label, unit, at_most | at_least, own}], metrics [{name, label, unit, direction}],
        points {count, values {field: [..]}, figures {metric: [..]}, status [..], reasons [..]}, changes [..] | null,
        best, front, runners_up [{place, binding {metric, limit, value} | null, reason}]
    """
    goal = sweep.goal
    return {
        "fields": [_field(kind, name) for name in sweep.fields],
        "objective": _sought(goal.objective),
        "against": _sought(goal.against) if goal.against else None,
        "constraints": [_limit(one, is_own=True) for one in own] + [_limit(one) for one in goal.limits],
        "metrics": [_metric(goal.definitions[name]) for name in sweep.points.figures],
        "points": points_json(sweep.points),
        "changes": None if sweep.points.changes is None else [dict(change) for change in sweep.points.changes],
        "best": sweep.best,
        "front": list(sweep.front),
        "runners_up": [_runner_up(one) for one in sweep.runners_up],
    }


def points_json(points: Points) -> dict[str, Any]:
    """Points in columns."""
    return {
        "count": len(points),
        "values": {name: list(column) for name, column in points.values.items()},
        "figures": {name: list(column) for name, column in points.figures.items()},
        "status": list(points.status),
        "reasons": list(points.reasons),
    }


def points_table(result: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    """A head and one row a point: varied fields, metrics, status, reason, whether on the front and verified."""
    points, fields, metrics = result["points"], result["fields"], result["metrics"]
    yield [
        "point",
        *[_head(field["name"], field["unit"]) for field in fields],
        *[_head(metric["name"], metric["unit"]) for metric in metrics],
        "status",
        "reason",
        "best",
        "front",
        "verified",
        "simulation_meets",
    ]
    columns = [
        *[points["values"][field["name"]] for field in fields],
        *[points["figures"][metric["name"]] for metric in metrics],
        points["status"],
        points["reasons"],
    ]
    front, verified = set(result["front"]), {row["place"]: row for row in result.get("verified", ())}
    for place in range(points["count"]):
        marks = ("yes" if place == result["best"] else "", "yes" if place in front else "")
        row = verified.get(place, {})
        checked = (row.get("state", ""), {True: "yes", False: "no"}.get(row.get("meets"), ""))
        yield [place, *[column[place] for column in columns], *marks, *checked]


def _head(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _field(kind: DesignKind, name: str) -> dict[str, Any]:
    field = kind.spec.model_fields[name]
    meta = field.json_schema_extra if isinstance(field.json_schema_extra, Mapping) else {}
    units = {key: str(meta.get(key, "")) for key in ("unit", "shown_unit")}
    return {"name": name, "label": field.title or name, **units}


def _metric(metric: MetricDef) -> dict[str, Any]:
    return {"name": metric.name, "label": metric.label, "unit": metric.unit, "direction": metric.direction}


def _sought(metric: MetricDef) -> dict[str, Any]:
    return {"metric": metric.name, "label": metric.label, "unit": metric.unit, "direction": metric.direction}


def _limit(limit: Limit, *, is_own: bool = False) -> dict[str, Any]:
    side = "at_most" if limit.at_least is None else "at_least"
    told = {"metric": limit.metric.name, "label": limit.metric.label, "unit": limit.metric.unit}
    return {**told, side: limit.bound, "own": is_own}


def _runner_up(one: RunnerUp) -> dict[str, Any]:
    return {"place": one.place, "binding": _binding(one.binding), "reason": one.reason}


def _binding(found: Binding | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"metric": found.metric.name, "limit": found.limit, "value": found.value}
