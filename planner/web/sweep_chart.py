"""The picture of a sweep: what is sought over what it is held against, its front, and which points are verified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from django.utils.translation import gettext as _

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Column, Metric, Series
from planner.web.sweep_words import Result, Words, columns_of, point_words

MOST_HUES = 6
MOST_PALE = 4000
"""Pale points in the picture; of more, every n-th."""
IN_SIGHT = 2.0
"""Points further than so many times the front and the present design would leave no room for these."""

Figures = Sequence[float | None]


def front_chart(result: Result, *, present: Mapping[str, Metric], words: Words, opens: str = "") -> Chart | None:
    """All points pale and the front over them; None where nothing is held against the objective or has figures.

    ``present`` are the figures of the design itself, ``words`` says a value of a field.
    """
    if not result["against"]:
        return None
    drawn, beyond = _in_sight(result, present=present)
    if not drawn:
        return None
    x, y = _axis(result["against"]), _axis(result["objective"])
    return Chart(
        name="sweep-front",
        title=_title(result),
        subtitle=_subtitle(result, drawn=len(drawn), beyond=beyond),
        form="scatter",
        x=x,
        y=y,
        traces=(*_clouds(result, drawn=drawn, words=words), *_front(result)),
        limits=tuple(_limits(result)),
        marks=tuple(_marks(result, present=present)),
        summary=_("%(y)s against %(x)s of %(n)d designs; the table below holds those on the front.")
        % {"y": y.label, "x": x.label, "n": len(drawn)},
        opens=opens,
        twin=_twin(result, words=words),
    )


def _axis(sought: Mapping[str, Any]) -> Axis:
    return Axis(sought["label"], sought["unit"], start_at_zero=False)


def _title(result: Result) -> str:
    x, y = result["against"], result["objective"]
    if x["unit"] == "s" and y["unit"].startswith("USD"):
        return _("What does speed cost?")
    return _("%(y)s against %(x)s") % {"y": y["label"], "x": x["label"]}


def _subtitle(result: Result, *, drawn: int, beyond: int) -> str:
    words = [_("%(n)s designs as estimated; the line is the front.") % {"n": f"{drawn:,}"}]
    simulated = [row for row in result.get("verified", ()) if row["state"] == "succeeded"]
    if any(row["meets"] is False for row in simulated):
        words.append(_("Ringed points are verified by simulation; one that misses a limit there is crossed out."))
    elif simulated:
        words.append(_("Ringed points are verified by simulation."))
    if beyond:
        words.append(_("%(n)s more lie beyond the picture.") % {"n": f"{beyond:,}"})
    return " ".join(words)


def _columns(result: Result) -> tuple[Figures, Figures]:
    figures = result["points"]["figures"]
    return figures[result["against"]["metric"]], figures[result["objective"]["metric"]]


def _in_sight(result: Result, *, present: Mapping[str, Metric]) -> tuple[list[int], int]:
    """Places with both figures that the picture has room for, and how many it has not."""
    columns, status = _columns(result), result["points"]["status"]
    both = [
        place
        for place, (x, y, state) in enumerate(zip(*columns, status, strict=True))
        if x is not None and y is not None and state in ("ok", "misses")
    ]
    drawn = set(both)
    for column, axis in zip(columns, ("against", "objective"), strict=True):
        known = [column[place] for place in result["front"]] + [_present(result, axis, present=present)]
        sizes = [abs(value) for value in known if value is not None]
        if result["front"] and max(sizes, default=0.0) > 0:
            drawn = {place for place in drawn if abs(column[place] or 0.0) <= IN_SIGHT * max(sizes)}
    return sorted(drawn), len(both) - len(drawn)


def _present(result: Result, axis: str, *, present: Mapping[str, Metric]) -> float | None:
    metric = present.get(result[axis]["metric"])
    return metric.value if metric else None


def _bounds(result: Result) -> Iterator[tuple[Mapping[str, Any], float]]:
    for one in result["constraints"]:
        bound = one.get("at_most", one.get("at_least"))
        if bound is not None:
            yield one, bound


def _clouds(result: Result, *, drawn: Sequence[int], words: Words) -> Iterator[Trace]:
    """The points by hue, of each first the pale ones and then those on the front; a hue has its name once."""
    front = set(result["front"])
    places = [place for place in drawn if place not in front]
    pale = places[:: max(-(-len(places) // MOST_PALE), 1)]
    hues = _hues(result, drawn=drawn, words=words)
    strong = {order: [place for place in result["front"] if hues.of(place) == order] for order in range(MOST_HUES)}
    for order in range(-1, MOST_HUES):
        mine = [place for place in pale if hues.of(place) == order]
        if mine:
            name = "" if strong.get(order) else hues.names.get(order, "")
            yield _cloud(result, mine, name=name, order=order, words=words, idle=True)
    for order, mine in strong.items():
        if mine:
            yield _cloud(result, mine, name=hues.names.get(order, ""), order=order, words=words)


def _cloud(
    result: Result,
    places: Sequence[int],
    *,
    name: str,
    order: int,
    words: Words,
    idle: bool = False,
) -> Trace:
    x, y = _columns(result)
    return Trace(
        name,
        [x[place] for place in places],
        [y[place] for place in places],
        order=order,
        marker_only=True,
        idle=idle,
        labels=[point_words(result, place, words=words) for place in places],
        places=list(places),
    )


class _Hues:
    """Which hue a point has: that of its value of one field, where few are tried of it."""

    def __init__(self, column: Sequence[Any], *, names: Mapping[int, str], orders: Mapping[str, int]) -> None:
        self.column, self.names, self.orders = column, names, orders

    def of(self, place: int) -> int:
        return self.orders.get(str(self.column[place]), -1) if self.column else 0


def _hues(result: Result, *, drawn: Sequence[int], words: Words) -> _Hues:
    """By the field of words, else of numbers, of which the front has most values; beyond six they share the grey."""
    values, front = result["points"]["values"], result["front"]
    ranked = []
    for place, one in enumerate(result["fields"]):
        tried = list(dict.fromkeys(values[one["name"]][at] for at in drawn))
        are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in tried)
        if 2 <= len(tried) <= MOST_HUES or (len(tried) > MOST_HUES and not are_numbers):
            on_front = len({str(values[one["name"]][at]) for at in front})
            ranked.append((are_numbers, -on_front, place, one, tried))
    if not ranked:
        return _Hues((), names={}, orders={})
    are_numbers, _on_front, _place, one, tried = min(ranked, key=lambda row: row[:3])
    column = values[one["name"]]
    kept = sorted(tried) if are_numbers else _often(column, tried=tried, front=front)
    names = {order: f"{one['label']} {words(one['name'], value)}" for order, value in enumerate(kept)}
    return _Hues(column, names=names, orders={str(value): order for order, value in enumerate(kept)})


def _often(column: Sequence[Any], *, tried: Sequence[Any], front: Sequence[int]) -> list[Any]:
    """The values that have a hue: those on the front first."""
    on_front = dict.fromkeys(column[place] for place in front)
    return list(dict.fromkeys([*on_front, *tried]))[:MOST_HUES]


def _front(result: Result) -> Iterator[Trace]:
    x, y = _columns(result)
    if len(result["front"]) > 1:
        yield Trace(_("front"), [x[at] for at in result["front"]], [y[at] for at in result["front"]], order=-1)


def _limits(result: Result) -> Iterator[Limit]:
    for one, bound in _bounds(result):
        for axis, name in (("x", "against"), ("y", "objective")):
            if one["metric"] == result[name]["metric"]:
                closed = "above" if one.get("at_most") is not None else "below"
                label = _("objective %(bound)s") % {"bound": show(bound, one["unit"])}
                yield Limit(bound, label, axis=axis, closed=closed)  # type: ignore[arg-type]


def _marks(result: Result, *, present: Mapping[str, Metric]) -> Iterator[Mark]:
    x, y = _columns(result)
    meets = {row["place"]: row["meets"] for row in result.get("verified", ()) if row["state"] == "succeeded"}
    best = result["best"]
    for place in sorted(meets.keys() | ({best} if best is not None else set())):
        at_x, at_y = x[place], y[place]
        if at_x is None or at_y is None:
            continue
        figure = show(at_y, result["objective"]["unit"]).split("/")[0]
        label = _("best %(figure)s") % {"figure": figure} if place == best else ""
        if place != best and meets.get(best) is False and place == result["answer"].get("verified_best"):
            label = _("holds %(figure)s") % {"figure": figure}
        look: Literal["ring", "struck", "name"] = "name"
        if place in meets:
            look = "struck" if meets[place] is False else "ring"
        yield Mark(at_x, at_y, label, look=look)
    here = [_present(result, axis, present=present) for axis in ("against", "objective")]
    if here[0] is not None and here[1] is not None:
        yield Mark(here[0], here[1], _("as it is"), look="hollow")


def _twin(result: Result, *, words: Words) -> Series:
    """The front as a table: its figures, and the values that make each point."""
    x, y = _columns(result)
    front, values = result["front"], result["points"]["values"]
    columns = [
        Column(name, sought["label"], sought["unit"], [column[place] for place in front])
        for name, sought, column in (("against", result["against"], x), ("objective", result["objective"], y))
    ]
    columns += [
        Column(one["name"], one["label"], "", [words(one["name"], values[one["name"]][place]) for place in front])
        for one in columns_of(result)
    ]
    return Series("front", _("the front"), tuple(columns))
