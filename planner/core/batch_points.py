"""Points of a batch as a kind's own way takes them: checked columns of numbers, and a spec for each structure.

A kind names the fields that its formulas take as arrays. Each of their values is checked once, on its own; all other
fields make structures, of which each is a spec that is checked as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from planner.core.batch import Figures, changed, refusal
from planner.core.kind import Spec

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Points:
    """``numbers`` by field, a value a point; ``specs`` the structures, and which of them each point is of.

    ``is_spec`` is False where a value or a structure is refused; ``bad`` tells the reasons of those apart.
    """

    base: Spec
    columns: Mapping[str, Sequence[Any]]
    numbers: Mapping[str, Figures]
    specs: Sequence[Spec | None]
    structure: Places
    is_spec: NDArray[np.bool_]
    bad: Places

    def refusals(self, places: Places) -> tuple[list[str], Places]:
        """Why points are no specs: the reasons, and the place in them of each; a reason is worked out once."""
        kinds, inverse = np.unique(self.bad[places], return_inverse=True)
        firsts = [int(places[np.flatnonzero(inverse == kind)[0]]) for kind in range(len(kinds))]
        return [self._reason(place) for place in firsts], inverse

    def _reason(self, place: int) -> str:
        try:
            changed(self.base, {name: values[place] for name, values in self.columns.items()})
        except ValidationError as problem:
            return refusal(self.base, problem)
        raise RuntimeError(f"point {place} is a spec, yet one of its fields alone is refused")


def points(
    base: Spec, columns: Mapping[str, Sequence[Any]], *, arrays: Collection[str], apart: Collection[str] = ()
) -> Points:
    """Check the columns of a batch.

    Parameters
    ----------
    base : what is not varied
    columns : one value a point, by field
    arrays : fields that are taken as numbers
    apart : fields of ``arrays`` of which a spec may have one only
    """
    count = max((len(values) for values in columns.values()), default=0)
    rest = base
    for name in arrays:
        if name in columns:
            rest = _without(rest, name)
    numbers: dict[str, Figures] = {}
    bad = np.zeros(count, dtype=np.intp)
    for name in arrays:
        numbers[name], wrong = _numbers(base, rest, name, columns=columns, count=count)
        bad = bad * (int(wrong.max(initial=0)) + 1) + wrong
    if sum(name in columns for name in apart) > 1:
        bad = 2 * bad + (np.sum([numbers[name].known for name in apart], axis=0) > 1)
    specs, structure = _structures(rest, columns={n: v for n, v in columns.items() if n not in arrays}, count=count)
    broken = np.array([place + 1 if spec is None else 0 for place, spec in enumerate(specs)], dtype=np.intp)[structure]
    bad = bad * (len(specs) + 1) + broken
    return Points(base, columns, numbers, specs, structure, is_spec=bad == 0, bad=bad)


def _without(spec: Spec, name: str) -> Spec:
    """A spec with a field at its default, as if it had not been given."""
    given = {key: getattr(spec, key) for key in spec.model_fields_set if key != name}
    return type(spec).model_construct(_fields_set=set(given), **given)


def distinct(values: Sequence[Any]) -> tuple[list[Any], Places]:
    """Different values in the order they come, and the place of each in them; 1 and True are two."""
    seen: dict[Any, int] = {}
    if isinstance(values, np.ndarray):
        values = values.tolist()
    try:
        codes = [seen.setdefault((value.__class__, value), len(seen)) for value in values]
    except TypeError:
        return list(values), np.arange(len(values))
    return [value for _type, value in seen], np.array(codes, dtype=np.intp)


def _numbers(
    base: Spec, rest: Spec, name: str, *, columns: Mapping[str, Sequence[Any]], count: int
) -> tuple[Figures, Places]:
    """A field as numbers, and where its value is refused: 0, or a number for each that is."""
    if name not in columns:
        value = getattr(base, name)
        return Figures(np.full(count, value or 0.0), np.full(count, value is not None)), np.zeros(count, dtype=np.intp)
    values, codes = distinct(columns[name])
    read: list[float | None] = []
    wrong = np.zeros(len(values), dtype=np.intp)
    for place, value in enumerate(values):
        try:
            read.append(getattr(changed(rest, {name: value}), name))
        except ValidationError:
            read.append(None)
            wrong[place] = place + 1
    found = Figures.of(read)
    return Figures(found.values[codes], found.known[codes]), wrong[codes]


def _structures(rest: Spec, *, columns: Mapping[str, Sequence[Any]], count: int) -> tuple[list[Spec | None], Places]:
    """A spec for each different combination of the other fields; None where it is refused."""
    combined, factors = np.zeros(count, dtype=np.intp), {name: distinct(values) for name, values in columns.items()}
    for values, codes in factors.values():
        combined = np.unique(combined * len(values) + codes, return_inverse=True)[1]
    firsts = np.unique(combined, return_index=True)[1]
    specs: list[Spec | None] = []
    for first in firsts:
        try:
            specs.append(changed(rest, {name: values[codes[first]] for name, (values, codes) in factors.items()}))
        except ValidationError:
            specs.append(None)
    return specs, combined
