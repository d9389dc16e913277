"""Results and metrics as strict JSON, and metrics back again (charts: `planner.charts.codec`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from planner.core.result import Answer, Column, Evidence, Finding, Metric, MetricDef, Result, Series


def plain(value: Any) -> Any:
    """The value as strict JSON: arrays as lists, numpy numbers as numbers, what is not finite as null."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        # Most lists are long columns of finite numbers: those are told apart without a call each.
        return [item if type(item) is float and math.isfinite(item) else plain(item) for item in value]
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
    extra = {"metric": finding.metric, "suggestion": finding.suggestion, "change": finding.change}
    written = {"code": finding.code, "severity": finding.severity, "message": finding.message}
    return written | {name: plain(value) for name, value in extra.items() if value is not None}


def series_json(series: Series) -> dict[str, Any]:
    columns = [
        {"name": column.name, "label": column.label, "unit": column.unit, "values": plain(column.values)}
        for column in series.columns
    ]
    return {"label": series.label, "columns": columns}


def evidence_json(found: Evidence) -> dict[str, Any]:
    """A published measurement with ours beside it, base units."""
    written: dict[str, Any] = plain(asdict(found))
    return written


def result_json(result: Result) -> dict[str, Any]:
    """``{metrics, findings, series, provenance, evidence}``: the answer of the API, and what a job stores."""
    return {
        "metrics": {name: metric_json(metric) for name, metric in result.metrics.items()},
        "findings": [finding_json(finding) for finding in result.findings],
        "series": {name: series_json(series) for name, series in result.series.items()},
        "provenance": plain(result.provenance),
        "evidence": [evidence_json(found) for found in result.evidence],
    }


def series_from(name: str, written: Mapping[str, Any]) -> Series:
    """The series that `series_json` wrote."""
    return Series(name, written["label"], tuple(Column(**column) for column in written["columns"]))


def result_from(written: Mapping[str, Any]) -> Result:
    """The figures, series and findings that `result_json` wrote; evidence and the answer's card are not read back."""
    return Result(
        metrics={name: metric_from(name, metric) for name, metric in written["metrics"].items()},
        answer=Answer(metric="", sentence="", cost_metric=None),
        findings=tuple(Finding(**finding) for finding in written["findings"]),
        series={name: series_from(name, series) for name, series in written["series"].items()},
        provenance=written["provenance"],
    )
