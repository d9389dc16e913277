"""The controls of a Spec: what each field of a kind looks like in a form, whatever the kind.

Everything comes from the field's type and metadata; nothing here knows a kind.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, Union, get_args, get_origin

from django.utils.translation import gettext as _
from pydantic.fields import FieldInfo

from planner.core import quantities
from planner.core.kind import Asked

Control = Literal["number", "numbers", "choice", "entry", "text", "lines", "json"]
LONGEST_TYPED = 4000
PLAIN_FROM, PLAIN_TO = 1e-6, 1e15
"""Numbers between are written out; the rest with an exponent."""
SEGMENTS = 3
"""A choice of so many short words is shown as segments, a longer one as a list."""


@dataclass(frozen=True, slots=True)
class Field:
    """One control. ``text`` is what the reader sees or typed; ``error`` what is wrong with it."""

    name: str
    label: str
    group: str
    control: Control
    help: str = ""
    unit: str = ""
    shown: str = ""
    placeholder: str = ""
    optional: bool = False
    whole: bool = False
    advanced: bool = False
    table: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    text: str = ""
    error: str = ""
    changed: bool = False
    limit: int = LONGEST_TYPED
    """The most characters that may be typed."""

    @property
    def unit_text(self) -> str:
        """The words of the unit cell."""
        return "/".join({"USD": "$", "bytes": "B"}.get(part, part) for part in self.shown.split("/"))

    @property
    def segments(self) -> bool:
        few = self.control == "choice" and 2 <= len(self.choices) <= SEGMENTS
        return few and sum(map(len, self._words())) <= 26

    @property
    def wide(self) -> bool:
        long = self.control == "choice" and max(map(len, self._words())) > 16
        told = self.control == "number" and len(self.placeholder) > 9
        return self.control in ("entry", "lines") or self.segments or long or told

    def _words(self) -> list[str]:
        return [words for _key, words in self.choices] or [""]


def fields_of(kind: Asked) -> list[Field]:
    """The controls of a kind in the order of its spec, still empty."""
    return [_field(name, info) for name, info in kind.spec.model_fields.items()]


def _field(name: str, info: FieldInfo) -> Field:
    meta: Mapping[str, Any] = info.json_schema_extra if isinstance(info.json_schema_extra, Mapping) else {}
    inner, optional = _without_none(info.annotation)
    control = _control(inner, meta=meta)
    unit = str(meta.get("unit", ""))
    choices = _choices(inner, meta=meta) if control == "choice" else ()
    if choices and optional:
        choices = (("", str(meta.get("empty") or _("not set"))), *choices)
    return Field(
        name=name,
        label=info.title or name,
        group=str(meta.get("group", "")),
        control=control,
        help=info.description or "",
        unit=unit,
        shown=str(meta.get("shown_unit") or quantities.shown_unit(unit)) if control in ("number", "numbers") else "",
        placeholder=str(meta.get("empty", "")),
        optional=optional,
        whole=inner is int,
        advanced=bool(meta.get("advanced")),
        table=str(meta.get("catalog", "")),
        choices=choices,
        limit=_limit(info) if control == "lines" else LONGEST_TYPED,
    )


def _limit(info: FieldInfo) -> int:
    """The length a text of several lines may have, as its spec says."""
    return next((int(each.max_length) for each in info.metadata if hasattr(each, "max_length")), LONGEST_TYPED)


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """The type without None, and whether None was allowed."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    members = [member for member in get_args(annotation) if member is not type(None)]
    return (members[0] if len(members) == 1 else Union[tuple(members)]), len(members) < len(get_args(annotation))  # noqa: UP007


def _control(inner: Any, *, meta: Mapping[str, Any]) -> Control:
    if meta.get("catalog"):
        return "entry"
    if meta.get("labels") or inner is bool or get_origin(inner) is Literal:
        return "choice"
    if inner in (int, float) or inner == Union[int, float]:  # noqa: UP007
        return "number"
    if get_origin(inner) in (list, tuple) and set(get_args(inner)) - {Ellipsis} <= {int, float}:
        return "numbers"
    if inner is str:
        return "lines" if meta.get("lines") else "text"
    return "json"


def _choices(inner: Any, *, meta: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    labels = {choice_key(key): str(words) for key, words in dict(meta.get("labels", {})).items()}
    if inner is bool:
        labels = {"true": labels.get("true", _("on")), "false": labels.get("false", _("off"))}
    elif get_origin(inner) is Literal:
        labels = {choice_key(value): labels.get(choice_key(value), str(value)) for value in get_args(inner)}
    return tuple(labels.items())


def choice_key(value: Any) -> str:
    """A choice as the form posts it: JSON's word for booleans, the value's own text otherwise."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def filled(field: Field, *, value: Any) -> Field:
    """The control with a value of the spec written into it, so that reading it gives the same value back."""
    return replace(field, text=_write(field, value=value))


def _write(field: Field, *, value: Any) -> str:
    if value is None:
        return ""
    if field.control == "number":
        return number_text(value, unit=field.unit, shown=field.shown)
    if field.control == "numbers":
        return ", ".join(number_text(item, unit=field.unit, shown=field.shown, commas=False) for item in value)
    if field.control == "choice":
        return choice_key(value)
    return str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number_text(value: float, *, unit: str, shown: str, commas: bool = True) -> str:
    """The shortest text that reads back as ``value``: thousands apart, money with two decimals."""
    amount = quantities.convert(float(value), unit, shown)
    text = f"{amount:.12g}"
    if quantities.parse(text, unit, shown) != float(value):
        text = repr(amount)
    if amount and not PLAIN_FROM <= abs(amount) < PLAIN_TO:
        return text
    whole, _point, decimals = f"{Decimal(text):f}".partition(".")
    decimals = decimals.rstrip("0")
    if shown.startswith(("$", "USD")) and abs(amount) < 1000:
        decimals = decimals.ljust(2, "0")
    digits = f"{int(whole):,}" if commas and abs(amount) >= 1000 else whole
    return f"{digits}.{decimals}" if decimals else digits


class NotRead(ValueError):
    """What was typed does not give a value of the field; the message is for the reader."""


def read(field: Field, *, typed: str) -> Any:
    """The value of the spec that a text means; raises `NotRead`."""
    if not typed.strip():
        if field.optional:
            return None
        raise NotRead(_("Give a number.") if field.control == "number" else _("Give a value."))
    match field.control:
        case "number":
            return _number(field, typed=typed)
        case "numbers":
            return [_number(field, typed=part) for part in typed.replace(";", ",").split(",") if part.strip()]
        case "choice":
            return _chosen(field, typed=typed)
        case "json":
            return _json(typed)
        case _:
            return typed.strip()


def _number(field: Field, *, typed: str) -> float | int:
    try:
        value = quantities.parse(typed, field.unit, field.shown)
    except ValueError as problem:
        raise NotRead(str(problem)) from None
    if not field.whole:
        return value
    if not value.is_integer():
        raise NotRead(_("Give a whole number."))
    return int(value)


def _chosen(field: Field, *, typed: str) -> Any:
    key = typed.strip()
    if key not in dict(field.choices):
        raise NotRead(_("Choose one of the offered values."))
    if set(dict(field.choices)) - {""} == {"true", "false"}:
        return key == "true"
    return key


def _json(typed: str) -> Any:
    try:
        return json.loads(typed)
    except (json.JSONDecodeError, RecursionError):
        raise NotRead(_("This is not valid JSON.")) from None


def bounds_text(field: Field, *, limit: Any) -> str:
    """A bound of a field in the unit the reader types."""
    if isinstance(limit, int | float) and field.control in ("number", "numbers"):
        number = number_text(float(limit), unit=field.unit, shown=field.shown)
        return f"{number}{quantities.NBSP}{field.unit_text}".strip()
    return str(limit)


def summary(fields: Sequence[Field]) -> str:
    """A closed group in one line."""
    return " · ".join(filter(None, (_short(field) for field in fields if not field.error)))[:160]


def _short(field: Field) -> str:
    if not field.text:
        return ""
    if field.control == "lines":
        return quantities.show(float(len(field.text.strip().splitlines())), "lines")
    if field.choices:
        return dict(field.choices).get(field.text, field.text)
    unit = field.unit_text
    return f"{field.text}{'' if unit.startswith('/') else quantities.NBSP}{unit}" if unit else field.text
