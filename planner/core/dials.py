"""Inputs of a design that can be moved: numbers within their bounds, and choices with their alternatives."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from planner.core.kind import Spec
from planner.core.quantities import show

USUAL = 0.1
"""How far an input is moved to either side where nobody says more: a tenth of it."""
_BESIDE = 1e-6
"""Of its value, how far an input stays away from a bound that it may not reach."""


@dataclass(frozen=True, slots=True)
class Dial:
    """An input at its present value. ``least`` and ``most`` are bounds; ``alternatives`` other values of a choice."""

    name: str
    label: str
    group: str
    value: Any
    unit: str = ""
    shown: str = ""
    is_whole: bool = False
    least: float | None = None
    most: float | None = None
    alternatives: tuple[Any, ...] = ()
    labels: Mapping[Any, str] = field(default_factory=dict)

    @property
    def is_choice(self) -> bool:
        return bool(self.alternatives)

    def said(self, value: Any) -> str:
        """A value of it as people read it."""
        if self.is_choice:
            return self.labels.get(value, self.labels.get(str(value).lower(), str(value)))
        return show(float(value), self.unit, shown=self.shown)

    def within(self, value: float) -> float:
        """The value, or the bound that it lies beyond; whole where the input is."""
        if self.least is not None:
            value = max(value, self.least)
        if self.most is not None:
            value = min(value, self.most)
        return int(value) if self.is_whole else value

    def moved(self, share: float) -> float:
        """The value grown by a share of it, at least by a whole where the input is; not held to the bounds."""
        target = self.value * (1 + share)
        if not self.is_whole:
            return float(target)
        step = round(target) - self.value
        return int(self.value + (step or (1 if share > 0 else -1)))


@dataclass(frozen=True, slots=True)
class Unmoved:
    """An input that is left alone, and why: ``open`` (none is given), ``zero``, ``entry`` (a text or an entry)."""

    name: str
    label: str
    why: Literal["open", "zero", "entry"]


def dials(spec: Spec) -> tuple[tuple[Dial, ...], tuple[Unmoved, ...]]:
    """Every input that can be moved, and those that cannot, both in the order of the spec."""
    found: list[Dial] = []
    left: list[Unmoved] = []
    for name, info in type(spec).model_fields.items():
        value = getattr(spec, name)
        dial = _dial(name, info, value=value)
        if dial is not None:
            found.append(dial)
            continue
        why: Literal["open", "entry"] = "open" if value is None and _is_number(_inner(info)) else "entry"
        left.append(Unmoved(name, info.title or name, why))
    return tuple(found), tuple(left)


def dial_of(spec: Spec, name: str) -> Dial | None:
    """The input of this name, where it can be moved."""
    info = type(spec).model_fields.get(name)
    return None if info is None else _dial(name, info, value=getattr(spec, name))


def _dial(name: str, info: FieldInfo, *, value: Any) -> Dial | None:
    meta: Mapping[str, Any] = info.json_schema_extra if isinstance(info.json_schema_extra, Mapping) else {}
    inner = _inner(info)
    label, group = info.title or name, str(meta.get("group", ""))
    choices = (True, False) if inner is bool else get_args(inner) if get_origin(inner) is Literal else ()
    if choices and value is not None:
        others = tuple(choice for choice in choices if choice != value)
        return Dial(name, label, group, value, alternatives=others, labels=meta.get("labels", {})) if others else None
    if value is None or isinstance(value, bool) or not _is_number(inner):
        return None
    least, most = _bounds(info, near=_BESIDE * (abs(float(value)) or 1.0), whole=inner is int)
    return Dial(
        name, label, group, value, unit=str(meta.get("unit", "")), shown=str(meta.get("shown_unit", "")),
        is_whole=inner is int, least=least, most=most,
    )  # fmt: skip


def _inner(info: FieldInfo) -> Any:
    """The type of a field without None."""
    if get_origin(info.annotation) not in (Union, types.UnionType):
        return info.annotation
    members = [member for member in get_args(info.annotation) if member is not type(None)]
    return members[0] if len(members) == 1 else object


def _is_number(inner: Any) -> bool:
    return inner is int or inner is float


def _bounds(info: FieldInfo, *, near: float, whole: bool) -> tuple[float | None, float | None]:
    """The least and the most that a field takes; beside a bound that is not included."""
    beside = 1.0 if whole else near
    least = most = None
    for rule in info.metadata:
        if getattr(rule, "ge", None) is not None:
            least = float(rule.ge)
        if getattr(rule, "gt", None) is not None:
            least = float(rule.gt) + beside
        if getattr(rule, "le", None) is not None:
            most = float(rule.le)
        if getattr(rule, "lt", None) is not None:
            most = float(rule.lt) - beside
    return least, most
