"""What an estimate or a simulation answers: metrics, findings, series and the headline answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

Direction = Literal["lower", "higher", "none"]
Severity = Literal["info", "warning", "error"]
Basis = Literal["exact", "measured", "calibrated", "extrapolated", "assumed", "simulated"]

_FIGURES = ("value", "low", "high", "objective")
SEVERITY_RANK: Mapping[str, int] = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class MetricDef:
    """A metric a kind can answer: its name is a contract of the API, its unit a base unit."""

    name: str
    label: str
    unit: str
    direction: Direction = "none"
    group: str = ""
    help: str = ""
    formula: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure with its basis. ``value`` is None when the figure does not exist; a finding says why."""

    definition: MetricDef
    value: float | None
    low: float | None = None
    high: float | None = None
    basis: Basis = "exact"
    objective: float | None = None
    """The limit set by the user, in the metric's unit; its side follows from the direction."""
    working: str = ""
    """The formula with this design's own figures in it."""

    def __post_init__(self) -> None:
        for figure in (self.value, self.low, self.high, self.objective):
            if figure is not None and not math.isfinite(figure):
                name = next(each for each in _FIGURES if getattr(self, each) is figure)
                raise ValueError(f"metric {self.definition.name}: {name} is {figure}; give None and a finding instead")

    @property
    def met(self) -> bool | None:
        """Whether the objective is met; None without an objective or a value."""
        if self.objective is None or self.value is None:
            return None
        if self.definition.direction == "higher":
            return self.value >= self.objective
        return self.value <= self.objective


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence with numbers, and the change that would answer it.

    ``change`` maps spec fields to the values a button applies; ``suggestion`` says it in words with its price.
    """

    code: str
    severity: Severity
    message: str
    metric: str | None = None
    suggestion: str | None = None
    change: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a series: a name, a unit and its values (None where a figure does not exist)."""

    name: str
    label: str
    unit: str
    values: Sequence[float | str | None]


@dataclass(frozen=True, slots=True)
class Series:
    """A small table: the first column is the abscissa (a number or a category)."""

    name: str
    label: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


class LazySeries(Mapping[str, Series]):
    """Series made when somebody looks: a variant's effect or a sweep point needs the metrics only."""

    def __init__(self, build: Callable[[], Mapping[str, Series]]) -> None:
        self._build = build
        self._made: Mapping[str, Series] | None = None

    def _all(self) -> Mapping[str, Series]:
        if self._made is None:
            self._made = self._build()
        return self._made

    def __getitem__(self, name: str) -> Series:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


class LazyFindings(Sequence[Finding]):
    """Findings made when somebody looks: where a figure lies needs none of their sentences."""

    def __init__(self, build: Callable[[], Sequence[Finding]]) -> None:
        self._build = build
        self._made: Sequence[Finding] | None = None

    def _all(self) -> Sequence[Finding]:
        if self._made is None:
            self._made = self._build()
        return self._made

    @overload
    def __getitem__(self, place: int) -> Finding: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Finding]: ...
    def __getitem__(self, place: int | slice) -> Finding | Sequence[Finding]:
        return self._all()[place]

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True, slots=True)
class Beside:
    """A figure that was measured, and ours beside it (None where there is none)."""

    name: str
    """What kind of figure: the quantity that validation keeps its errors under."""
    label: str
    unit: str
    measured: float
    estimate: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The published measurement nearest to a design, or to a part of it.

    ``distance`` is 0 for the same configuration at the same load, and grows without end. ``differs`` says what is not
    the same, in words.
    """

    id: str
    """Of the row among those published, as validation names it."""
    subject: str
    """The part of the design it stands for; "" for all of it."""
    configuration: str
    differs: tuple[str, ...]
    distance: float
    figures: tuple[Beside, ...]
    source: str
    source_url: str
    said: str
    """What the answer makes of it, a sentence."""
    place: Mapping[str, str] = field(default_factory=dict)
    """Slugs of what was measured: llm, gpu, engine."""
    series: str = ""
    """The series that holds it with its like, nearest first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer card: one figure, one sentence, a few facts with their verdicts.

    ``facts`` are metric names; ``sentence`` may mark its claim with ``**bold**``.
    """

    metric: str
    sentence: str
    note: str = ""
    facts: tuple[str, ...] = ()
    cost_metric: str | None = "cost_usd_per_h"


@dataclass(frozen=True, slots=True)
class Result:
    """The whole answer of one design. ``provenance`` names what made it (catalog digest, versions, sources)."""

    metrics: Mapping[str, Metric]
    answer: Answer
    findings: Sequence[Finding] = ()
    series: Mapping[str, Series] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()

    @property
    def severity(self) -> Severity | None:
        """The worst severity among the findings."""
        ranked = sorted((finding.severity for finding in self.findings), key=SEVERITY_RANK.__getitem__)
        return ranked[0] if ranked else None

    def value(self, name: str) -> float | None:
        return self.metrics[name].value if name in self.metrics else None


def order_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, then notes; the order within a severity is kept."""
    return tuple(sorted(findings, key=lambda finding: SEVERITY_RANK[finding.severity]))
