"""Many points of one kind in columns: what a sweep shows of each, without a `Result` for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from planner.core.catalog import MissingFigure, UnknownEntry
from planner.core.compare import lacks
from planner.core.kind import DesignKind, Spec
from planner.core.quantities import show
from planner.core.result import MetricDef, Result

if TYPE_CHECKING:
    from planner.core.catalog import Catalog

Status = Literal["ok", "misses", "infeasible", "refused"]
STATUSES: tuple[Status, ...] = ("ok", "misses", "infeasible", "refused")
"""By number: objectives hold, one is missed, an error says that it does not work, and the spec is not one."""
OK, MISSES, INFEASIBLE, REFUSED = range(4)


@dataclass(frozen=True, slots=True)
class Figures:
    """One figure of every point, shape (points,). Where ``known`` is False it does not exist, and ``values`` is 0."""

    values: NDArray[np.float64]
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Figures:
        known = np.array([value is not None for value in values], dtype=bool)
        return cls(np.array([0.0 if value is None else value for value in values], dtype=float), known)

    def at(self, place: int) -> float | None:
        return float(self.values[place]) if self.known[place] else None

    def listed(self) -> list[float | None]:
        """As JSON takes them."""
        return [value if known else None for value, known in zip(self.values.tolist(), self.known, strict=True)]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Figures of all metrics, without ranges, and the verdict on each point.

    ``objectives`` are limits by metric, ``status`` numbers of `STATUSES`; ``said`` are the reasons of points that are
    infeasible or refused, ``saying`` the place in it of each point's, -1 where there is none.
    """

    figures: Mapping[str, Figures]
    objectives: Mapping[str, Figures]
    definitions: Mapping[str, MetricDef]
    status: NDArray[np.int8]
    said: Sequence[str]
    saying: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.status)

    def statuses(self) -> list[Status]:
        return [STATUSES[number] for number in self.status]

    def reason(self, place: int) -> str | None:
        """What binds at a point that is not ok, in words."""
        if self.saying[place] >= 0:
            return self.said[int(self.saying[place])]
        return next(self._missed(place), None) if self.status[place] == MISSES else None

    def reasons(self) -> list[str | None]:
        return [self.reason(place) for place in range(len(self))]

    def _missed(self, place: int) -> Iterator[str]:
        for name, limits in self.objectives.items():
            value, limit, definition = self.figures[name].at(place), limits.at(place), self.definitions[name]
            if value is not None and limit is not None and _is_missed(definition, value=value, limit=limit):
                yield missed(definition, value=value, limit=limit)


def _is_missed(definition: MetricDef, *, value: float, limit: float) -> bool:
    return value < limit if definition.direction == "higher" else value > limit


def missed(definition: MetricDef, *, value: float, limit: float) -> str:
    """The sentence of a limit that does not hold."""
    unit, side = definition.unit, "below" if value < limit else "above"
    return f"{definition.label}: {show(value, unit)}, {side} the {show(limit, unit)} asked for."


def verdict(result: Result) -> tuple[Status, str | None]:
    """How a result counts: infeasible by an error that is not about an objective, else by the objective it misses."""
    lacking = lacks(result)
    for lack in lacking:
        if lack.message:
            return "infeasible", lack.message
    for lack in lacking:
        metric = lack.metric
        if metric and metric.value is not None and metric.objective is not None:
            return "misses", missed(metric.definition, value=metric.value, limit=metric.objective)
    return "ok", None


Batch = Callable[[Any, Mapping[str, Sequence[Any]], "Catalog"], BatchResult]
"""``batch(base, columns, catalog)``: the spec ``base`` with the fields of ``columns`` (one value a point) replaced."""


def changed(base: Spec, change: Mapping[str, Any]) -> Spec:
    """A spec with some fields replaced, checked as strictly as one of the API; raises pydantic's ValidationError."""
    fields = {**base.model_dump(mode="json", exclude_unset=True), **change}
    return type(base).model_validate_json(
        json.dumps({name: _plain(value) for name, value in fields.items()}), strict=True
    )


def _plain(value: Any) -> Any:
    """As JSON has it: no number of numpy, and whole where it is whole, as a strict whole-number field wants it."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def refusal(base: Spec, problem: ValidationError | MissingFigure | UnknownEntry) -> str:
    """Why a point is not a design, in words."""
    if not isinstance(problem, ValidationError):
        return str(problem)
    return "; ".join(_sentence(type(base), error["loc"], error["msg"]) for error in problem.errors(include_url=False))


def _sentence(model: type[Spec], where: Sequence[int | str], message: str) -> str:
    field = model.model_fields.get(str(where[0])) if where else None
    said = message.removeprefix("Value error, ")
    return said if field is None else f"{field.title or where[0]}: {said}"


def one_by_one(kind: DesignKind, *, base: Spec, columns: Mapping[str, Sequence[Any]], catalog: Catalog) -> BatchResult:
    """A batch of any kind, an estimate a point: what a kind's own batch gives, slower."""
    return each_estimated(kind.estimate, metrics=kind.metrics, base=base, columns=columns, catalog=catalog)


def each_estimated(
    estimate: Callable[[Any, Catalog], Result],
    *,
    metrics: Sequence[MetricDef],
    base: Spec,
    columns: Mapping[str, Sequence[Any]],
    catalog: Catalog,
) -> BatchResult:
    """As `one_by_one`, with the estimate itself."""
    points = len(next(iter(columns.values()), ()))
    results: list[Result | None] = []
    verdicts: list[tuple[Status, str | None]] = []
    for place in range(points):
        try:
            spec = changed(base, {name: values[place] for name, values in columns.items()})
            found = estimate(spec, catalog)
        except (ValidationError, MissingFigure, UnknownEntry) as problem:
            results.append(None)
            verdicts.append(("refused", refusal(base, problem)))
        else:
            results.append(found)
            verdicts.append(verdict(found))
    return _gathered(metrics, results, verdicts)


def _gathered(
    metrics: Sequence[MetricDef], results: Sequence[Result | None], verdicts: Sequence[tuple[Status, str | None]]
) -> BatchResult:
    names = [definition.name for definition in metrics]
    limits = {name: [_objective(result, name) for result in results] for name in names}
    said = list(dict.fromkeys(why for status, why in verdicts if why is not None and status != "misses"))
    places = {why: place for place, why in enumerate(said)}
    return BatchResult(
        figures={name: Figures.of([None if each is None else each.value(name) for each in results]) for name in names},
        objectives={name: Figures.of(values) for name, values in limits.items() if any(v is not None for v in values)},
        definitions={definition.name: definition for definition in metrics},
        status=np.array([STATUSES.index(status) for status, _why in verdicts], dtype=np.int8),
        said=said,
        saying=np.array([-1 if s == "misses" or why is None else places[why] for s, why in verdicts], dtype=np.intp),
    )


def _objective(result: Result | None, name: str) -> float | None:
    metric = None if result is None else result.metrics.get(name)
    return None if metric is None else metric.objective
