"""Workloads as a source of inputs: a profile or a trace fills the fields of any kind that has them by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.accounts.models import Team
from planner.catalog import selectors, services
from planner.catalog.models import Workload
from planner.core.catalog import UnknownEntry
from planner.core.kind import DesignKind

WORKLOAD_FIELDS = (
    "peak_rps",
    "rate_rps",
    "input_tokens",
    "output_tokens",
    "prefix_hit_rate",
    "input_sigma",
    "output_sigma",
)
"""Field names that say what arrives; kinds that plan for arrivals share them."""
SAME_FACT = {"peak_rps": "rate_rps", "rate_rps": "peak_rps"}
"""Kinds plan for a peak or for a rate; a workload that tells only one of the two gives it for both."""


def sources(kind: DesignKind, *, team: Team) -> list[tuple[Workload, dict[str, float]]]:
    """The workloads that could fill at least one field of the kind, with what they would fill."""
    found = ((row, _change(kind, row=row)) for row in selectors.workloads(team))
    return [(row, change) for row, change in found if change]


def has_workload(kind: DesignKind) -> bool:
    """Whether a design of this kind says what arrives, so that it can be kept for others."""
    return any(name in kind.spec.model_fields for name in WORKLOAD_FIELDS)


def change_from(kind: DesignKind, *, chosen: str, team: Team) -> dict[str, float]:
    """What a workload would write into the form; nothing for one that does not exist."""
    try:
        return _change(kind, row=selectors.workload(chosen, team=team))
    except UnknownEntry:
        return {}


def keep(kind: DesignKind, *, spec: Mapping[str, Any], name: str, team: Team, user_id: int) -> Workload:
    """Save the workload of a spec as a profile of the team; raises `ImportProblem`."""
    facts = {field: spec[field] for field in WORKLOAD_FIELDS if field in kind.spec.model_fields}
    return services.workload_save_profile(team=team, user_id=user_id, name=name, facts=facts)


def _change(kind: DesignKind, *, row: Workload) -> dict[str, float]:
    known = {**row.facts, **selectors.workload_profile(row)}
    facts = {SAME_FACT.get(name, name): value for name, value in known.items()} | known
    wanted = [name for name in WORKLOAD_FIELDS if name in kind.spec.model_fields]
    found = {name: float(facts[name]) for name in wanted if isinstance(facts.get(name), int | float)}
    return {name: _rounded(value) for name, value in found.items()} if row.form == Workload.Form.TRACE else found


def _rounded(mean: float) -> float:
    """A mean over a trace with the digits one would type; the trace itself is replayed as it is."""
    return float(f"{mean:.5g}")
