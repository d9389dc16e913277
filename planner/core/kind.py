"""A design kind as a value, and the base of every Spec.

A Spec is one frozen pydantic model that validates form, API, sweep and file alike. What a surface needs to
draw a field (unit, group, help, choices) is in the field's metadata, put there by :func:`quantity` and friends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, Field

from planner.core.result import MetricDef, Result

if TYPE_CHECKING:
    from planner.core.catalog import Catalog
    from planner.core.chart import Chart
    from planner.core.diagram import Diagram
    from planner.core.simulation import Simulator


class Spec(BaseModel):
    """Inputs of a design. Frozen; unknown fields are refused; base units inside."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)
    version: ClassVar[int] = 1


def _field(default: Any, *, label: str, group: str, help: str, extra: Mapping[str, Any], **bounds: Any) -> Any:
    meta = {"group": group, **{key: value for key, value in extra.items() if value not in (None, "")}}
    return Field(default, title=label, description=help or None, json_schema_extra=meta, **bounds)


def quantity(
    default: Any,
    *,
    label: str,
    group: str,
    unit: str = "",
    shown: str = "",
    help: str = "",
    empty: str = "",
    advanced: bool = False,
    **bounds: Any,
) -> Any:
    """A number with a unit.

    ``unit`` is the base unit of the API; ``shown`` the unit of the form (converted by `core.quantities`);
    ``empty`` is the placeholder of an optional field (what is used when it is left out); ``bounds`` are
    pydantic's ``gt ge lt le``. ``advanced`` groups start closed.
    """
    extra = {"unit": unit, "shown_unit": shown, "empty": empty, "advanced": advanced or None}
    return _field(default, label=label, group=group, help=help, extra=extra, **bounds)


def choice(
    default: Any,
    *,
    label: str,
    group: str,
    labels: Mapping[str, str],
    help: str = "",
    empty: str = "",
    advanced: bool = False,
) -> Any:
    """A choice of a ``Literal``-typed (or bool) field; ``labels`` maps each value to its words."""
    extra = {"labels": dict(labels), "empty": empty, "advanced": advanced or None}
    return _field(default, label=label, group=group, help=help, extra=extra)


def catalog_entry(
    default: Any, *, label: str, group: str, table: str, help: str = "", empty: str = "", advanced: bool = False
) -> Any:
    """A slug of a catalog table: gpus, llms, engines, links, prices or workloads (of these the traces)."""
    extra = {"catalog": table, "empty": empty, "advanced": advanced or None}
    return _field(default, label=label, group=group, help=help, extra=extra)


def text(default: Any, *, label: str, group: str, help: str = "", empty: str = "", advanced: bool = False) -> Any:
    """A short free text."""
    extra = {"empty": empty, "advanced": advanced or None}
    return _field(default, label=label, group=group, help=help, extra=extra, max_length=200)


def long_text(
    default: Any,
    *,
    label: str,
    group: str,
    help: str = "",
    empty: str = "",
    limit: int = 200_000,
    advanced: bool = False,
) -> Any:
    """A text of several lines, a log say, of at most ``limit`` characters."""
    extra = {"empty": empty, "advanced": advanced or None, "lines": True}
    return _field(default, label=label, group=group, help=help, extra=extra, max_length=limit)


class Asked(Protocol):
    """What a form asks for: the spec of a kind, or of terms."""

    @property
    def spec(self) -> type[Spec]: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """What a page asks beside a design: only a spec, read and drawn like that of a kind."""

    spec: type[Spec]


@dataclass(frozen=True, slots=True)
class Question:
    """Clarify: a question whose answer would change the design.

    ``state`` is answered, assumed (the default is named in ``present``) or open; ``field`` is the input it sets.
    """

    text: str
    state: str
    present: str
    changes: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """Trade-off: one change, offered as a click; its effect is computed by the surface.

    ``moves`` names the metrics that tell the effect beside the headline; those that change are shown.
    """

    label: str
    change: Mapping[str, Any]
    moves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What an experienced reviewer asks, answered with this design's figures.

    ``simulate`` names the options of a simulation that would show it over time, if one would; ``drill`` the drill of
    the kind's simulator that plays it on this design and a sturdier one.
    """

    question: str
    answer: str
    simulate: Mapping[str, Any] | None = None
    drill: str = ""


class Advice(Protocol):
    """The reasoning around the figures: `planner/kinds/*/advice.py` is such a module."""

    def questions(self, spec: Any, result: Result) -> Sequence[Question]: ...
    def variants(self, spec: Any, result: Result) -> Sequence[Variant]: ...
    def follow_ups(self, spec: Any, result: Result) -> Sequence[FollowUp]: ...


@dataclass(frozen=True, slots=True)
class DesignKind:
    """All that a surface knows of a kind. Examples and METHOD.md lie beside it and are found by folder."""

    slug: str
    label: str
    question: str
    spec: type[Spec]
    metrics: tuple[MetricDef, ...]
    estimate: Callable[[Any, Catalog], Result]
    charts: Callable[[Any, Result], Sequence[Chart]]
    architecture: Callable[[Any, Result], Diagram]
    advice: Advice
    simulator: Simulator | None = None
    order: int = 100
    """Its place among the kinds: smaller comes first, equal ones by slug."""
