"""What a sweep of a design starts with: the fields its own advice changes, and a grid about their present values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from planner.designs import estimation
from planner.designs.estimation import Estimate
from planner.web.fields import Field

VARIED = ("number", "choice", "entry")
"""Controls whose field can be varied."""
FIELDS_AT_FIRST = 2
SHARES = (0.5, 0.75, 1.0, 1.25, 1.5)
FEW = 3
HALVED = 16
"""Up to so many of a thing, half and twice say more than a quarter of it."""
MOST_ENTRIES = 6


def first_fields(estimate: Estimate, *, fields: Mapping[str, Field]) -> list[str]:
    """Fields that variants and findings change, those of the first variants first; a price is no choice of a design."""
    named = [name for change in _changes(estimate) for name in change if name in fields]
    worth = [name for name in dict.fromkeys(named) if not fields[name].unit.startswith("USD")]
    numbers = [name for name, field in fields.items() if field.control == "number" and not field.advanced]
    return (worth or numbers)[:FIELDS_AT_FIRST]


def first_values(estimate: Estimate, *, field: Field) -> list[Any]:
    """Values to try: all of a short choice, the entries that advice names, or ±50 % about the present number."""
    present = estimate.spec_json[field.name]
    proposed = [change[field.name] for change in _changes(estimate) if field.name in change]
    if field.control == "choice" and not field.optional:
        return [_chosen(field, key=key) for key, _words in field.choices][:MOST_ENTRIES]
    if field.control != "number":
        return list(dict.fromkeys([present, *proposed]))
    known = _fine(estimate, field=field, values=[present, *proposed])
    if len(known) < FEW:
        about = present if present is not None or not known else known[0]
        known = _fine(estimate, field=field, values=[*known, *_about(field, value=about)])
    return known


def _fine(estimate: Estimate, *, field: Field, values: Sequence[Any]) -> list[float]:
    """Numbers that the field takes, from the least on."""
    numbers = sorted({value for value in values if isinstance(value, int | float)})
    return [value for value in numbers if _allowed(estimate, name=field.name, value=value)]


def _changes(estimate: Estimate) -> Iterator[Mapping[str, Any]]:
    """What variants and findings would change, in their order."""
    advice, spec, result = estimate.kind.advice, estimate.spec, estimate.result
    yield from (variant.change for variant in advice.variants(spec, result))
    yield from (finding.change for finding in result.findings if finding.change)


def _chosen(field: Field, *, key: str) -> Any:
    is_switch = {name for name, _words in field.choices} == {"true", "false"}
    return key == "true" if is_switch else key


def _about(field: Field, *, value: Any) -> Sequence[float]:
    if not isinstance(value, int | float):
        return ()
    if field.whole and value <= HALVED:
        return (0, 1, 2) if value == 0 else (value // 2, value, 2 * value)
    if field.whole:
        return sorted({round(share * value) for share in SHARES})
    return (0.0,) if value == 0 else [float(f"{share * value:.3g}") for share in SHARES]


def _allowed(estimate: Estimate, *, name: str, value: Any) -> bool:
    """Whether the field itself takes the value; what it says together with others is said of the point."""
    try:
        estimation.parse_spec(estimate.kind, spec={**estimate.spec_json, name: value})
    except ValidationError as error:
        return not any(problem["loc"][:1] == (name,) for problem in error.errors(include_url=False))
    return True
