"""The shapes of the result of a sweep: columns, one entry a point."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from planner.api.shapes import Scalar, Shape

Direction = Literal["lower", "higher", "none"]


class SweptField(Shape):
    name: str
    label: str
    unit: str
    shown_unit: str


class SweptMetric(Shape):
    name: str
    label: str
    unit: str
    direction: Direction


class Sought(Shape):
    metric: str
    label: str
    unit: str
    direction: Direction


class SweepLimit(Shape):
    metric: str
    label: str
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    own: bool = Field(description="Whether it is an objective of the design itself.")


class SweepPoints(Shape):
    """Columns by field and metric; an entry a point, in the order of the grid: the last field turns fastest."""

    count: int
    values: dict[str, list[Scalar]]
    figures: dict[str, list[float | None]]
    status: list[Literal["ok", "misses", "infeasible", "refused"]]
    reasons: list[str | None] = Field(description="What keeps a point from being taken, in words.")


class Binding(Shape):
    metric: str
    limit: float
    value: float | None


class RunnerUp(Shape):
    place: int
    binding: Binding | None
    reason: str


class VerifiedFigure(Shape):
    estimate: float | None
    simulated: float | None
    low: float | None
    high: float | None


class Verified(Shape):
    """A point held against its simulation."""

    place: int
    job: str | None
    job_url: str | None
    state: str = Field(description="The state of its job; impossible where there is none, deleted where it is gone.")
    seed: int
    meets: bool | None = Field(description="Whether the limits hold in the simulation; null where it cannot be said.")
    figures: dict[str, VerifiedFigure]
    reason: str | None


class SweepAnswer(Shape):
    sentence: str
    metric: str
    value: float | None
    verified_best: int | None = Field(
        description="The best place whose simulation holds every limit; null for none yet."
    )
    simulated: str = Field(description="What the simulation of the best says of it, and which point holds instead.")


class SweepResult(BaseModel):
    """A sweep: every point with its verdict, the best, the front, and why others were not taken."""

    # A search adds what it tells of itself.
    model_config = ConfigDict(extra="allow")

    kind: str
    spec: dict[str, Any]
    preset: str
    fields: list[SweptField]
    objective: Sought
    against: Sought | None
    constraints: list[SweepLimit]
    metrics: list[SweptMetric]
    points: SweepPoints
    changes: list[dict[str, Any]] | None = Field(description="All that a point changes, where the points are no grid.")
    best: int | None = Field(description="A place among the points.")
    front: list[int] = Field(description="Places of the points that no other beats in both, by the second metric.")
    runners_up: list[RunnerUp]
    verified: list[Verified]
    answer: SweepAnswer
    count: int
    seconds: float = Field(description="What the estimates took, of all workers together.")
    provenance: dict[str, Any]
