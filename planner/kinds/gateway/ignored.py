"""Fields that were given and change nothing, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.result import Finding
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.waits import SPREADING


def findings(plan: Plan) -> Iterator[Finding]:
    """One finding for each field that is not at its default."""
    fields = type(plan.spec).model_fields
    told: set[str] = set()
    for name, reason in _ignored(plan):
        default = fields[name].default
        if name in told or getattr(plan.spec, name) == default:
            continue
        told.add(name)
        label = fields[name].title or name
        yield Finding(
            code="field_ignored",
            severity="info",
            message=f"{label} ({name}) changes no figure of the estimate: {reason}.",
            suggestion=f"Leave {label} at its default.",
            change={name: default},
        )


def _ignored(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    yield from ()
    if spec.policy in SPREADING:
        yield "hash_key", "no policy in use hashes"
