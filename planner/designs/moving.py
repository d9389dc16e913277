"""What a request says of inputs that are to be moved: ranges, a metric, another design; checked and named if wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

from django.utils.translation import gettext as _

from planner.core.dials import Dial, dial_of
from planner.core.draws import Drawn, Shape
from planner.core.result import MetricDef
from planner.designs.estimation import Estimate
from planner.designs.texts import InvalidField

GIVEN = "given"


def metric_of(estimate: Estimate, *, name: str) -> MetricDef:
    """The metric of this name, by default the headline; raises `InvalidField`."""
    found = estimate.result.metrics.get(name or estimate.result.answer.metric)
    if found is None:
        raise InvalidField(field="metric", message=_("This kind has no such metric."))
    return found.definition


def cost_metric(estimate: Estimate) -> str:
    """The price that designs are ranked by: the headline if it is one, else the cost the answer names; "" for none."""
    answer, metrics = estimate.result.answer, estimate.result.metrics
    names = [name for name in (answer.metric, answer.cost_metric or "") if name in metrics]
    return next((name for name in names if metrics[name].definition.unit.startswith(("USD", "$"))), "")


def ranges_of(estimate: Estimate, *, given: Mapping[str, Any]) -> dict[str, Drawn]:
    """The user's own ranges by input: ``{field: {low, high, shape?}}``; raises `InvalidField`."""
    return {name: _range(estimate, name=name, given=row) for name, row in given.items()}


def _range(estimate: Estimate, *, name: str, given: Any) -> Drawn:
    path = f"ranges/{name}"
    dial = dial_of(estimate.spec, name)
    if dial is None or dial.is_choice:
        raise InvalidField(field=path, message=_("There is no such number among the inputs of this design."))
    if not isinstance(given, Mapping):
        raise InvalidField(field=path, message=_("Give low and high."))
    low, high = (_end(given.get(side), dial=dial, path=f"{path}/{side}") for side in ("low", "high"))
    if low > high:
        raise InvalidField(field=f"{path}/low", message=_("The low end lies above the high one."))
    shape: Shape = given.get("shape") or "triangular"
    if shape not in get_args(Shape):
        raise InvalidField(field=f"{path}/shape", message=_("Choose triangular, uniform or lognormal."))
    if shape == "lognormal" and low <= 0:
        raise InvalidField(field=f"{path}/low", message=_("A lognormal range starts above zero."))
    return Drawn(dial, low, high, shape, GIVEN)


def _end(value: Any, *, dial: Dial, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidField(field=path, message=_("Give a number."))
    if dial.is_whole and value != int(value):
        raise InvalidField(field=path, message=_("Give a whole number."))
    return value
