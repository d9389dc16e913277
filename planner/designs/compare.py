"""Two to six designs side by side as strict JSON: the one builder behind page, share, report and API.

::

    id, name, created_at, same_kind, missing: [label]
    mode        as_is | equal_gpus | equal_cost: see `designs.equal`     scalable: whether it makes a difference
    items       [{label: "A", order, name, basis: estimate|simulated|measured, about, scaled, simulation: job or null,
                design: {id, revision, …} or null, kind: {slug, label}, spec or null, answer, errors,
                evidence: [EVIDENCE of `snapshot`]}]
    verdict     {sentence, best, suitable, lacks: [[text]]}
    inputs      {differing: [IN], equal: [IN], total}
                IN {name, label, group, shown, cells: [{value, shown, differs} or null]}
    objectives  [MR]                                     metrics [{name: group, rows: [MR]}]
    charts      [chart as `charts.codec` reads]     provenance {catalog_digest, …}

    MR  {name, label, unit, direction, help, best: [place], cells: [ROW of `snapshot` + {delta, best} or null]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.models import Team
from planner.charts import codec
from planner.core.compare import Compared, Comparison, InputRow, MetricRow, compare
from planner.core.result import Result
from planner.designs import equal, estimation, figures, pictures, selectors, snapshot, verdicts
from planner.designs import found as found_results
from planner.designs.estimation import Estimate
from planner.designs.evidence import evidence_view
from planner.designs.inputs import inputs, said
from planner.designs.models import Comparison as Saved
from planner.designs.models import Design
from planner.designs.texts import InvalidField

LABELS = "ABCDEF"


@dataclass(frozen=True, slots=True)
class Item:
    """One answer of a comparison: the estimate of a design, or what was ``found`` (`designs.found`).

    ``scaled`` says at what demand a design is shown, where that is not its own.
    """

    label: str
    name: str
    estimate: Estimate | None = None
    design: Design | None = None
    found: Mapping[str, Any] | None = None
    simulation: str = ""
    scaled: str = ""

    @property
    def kind(self) -> str:
        return self.estimate.kind.slug if self.estimate else (self.found or {}).get("kind", "")


def comparison_view(saved: Saved, *, mode: str = "") -> dict[str, Any]:
    """The picture of a saved comparison, with today's catalog; raises as `estimation.estimate`.

    Designs deleted since are left out and named in ``missing``; with fewer than two left, raises `InvalidField`.
    """
    items, missing = _items(saved.items, team=saved.team)
    head = {"id": str(saved.id), "name": saved.name, "created_at": saved.created_at.isoformat(), "missing": missing}
    return {**head, **items_view(items, name=saved.name, mode=mode or saved.mode)}


def inline_view(
    items: Sequence[Mapping[str, Any]], *, team: Team, name: str = "", mode: str = equal.AS_IS
) -> dict[str, Any]:
    """The picture of a comparison that is not saved; ``items`` as `sharing.checked_items` returns them."""
    found, missing = _items(items, team=team)
    return {"id": None, "name": name, "created_at": "", "missing": missing, **items_view(found, name=name, mode=mode)}


def items_view(items: Sequence[Item], *, name: str = "", mode: str = equal.AS_IS) -> dict[str, Any]:
    """The picture of answers side by side; the first is the baseline."""
    items = _on_terms(items, mode=mode)
    compared = _compared(items)
    side_by_side = compare(compared)
    labels = [item.label for item in items]
    return {
        "name": name or ", ".join(item.name for item in items),
        "mode": mode,
        "scalable": sum(item.estimate is not None for item in items) > 1,
        "same_kind": len({item.kind for item in items}) == 1,
        "items": [
            _item_view(item, order=order, result=one.result)
            for order, (item, one) in enumerate(zip(items, compared, strict=True))
        ],
        "verdict": verdicts.verdict_view(
            side_by_side, labels=labels, found=[bool(item.found) for item in items], mode=mode
        ),
        "inputs": _inputs_view(side_by_side),
        "objectives": [metric_row(row) for row in objective_rows(side_by_side)],
        "metrics": [
            {"name": group, "rows": [metric_row(row) for row in rows]} for group, rows in side_by_side.groups.items()
        ],
        "charts": [codec.to_dict(chart) for chart in pictures.charts(items, comparison=side_by_side)],
        "provenance": _provenance(items),
    }


def differing_inputs(saved: Saved) -> list[dict[str, Any]]:
    """The inputs in which the designs of a comparison differ (IN above); none where one of them no longer answers."""
    try:
        items, _missing = _items(saved.items, team=saved.team)
    except (InvalidField, *estimation.CANNOT_ANSWER):
        return []
    return [_input_row(row) for row in compare(_compared(items)).differing]


def objective_rows(comparison: Comparison) -> list[MetricRow]:
    """Metrics with an objective in any of the designs."""
    rows = [row for group in comparison.groups.values() for row in group]
    return [row for row in rows if any(metric and metric.objective is not None for metric in row.metrics)]


def _items(written: Sequence[Mapping[str, Any]], *, team: Team) -> tuple[list[Item], list[str]]:
    wanted = [item["design"] for item in written if "design" in item]
    designs = {str(design.id): design for design in selectors.designs(team).filter(id__in=wanted)}
    found: list[Item] = []
    missing: list[str] = []
    for label, item in zip(LABELS, written, strict=False):
        if "found" in item:
            found.append(_found(item, label=label))
        elif "design" not in item:
            found.append(_unsaved(item, label=label, team=team))
        elif design := designs.get(item["design"]):
            estimate = estimation.estimate(kind=design.kind, spec=design.spec, team=team)
            found.append(Item(label=label, name=design.name, estimate=estimate, design=design))
        else:
            missing.append(label)
    if len(found) < 2:
        raise InvalidField(field="items", message=_("Fewer than two of the compared designs still exist."))
    return found, missing


def _found(written: Mapping[str, Any], *, label: str) -> Item:
    frozen = written["found"]
    return Item(label=label, name=frozen["name"], found=frozen, simulation=written.get("simulation", ""))


def _unsaved(written: Mapping[str, Any], *, label: str, team: Team) -> Item:
    estimate = estimation.estimate(kind=written["kind"], spec=written["spec"], team=team)
    return Item(label=label, name=written.get("name") or estimate.kind.label, estimate=estimate)


def _on_terms(items: Sequence[Item], *, mode: str) -> list[Item]:
    """The others at the demand that what the first one buys would carry; what was found stays as it was."""
    first = next((item.estimate for item in items if item.estimate), None)
    if mode == equal.AS_IS or first is None:
        return list(items)
    return [item if item.estimate in (None, first) else _scaled(item, baseline=first, mode=mode) for item in items]


def _scaled(item: Item, *, baseline: Estimate, mode: str) -> Item:
    if item.estimate is None:
        return item
    found = equal.scaled(item.estimate, baseline=baseline, mode=mode)
    return replace(item, estimate=found.estimate, scaled=found.note)


def _compared(items: Sequence[Item]) -> list[Compared]:
    like = next((item.estimate for item in items if item.estimate), None)
    return [_one_compared(item, like=like) for item in items]


def _one_compared(item: Item, *, like: Estimate | None) -> Compared:
    """An item; what was found is read as a run of the first design: its objectives, and the inputs it says it had."""
    estimate = item.estimate
    if estimate is None:
        found = item.found or {}
        result = found_results.result_of(found, like=like.result if like else None)
        known = said(like.kind, values=found.get("load", {}), catalog=like.catalog) if like else {}
        return Compared(name=item.name, kind=item.kind, inputs=known, result=result, is_found=True)
    shown = inputs(estimate.kind, spec=estimate.spec, catalog=estimate.catalog)
    return Compared(name=item.name, kind=item.kind, inputs=shown, result=estimate.result)


def _item_view(item: Item, *, order: int, result: Result) -> dict[str, Any]:
    found = item.found or {}
    kind = kinds.all_kinds().get(item.kind)
    label = item.estimate.kind.label if item.estimate else kind.label if kind else ""
    return {
        "label": item.label,
        "order": order,
        "name": item.name,
        "basis": found.get("basis", "estimate"),
        "about": found.get("about", ""),
        "simulation": item.simulation or None,
        "scaled": item.scaled,
        "design": snapshot.meta(item.design) if item.design else None,
        "kind": {"slug": item.kind, "label": label},
        "spec": item.estimate.spec_json if item.estimate else None,
        "answer": snapshot.answer_view(result),
        "errors": [finding.message for finding in result.findings if finding.severity == "error"],
        "evidence": evidence_view(result, tables=False),
    }


def _inputs_view(comparison: Comparison) -> dict[str, Any]:
    return {
        "differing": [_input_row(row) for row in comparison.differing],
        "equal": [_input_row(row) for row in comparison.equal],
        "total": len(comparison.differing) + len(comparison.equal),
    }


def _input_row(row: InputRow) -> dict[str, Any]:
    cells = [
        {"value": found.value, "shown": found.shown, "differs": differs} if found else None
        for found, differs in zip(row.inputs, row.differs, strict=True)
    ]
    first = next(found.shown for found in row.inputs if found is not None)
    return {"name": row.name, "label": row.label, "group": row.group, "shown": first, "cells": cells}


def metric_row(row: MetricRow) -> dict[str, Any]:
    definition = row.definition
    return {
        "name": definition.name,
        "label": definition.label,
        "unit": definition.unit,
        "direction": definition.direction,
        "help": definition.help,
        "best": list(row.best),
        "cells": [_cell(row, place=place) for place in range(len(row.metrics))],
    }


def _cell(row: MetricRow, *, place: int) -> dict[str, Any] | None:
    metric, baseline, delta = row.metrics[place], row.metrics[0], row.deltas[place]
    if metric is None:
        return None
    shown = figures.delta_row(delta, baseline=baseline, other=metric) if delta and baseline else None
    return figures.figure_row(metric) | {"delta": shown, "best": place in row.best}


def _provenance(items: Sequence[Item]) -> dict[str, Any]:
    """What made the figures; all items are answered with one catalog and one code version."""
    estimates = [item.estimate for item in items if item.estimate]
    if not estimates:
        return {"code_version": settings.VERSION}
    made = estimation.made_by(estimates[0].kind, catalog=estimates[0].catalog)
    return {name: value for name, value in made.items() if name not in ("kind", "spec_version")}
