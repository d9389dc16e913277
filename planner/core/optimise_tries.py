"""Trying the candidates of a search: those that could cost least first, mended where more units mend them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from planner.core.batch import Status, changed, refusal
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.core.compare import lacks
from planner.core.kind import DesignKind, Spec
from planner.core.result import Result
from planner.core.search import Candidate, Search, Space

if TYPE_CHECKING:
    from planner.core.catalog import Catalog
    from planner.core.sweep import Goal

MOST_ESTIMATES = 1500
MOST_OF_A_GROUP = 40
_MOST_DOUBLINGS = 7
_WIDER = (1, 2, 4)
"""Units beyond those needed that the best few are also shown with: what a shorter latency costs."""
_SHOWN_WIDER = 4
SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate that was judged. ``result`` is None where it was rejected or refused for ``reason``."""

    change: Mapping[str, Any]
    group: str
    status: Status
    result: Result | None = None
    reason: str | None = None

    def value(self, name: str) -> float | None:
        return self.result.value(name) if self.result else None


@dataclass(frozen=True, slots=True)
class Trail:
    """All that a search tried, the base first.

    ``is_whole``: no candidate that could be better was left untried; ``open_groups``: those with some that could be
    better than the best of their group.
    """

    tried: tuple[Tried, ...]
    space: Space
    estimates: int
    is_whole: bool
    open_groups: frozenset[str] = frozenset()


def go_through(
    kind: DesignKind,
    *,
    base: Spec,
    search: Search,
    goal: Goal,
    catalog: Catalog,
    most: int = MOST_ESTIMATES,
    each: Callable[[int], None] | None = None,
) -> Trail:
    """Try the base and the candidates of its kind; ``each`` is told the number of estimates so far, and may raise."""
    tries = _Tries(kind, base, search, goal, catalog, most, each)
    here = tries.judged({}, group="")
    if here.result is None:
        return Trail((here,), Space(()), tries.estimates, is_whole=True)
    space = search.space(base, here.result, catalog)
    tries.bounds_hold = search.objective == goal.objective.name and goal.order.lower
    tries.note(here)
    tries.seen.add(())
    if here.status != "ok":
        tries.note(tries.mended({}, group=""))
    streams = {group: iter(stream) for group, stream in space.groups.items()}
    for candidate in itertools.chain.from_iterable(itertools.islice(stream, 1) for stream in streams.values()):
        tries.take(candidate, below=math.inf)
    # Without load no design has a price, and none is better than another.
    has_any = any(one.value(goal.objective.name) is not None for one in tries.tried)
    is_whole = tries.follow(space.stream) if has_any else True
    open_groups = frozenset(group for group, stream in streams.items() if has_any and not tries.of_group(group, stream))
    tries.widen()
    tries.tried += [Tried(one.change, one.group, "infeasible", reason=one.rejected) for one in space.rejected]
    return Trail(tuple(tries.tried), space, tries.estimates, is_whole, open_groups)


@dataclass
class _Tries:
    kind: DesignKind
    base: Spec
    search: Search
    goal: Goal
    catalog: Catalog
    most: int
    each: Callable[[int], None] | None
    bounds_hold: bool = False
    estimates: int = 0
    best: float = math.inf
    """The least objective found, with its sign turned where more is better."""
    best_of: dict[str, float] = field(default_factory=dict)
    """The same of each group."""
    tried: list[Tried] = field(default_factory=list)
    seen: set[tuple[tuple[str, Any], ...]] = field(default_factory=set)

    # --- one candidate

    def take(self, candidate: Candidate, *, below: float) -> None:
        if _key(candidate.change) not in self.seen:
            self.seen.add(_key(candidate.change))
            self.note(self.mended(dict(candidate.change), group=candidate.group, below=below))

    def note(self, found: Tried) -> None:
        self.tried.append(found)
        if found.status == "ok":
            self.best = min(self.best, self._cost(found))
            self.best_of[found.group] = min(self.best_of.get(found.group, math.inf), self._cost(found))

    def judged(self, change: Mapping[str, Any], *, group: str) -> Tried:
        try:
            spec = changed(self.base, change) if change else self.base
            result = self.kind.estimate(spec, self.catalog)
        except (ValidationError, MissingFigure, UnknownEntry) as error:
            return Tried(change, group, "refused", reason=refusal(self.base, error))
        finally:
            self.estimates += 1
            if self.each:
                self.each(self.estimates)
        return Tried(change, group, status_of(result, goal=self.goal), result)

    def _cost(self, found: Tried) -> float:
        value = found.value(self.goal.objective.name)
        if value is None:
            return math.inf
        return value if self.goal.order.lower else -value

    # --- mending

    def mended(self, change: dict[str, Any], *, group: str, below: float = math.inf) -> Tried:
        """The candidate with as few more units as make it hold; as it is where none do, or it costs more than that."""
        found = self.judged(change, group=group)
        factor = 1
        for _ in range(_MOST_DOUBLINGS):
            steps = self._steps(found)
            if not steps or self._cost(found) >= below:
                return found
            before, found = found, self._raised(found, steps=steps, factor=factor)
            if found.status == "ok":
                return self._fewest(before, steps=steps, most=factor, enough=found)
            factor = factor * 2 if self._steps(found).keys() == steps.keys() else 1
        return found

    def _steps(self, found: Tried) -> dict[str, int]:
        """By how much each field is to rise, by what the findings of a miss say."""
        if found.status in ("ok", "refused") or found.result is None:
            return {}
        spec = changed(self.base, found.change) if found.change else self.base
        asked: dict[str, int] = {}
        for change in self._remedies(spec, found.result):
            for name, value in change.items():
                if name in self.search.mends and isinstance(value, int):
                    asked[name] = max(asked.get(name, 0), value - (getattr(spec, name) or 0))
        return {name: step for name, step in asked.items() if step > 0}

    def _remedies(self, spec: Spec, result: Result) -> Iterator[Mapping[str, Any]]:
        missed = {name for name, metric in result.metrics.items() if metric.met is False}
        for finding in result.findings:
            if finding.change and (finding.severity == "error" or finding.metric in missed):
                yield finding.change
        if self.search.mend:
            yield self.search.mend(spec, result)

    def _raised(self, found: Tried, *, steps: Mapping[str, int], factor: int) -> Tried:
        spec = changed(self.base, found.change) if found.change else self.base
        more = {name: (getattr(spec, name) or 0) + step * factor for name, step in steps.items()}
        return self.judged({**found.change, **more}, group=found.group)

    def _fewest(self, before: Tried, *, steps: Mapping[str, int], most: int, enough: Tried) -> Tried:
        """Between a factor too small and one that is enough."""
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            found = self._raised(before, steps=steps, factor=middle)
            if found.status == "ok":
                high, enough = middle, found
            else:
                low = middle
        return enough

    # --- many

    def follow(self, stream: Iterable[Candidate]) -> bool:
        """Take those that could be better than the best, in turn; False when there were more than may be estimated."""
        for candidate in stream:
            if self._is_beyond(candidate, self.best):
                return True
            if self.estimates >= self.most:
                return False
            self.take(candidate, below=self.best)
        return True

    def of_group(self, group: str, stream: Iterable[Candidate]) -> bool:
        """Take those that could be better than the best of their group; False when that was not the end of it."""
        most = min(self.estimates + MOST_OF_A_GROUP, self.most)
        for candidate in stream:
            best = self.best_of.get(group, math.inf)
            if self._is_beyond(candidate, best):
                return True
            if self.estimates >= most:
                return False
            self.take(candidate, below=best)
        return True

    def _is_beyond(self, candidate: Candidate, best: float) -> bool:
        return self.bounds_hold and candidate.least >= best * (1 - SAME)

    def widen(self) -> None:
        """The cheapest that hold, each changed to what a shorter latency costs: the rest of the front."""
        fine = sorted((one for one in self.tried if one.status == "ok"), key=self._cost)[:_SHOWN_WIDER]
        for one in fine:
            spec = changed(self.base, one.change) if one.change else self.base
            for change in self.search.around(spec) if self.search.around else self._more(spec):
                raised = {**one.change, **change}
                if _key(raised) in self.seen:
                    continue
                self.seen.add(_key(raised))
                found = self.judged(raised, group=one.group)
                # A field that this layout does not use changes nothing.
                if found.value(self.goal.objective.name) != one.value(self.goal.objective.name):
                    self.note(found)

    def _more(self, spec: Spec) -> Iterator[Mapping[str, Any]]:
        for name in self.search.mends:
            yield from ({name: (getattr(spec, name) or 0) + more} for more in _WIDER)


def status_of(result: Result, *, goal: Goal) -> Status:
    """Whether a design holds all that is asked: its own objectives, no error, and the limits of the goal."""
    missing = lacks(result)
    if any(lack.message for lack in missing):
        return "infeasible"
    if missing or any(misses_limit(result, goal=goal)):
        return "misses"
    return "ok" if result.value(goal.objective.name) is not None else "infeasible"


def misses_limit(result: Result, *, goal: Goal) -> Iterator[bool]:
    """Of each limit of the goal whether it is missed; a figure that does not exist misses it."""
    for limit in goal.limits:
        value = result.value(limit.metric.name)
        yield value is None or (value < limit.bound if limit.at_least is not None else value > limit.bound)


def _key(change: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(change.items()))
