"""Pictures of designs as `planner.designs` makes them: every kind from its defaults, without a database."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from planner import kinds
from planner.catalog import files
from planner.designs import snapshot
from planner.designs.compare import Item, items_view
from planner.designs.estimation import Estimate

CATALOG = files.load()


def estimate_of(slug: str, **changes: Any) -> Estimate:
    kind = kinds.get(slug)
    spec = kind.spec(**changes)
    return Estimate(kind=kind, spec=spec, result=kind.estimate(spec, CATALOG), catalog=CATALOG)


@cache
def _design(slug: str) -> str:
    view = snapshot.view(
        estimate_of(slug),
        name="Reference",
        revision=14,
        saved_at="2026-11-29T12:00:00+00:00",
        tags=["reference"],
        description="As published.",
    )
    return json.dumps(view)


def design_view(slug: str) -> dict[str, Any]:
    view: dict[str, Any] = json.loads(_design(slug))
    return view


@cache
def _comparison() -> str:
    changes: tuple[dict[str, Any], ...] = ({}, {"headroom": 0.5})
    items = [
        Item(label, name, estimate_of("llm_serving", **change))
        for label, name, change in zip("AB", ("Reference", "Roomy"), changes, strict=True)
    ]
    return json.dumps(items_view(items, name="Reference and roomy"))


def comparison_view() -> dict[str, Any]:
    view: dict[str, Any] = json.loads(_comparison())
    return view
