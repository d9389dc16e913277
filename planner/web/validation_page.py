"""What the page of validation shows of a quantity: errors, pictures, tables by part, and its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from planner.catalog import validation_query as query
from planner.catalog.validation import Stored
from planner.core.quantities import NBSP
from planner.core.validation import STATUSES, VERDICT, Row, Summary, summary
from planner.core.validation_targets import EXACT, Check, quantity_of
from planner.web import validation_charts as charts
from planner.web.validation_asked import ANY, Asked
from planner.web.validation_charts import percent
from planner.web.validation_lines import names

PARTS = (
    ("gpu", gettext_lazy("By GPU")),
    ("engine", gettext_lazy("By engine")),
    ("family", gettext_lazy("By LLM family")),
)
LABELS = {
    "group": gettext_lazy("Condition"),
    "gpu": gettext_lazy("GPU"),
    "engine": gettext_lazy("Engine"),
    "family": gettext_lazy("LLM family"),
    "llm": gettext_lazy("LLM"),
    "status": gettext_lazy("Status"),
}
NO_FIGURES = {"median": "—", "p90": "—", "coverage": "—"}
"""Of answers yes or no: their errors are counted, not averaged."""
COLOURS = {
    "engine": gettext_lazy("engine"),
    "gpu": gettext_lazy("GPU"),
    "family": gettext_lazy("LLM family"),
    "group": gettext_lazy("condition"),
}


def quantity_choices(stored: Stored) -> list[tuple[str, str]]:
    return [(name, _(quantity_of(name).label)) for name in stored.rows]


def overview(stored: Stored, *, current: Asked) -> list[dict[str, Any]]:
    """A line for each quantity and condition; the first of a quantity names it."""
    lines = []
    before = ""
    for line in query.overview(stored):
        name = line.quantity.name
        lines.append(
            {
                "label": _(line.quantity.label),
                "repeated": name == before,
                "group": _group_words(line),
                "address": Asked(name, (("group", line.group),), query.SORTS[0], current.colour).address(),
                "current": name == current.quantity and current.chosen["group"] in ("", line.group),
                "met": line.met,
                "target": "; ".join(target_words(check) for check in line.checks),
                "missed": "; ".join(target_words(check) for check in line.checks if not check.met),
                **figures(line.summary),
                **(NO_FIGURES if line.is_verdict else {}),
            }
        )
        before = name
    return lines


def _group_words(line: query.Line) -> str:
    if line.group:
        return _(line.group)
    return "" if line.summary.n else _("not compared")


def figures(found: Summary) -> dict[str, Any]:
    """A summary in words."""
    return {
        "n": f"{found.n:,}",
        "median": percent(found.median),
        "p90": percent(found.p90),
        "coverage": percent(found.coverage),
        "answered": percent(found.answered),
        "left_out": found.set_aside + found.not_expressible,
        "set_aside": f"{found.set_aside:,}",
        "not_expressible": f"{found.not_expressible:,}",
    }


def target_words(check: Check) -> str:
    """A limit in words: "median ≤ 11 %"."""
    if check.measure == "within" and check.limit[1] == EXACT:
        return _("exact")
    if check.measure == "within":
        return _("%(share)g %% of rows within %(limit)g %%") % {"share": check.limit[0], "limit": check.limit[1]}
    if check.measure == "coverage":
        return _("80 %% range holds %(low)g–%(high)g %%") % {"low": check.limit[0], "high": check.limit[1]}
    if check.measure == "right":
        return _("every verdict right or left open")
    if check.measure == "answered":
        return _("every row answered")
    word = _("median") if check.measure == "median" else "P90"
    return f"{word} ≤ {check.limit[0]:g}{NBSP}%"


def detail(stored: Stored, *, question: Asked) -> Mapping[str, Any]:
    """A quantity as filtered: facts, limits, pictures, errors by part, and its rows in the order asked for."""
    return _detail(stored, question, get_language() or "")


@lru_cache(maxsize=64)
def _detail(stored: Stored, question: Asked, _language: str) -> Mapping[str, Any]:
    every = stored.rows.get(question.quantity, ())
    rows = query.select(every, question.chosen)
    quantity = quantity_of(question.quantity)
    found = summary(rows)
    groups = list(dict.fromkeys(row.group for row in rows))
    lines = [query.line_of(question.quantity, group, [row for row in rows if row.group == group]) for group in groups]
    colours = _colours(rows)
    colour = question.colour if question.colour in colours else next(iter(colours), question.colour)
    verdicts = _verdicts(rows)
    pictures = (
        charts.points_chart(rows, theirs=_(quantity.theirs), colour=colour, names=names()),
        charts.errors_chart(rows),
    )
    return {
        "quantity": quantity.name,
        "label": _(quantity.label),
        "against": _(quantity.against) if quantity.against else "",
        "theirs": _(quantity.theirs),
        "rows": query.ordered(rows, question.sort),
        "found": {**figures(found), "compared": found.n, "largest": percent(found.largest)},
        "verdicts": verdicts,
        "colours": [(value, str(COLOURS[value]), value == colour) for value in colours],
        "limits": [_limits(line) for line in lines if line.checks],
        "charts": [picture for picture in pictures if picture],
        "parts": [
            part
            for name, title in (PARTS if found.n and not verdicts else ())
            if (part := _part(rows, name, str(title), question))
        ],
        "reasons": _reasons(rows),
        "filters": _filters(every, question),
    }


def _colours(rows: Sequence[Row]) -> list[str]:
    """What tells the rows apart."""
    return [name for name in charts.COLOURS if len({getattr(row, name) for row in rows}) > 1]


def _limits(line: query.Line) -> dict[str, Any]:
    """What a condition was to reach, and what it did."""
    made = [{"met": check.met, "words": percent(check.found), "target": target_words(check)} for check in line.checks]
    return {"group": _(line.group) if line.group else _("To reach"), "checks": made}


def _verdicts(rows: Sequence[Row]) -> dict[str, int] | None:
    """Right, wrong and open answers to a question of yes or no; None for other quantities."""
    found = [row for row in rows if row.unit == VERDICT and row.error is not None]
    if not found:
        return None
    wrong = sum(1 for row in found if row.error)
    is_open = sum(1 for row in found if row.is_open)
    return {"right": len(found) - wrong - is_open, "wrong": wrong, "open": is_open}


def _part(rows: Sequence[Row], name: str, title: str, question: Asked) -> dict[str, Any] | None:
    """Errors by the values of a column, the most frequent first; None where no row has one."""
    parted: dict[str, list[Row]] = {}
    for row in rows:
        if value := getattr(row, name):
            parted.setdefault(value, []).append(row)
    ranked = sorted(((summary(part), value) for value, part in parted.items()), key=lambda item: (-item[0].n, item[1]))
    lines = [
        {"value": names().get(value, value), "address": question.address(**{name: value})} | figures(found)
        for found, value in ranked
    ]
    return {"name": name, "title": title, "label": str(LABELS[name]), "lines": lines} if lines else None


def _reasons(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Why rows are not compared, the most frequent reason first."""
    counts = Counter((row.status, row.reason) for row in rows if row.status != "compared")
    ranked = sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    return [{"status": _(status), "reason": reason, "n": f"{n:,}"} for (status, reason), n in ranked]


def _filters(rows: Sequence[Row], question: Asked) -> list[dict[str, Any]]:
    """Each filter with the values that occur; the one chosen is offered even where it does not."""
    found = []
    for name, values in query.choices(rows).items():
        chosen = question.chosen[name]
        offered = [value for value in STATUSES if value in values] if name == "status" else values
        if len(offered) > 1 or chosen:
            offered = offered if chosen in ("", *offered) else [*offered, chosen]
            options = [
                (value, _(value) if name in ("status", "group") else names().get(value, value)) for value in offered
            ]
            nothing = ANY if name == "group" and question.usual_group else ""
            label = str(LABELS[name])
            found.append({"name": name, "label": label, "any": nothing, "chosen": chosen, "options": options})
    return found
