"""Charts and diagrams as strict JSON and back: frozen shares and job results keep them so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.diagram import Box, Diagram, Flow
from planner.core.result import Column, Series


def to_dict(picture: Chart | Diagram) -> dict[str, Any]:
    """Return plain lists, numbers, texts and None; a figure that is not finite becomes None."""
    found: dict[str, Any] = _plain(picture)
    return found


def from_dict(data: Mapping[str, Any]) -> Chart | Diagram:
    """Rebuild what `to_dict` made. Keys of a later version are left out; a missing one raises ValueError."""
    return diagram_from_dict(data) if "boxes" in data else chart_from_dict(data)


def chart_from_dict(data: Mapping[str, Any]) -> Chart:
    try:
        parts = _known(Chart, data)
        parts["x"], parts["y"] = _build(Axis, data["x"]), _build(Axis, data["y"])
        parts["traces"] = tuple(_build(Trace, trace) for trace in data["traces"])
        parts["limits"] = tuple(_build(Limit, limit) for limit in data.get("limits", ()))
        parts["twin"] = _series(data["twin"]) if data.get("twin") else None
        parts["marks"] = tuple(_build(Mark, mark) for mark in data.get("marks", ()))
        return Chart(**parts)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a chart: {error}") from error


def diagram_from_dict(data: Mapping[str, Any]) -> Diagram:
    try:
        boxes = tuple(_build(Box, {**box, "lines": tuple(box.get("lines", ()))}) for box in data["boxes"])
        flows = tuple(_build(Flow, flow) for flow in data.get("flows", ()))
        return Diagram(title=data["title"], boxes=boxes, flows=flows, summary=data.get("summary", ""))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a diagram: {error}") from error


def _series(data: Mapping[str, Any]) -> Series:
    return Series(data["name"], data["label"], tuple(_build(Column, column) for column in data["columns"]))


def _build(form: type, data: Mapping[str, Any]) -> Any:
    return form(**_known(form, data))


def _known(form: type, data: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(form)}
    return {key: value for key, value in data.items() if key in names}


def _plain(value: Any) -> Any:
    if type(value) is float:  # nearly all there is
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "tolist"):  # arrays and scalars of numpy
        return _plain(value.tolist())
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    number = float(value)
    return number if math.isfinite(number) else None
