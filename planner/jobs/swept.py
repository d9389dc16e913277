"""The work of a sweep: its points in parts, what is known so far, and the result put together."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from django.db import transaction

from planner import kinds
from planner.core.optimise import find
from planner.core.optimise_tries import MOST_ESTIMATES
from planner.core.simulation import Cancelled, Hooks
from planner.core.sweep import Goal, Points, Sweep, decided, joined, worked_out
from planner.core.sweep_axes import Axis, columns_of, count_of
from planner.core.sweep_goal import own_limits, read_goal
from planner.core.sweep_result import sweep_json
from planner.designs import estimation, serial
from planner.designs.estimation import Estimate
from planner.jobs import parts, verification
from planner.jobs.models import Job, JobPart, State
from planner.jobs.sweep_words import answer

POINTS_A_PART = 500
POINTS_A_BATCH = 10_000
"""The same where a kind works out many at once."""
LOOKS_A_PART = 20
"""How often a part tells how far it is and looks whether to stop."""
LEAST_BATCH = 2_000
"""Points worked out at once where a kind can: fewer are slower each."""
TELL_EVERY_S = 0.5
MOST_SHOWN = 200
"""Points of a partial result."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of a sweep as it is worked on."""

    base: Estimate
    axes: tuple[Axis, ...]
    goal: Goal
    preset: str

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(axis.field for axis in self.axes)


def part_count(request: Mapping[str, Any]) -> int:
    """In how many parts a sweep is worked out; a search is one."""
    count = math.prod(len(axis["values"]) for axis in request["vary"])
    return math.ceil(count / _part_points(request["kind"]))


def read(job: Job) -> Asked:
    """What a job asks for, with today's catalog; raises as `estimation.estimate`."""
    request = job.request
    base = estimation.estimate(kind=request["kind"], spec=request["spec"], team=job.team)
    goal = read_goal(
        base.kind,
        result=base.result,
        objective=request["objective"],
        against=request["against"],
        constraints=request["constraints"],
    )
    axes = tuple(Axis(axis["field"], tuple(axis["values"])) for axis in request["vary"])
    return Asked(base, axes, goal, request["preset"])


def sweep(job: Job, hooks: Hooks) -> dict[str, Any]:
    """Search, work out a small sweep, or put the parts of a large one together; then begin to verify the best."""
    asked = read(job)
    found, result = _searched(asked, hooks) if asked.preset else _gridded(asked, parts.found(job.id), hooks)
    result["verified"] = verification.begin(job, asked.base, found, count=job.request["verify"])
    return {"result": serial.plain(result), "events": len(found.points)}


def observe(job: Job, *, place: int, hooks: Hooks) -> dict[str, Any]:
    """Work out the points of one part and return the columns to store."""
    asked = read(job)
    points, seconds = _piece(asked, _places(asked, place), hooks, tell=False)
    return {"observed": _packed(points, seconds=seconds), "events": len(points)}


@transaction.atomic
def tell_so_far(part: JobPart) -> None:
    """Add the best points of a finished part to those that the job shows while the others run."""
    kept = JobPart.objects.filter(id=part.id, state=State.SUCCEEDED).values_list("observed", flat=True).first()
    job = Job.objects.select_for_update().filter(id=part.job_id, state=State.RUNNING).first()
    if kept is None or job is None:
        return
    asked = read(job)
    points, seconds = _unpacked(bytes(kept))
    before = job.partial or {}
    told = so_far(asked, points, first=_places(asked, part.place).start, before=before, seconds=seconds)
    Job.objects.filter(id=job.id).update(partial=serial.plain(told))


def so_far(asked: Asked, points: Points, *, first: int, before: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """A result of the points on the front so far: those told ``before`` and the front of ``points`` (from ``first``).

    Beside what a result has: ``places`` of its points in the whole grid, and how many points are ``done`` of ``of``.
    """
    mine = decided(points, fields=asked.fields, goal=asked.goal)
    places, kept = list(before.get("places", ())), [_points_from(before)] if before.get("places") else []
    fresh = [place for place in _shown(mine) if first + place not in places]
    kept.append(_some(points, fresh))
    places += [first + place for place in fresh]
    found = decided(joined(kept), fields=asked.fields, goal=asked.goal)
    on_front = sorted(_shown(found), key=lambda at: places[at])
    shown = decided(_some(found.points, on_front), fields=asked.fields, goal=asked.goal)
    done = before.get("done", 0) + len(points)
    told = document(asked, shown, seconds=before.get("seconds", 0.0) + seconds)
    return {**told, "places": [places[at] for at in on_front], "done": done, "of": count_of(asked.axes)}


def document(asked: Asked, found: Sweep, *, seconds: float) -> dict[str, Any]:
    """The result as JSON."""
    base = asked.base
    return {
        "kind": base.kind.slug,
        "spec": base.spec_json,
        "preset": asked.preset,
        **sweep_json(found, kind=base.kind, own=own_limits(base.result)),
        "verified": [],
        "answer": answer(base, found),
        "count": len(found.points),
        "seconds": seconds,
        "provenance": estimation.made_by(base.kind, catalog=base.catalog),
    }


def _gridded(asked: Asked, kept: Sequence[bytes], hooks: Hooks) -> tuple[Sweep, dict[str, Any]]:
    pieces = [_unpacked(part) for part in kept] or [_piece(asked, _places(asked, 0), hooks, tell=True)]
    points = joined([piece for piece, _seconds in pieces])
    found = decided(points, fields=asked.fields, goal=asked.goal)
    return found, document(asked, found, seconds=sum(seconds for _piece, seconds in pieces))


def _searched(asked: Asked, hooks: Hooks) -> tuple[Sweep, dict[str, Any]]:
    """The search of the kind. How far it is is not known before it ends: its estimates are told against the most."""
    base = asked.base
    search = kinds.planning(base.kind.slug).search
    if search is None:
        raise ValueError("this kind has no search")

    def look(estimates: int) -> None:
        if hooks.cancelled():
            raise Cancelled
        hooks.progress(min(estimates / MOST_ESTIMATES, 1.0), simulated_s=0.0, events=estimates)

    begun = perf_counter()
    made = find(base.kind, base=base.spec, search=search, goal=asked.goal, catalog=base.catalog, each=look)
    result = document(asked, made.sweep, seconds=perf_counter() - begun)
    result["answer"]["sentence"] = made.sentence
    result["provenance"] |= made.provenance
    return made.sweep, result


def _part_points(kind: str) -> int:
    return POINTS_A_BATCH if kinds.planning(kind).batch else POINTS_A_PART


def _places(asked: Asked, part: int) -> range:
    size = _part_points(asked.base.kind.slug)
    return range(part * size, min((part + 1) * size, count_of(asked.axes)))


def _piece(asked: Asked, places: range, hooks: Hooks, *, tell: bool) -> tuple[Points, float]:
    """The points at these places and the time they took [s], told and looked after between slices."""
    begun = last = perf_counter()
    pieces: list[Points] = []
    least = LEAST_BATCH if kinds.planning(asked.base.kind.slug).batch else 1
    for slice_ in _slices(places, least=least):
        if hooks.cancelled():
            raise Cancelled
        pieces.append(_points(asked, slice_))
        partial, now = None, perf_counter()
        if tell and now - last >= TELL_EVERY_S:
            last = now
            partial = so_far(asked, joined(pieces), first=places.start, before={}, seconds=now - begun)
        done = slice_.stop - places.start
        hooks.progress(done / len(places), simulated_s=0.0, events=done, partial=partial)
    return joined(pieces), perf_counter() - begun


def _points(asked: Asked, places: Sequence[int]) -> Points:
    base = asked.base
    return worked_out(
        base.kind,
        base=base.spec,
        columns=columns_of(asked.axes, places=places),
        goal=asked.goal,
        catalog=base.catalog,
        batch=kinds.planning(base.kind.slug).batch,
    )


def _slices(places: range, *, least: int) -> Iterator[range]:
    size = max(least, math.ceil(len(places) / LOOKS_A_PART))
    for start in range(places.start, places.stop, size):
        yield range(start, min(start + size, places.stop))


def _shown(found: Sweep) -> list[int]:
    """Places that a partial result shows: the front and the best."""
    return list(dict.fromkeys((*found.front[:MOST_SHOWN], *([] if found.best is None else [found.best]))))


def _some(points: Points, places: Sequence[int]) -> Points:
    def pick(column: Sequence[Any]) -> list[Any]:
        return [column[place] for place in places]

    return Points(
        values={name: pick(column) for name, column in points.values.items()},
        figures={name: pick(column) for name, column in points.figures.items()},
        limits={name: pick(column) for name, column in points.limits.items()},
        status=pick(points.status),
        reasons=pick(points.reasons),
    )


def _points_from(told: Mapping[str, Any]) -> Points:
    """The points of a partial result: all of them are good, so their limits do not matter any more."""
    points = told["points"]
    return Points(points["values"], points["figures"], {}, points["status"], points["reasons"])


def _packed(points: Points, *, seconds: float) -> bytes:
    return zlib.compress(json.dumps({"points": asdict(points), "seconds": seconds}).encode())


def _unpacked(kept: bytes) -> tuple[Points, float]:
    found = json.loads(zlib.decompress(kept))
    return Points(**found["points"]), found["seconds"]
