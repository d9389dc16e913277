"""Reports as CSV: every figure with every digit, its unit in a column of its own."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.charts.table import inert
from planner.core.quantities import full
from planner.core.sweep_result import points_table

_HEAD = ("section", "group", "name", "label", "value", "unit", "low", "high", "objective", "basis", "source")


def design_csv(view: Mapping[str, Any]) -> str:
    """Return inputs and metrics of a design, one a row."""
    return _written([_HEAD, *_inputs(view["inputs"]["groups"]), *_metrics(view["metrics"])])


def comparison_csv(view: Mapping[str, Any]) -> str:
    """Return inputs and metrics of a comparison, one a row and a column for each design."""
    names = [f"{item['label']} {item['name']}" for item in view["items"]]
    rows: list[Sequence[Any]] = [("section", "group", "name", "label", "unit", *names)]
    for section in ("differing", "equal"):
        for row in view["inputs"][section]:
            values = [_value(cell["value"]) if cell else "" for cell in row["cells"]]
            rows.append(("input", row["group"], row["name"], row["label"], _unit(row), *values))
    for group in view["metrics"]:
        for row in group["rows"]:
            values = [_value(cell["value"]) if cell else "" for cell in row["cells"]]
            rows.append(("metric", group["name"], row["name"], row["label"], row["unit"], *values))
    return _written(rows)


def simulation_csv(view: Mapping[str, Any]) -> str:
    """Return what a simulation found, one metric a row, with the estimate beside it (`jobs.selectors.job_view`)."""
    estimates = {row["name"]: row["estimate"]["value"] for row in view["beside"]}
    rows: list[Sequence[Any]] = [("metric", "label", "unit", "estimate", "simulated", "low", "high")]
    for group in view["metrics"]:
        for row in group["rows"]:
            figures = (estimates.get(row["name"]), row["value"], row.get("low"), row.get("high"))
            rows.append((row["name"], row["label"], row["unit"], *map(_value, figures)))
    return _written(rows)


def sweep_csv(result: Mapping[str, Any]) -> str:
    """Return the points of a sweep, one a row (`jobs.selectors.result`)."""
    return rows_csv(points_table(result))


def rows_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Return any rows as they are."""
    return _written([_value(cell) for cell in row] for row in rows)


def drill_csv(view: Mapping[str, Any]) -> str:
    """Return what the runs of a drill have found, a metric a row, a column for each (`jobs.drilled.drill_view`)."""
    names = [f"{run['label']} {run['name']}" for run in view["runs"]]
    rows: list[Sequence[Any]] = [("group", "name", "label", "unit", *names)]
    for group in view["metrics"]:
        for row in group["rows"]:
            values = [_value(cell["value"]) if cell else "" for cell in row["cells"]]
            rows.append((group["name"], row["name"], row["label"], row["unit"], *values))
    if view["phases"]:
        rows += [(), ("run", *view["phases"]["columns"])]
        rows += [(row["run"], *row["full"]) for row in view["phases"]["rows"]]
    return _written(rows)


def _unit(row: Mapping[str, Any]) -> str:
    return str(row.get("unit", ""))


def _inputs(groups: Sequence[Mapping[str, Any]]) -> Iterable[Sequence[Any]]:
    for group in groups:
        for field in group["fields"]:
            value, unit, source = _value(field["value"]), field.get("unit", ""), field.get("source", "")
            yield ("input", group["name"], field["name"], field["label"], value, unit, "", "", "", "", source)


def _metrics(groups: Sequence[Mapping[str, Any]]) -> Iterable[Sequence[Any]]:
    for group in groups:
        for row in group["rows"]:
            figures = [_value(row.get(name)) for name in ("value", "low", "high", "objective")]
            value, low, high, objective = figures
            basis = row.get("basis", "")
            yield (
                "metric",
                group["name"],
                row["name"],
                row["label"],
                value,
                row["unit"],
                low,
                high,
                objective,
                basis,
                "",
            )


def _value(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return full(value) if isinstance(value, (int, float)) else str(value)


def _written(rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    sheet = csv.writer(out, lineterminator="\r\n")
    sheet.writerows([[_cell(cell) for cell in row] for row in rows])
    return out.getvalue()


def _cell(cell: Any) -> str:
    """A text that a spreadsheet would take for a formula is kept a text; a negative number stays a number."""
    text = str(cell)
    try:
        float(text)
    except ValueError:
        return inert(text)
    return text
