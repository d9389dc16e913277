"""Figures as rows of a page, a report or a reply: raw and shown, with range, objective, verdict and delta."""

from __future__ import annotations

from typing import Any

from planner.core import quantities
from planner.core.compare import Delta, difference
from planner.core.quantities import NOTHING
from planner.core.result import Metric
from planner.designs.serial import metric_json


def figure_row(metric: Metric) -> dict[str, Any]:
    """A metric with everything a surface shows of it; ``verdict`` is ok, error or ""."""
    definition = metric.definition
    text, unit_text = quantities.show_parts(metric.value, definition.unit)
    return metric_json(metric) | {
        "name": definition.name,
        "text": text,
        "unit_text": unit_text,
        "shown": quantities.show(metric.value, definition.unit),
        "full": quantities.full(metric.value),
        "range": range_text(metric),
        "objective_text": objective_text(metric),
        "verdict": {True: "ok", False: "error", None: ""}[metric.met],
        "help": definition.help,
        "formula": definition.formula,
        "working": metric.working,
        "whole": definition.whole,
    }


def range_text(metric: Metric) -> str:
    """`0.661–0.858` where both ends read in the same unit, else with their units; "" without a range."""
    if metric.low is None or metric.high is None:
        return ""
    unit = metric.definition.unit
    (low, low_unit), (high, high_unit) = (
        quantities.show_parts(metric.low, unit),
        quantities.show_parts(metric.high, unit),
    )
    if low_unit == high_unit:
        return f"{low}–{high}"
    return f"{quantities.show(metric.low, unit)}–{quantities.show(metric.high, unit)}"


def objective_text(metric: Metric) -> str:
    """`≤ 50 ms`, or "" without an objective."""
    if metric.objective is None:
        return ""
    sign = "≥" if metric.definition.direction == "higher" else "≤"
    return f"{sign}{quantities.NBSP}{quantities.show(metric.objective, metric.definition.unit)}"


def delta_view(baseline: Metric | None, other: Metric | None) -> dict[str, Any] | None:
    """How a metric differs from the baseline's, raw and shown; None where either has no value."""
    found = difference(baseline, other)
    if found is None or baseline is None or other is None:
        return None
    return delta_row(found, baseline=baseline, other=other)


def delta_row(delta: Delta, *, baseline: Metric, other: Metric) -> dict[str, Any]:
    amount, share = quantities.delta(baseline.value, other.value, other.definition.unit)
    return {
        "absolute": delta.absolute,
        "relative": delta.relative,
        "change": delta.change,
        "amount": amount,
        "share": share,
        "text": ", ".join(part for part in (amount, share) if part and part != NOTHING),
    }
