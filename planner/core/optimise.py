"""The cheapest design that meets what is asked of it, the front around it, and why the others were not taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.core.batch import changed
from planner.core.catalog import Catalog
from planner.core.compare import lacks
from planner.core.kind import DesignKind, Spec
from planner.core.optimise_tries import MOST_ESTIMATES, Trail, Tried, go_through
from planner.core.quantities import MINUS, delta, show
from planner.core.result import Result
from planner.core.search import Search
from planner.core.sweep import Binding, Goal, Points, RunnerUp, Sweep, binding, decided
from planner.core.wording import percent

MOST_RUNNERS_UP = 10
_TIMES = 2.0
"""Excess from which on a percentage says less than the two figures."""
_PRESENT = 0
"""The place of the present design among the points."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found. ``provenance`` says how many designs it went through, at which prices, and what it left out.

    ``value`` is the objective of the best; the point at place 0 is the present design.
    """

    sweep: Sweep
    sentence: str
    value: float | None
    provenance: Mapping[str, Any]


def find(
    kind: DesignKind,
    *,
    base: Spec,
    search: Search,
    goal: Goal,
    catalog: Catalog,
    most: int = MOST_ESTIMATES,
    each: Callable[[int], None] | None = None,
) -> Found:
    """Search the levers of a kind for the best objective among designs that hold.

    Parameters
    ----------
    base : the present design, which is the first point
    search : ``kinds.planning(slug).search``
    goal : what is sought, and limits beside the design's own objectives
    most : estimates at most
    each : told the number of estimates so far; may raise to stop
    """
    trail = go_through(kind, base=base, search=search, goal=goal, catalog=catalog, most=most, each=each)
    points = _points(trail.tried, base=base, fields=trail.space.fields, goal=goal)
    sweep = decided(points, fields=trail.space.fields, goal=goal)
    told = _Words(base, search, goal, catalog, trail, sweep)
    return Found(
        sweep=replace(sweep, runners_up=tuple(told.runners_up())),
        sentence=told.sentence(),
        value=None if sweep.best is None else trail.tried[sweep.best].value(goal.objective.name),
        provenance={
            "designs": trail.space.count,
            "estimates": trail.estimates,
            "rejected_unestimated": sum(1 for one in trail.tried if one.result is None and one.status == "infeasible"),
            "is_whole": trail.is_whole,
            "left_out": dict(trail.space.left_out),
            **trail.space.sources,
        },
    )


def _points(tried: Sequence[Tried], *, base: Spec, fields: Sequence[str], goal: Goal) -> Points:
    limited = dict.fromkeys(
        name
        for one in tried
        if one.result
        for name, metric in one.result.metrics.items()
        if metric.objective is not None
    )
    shown = dict.fromkeys((*goal.shown, goal.objective.name, *([goal.against.name] if goal.against else []), *limited))
    points = Points(
        values={name: [one.change.get(name, getattr(base, name)) for one in tried] for name in fields},
        figures={name: [one.value(name) for one in tried] for name in shown},
        limits={name: [_objective(one.result, name) for one in tried] for name in limited},
        status=[one.status for one in tried],
        reasons=[],
        changes=[dict(one.change) for one in tried],
    )
    return replace(points, reasons=[_reason(one, points=points, place=at, goal=goal) for at, one in enumerate(tried)])


def _objective(result: Result | None, name: str) -> float | None:
    return result.metrics[name].objective if result and name in result.metrics else None


def _reason(one: Tried, *, points: Points, place: int, goal: Goal) -> str | None:
    """What binds: a bound found without an estimate, an error, or the objective missed by most."""
    if one.status == "ok" or one.result is None:
        return one.reason
    said = next((lack.message for lack in lacks(one.result) if lack.message), None)
    if said:
        return said
    found = binding(points, place=place, goal=goal)
    if found is None:
        return f"{goal.objective.label} has no figure here."
    return _in_words(found, result=one.result)


def _in_words(found: Binding, *, result: Result) -> str:
    """The miss with its share; what an error finding says of a figure that is no time says more."""
    errors = [finding for finding in result.findings if finding.severity == "error"]
    if found.metric.unit != "s":
        said = [finding.message for finding in errors if _is_about(finding.metric, found)]
        if said:
            return said[0]
    if found.value is None:
        return found.sentence
    label, value, limit = found.metric.label, show(found.value, found.metric.unit), show(found.limit, found.metric.unit)
    if found.excess > _TIMES:
        return f"{label}: {value}, where {limit} is the limit."
    return f"{label}: {value}, {percent(found.excess)} {'below' if found.is_least else 'over'} {limit}."


def _is_about(name: str | None, found: Binding) -> bool:
    """A finding on the same figure, or on the one it is the verdict of (no unit: it holds or not)."""
    return name == found.metric.name or (not found.metric.unit and name is not None)


@dataclass(frozen=True, slots=True)
class _Words:
    base: Spec
    search: Search
    goal: Goal
    catalog: Catalog
    trail: Trail
    sweep: Sweep

    # --- runners-up

    def runners_up(self) -> Iterator[RunnerUp]:
        """The present design; the cheapest of each group, and what would have been cheaper but for what it misses."""
        if self.sweep.best != _PRESENT:
            yield self._runner_up(_PRESENT)
        best = None if self.sweep.best is None else self._cost(self.sweep.best)
        near = [place for place in self._near() if best is None or self._cost(place) < best]
        rest = [place for place in self._first_of_groups() if place not in near]
        for place in [*near[: MOST_RUNNERS_UP // 2], *rest][: MOST_RUNNERS_UP - 1]:
            yield self._runner_up(place)

    def _near(self) -> list[int]:
        """Of each group the miss by least."""
        first: dict[str, tuple[float, int]] = {}
        for place, one in enumerate(self.trail.tried):
            found = binding(self.sweep.points, place=place, goal=self.goal) if one.status == "misses" else None
            if found and place != _PRESENT:
                first[one.group] = min(first.get(one.group, (found.excess, place)), (found.excess, place))
        return [place for _, place in sorted(first.values())]

    def _first_of_groups(self) -> list[int]:
        """The cheapest that holds of each other group, then of those where none does what came last: the largest."""
        own = "" if self.sweep.best is None else self.trail.tried[self.sweep.best].group
        fine: dict[str, int] = {}
        broken: dict[str, int] = {}
        for place in sorted(range(len(self.trail.tried)), key=self._cost):
            one = self.trail.tried[place]
            if one.group in ("", own):
                continue
            if one.status == "ok":
                fine.setdefault(one.group, place)
            else:
                broken[one.group] = place
        return [*fine.values(), *(place for group, place in broken.items() if group not in fine)]

    def _runner_up(self, place: int) -> RunnerUp:
        one = self.trail.tried[place]
        if one.status != "ok":
            found = binding(self.sweep.points, place=place, goal=self.goal) if one.status == "misses" else None
            return RunnerUp(place, f"{self._who(place)}{self.sweep.points.reasons[place]}", found)
        far, tried = self._against_best(place), " of those tried" if one.group in self.trail.open_groups else ""
        return RunnerUp(place, f"{self._who(place)}holds, at {self._shown(place)}{tried}{f': {far}' if far else ''}.")

    def _who(self, place: int) -> str:
        group = "The present design" if place == _PRESENT else self.trail.tried[place].group
        return f"{group}: " if group else ""

    def _cost(self, place: int) -> float:
        value = self.trail.tried[place].value(self.goal.objective.name)
        if value is None:
            return float("inf")
        return value if self.goal.order.lower else -value

    def _shown(self, place: int) -> str:
        return show(self.trail.tried[place].value(self.goal.objective.name), self.goal.objective.unit)

    def _against_best(self, place: int) -> str:
        if self.sweep.best is None:
            return ""
        return self._difference(self.sweep.best, place)

    def _difference(self, one: int, other: int) -> str:
        name = self.goal.objective.name
        values = [self.trail.tried[place].value(name) for place in (one, other)]
        amount, share = delta(values[0], values[1], self.goal.objective.unit)
        if share.startswith(MINUS):
            return f"{share[1:]} less"
        if share.startswith("+"):
            return f"{share[1:]} more"
        return "the same" if amount == "±0" else amount

    # --- the answer

    def sentence(self) -> str:
        """The best in words with its price, held against the present design."""
        best = self.sweep.best
        if best is None:
            return f"**None of {self._searched()} meets what is asked.** {self._nearest()}".rstrip()
        if best == _PRESENT:
            return f"**The present design is the best** of {self._searched()}, at {self._shown(best)}."
        one = self.trail.tried[best]
        spec = changed(self.base, one.change) if one.change else self.base
        words = self.search.words(spec, one.result, self.catalog) if one.result else ""
        return f"**{words}**: all that is asked is met, at **{self._shown(best)}**{self._than_present(best)}."

    def _than_present(self, best: int) -> str:
        present = self.trail.tried[_PRESENT]
        if present.value(self.goal.objective.name) is None:
            return ""
        told = f", {self._difference(_PRESENT, best)} than the present design ({self._shown(_PRESENT)})"
        reason = self.sweep.points.reasons[_PRESENT]
        return f"{told}, which does not hold: {_lower(str(reason)).rstrip('.')}" if present.status != "ok" else told

    def _searched(self) -> str:
        return f"{max(self.trail.space.count, len(self.trail.tried)):,} designs"

    def _nearest(self) -> str:
        near = self._near() or [_PRESENT]
        return f"Nearest comes {_lower(self._who(near[0]))}{self.sweep.points.reasons[near[0]]}"


def _lower(text: str) -> str:
    """As it stands within a sentence: abbreviations keep their capitals."""
    return text if len(text) < 2 or text[1].isupper() else text[:1].lower() + text[1:]
