"""Figures as a catalog file writes them, each unit checked, and the base of every entry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from planner.catalog import names
from planner.core.catalog import Figure

Count = Annotated[int, Field(ge=1, le=10**9)]
CountOrNone = Annotated[int, Field(ge=0, le=10**9)]
Word = Annotated[str, Field(min_length=1, max_length=160)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+([-_][a-z0-9]+)*$", max_length=80)]
Date = Annotated[str, Field(pattern=r"^\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?$")]
Source = Annotated[str, Field(min_length=1, max_length=400)]


class Content(BaseModel):
    """Base of all contents: unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class FigureContent(Content):
    value: float
    unit: Annotated[str, Field(min_length=1, max_length=40)]
    source: Source
    as_of: Date
    note: str = ""

    def plain(self) -> Figure:
        return Figure(value=self.value, unit=self.unit, source=self.source, as_of=self.as_of, note=self.note)


BETWEEN = {
    "bytes": (1e6, 1e18),
    "bytes/s": (1e6, 1e18),
    "FLOP/s": (1e9, 1e21),
    "OP/s": (1e9, 1e21),
    "GPUs": (1, 1e6),
    "W": (1, 1e6),
    "s": (1e-12, 1e6),
    "USD/h": (1e-6, 1e4),
    "USD": (1e-9, 1e3),
}
"""What a figure can be at all: far beyond any device, so that a slip of the unit is refused and no sum overflows."""


def unit_is(unit: str) -> Callable[[FigureContent], FigureContent]:
    return lambda figure: in_bounds(figure, unit=unit, between=BETWEEN.get(unit, (0.0, 1e24)))


def in_bounds(figure: FigureContent, *, unit: str, between: tuple[float, float]) -> FigureContent:
    """The figure itself; one in another unit, not above zero, or far beyond any is refused."""
    if figure.unit != unit:
        raise ValueError(f"the unit must be {unit}, not {figure.unit}")
    if figure.value <= 0:
        raise ValueError("the value must be above zero")
    least, most = between
    if not least <= figure.value <= most:
        raise ValueError(f"the value must lie between {least:g} and {most:g} {unit}")
    return figure


Bytes = Annotated[FigureContent, AfterValidator(unit_is("bytes"))]
BytesPerSecond = Annotated[FigureContent, AfterValidator(unit_is("bytes/s"))]
FlopsPerSecond = Annotated[FigureContent, AfterValidator(unit_is("FLOP/s"))]
OpsPerSecond = Annotated[FigureContent, AfterValidator(unit_is("OP/s"))]
Gpus = Annotated[FigureContent, AfterValidator(unit_is("GPUs"))]
Watts = Annotated[FigureContent, AfterValidator(unit_is("W"))]
Seconds = Annotated[FigureContent, AfterValidator(unit_is("s"))]
Requests = Annotated[FigureContent, AfterValidator(unit_is("requests/s"))]
Tokens = Annotated[FigureContent, AfterValidator(unit_is("tokens"))]
Parameters = Annotated[FigureContent, AfterValidator(unit_is("parameters"))]


class EntryContent(Content, ABC):
    """What every entry has. ``also`` are further names it answers to."""

    slug: Slug

    @property
    @abstractmethod
    def title(self) -> str:
        """The name that people read."""

    @property
    @abstractmethod
    def group(self) -> str:
        """What it is listed under."""

    def plain(self) -> Any:
        """The plain type estimators read; what no estimator reads (a workload) stays as it is."""
        return self

    def also(self) -> tuple[str, ...]:
        return ()

    def search(self) -> str:
        """Lower-case text that a search looks through: every name, also as it is compared."""
        words = (self.slug, self.title, self.group, *self.also())
        return " ".join((*words, *map(names.key, words))).lower()


class NamedContent(EntryContent):
    name: Word
    aliases: list[Word] = Field(default_factory=list)
    notes: str = ""

    @property
    def title(self) -> str:
        return self.name

    def also(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


class FigureSet(Content):
    def plain(self) -> dict[str, Figure]:
        figures = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: figure.plain() for name, figure in figures.items() if figure is not None}
