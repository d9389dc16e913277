"""The answer of a sweep in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.kind import DesignKind
from planner.core.quantities import show
from planner.core.sweep import Sweep
from planner.core.wording import counted
from planner.designs.estimation import Estimate
from planner.designs.inputs import show_value
from planner.designs.serial import plain


def answer(base: Estimate, found: Sweep) -> dict[str, Any]:
    """``{sentence, metric, value}``: the best figure and the design that has it, or what keeps all from it.

    What simulations say of it, ``{verified_best, simulated}``, is not known yet.
    """
    metric = found.goal.objective
    value = None if found.best is None else found.points.figures[metric.name][found.best]
    sentence = _none(found) if found.best is None else _best(base, found, shown=show(value, metric.unit))
    return {"sentence": sentence, "metric": metric.name, "value": value, "verified_best": None, "simulated": ""}


def change_words(base: Estimate, change: Mapping[str, Any]) -> str:
    """A change of a design in words: "Decode unit 72 GPUs, Headroom 10 %"."""
    return ", ".join(_input(base.kind, base, name, value) for name, value in change.items())


def _best(base: Estimate, found: Sweep, *, shown: str) -> str:
    goal, count = found.goal, len(found.points)
    words = change_words(base, found.points.change(found.best or 0)) or "the design as it is"
    side = "lowest" if goal.order.lower else "highest"
    fine = sum(status == "ok" for status in found.points.status)
    return (
        f"**{goal.objective.label}: {shown}** is the {side} of {counted(count, 'design')}, "
        f"{fine:,} of which hold all that is asked: {words}."
    )


def _none(found: Sweep) -> str:
    if not len(found.points):
        return "**No design was looked at.**"
    none = f"**None of {counted(len(found.points), 'design')} holds all that is asked.**"
    if found.runners_up:
        return f"{none} The nearest: {found.runners_up[0].reason}"
    return f"{none} The first: {next((reason for reason in found.points.reasons if reason), '')}"


def _input(kind: DesignKind, base: Estimate, name: str, value: Any) -> str:
    field = kind.spec.model_fields[name]
    return f"{field.title or name} {show_value(field, value=plain(value), catalog=base.catalog)}"
