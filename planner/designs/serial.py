"""Results, charts and diagrams as strict JSON, and charts back again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.diagram import Box, Diagram, Flow
from planner.core.result import Finding, Metric, MetricDef, Result, Series

Part = TypeVar("Part")


def plain(value: Any) -> Any:
    """The value as strict JSON: arrays as lists, numpy numbers as numbers, what is not finite as null."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json"))
    return str(value)


def metric_json(metric: Metric) -> dict[str, Any]:
    """A metric as the API answers it; ``low``, ``high``, ``objective`` and ``working`` only where there are any."""
    definition = metric.definition
    written: dict[str, Any] = {
        "value": plain(metric.value),
        "unit": definition.unit,
        "label": definition.label,
        "direction": definition.direction,
        "group": definition.group,
        "basis": metric.basis,
    }
    extra = {"low": metric.low, "high": metric.high, "objective": metric.objective, "met": metric.met}
    written |= {name: plain(value) for name, value in extra.items() if value is not None}
    return written | ({"working": metric.working} if metric.working else {})


def metric_from(name: str, written: Mapping[str, Any]) -> Metric:
    """The metric that `metric_json` wrote; help and formula are not stored with it."""
    return Metric(
        MetricDef(
            name=name,
            label=written["label"],
            unit=written["unit"],
            direction=written["direction"],
            group=written.get("group", ""),
        ),
        **{key: written[key] for key in ("value", "low", "high", "basis", "objective", "working") if key in written},
    )


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding; ``metric``, ``suggestion`` and ``change`` only where there are any."""
    written = {name: plain(value) for name, value in asdict(finding).items() if value is not None}
    return {"code": finding.code, "severity": finding.severity, "message": finding.message} | written


def series_json(series: Series) -> dict[str, Any]:
    columns = [
        {"name": column.name, "label": column.label, "unit": column.unit, "values": plain(column.values)}
        for column in series.columns
    ]
    return {"label": series.label, "columns": columns}


def result_json(result: Result) -> dict[str, Any]:
    """``{metrics, findings, series, provenance}``: the answer of the API, and what a job stores."""
    return {
        "metrics": {name: metric_json(metric) for name, metric in result.metrics.items()},
        "findings": [finding_json(finding) for finding in result.findings],
        "series": {name: series_json(series) for name, series in result.series.items()},
        "provenance": plain(result.provenance),
    }


def chart_json(chart: Chart) -> dict[str, Any]:
    written: dict[str, Any] = plain(asdict(chart))
    return written


def chart_from(written: Mapping[str, Any]) -> Chart:
    """The chart that `chart_json` wrote."""
    return _build(
        Chart,
        {
            **written,
            "x": _build(Axis, written["x"]),
            "y": _build(Axis, written["y"]),
            "traces": tuple(_build(Trace, trace) for trace in written["traces"]),
            "limits": tuple(_build(Limit, limit) for limit in written["limits"]),
            "marks": tuple(_build(Mark, mark) for mark in written["marks"]),
        },
    )


def diagram_json(diagram: Diagram) -> dict[str, Any]:
    written: dict[str, Any] = plain(asdict(diagram))
    return written


def diagram_from(written: Mapping[str, Any]) -> Diagram:
    """The diagram that `diagram_json` wrote."""
    return Diagram(
        title=written["title"],
        boxes=tuple(_build(Box, {**box, "lines": tuple(box["lines"])}) for box in written["boxes"]),
        flows=tuple(_build(Flow, flow) for flow in written["flows"]),
        summary=written["summary"],
    )


def _build(part: type[Part], written: Mapping[str, Any]) -> Part:
    known = {field.name for field in fields(part)}  # type: ignore[arg-type]
    return part(**{name: value for name, value in written.items() if name in known})
