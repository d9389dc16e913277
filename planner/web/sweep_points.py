"""The table of a sweep's points: filtered, sorted and a page of it written out, however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from planner.charts.scale import in_unit, unit_of
from planner.core.chart import Axis
from planner.core.quantities import NOTHING, full, show, show_parts
from planner.jobs.models import State
from planner.web.sweep_words import Result, Words, columns_of, metrics_of, point_words, sought_of

PAGE_SIZE = 50
MOST_CHOICES = 40
"""A field of more values is filtered by its text."""
STATUS = {
    "ok": _("meets all"),
    "misses": _("misses a limit"),
    "infeasible": _("not feasible"),
    "refused": _("no such design"),
}
TONES = {"ok": "ok", "misses": "warning", "infeasible": "error", "refused": ""}


@dataclass(frozen=True, slots=True)
class Head:
    """A column: what it sorts by, and where the reader is with it."""

    name: str
    label: Any
    unit: str
    is_figure: bool
    minor: bool = False
    sorted: str = ""
    """ascending, descending, or not sorted by it."""

    @property
    def next(self) -> str:
        return f"-{self.name}" if self.sorted == "ascending" else self.name


@dataclass(frozen=True, slots=True)
class Asked:
    """What the reader wants to see of the points."""

    status: str = ""
    front: bool = False
    text: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    sort: str = ""
    page: str = "1"

    @property
    def filtered(self) -> bool:
        return bool(self.status or self.front or self.text or self.values)


def asked_of(data: QueryDict, *, result: Result) -> Asked:
    """Filters of the address; what is not known is no filter."""
    names = [one["name"] for one in columns_of(result)]
    columns = {*names, *(one["name"] for one in result["metrics"]), "status", "point"}
    sort = data.get("sort", "")
    return Asked(
        status=data.get("status", "") if data.get("status") in STATUS else "",
        front=data.get("front") == "1",
        text=data.get("q", "")[:100].strip(),
        values={name: wanted for name in names if (wanted := data.get(f"v-{name}", ""))},
        sort=sort if sort.removeprefix("-") in columns else "",
        page=data.get("page", "1"),
    )


def points_page(result: Result, *, asked: Asked, words: Words) -> dict[str, Any]:
    """Heads, the rows of one page, and the choices of the filters."""
    places = _ordered(result, _kept(result, asked=asked, words=words), sort=asked.sort)
    page = Paginator(places, PAGE_SIZE).get_page(asked.page)
    return {
        "heads": _heads(result, sort=asked.sort),
        "rows": rows_of(result, list(page.object_list), words=words),
        "page": page,
        "total": result["points"]["count"],
        "found": len(places),
        "asked": asked,
        "statuses": [(name, label) for name, label in STATUS.items() if name in result["points"]["status"]],
        "choices": _choices(result, asked=asked, words=words),
        "numbers": _numbers(page),
    }


def rows_of(result: Result, places: Sequence[int], *, words: Words) -> list[dict[str, Any]]:
    """Points as rows: values in words, figures in one unit a column, verdict and what was simulated."""
    points, front = result["points"], set(result["front"])
    verified = {row["place"]: row for row in result.get("verified", ())}
    columns, metrics, first = columns_of(result), metrics_of(result), sought_of(result)
    units = {one["name"]: _unit(result, one) for one in metrics}
    return [
        {
            "place": place,
            "number": place + 1,
            "best": place == result["best"],
            "front": place in front,
            "sought": [_figure(result, one, place=place, unit=units[one["name"]]) for one in metrics[:first]],
            "values": [words(one["name"], points["values"][one["name"]][place]) for one in columns],
            "others": [_figure(result, one, place=place, unit=units[one["name"]]) for one in metrics[first:]],
            "status": points["status"][place],
            "status_words": STATUS[points["status"][place]],
            "tone": TONES[points["status"][place]],
            "reason": points["reasons"][place] or "",
            "verified": _simulated(result, verified.get(place)),
            "opens": points["status"][place] != "refused",
        }
        for place in places
    ]


def _simulated(result: Result, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the simulation said of a point: the figure it is held against, and all of them beside their estimates."""
    if row is None:
        return None
    known = {one["name"]: one for one in result["metrics"]}
    figures = {name: found for name, found in row["figures"].items() if found["simulated"] is not None}
    against = (result["against"] or {}).get("metric")
    name = against if against in figures else next(iter(figures), None)
    return {
        "state": row["state"],
        "state_words": State(row["state"]).label if row["state"] in State.values else row["state"],
        "job": row["job"],
        "meets": row["meets"],
        "reason": row["reason"] or "",
        "said": f"{known[name]['label']} {show(figures[name]['simulated'], known[name]['unit'])}" if name else "",
        "told": "; ".join(_beside(known[one], found) for one, found in figures.items()),
    }


def _beside(metric: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    unit = metric["unit"]
    simulated, estimate = show(found["simulated"], unit), show(found["estimate"], unit)
    return _("%(label)s: simulated %(simulated)s (%(low)s to %(high)s), estimated %(estimate)s") % {
        "label": metric["label"],
        "simulated": simulated,
        "low": show(found["low"], unit),
        "high": show(found["high"], unit),
        "estimate": estimate,
    }


def _kept(result: Result, *, asked: Asked, words: Words) -> Iterable[int]:
    points = result["points"]
    places: Iterable[int] = result["front"] if asked.front else range(points["count"])
    if asked.status:
        places = [place for place in places if points["status"][place] == asked.status]
    for name, wanted in asked.values.items():
        column = points["values"][name]
        places = [place for place in places if _key(column[place]) == wanted]
    if asked.text:
        wanted = asked.text.casefold()
        places = [place for place in places if wanted in _text(result, place, words=words).casefold()]
    return places


def _text(result: Result, place: int, *, words: Words) -> str:
    status, reason = STATUS[result["points"]["status"][place]], result["points"]["reasons"][place] or ""
    return f"{point_words(result, place, words=words)} {status} {reason}"


def _ordered(result: Result, places: Iterable[int], *, sort: str) -> list[int]:
    """By a column, what has no value last; unasked, by the objective among what meets all, then the rest."""
    points, name = result["points"], sort.removeprefix("-")
    if not name:
        return _by_merit(result, places)
    if name == "point":
        return sorted(places, reverse=sort.startswith("-"))
    column = points["status"] if name == "status" else {**points["values"], **points["figures"]}[name]
    known = [place for place in places if column[place] is not None]
    known.sort(key=lambda place: _sortable(column[place]), reverse=sort.startswith("-"))
    kept = set(known)
    return [*known, *(place for place in places if place not in kept)]


def _by_merit(result: Result, places: Iterable[int]) -> list[int]:
    points, objective = result["points"], result["objective"]
    rank = {name: place for place, name in enumerate(STATUS)}
    sign = -1.0 if objective["direction"] == "higher" else 1.0
    column = points["figures"][objective["metric"]]

    def merit(place: int) -> tuple[int, bool, float, int]:
        value = column[place]
        return rank[points["status"][place]], value is None, sign * (value or 0.0), place

    return sorted(places, key=merit)


def _sortable(value: Any) -> tuple[bool, Any]:
    """Numbers before words."""
    is_number = isinstance(value, int | float)
    return not is_number, value if is_number else str(value)


def _heads(result: Result, *, sort: str) -> list[Head]:
    fields = [(one["name"], one["label"], "", False) for one in columns_of(result)]
    metrics = [(one["name"], one["label"], _unit(result, one), True) for one in metrics_of(result)]
    first = sought_of(result)
    said = {sort: "ascending", sort.removeprefix("-"): "descending"} if sort.startswith("-") else {sort: "ascending"}
    return [
        Head(name, label, unit, is_figure, minor=place >= first + len(fields), sorted=said.get(name, ""))
        for place, (name, label, unit, is_figure) in enumerate([*metrics[:first], *fields, *metrics[first:]])
    ]


def _unit(result: Result, metric: Mapping[str, Any]) -> str:
    """One unit for a whole column, that of its middle figure."""
    known = sorted(abs(value) for value in result["points"]["figures"][metric["name"]] if value)
    return unit_of(Axis("", metric["unit"]), known[len(known) // 2 :][:1])


def _figure(result: Result, metric: Mapping[str, Any], *, place: int, unit: str) -> dict[str, str]:
    value = result["points"]["figures"][metric["name"]][place]
    if value is None:
        return {"text": NOTHING, "full": ""}
    number, words = show_parts(in_unit(value, Axis("", metric["unit"]), unit), unit, shown=unit)
    text = f"{number}{chr(160)}%" if words == "%" else number
    return {"text": text, "full": f"{full(value)} {metric['unit']}".strip()}


def _choices(result: Result, *, asked: Asked, words: Words) -> list[dict[str, Any]]:
    """Of each field with few values, those to filter by."""
    found = []
    for one in columns_of(result):
        tried = list(dict.fromkeys(result["points"]["values"][one["name"]]))
        if 1 < len(tried) <= MOST_CHOICES:
            options = [(_key(value), words(one["name"], value)) for value in sorted(tried, key=_sortable)]
            found.append({**one, "options": options, "chosen": asked.values.get(one["name"], "")})
    return found


def _key(value: Any) -> str:
    return str(value)


def _numbers(page: Page[int]) -> list[Any]:
    return list(page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=1))
