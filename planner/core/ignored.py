"""Fields that were given and change nothing: how every kind tells of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.core.kind import Spec
from planner.core.result import Finding

CODE = "field_ignored"


def told(given: Spec, reasons: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """One finding for each field that is not at its default.

    Parameters
    ----------
    given : the spec as its user wrote it
    reasons : field and why it changes nothing; of several reasons for a field the first is told
    """
    fields = type(given).model_fields
    seen: set[str] = set()
    for name, reason in reasons:
        default = fields[name].default
        if name in seen or getattr(given, name) == default:
            continue
        seen.add(name)
        label = fields[name].title or name
        yield Finding(
            code=CODE,
            severity="info",
            message=f"{label} ({name}) changes no figure of the estimate: {reason}.",
            suggestion=f"Leave {label} at its default.",
            change={name: default},
        )
