"""Comparison on equal terms: the others carry what the GPUs, or the money, of the first would buy of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from planner import kinds
from planner.core import quantities
from planner.core.equal import demand_within
from planner.core.fleet import Fleet
from planner.core.text import gettext_noop
from planner.designs import estimation
from planner.designs.effects import changed
from planner.designs.estimation import Estimate

AS_IS, EQUAL_GPUS, EQUAL_COST = "as_is", "equal_gpus", "equal_cost"
MODES: Mapping[str, str] = {
    AS_IS: gettext_noop("As they are"),
    EQUAL_GPUS: gettext_noop("Equal GPUs"),
    EQUAL_COST: gettext_noop("Equal cost"),
}


@dataclass(frozen=True, slots=True)
class Scaled:
    """A design at the demand its budget buys, and a note that says so; the design as it is where that cannot be."""

    estimate: Estimate
    note: str


def scaled(estimate: Estimate, *, baseline: Estimate, mode: str) -> Scaled:
    """The design with the demand that the GPUs or the bill of the baseline carry."""
    budget, unit = _budget(baseline, mode=mode)
    fleet = _fleet(estimate)
    if fleet is None or budget is None or not fleet.demand_field:
        return Scaled(estimate, _("as it is: it has no demand to scale"))
    field = estimate.kind.spec.model_fields[fleet.demand_field]
    start = getattr(estimate.spec, fleet.demand_field) or 1.0
    demand = demand_within(
        lambda wanted: _spent(estimate, change={fleet.demand_field: wanted}, mode=mode), budget=budget, start=start
    )
    if demand is None:
        return Scaled(estimate, _("as it is: no demand fits %(budget)s") % {"budget": quantities.show(budget, unit)})
    meta = field.json_schema_extra
    shown = quantities.show(demand, str(meta.get("unit", "")) if isinstance(meta, Mapping) else "")
    note = _("%(demand)s, what %(budget)s carry") % {"demand": shown, "budget": quantities.show(budget, unit)}
    return Scaled(changed(estimate, change={fleet.demand_field: demand}), note)


def _budget(baseline: Estimate, *, mode: str) -> tuple[float | None, str]:
    fleet = _fleet(baseline)
    if fleet is None:
        return None, ""
    return (float(fleet.gpus), "GPUs") if mode == EQUAL_GPUS else (fleet.usd_per_h, "USD/h")


def _spent(estimate: Estimate, *, change: Mapping[str, Any], mode: str) -> float | None:
    try:
        fleet = _fleet(changed(estimate, change=change))
    except estimation.CANNOT_ANSWER:
        return None
    if fleet is None:
        return None
    return float(fleet.gpus) if mode == EQUAL_GPUS else fleet.usd_per_h


def _fleet(estimate: Estimate) -> Fleet | None:
    build = kinds.planning(estimate.kind.slug).fleet
    return None if build is None else build(estimate.spec, estimate.result, estimate.catalog)
