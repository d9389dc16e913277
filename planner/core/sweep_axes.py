"""What a sweep varies: fields with their values, checked through the Spec, and the grid they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from planner.core.catalog import Catalog, UnknownEntry
from planner.core.kind import DesignKind, Spec
from planner.core.specs import read_spec

MOST_FIELDS = 4
MOST_POINTS = 100_000
RANGE = ("start", "stop", "step")
_LOOKUP = {"gpus": "gpu", "llms": "llm", "engines": "engine", "links": "link", "workloads": "workload"}


class BadSweep(ValueError):
    """A sweep that cannot be asked for. ``field`` is the path of what is wrong with it: ``vary/0/values/2``."""

    def __init__(self, *, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message = field, message


@dataclass(frozen=True, slots=True)
class Axis:
    """A varied field of the Spec and its values, as the Spec reads them."""

    field: str
    values: tuple[Any, ...]


def read_axes(kind: DesignKind, *, base: Spec, vary: Sequence[Mapping[str, Any]], catalog: Catalog) -> tuple[Axis, ...]:
    """The axes that ``vary`` asks for: ``{field, values}`` or ``{field, start, stop, step}``; raises `BadSweep`."""
    if not 1 <= len(vary) <= MOST_FIELDS:
        raise BadSweep(field="vary", message=f"Vary 1 to {MOST_FIELDS} fields.")
    spans = [_given_values(asked, path=f"vary/{place}") for place, asked in enumerate(vary)]
    _check_size([len(span) for span in spans])
    axes: list[Axis] = []
    for place, (asked, span) in enumerate(zip(vary, spans, strict=True)):
        name = _field(kind, asked.get("field"), path=f"vary/{place}/field")
        if name in [axis.field for axis in axes]:
            raise BadSweep(field=f"vary/{place}/field", message="This field is varied already.")
        paths = _paths(asked, count=len(span), path=f"vary/{place}")
        axes.append(Axis(name, _checked(kind, base=base, name=name, values=span, paths=paths, catalog=catalog)))
    return tuple(axes)


def count_of(axes: Sequence[Axis]) -> int:
    """How many points the grid has."""
    return math.prod(len(axis.values) for axis in axes)


def columns_of(axes: Sequence[Axis], *, places: Iterable[int]) -> dict[str, list[Any]]:
    """The values of every field at some places of the grid; the last axis turns fastest."""
    places = list(places)
    turns = math.prod(len(axis.values) for axis in axes)
    found: dict[str, list[Any]] = {}
    for axis in axes:
        turns //= len(axis.values)
        found[axis.field] = [axis.values[place // turns % len(axis.values)] for place in places]
    return found


def _check_size(counts: Sequence[int]) -> None:
    count = math.prod(counts)
    if count > MOST_POINTS:
        shape = " × ".join(f"{one:,}" for one in counts)
        message = f"{shape} = {count:,} points; a sweep has at most {MOST_POINTS:,}. Vary fewer fields or values."
        raise BadSweep(field="vary", message=message)


def _field(kind: DesignKind, name: Any, *, path: str) -> str:
    if not isinstance(name, str) or name not in kind.spec.model_fields:
        raise BadSweep(field=path, message=f"No such field of {kind.label}.")
    return name


def _given_values(asked: Mapping[str, Any], *, path: str) -> Sequence[Any]:
    has_range = any(asked.get(name) is not None for name in RANGE)
    values = asked.get("values")
    if (values is None) == (not has_range):
        raise BadSweep(field=path, message="Give either values, or start, stop and step.")
    if values is None:
        return _range(asked, path=path)
    if not isinstance(values, list | tuple) or not values:
        raise BadSweep(field=f"{path}/values", message="Give a list of values.")
    return values


def _range(asked: Mapping[str, Any], *, path: str) -> list[float]:
    """Decimal steps: 0.1, 0.2, 0.3, and not 0.30000000000000004."""
    start, stop, step = (_number(asked.get(name), path=f"{path}/{name}") for name in RANGE)
    if step <= 0:
        raise BadSweep(field=f"{path}/step", message="Give a step above 0.")
    if stop < start:
        raise BadSweep(field=f"{path}/stop", message="Give a stop that is not below the start.")
    steps = (stop - start) / step
    if steps >= MOST_POINTS:
        message = f"This range has more than {MOST_POINTS:,} values; a sweep has at most so many points."
        raise BadSweep(field=f"{path}/step", message=message)
    return [float(start + place * step) for place in range(int(steps) + 1)]


def _number(value: Any, *, path: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadSweep(field=path, message="Give a number.")
    return Decimal(str(value))


def _paths(asked: Mapping[str, Any], *, count: int, path: str) -> list[str]:
    """Where each value was given, for what is said of it: of a range the first step shows whether it suits."""
    if asked.get("values") is not None:
        return [f"{path}/values/{place}" for place in range(count)]
    first, step, rest = f"{path}/start", f"{path}/step", f"{path}/stop"
    return [first, *([step] if count > 2 else []), *[rest] * count][:count]


def _checked(
    kind: DesignKind, *, base: Spec, name: str, values: Sequence[Any], paths: Sequence[str], catalog: Catalog
) -> tuple[Any, ...]:
    written = base.model_dump(mode="json")
    alone = _alone(kind, name)
    found: dict[tuple[type, Any], None] = {}
    for value, path in zip(values, paths, strict=True):
        if isinstance(value, Mapping | list | tuple):
            raise BadSweep(field=path, message="Give a single value.")
        read = alone(value)
        if read is None:
            read = _read(kind, {**written, name: value}, name=name, path=path)
        _check_entry(kind, name=name, value=read, path=path, catalog=catalog)
        if (type(read), read) in found:
            raise BadSweep(field=path, message="This value is given twice.")
        found[type(read), read] = None
    return tuple(value for _type, value in found)


def _alone(kind: DesignKind, name: str) -> Callable[[Any], float | None]:
    """Reads a number by the field alone, which is quick; None for what is no number, or no good: the Spec says why."""
    field = kind.spec.model_fields[name]
    reader: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]

    def read(value: Any) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        try:
            found = reader.validate_python(int(value) if value == int(value) else value, strict=True)
        except (ValidationError, OverflowError, ValueError):
            return None
        return found if isinstance(found, int | float) and not isinstance(found, bool) else None

    return read


def _read(kind: DesignKind, given: Mapping[str, Any], *, name: str, path: str) -> Any:
    """The value as the Spec reads it. What it says of several fields at once is said of the points, not here."""
    try:
        return getattr(read_spec(kind.spec, given), name)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_context=False, include_input=False):
            if problem["loc"][:1] == (name,):
                raise BadSweep(field=path, message=str(problem["msg"]).removeprefix("Value error, ")) from None
        return given[name]


def _check_entry(kind: DesignKind, *, name: str, value: Any, path: str, catalog: Catalog) -> None:
    meta = kind.spec.model_fields[name].json_schema_extra
    table = meta.get("catalog") if isinstance(meta, Mapping) else None
    if table not in _LOOKUP or not isinstance(value, str) or not value:
        return
    try:
        getattr(catalog, _LOOKUP[str(table)])(value)
    except UnknownEntry as error:
        raise BadSweep(field=path, message=str(error)) from None
