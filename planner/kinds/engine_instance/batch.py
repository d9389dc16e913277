"""Many points of a sweep at once: what `estimate` says of each, its ranges, series and most of its findings left out.

What points share is worked out once by the estimate's own code: a structure (all but the load), and a unit (a structure
with the lengths of its requests). All the rest is arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.core import batch_points
from planner.core.batch import INFEASIBLE, MISSES, OK, REFUSED, BatchResult, Figures, each_estimated, refusal
from planner.core.catalog import Catalog, MissingFigure, Table, UnknownEntry
from planner.formulas import many_neighbours, measurements
from planner.formulas.many_points import Array, Mask, Points
from planner.kinds.engine_instance import batch_figures as figures
from planner.kinds.engine_instance import load_findings
from planner.kinds.engine_instance.batch_load import Served
from planner.kinds.engine_instance.batch_units import LENGTHS, Structure, Unit, structure, unit
from planner.kinds.engine_instance.estimate import estimate
from planner.kinds.engine_instance.metrics import BY_NAME, METRICS
from planner.kinds.engine_instance.plan import DEFAULT_CONCURRENCY
from planner.kinds.engine_instance.spec import EngineInstanceSpec

Places = NDArray[np.intp]

ARRAYS = (
    *LENGTHS,
    "concurrency",
    "rate_rps",
    "gpu_price_usd_per_h",
    "utilisation",
    "ttft_p99_slo_s",
    "tpot_slo_s",
)
_OBJECTIVES = {"ttft_p99_s": "ttft_p99_slo_s", "tpot_p99_s": "tpot_slo_s"}
_UNITS_AT_ONCE = 256


@dataclass(slots=True)
class _Answers:
    """What was found so far, a row a point."""

    count: int
    values: dict[str, Array] = field(init=False)
    known: dict[str, Mask] = field(init=False)
    status: NDArray[np.int8] = field(init=False)
    said: list[str] = field(default_factory=list)
    saying: Places = field(init=False)

    def __post_init__(self) -> None:
        names = (*BY_NAME, *(f"limit {name}" for name in _OBJECTIVES))
        self.values = {name: np.zeros(self.count) for name in names}
        self.known = {name: np.zeros(self.count, dtype=bool) for name in names}
        self.status = np.full(self.count, OK, dtype=np.int8)
        self.saying = np.full(self.count, -1, dtype=np.intp)

    def put(self, places: Places, found: Mapping[str, Figures]) -> None:
        for name, each in found.items():
            self.values[name][places] = np.where(each.known, each.values, 0.0)
            self.known[name][places] = each.known

    def say(self, places: Places, status: int, words: Sequence[str], which: Places | int = 0) -> None:
        self.status[places] = status
        self.saying[places] = len(self.said) + which
        self.said += words

    def result(self) -> BatchResult:
        def gathered(name: str) -> Figures:
            return Figures(self.values[name], self.known[name])

        limits = {name: gathered(f"limit {name}") for name in _OBJECTIVES if self.known[f"limit {name}"].any()}
        return BatchResult(
            figures={name: gathered(name) for name in BY_NAME},
            objectives=limits,
            definitions=BY_NAME,
            status=self.status,
            said=self.said,
            saying=self.saying,
        )


def batch(base: EngineInstanceSpec, columns: Mapping[str, Sequence[Any]], catalog: Catalog) -> BatchResult:
    """See `planner.core.batch.Batch`."""
    points = batch_points.points(base, columns, arrays=ARRAYS, apart=("concurrency", "rate_rps"))
    answers = _Answers(len(points.structure))
    bad = np.flatnonzero(~points.is_spec)
    if len(bad):
        answers.say(bad, REFUSED, *points.refusals(bad))
    structures: list[Structure | None] = []
    for place, spec in enumerate(points.specs):
        there = np.flatnonzero(points.is_spec & (points.structure == place))
        structures.append(_structure(spec, there, points, answers, catalog) if len(there) else None)
    landscape = _landscape(catalog.table(measurements.TABLE))
    for units, places, of_unit in _units(points, structures):
        _work_out(units, places, of_unit, points=points, answers=answers, landscape=landscape)
    return answers.result()


def _structure(
    spec: Any, places: Places, points: batch_points.Points, answers: _Answers, catalog: Catalog
) -> Structure | None:
    """What some points share; None where they are answered already: refused, or one by one."""
    if spec.latency_source != "roofline":
        _one_by_one(places, points, answers, catalog)
        return None
    try:
        return structure(spec, catalog)
    except (MissingFigure, UnknownEntry) as problem:
        answers.say(places, REFUSED, [refusal(spec, problem)])
        return None


def _one_by_one(places: Places, points: batch_points.Points, answers: _Answers, catalog: Catalog) -> None:
    """Points whose step times are no formulas."""
    columns = {name: [values[place] for place in places] for name, values in points.columns.items()}
    found = each_estimated(estimate, metrics=METRICS, base=points.base, columns=columns, catalog=catalog)
    answers.put(places, found.figures)
    answers.put(places, {f"limit {name}": limits for name, limits in found.objectives.items()})
    answers.saying[places] = np.where(found.saying >= 0, found.saying + len(answers.said), -1)
    answers.status[places] = found.status
    answers.said += found.said


def _units(
    points: batch_points.Points, structures: Sequence[Structure | None]
) -> Iterator[tuple[list[Unit], Places, Places]]:
    """Units, some at a time, with their points and the unit of each."""
    answered = np.array([one is None for one in structures], dtype=bool)[points.structure]
    left = np.flatnonzero(points.is_spec & ~answered)
    columns = [points.structure[left].astype(float), *(points.numbers[name].values[left] for name in LENGTHS)]
    different, of_unit = np.unique(np.stack(columns), axis=1, return_inverse=True)
    order = np.argsort(of_unit, kind="stable")
    ends = np.searchsorted(of_unit[order], np.arange(0, different.shape[1] + _UNITS_AT_ONCE, _UNITS_AT_ONCE))
    for turn, (begin, end) in enumerate(pairwise(ends)):
        first = turn * _UNITS_AT_ONCE
        some = different[:, first : first + _UNITS_AT_ONCE].T
        units = [_unit(structures[int(row[0])], row[1:]) for row in some]
        yield units, left[order[begin:end]], of_unit[order[begin:end]] - first


def _unit(one: Structure | None, lengths: Array) -> Unit:
    if one is None:
        raise ValueError("a structure that is answered already has no units")
    return unit(one, dict(zip(LENGTHS, lengths.tolist(), strict=True)))


def _work_out(
    units: Sequence[Unit],
    places: Places,
    of_unit: Places,
    *,
    points: batch_points.Points,
    answers: _Answers,
    landscape: many_neighbours.Landscape,
) -> None:
    """Everything of the points of some units."""
    numbers = {name: Figures(each.values[places], each.known[places]) for name, each in points.numbers.items()}
    answers.put(places, _shared(units, of_unit))
    bill = _bill(units, of_unit, price=numbers["gpu_price_usd_per_h"])
    is_known = np.array([one.is_known for one in units])[of_unit]
    limits = {name: numbers[limit] for name, limit in _OBJECTIVES.items()}
    answers.put(places, {f"limit {name}": Figures(each.values, each.known & is_known) for name, each in limits.items()})
    answers.put(places, {"cost_usd_per_h": bill})
    served = np.flatnonzero(np.array([one.own is not None for one in units])[of_unit])
    if len(served):
        some = {name: Figures(each.values[served], each.known[served]) for name, each in numbers.items()}
        paid = Figures(bill.values[served], bill.known[served])
        _load(units, places[served], of_unit[served], numbers=some, bill=paid, answers=answers, landscape=landscape)
    _refuse(units, places, of_unit, answers)


def _shared(units: Sequence[Unit], of_unit: Places) -> dict[str, Figures]:
    """Memory of each point."""
    found = {}
    for name in units[0].structure.memory:
        each = Figures.of([one.structure.memory[name] for one in units])
        found[name] = Figures(each.values[of_unit], each.known[of_unit])
    return found


def _bill(units: Sequence[Unit], of_unit: Places, *, price: Figures) -> Figures:
    listed = Figures.of([one.structure.plan.price_usd_per_h for one in units])
    gpus = _gpus(units)[of_unit]
    values = np.where(price.known, price.values, listed.values[of_unit]) * gpus
    return Figures(values, price.known | listed.known[of_unit])


def _gpus(units: Sequence[Unit]) -> Array:
    return np.array([float(one.structure.plan.layout.gpus) for one in units])


def _load(
    units: Sequence[Unit],
    places: Places,
    of_unit: Places,
    *,
    numbers: Mapping[str, Figures],
    bill: Figures,
    answers: _Answers,
    landscape: many_neighbours.Landscape,
) -> None:
    """Latency, throughput and money of points whose units serve requests."""
    used, of_used = np.unique(of_unit, return_inverse=True)
    some = [units[place] for place in used]
    served = Served.of(some, landscape=landscape)
    every = np.ones(len(places), dtype=bool)
    answers.put(places, {"max_request_rate_rps": Figures(served.max_rate_rps[of_used], every)})
    found, exists = _operating(served, of_used, numbers)
    made = figures.rates(found, exists, numbers=numbers, gpus=_gpus(some)[of_used])
    times = figures.latencies(found, exists)
    paid = figures.prices(made, bill=bill, utilisation=numbers["utilisation"].values, exists=exists)
    answers.put(places, made | times | paid)
    for name, limit in _OBJECTIVES.items():
        missed = times[name].known & numbers[limit].known & (times[name].values > numbers[limit].values)
        answers.status[places[missed]] = MISSES
    lost = np.flatnonzero(~exists)
    asked, most = numbers["rate_rps"].values[lost], served.max_rate_rps[of_used[lost]]
    words = [
        load_findings.unstable(rate, most=limit) for rate, limit in zip(asked.tolist(), most.tolist(), strict=True)
    ]
    answers.say(places[lost], INFEASIBLE, words, np.arange(len(lost)))


def _operating(served: Served, of_unit: Places, numbers: Mapping[str, Figures]) -> tuple[Points, Mask]:
    """Operating points, and which exist. Points that differ in money or objectives alone share one."""
    rate, held = numbers["rate_rps"], numbers["concurrency"]
    load = np.where(rate.known, rate.values, np.where(held.known, held.values, DEFAULT_CONCURRENCY))
    loads, of_load = np.unique(np.stack([of_unit.astype(float), rate.known, load]), axis=1, return_inverse=True)
    unit_of, is_open = loads[0].astype(np.intp), loads[1] > 0
    order = np.argsort(is_open, kind="stable")
    closed, opened = np.split(order, [int(np.sum(~is_open))])
    found = served.at(unit_of[closed], concurrency=loads[2][closed])
    exists = np.ones(len(order), dtype=bool)
    if len(opened):
        under, exists[len(closed) :] = served.at_rate(unit_of[opened], rate_rps=loads[2][opened])
        found = found.joined(under)
    back = np.argsort(order)[of_load]
    return found.of(back), exists[back]


def _refuse(units: Sequence[Unit], places: Places, of_unit: Places, answers: _Answers) -> None:
    """Points whose unit does not start or cannot hold a request; that is said before what their load does."""
    words = dict.fromkeys(one.refusal for one in units if one.refusal)
    which = {said: place for place, said in enumerate(words)}
    refused = np.array([which.get(one.refusal, -1) for one in units])[of_unit]
    rows = np.flatnonzero(refused >= 0)
    answers.say(places[rows], INFEASIBLE, list(words), refused[rows])


@lru_cache(maxsize=4)
def _landscape(table: Table) -> many_neighbours.Landscape:
    found = measurements.library(table)
    return many_neighbours.Landscape(
        found.measured, columns=found.columns, distinct=found.distinct, kernels=found.kernels
    )
