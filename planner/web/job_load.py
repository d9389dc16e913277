"""What load a simulation ran under, and whether the estimate beside it is of that load or of the design's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.models import Team
from planner.catalog import selectors as catalogs
from planner.core import quantities
from planner.core.kind import DesignKind
from planner.core.simulation import OptionDef
from planner.web.catalog_forms import profile_numbers
from planner.web.workload_source import WORKLOAD_FIELDS

UNITS = {
    "peak_rps": "req/s",
    "rate_rps": "req/s",
    "input_tokens": "tokens",
    "output_tokens": "tokens",
    "prefix_hit_rate": "ratio",
}


def load_of(view: Mapping[str, Any], *, team: Team) -> dict[str, Any] | None:
    """How a run was asked to differ from its design: ``{sentence, workload, rows, options}``; None where it was not.

    ``rows`` are (label, in the design, in the trace); ``options`` are (label, value) away from their defaults.
    """
    kind = kinds.all_kinds().get(view["kind"])
    asked = view["request"]
    workload = asked.get("workload")
    changed = _changed(kind, options=asked.get("options") or {})
    if kind is None or not (workload or changed):
        return None
    rows, address = _rows(view["spec"] or {}, workload=workload, team=team)
    return {
        "sentence": _sentence(kind, trace=bool(workload)),
        "workload": workload["name"] if workload else "",
        "slug": address,
        "rows": rows,
        "options": changed,
    }


def _sentence(kind: DesignKind, *, trace: bool) -> str:
    """Whose load the estimate beside the result is of."""
    if kind.simulator is not None and kind.simulator.expected is not None:
        return _("The estimate beside it is of the load this run brought, on what the design buys.")
    if trace:
        return _(
            "The estimate beside it is of the design’s own rate and lengths, not of the trace: a difference is one of"
            " load as much as of method."
        )
    return _("The estimate beside it is of the design as it stands, without these options.")


def _changed(kind: DesignKind | None, *, options: Mapping[str, Any]) -> list[tuple[str, str]]:
    known: Mapping[str, OptionDef] = {}
    if kind is not None and kind.simulator is not None:
        known = {option.name: option for option in kind.simulator.options}
    return [
        (known[name].label, _value(value, unit=known[name].unit))
        for name, value in options.items()
        if name in known and value != known[name].default
    ]


def _value(value: Any, *, unit: str) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int | float):
        return quantities.show(value, unit)
    return str(value).replace("_", " ")


def _rows(
    spec: Mapping[str, Any], *, workload: Mapping[str, Any] | None, team: Team
) -> tuple[list[tuple[str, str, str]], str]:
    """Rate and lengths of the design and of the trace, and the slug of the trace; nothing once it is deleted."""
    if workload is None:
        return [], ""
    row = catalogs.workloads(team).filter(pk=workload["id"]).first()
    if row is None:
        return [], ""
    facts = {**row.facts, **catalogs.workload_profile(row)}
    labels = {number.name: number.label for number in profile_numbers({})}
    found = []
    for name in WORKLOAD_FIELDS:
        replayed = facts.get("rate_rps" if name == "peak_rps" else name)
        if name in UNITS and isinstance(spec.get(name), int | float) and isinstance(replayed, int | float):
            found.append(
                (labels[name], quantities.show(spec[name], UNITS[name]), quantities.show(replayed, UNITS[name]))
            )
    return found, row.slug
