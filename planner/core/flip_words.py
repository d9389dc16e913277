"""The sentences of what would change the decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from planner.core.dials import Dial
from planner.core.fleet import Pool
from planner.core.probing import Point
from planner.core.quantities import MINUS, NBSP, show
from planner.core.result import Metric
from planner.core.wording import counted

Turn = Literal["objective", "loss", "units", "rival"]
Key = tuple[Turn, str]
State = bool | int
_MOST_TOLD = 2


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that turns over, and what it is in words."""

    turn: Turn
    name: str
    said: str


@dataclass(frozen=True, slots=True)
class Seen:
    """The design before and after something turned over, with its states and the pools it has after."""

    before: Point
    after: Point
    was: Mapping[Key, State]
    becomes: Mapping[Key, State]
    pools: Mapping[str, Pool]


def events_of(seen: Seen, *, keys: Sequence[Key], cost: str) -> Iterator[Event]:
    """What turns over in words; the loss of a unit only where no objective tells of it."""
    objectives = [name for turn, name in keys if turn == "objective"]
    lost = [name for name in objectives if seen.before.value(name) is not None and seen.after.value(name) is None]
    if lost:
        yield Event("objective", lost[0], _lost(seen.after, name=lost[0]))
    for key in keys:
        turn, name = key
        if name not in lost and not (turn == "loss" and objectives):
            yield Event(turn, name, _said(seen, key=key, cost=cost))


def sentence(dial: Dial, *, holds: float, value: float, relative: float | None, events: Sequence[Event]) -> str:
    """The decision holds until …"""
    verb = "becomes" if dial.is_whole else "exceeds" if value > float(dial.value) else "falls below"
    place = dial.said(value if dial.is_whole else holds)
    more = len(events) - _MOST_TOLD
    said = " and ".join(event.said for event in events[:_MOST_TOLD]) + (f"; {more} more" if more > 0 else "")
    return f"The decision holds until “{dial.label}” {verb} {place}{_share(relative)}: then {said}."


def _share(relative: float | None) -> str:
    if relative is None:
        return ""
    size = 100 * abs(relative)
    text = f"{size:.1g}" if size < 1 else f"{size:.1f}" if size < 10 else f"{size:,.0f}"
    return f" ({'+' if relative > 0 else MINUS}{text}{NBSP}%)"


def _said(seen: Seen, *, key: Key, cost: str) -> str:
    (turn, name), was, becomes = key, seen.was[key], seen.becomes.get(key)
    if turn == "objective":
        return _objective(seen, name=name, met=bool(becomes))
    if turn == "rival":
        return f"“{name}” is {'cheaper' if was else 'no longer cheaper'}"
    pool = seen.pools.get(name)
    if turn == "loss":
        return f"the loss of one {pool.noun if pool else name} is {'no longer survived' if was else 'survived'}"
    count, noun = int(becomes or 0), pool.noun if pool else name
    return f"{counted(count, noun)} instead of {int(was):,} {'is' if count == 1 else 'are'} bought{_bill(seen, cost)}"


def _bill(seen: Seen, cost: str) -> str:
    metric, first = _metric(seen.after, cost), seen.before.value(cost)
    if metric is None or metric.value is None or first is None:
        return ""
    now, then = show(metric.value, metric.definition.unit), show(first, metric.definition.unit)
    return f", at {now} instead of {then}" if now != then else ""


def _objective(seen: Seen, *, name: str, met: bool) -> str:
    metric, first = _metric(seen.after, name), _metric(seen.before, name)
    known = metric or first
    if known is None:
        return name
    limit = next((each.objective for each in (metric, first) if each and each.objective is not None), None)
    definition = known.definition
    if not definition.unit and definition.whole and limit == 1:
        return f"“{definition.label}” {'becomes true' if met else 'is no longer true'}"
    return f"{definition.label} {'meets' if met else 'misses'} {show(limit, definition.unit)}"


def _lost(after: Point, *, name: str) -> str:
    """A figure that is no more, by the error that says why."""
    if after.status == "infeasible" and after.reason:
        return f"it no longer works ({after.reason.rstrip('.')})"
    metric = _metric(after, name)
    return f"there is no {metric.definition.label if metric else name} any more"


def _metric(point: Point, name: str) -> Metric | None:
    return None if point.result is None else point.result.metrics.get(name)
