"""The shapes of the replies of `/validation/`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.api.shapes import Shape


class ValidationErrors(Shape):
    """Absolute errors of a slice [%]; null where nothing was compared, or no range is given."""

    n: int
    median: float | None
    p90: float | None
    coverage: float | None = Field(description="Share of rows whose measured figure lies in our 80 % range [%].")
    answered: float | None = Field(description="Share of the usable rows that got an answer [%].")
    set_aside: int
    not_expressible: int


class ValidationCheck(Shape):
    measure: Literal["median", "p90", "within", "coverage", "answered", "right"]
    limit: list[float] = Field(description="Of within: share and error; of coverage: lowest and highest.")
    found: float
    met: bool


class ValidationCondition(ValidationErrors):
    group: str
    met: bool | None = Field(description="Whether every limit is met; null where there is none.")
    checks: list[ValidationCheck]


class ValidationQuantity(Shape):
    quantity: str
    label: str
    against: str
    theirs: str = Field(description="What the figure beside ours (`measured` in a row) is called.")
    conditions: list[ValidationCondition]
    slices: dict[str, ValidationErrors]
    rows_url: str


class ValidationShape(Shape):
    as_of: str
    quantities: list[ValidationQuantity]


class ValidationRow(Shape):
    quantity: str
    id: str
    source: str
    source_url: str
    gpu: str
    engine: str
    llm: str
    family: str
    group: str
    predicted: float | None
    measured: float | None
    low: float | None
    high: float | None
    unit: str
    status: Literal["compared", "set aside", "not expressible"]
    reason: str
    conditions: str
    error_percent: float | None
    in_range: bool | None
