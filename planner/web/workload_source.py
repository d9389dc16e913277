"""Workloads as a source of inputs: a profile or a trace fills the fields of any kind that has them by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.accounts.models import Team
from planner.catalog import selectors, services
from planner.catalog.models import Workload
from planner.core.kind import DesignKind


def sources(kind: DesignKind, *, team: Team) -> list[tuple[Workload, dict[str, Any]]]:
    """The workloads that could fill at least one field of the kind, with what they would fill."""
    found = ((row, _change(kind, facts=row.facts)) for row in selectors.workloads(team))
    return [(row, change) for row, change in found if change]


def change_from(kind: DesignKind, *, chosen: str, team: Team) -> dict[str, Any]:
    """What a workload would write into the form; nothing for one that does not exist."""
    try:
        row = selectors.workload(chosen, team=team)
    except (LookupError, Workload.DoesNotExist):
        return {}
    return _change(kind, facts=row.facts)


def keep(kind: DesignKind, *, spec: Mapping[str, Any], name: str, team: Team) -> Workload:
    """Save the workload of a spec as a profile of the team."""
    facts = {
        field: spec[field]
        for field in WORKLOAD_FIELDS
        if field in kind.spec.model_fields and spec.get(field) is not None
    }
    return services.workload_save_profile(team=team, name=name, facts=facts)


WORKLOAD_FIELDS = (
    "peak_rps",
    "rate_rps",
    "input_tokens",
    "output_tokens",
    "prefix_hit_rate",
    "input_sigma",
    "output_sigma",
)
"""Field names that say what arrives, shared by the kinds that plan for arrivals."""


def _change(kind: DesignKind, *, facts: Mapping[str, Any]) -> dict[str, Any]:
    fields = kind.spec.model_fields
    return {
        name: facts[name] for name in WORKLOAD_FIELDS if name in fields and isinstance(facts.get(name), int | float)
    }
