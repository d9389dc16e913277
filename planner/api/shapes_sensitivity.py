"""The shapes of replies about sensitivity and uncertainty."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from planner.api.shapes import Shape
from planner.api.shapes_sweep import Sought


class InputShape(Shape):
    """An input at its present value; ``shown`` is the value as people read it."""

    name: str
    label: str
    group: str
    unit: str
    shown_unit: str
    value: Any
    shown: str


class EndShape(Shape):
    value: Any
    shown: str
    figure: float | None = Field(description="The metric there; null where it has no value.")
    status: Literal["ok", "misses", "infeasible", "refused"]
    reason: str | None = Field(description="What binds where the status is not ok.")
    clipped: bool = Field(description="Whether the end lies at a bound of the input, short of where it was asked for.")


class BarShape(InputShape):
    kind: Literal["number", "choice"]
    swing: float = Field(description="How far apart the figures at the ends are, the design's own among them.")
    swing_share: float | None
    elasticity: float | None = Field(description="Relative change of the figure a relative change of the input.")
    ends: list[EndShape]


class RefusedInput(InputShape):
    reason: str | None


class UnmovedInput(Shape):
    name: str
    label: str
    why: Literal["open", "zero", "entry"]


class TurnShape(Shape):
    turn: Literal["objective", "loss", "units", "rival"]
    name: str
    sentence: str


class FlipShape(InputShape):
    holds: float = Field(description="The last value found at which nothing turns over.")
    at: float = Field(description="The first value found at which it has.")
    at_shown: str
    relative: float | None = Field(description="How far that is from the present value; null from zero.")
    sentence: str
    turns: list[TurnShape]
    change: dict[str, Any] = Field(description="What makes of the spec a design on the other side.")


class RivalShape(Shape):
    label: str
    change: dict[str, Any]
    metric: str
    value: float | None


class SensitivityShape(Shape):
    """What moves a figure, the widest first, and what would change the decision, the nearest first."""

    kind: str
    spec: dict[str, Any]
    metric: Sought
    value: float | None
    tornado: list[BarShape]
    still: list[InputShape] = Field(description="Inputs that change nothing between their ends.")
    refused: list[RefusedInput]
    unmoved: list[UnmovedInput] = Field(description="Inputs left as they are: open, zero, or a text or entry.")
    flips: list[FlipShape]
    steady: list[InputShape] = Field(description="Nothing turns over from a quarter of them to four times.")
    rival: RivalShape | None = Field(description="The design that this one is held against by its cost.")
    provenance: dict[str, Any]


class Estimated(Shape):
    value: float | None
    error: float | None = Field(description="Standard error, from batches that are independent of each other.")


class ChanceShape(Sought):
    limit: float
    probability: float | None
    error: float | None


class DrawnInput(InputShape):
    low: float
    high: float
    low_shown: str
    high_shown: str
    shape: Literal["triangular", "uniform", "lognormal"]
    source: Literal["usual", "stated", "given"] = Field(
        description="usual: a tenth to either side; stated: the ± of the spec, its 80 % range; given: your own."
    )


class ContributionShape(Shape):
    name: str
    label: str
    index: float = Field(description="First-order Sobol index: the share of the variance.")
    correlation: float = Field(description="Spearman's rank correlation: which way it works.")


class QuantileShape(Shape):
    shares: list[float]
    values: list[float]


class AgainstShape(Shape):
    """Another design in the same draws; differences are it less this one."""

    name: str
    spec: dict[str, Any]
    value: float | None
    difference: dict[str, Estimated]
    better: Estimated = Field(description="How often this design is the better one by the metric.")
    apart_error: float | None = Field(description="The error the mean difference would have with draws of its own.")
    quantiles: QuantileShape


class UncertaintyResult(Shape):
    """How far a figure may be off."""

    kind: str
    spec: dict[str, Any]
    metric: Sought
    value: float | None
    seed: int
    draws: int
    batches: int
    known: int = Field(description="Draws in which the figure has a value.")
    refused: int = Field(description="Draws that are no designs.")
    reasons: list[str]
    percentiles: dict[str, Estimated]
    mean: Estimated
    objectives: list[ChanceShape]
    all_met: Estimated | None
    inputs: list[DrawnInput]
    contributions: list[ContributionShape]
    noise: float = Field(description="An index below twice this says nothing.")
    calibration: Literal["stated", "ranges", "none"] = Field(
        description="How the spread of the calibration went in: by the ± of stated rates, by the ranges of the figures."
    )
    quantiles: QuantileShape
    against: AgainstShape | None
    provenance: dict[str, Any]
