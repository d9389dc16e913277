"""The sentence above a comparison: which design to take, what it costs, and what the others lack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from planner.core import quantities
from planner.core.compare import Comparison, Lack, MetricRow, difference
from planner.designs import figures
from planner.designs.equal import AS_IS, EQUAL_COST, EQUAL_GPUS

MOST_TOLD = 4
"""Figures of a measurement that the sentence names; the table has the rest."""


def verdict_view(
    comparison: Comparison, *, labels: list[str], found: Sequence[bool] = (), mode: str = AS_IS
) -> dict[str, Any]:
    """The decision and its sentence; ``**bold**`` marks the claim.

    ``found`` tells which of the items were measured or simulated: those are held against the first, not recommended.
    """
    verdict = comparison.verdict
    sentence = _against(comparison, labels=labels, found=found) if any(found) else _sentence(comparison, labels=labels)
    return {
        "sentence": f"{_on_terms(mode, first=labels[0])}{sentence}",
        "best": verdict.best,
        "suitable": list(verdict.suitable),
        "lacks": [[lack_text(lack) for lack in found] for found in verdict.lacks],
    }


def lack_text(lack: Lack) -> str:
    """`TTFT P99 2.50 s, not ≤ 2 s`, or the message of the error."""
    if lack.metric is None:
        return lack.message.rstrip(".")
    definition = lack.metric.definition
    return _("%(label)s %(value)s, not %(objective)s") % {
        "label": definition.label,
        "value": quantities.show(lack.metric.value, definition.unit),
        "objective": figures.objective_text(lack.metric),
    }


def _on_terms(mode: str, *, first: str) -> str:
    words = {EQUAL_GPUS: _("On the GPUs of %(name)s: "), EQUAL_COST: _("For the money of %(name)s: ")}
    return words[mode] % {"name": first} if mode in words else ""


def _against(comparison: Comparison, *, labels: list[str], found: Sequence[bool]) -> str:
    """What was found beside the first: `B against A: TTFT P99 1.43 s, +10 %; …`."""
    told = []
    for place in range(1, len(labels)):
        if not (found[place] or found[0]):
            continue
        figures_told = [text for row in _rows(comparison) if (text := _moved(row, place=place))][:MOST_TOLD]
        names = {"name": labels[place], "first": labels[0]}
        if figures_told:
            told.append(_("**%(name)s against %(first)s**: ") % names + "; ".join(figures_told) + ".")
        else:
            told.append(_("**%(name)s shares no figure with %(first)s.**") % names)
    return " ".join([*told, *_shortfalls(comparison, labels=labels)])


def _rows(comparison: Comparison) -> list[MetricRow]:
    return [row for rows in comparison.groups.values() for row in rows if row.definition.direction != "none"]


def _moved(row: MetricRow, *, place: int) -> str:
    other, delta = row.metrics[place], row.deltas[place]
    if other is None or delta is None or delta.relative is None:
        return ""
    share = "±0" if delta.change == "same" else quantities.delta(1.0, 1.0 + delta.relative, "")[1]
    return f"{row.definition.label} {quantities.show(other.value, row.definition.unit)}, {share}"


def _sentence(comparison: Comparison, *, labels: list[str]) -> str:
    verdict = comparison.verdict
    if not verdict.suitable:
        return " ".join([_("**None of them meets every objective.**"), *_shortfalls(comparison, labels=labels)])
    if verdict.best is None or verdict.cost is None:
        return " ".join([_suitable(comparison, labels=labels), *_shortfalls(comparison, labels=labels)])
    return " ".join([_recommendation(comparison, labels=labels), *_shortfalls(comparison, labels=labels)])


def _suitable(comparison: Comparison, *, labels: list[str]) -> str:
    names = ", ".join(labels[place] for place in comparison.verdict.suitable)
    if comparison.verdict.cost is not None:
        return _("**Meeting every objective: %(names)s**; their price is not known.") % {"names": names}
    return _("**Meeting every objective: %(names)s**; they share no price to rank them by.") % {"names": names}


def _recommendation(comparison: Comparison, *, labels: list[str]) -> str:
    verdict = comparison.verdict
    best, cost = verdict.best, verdict.cost
    if best is None or cost is None:
        raise ValueError("there is no cheapest design to recommend")
    metric = cost.metrics[best]
    price = quantities.show(metric.value if metric else None, cost.definition.unit)
    facts = {"name": labels[best], "count": len(verdict.suitable), "label": cost.definition.label, "price": price}
    if len(verdict.suitable) == 1:
        claim = _("**%(name)s alone meets every objective: %(price)s** (%(label)s)") % facts
    else:
        claim = (
            _("**%(name)s is the cheapest of the %(count)d that meet every objective: %(price)s** (%(label)s)") % facts
        )
    return ", ".join([claim, *_beside(cost, best=best, labels=labels)]) + "."


def _beside(cost: MetricRow, *, best: int, labels: list[str]) -> list[str]:
    """The price of the others, seen from the recommended one: `13.2 % over A`."""
    told = []
    for place, other in enumerate(cost.metrics):
        found = difference(other, cost.metrics[best])
        if place == best or found is None:
            continue
        if found.change == "same":
            told.append(_("as much as %(name)s") % {"name": labels[place]})
        elif found.relative is not None:
            share = quantities.show(abs(found.relative), "ratio")
            words = _("%(share)s over %(name)s") if found.relative > 0 else _("%(share)s under %(name)s")
            told.append(words % {"share": share, "name": labels[place]})
    return told


def _shortfalls(comparison: Comparison, *, labels: list[str]) -> list[str]:
    """One sentence a design that is not to be taken: its first reason, and how many more there are."""
    told = []
    for label, found in zip(labels, comparison.verdict.lacks, strict=True):
        if not found:
            continue
        first = _("%(name)s does not: %(reason)s") % {"name": label, "reason": lack_text(found[0])}
        more = _(", and %(count)d more") % {"count": len(found) - 1} if len(found) > 1 else ""
        told.append(f"{first}{more}.")
    return told
