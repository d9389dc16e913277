"""The shapes of replies, as the OpenAPI document tells them. The tests hold every reply against them."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model

Scalar = float | int | str | bool | None


class Shape(BaseModel):
    """A part of a reply."""

    model_config = ConfigDict(extra="forbid")


class ProblemError(Shape):
    pointer: str = Field(description="JSON pointer into the request body; empty for the whole.")
    detail: str
    parameter: str = Field("", description="The query parameter, where the fault is in the query.")
    line: int | None = Field(None, description="The line of an uploaded file.")
    field: str = Field("", description="The column or key of an uploaded file.")


class Problem(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError]


class Finding(Shape):
    code: str
    severity: Literal["info", "warning", "error"]
    message: str
    metric: str | None = None
    suggestion: str | None = None
    change: dict[str, Any] | None = None


class Metric(Shape):
    value: float | None
    unit: str
    label: str
    direction: Literal["lower", "higher", "none"]
    group: str = ""
    basis: Literal["exact", "measured", "calibrated", "extrapolated", "assumed", "simulated"]
    low: float | None = Field(None, description="Lower end of the 80 % range; absent where there is none.")
    high: float | None = Field(None, description="Upper end of the 80 % range.")
    objective: float | None = None
    met: bool | None = None
    working: str = ""


class SeriesColumn(Shape):
    name: str
    label: str
    unit: str
    values: list[Scalar]


class Series(Shape):
    label: str
    columns: list[SeriesColumn]


class BesideShape(Shape):
    name: str = Field(description="The quantity that validation keeps errors of such figures under.")
    label: str
    unit: str
    measured: float
    estimate: float | None = Field(description="Ours, of the design; null where there is none.")


class Evidence(Shape):
    """The published measurement nearest to a design, or to a part of it."""

    id: str = Field(description="Of its row in /validation/rows/.")
    subject: str = Field(description="The part of the design it stands for; empty for all of it.")
    configuration: str
    differs: list[str] = Field(description="What is not as in the design.")
    distance: float = Field(description="0: the same configuration and load; from 1 it is hardly like the design.")
    figures: list[BesideShape]
    source: str
    source_url: str
    said: str = Field(description="What the answer makes of it.")
    place: dict[str, str] = Field(description="Slugs of what was measured: llm, gpu, engine.")
    series: str = Field(description="The series that holds its like, nearest first.")


class AnswerCard(Shape):
    metric: str
    sentence: str
    note: str
    facts: list[str]
    cost_metric: str | None
    severity: Literal["info", "warning", "error"] | None


class MetricInfo(Shape):
    name: str
    label: str
    unit: str
    direction: Literal["lower", "higher", "none"]
    group: str
    help: str
    formula: str


class OnlyWith(Shape):
    """Another option and the values of it with which this one means anything; none: whatever is set."""

    option: str
    values: list[str]


class SimulationOption(Shape):
    name: str
    label: str
    default: Any
    unit: str
    help: str
    choices: list[str]
    minimum: float | None
    maximum: float | None
    group: str
    only_with: OnlyWith | None


class DrillInfo(Shape):
    """A preset of the kind: the same event on variants of a design; POST its name to /drills/."""

    name: str
    label: str
    question: str


class KindSummary(Shape):
    kind: str
    label: str
    question: str
    simulates: bool
    url: str


class ExampleShape(Shape):
    slug: str
    name: str
    description: str
    tags: list[str]
    spec: dict[str, Any]
    workload: str


class KindDetail(KindSummary):
    spec_version: int
    spec_schema: dict[str, Any] = Field(description="JSON Schema (2020-12) of the spec.")
    defaults: dict[str, Any]
    metrics: list[MetricInfo]
    simulation_options: list[SimulationOption]
    drills: list[DrillInfo]
    examples: list[ExampleShape]
    method: str = Field(description="The method notes, Markdown.")


class DesignSummary(Shape):
    id: UUID
    kind: str
    name: str
    description: str
    tags: list[str]
    revision: int
    example: str
    created_at: datetime
    updated_at: datetime
    updated_by: str | None
    deleted_at: datetime | None
    url: str


class DesignDetail(DesignSummary):
    spec: dict[str, Any]
    spec_version: int
    created_by: str | None
    estimate: dict[str, Any] | None = Field(None, description="With ?include=estimate.")
    view: dict[str, Any] | None = Field(None, description="With ?include=view: the full picture the page shows.")


class RevisionShape(Shape):
    number: int
    name: str
    description: str
    tags: list[str]
    spec: dict[str, Any]
    spec_version: int
    author: str | None
    at: datetime


class JobShape(Shape):
    id: UUID
    purpose: str
    title: str
    kind: str
    design: UUID | None
    design_revision: int | None
    state: Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]
    fraction: float
    simulated_s: float
    events: int
    eta_s: float | None
    elapsed_s: float | None
    events_per_s: float | None
    message: str
    attempts: int
    error: dict[str, Any] | None
    request: dict[str, Any]
    partial: dict[str, Any] | None = Field(description="What is known while it runs; null in a list.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    created_by: str | None
    url: str
    result_url: str | None
    document_url: str | None


class DrillSummary(Shape):
    id: UUID
    drill: str
    kind: str
    title: str
    design: UUID | None
    created_at: datetime
    url: str


class DrillRun(Shape):
    """A variant of the design and its simulation."""

    label: str
    name: str
    changes: dict[str, Any] = Field(description="Fields of the spec that differ from the first variant.")
    spec: dict[str, Any]
    state: str | None
    fraction: float | None
    job_url: str | None
    result_url: str | None


class DrillShape(DrillSummary):
    question: str
    how: dict[str, Any]
    state: Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]
    fraction: float
    eta_s: float | None
    answer: str | None = Field(description="In a sentence, once all runs have succeeded; **claims** are marked.")
    runs: list[DrillRun]
    phases: list[dict[str, Any]] = Field(description="Each run before, during and after; base units.")
    comparison_url: str


class ShareShape(Shape):
    id: UUID
    link: str
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    revoked_at: datetime | None
    url: str


class TokenShape(Shape):
    id: UUID
    name: str
    scopes: list[Literal["read", "write"]]
    created_at: datetime
    expires_at: datetime | None
    url: str


class TokenMade(TokenShape):
    token: str | None = Field(description="Shown once; only its digest is kept. Null when a request is replayed.")


class MemberShape(Shape):
    user: UUID
    username: str
    role: Literal["viewer", "editor", "admin"]
    url: str


class WorkloadShape(Shape):
    id: UUID
    slug: str
    name: str
    form: Literal["profile", "trace"]
    description: str
    source: str
    licence: str
    shipped: bool
    profile: dict[str, float] = Field(description="Mean rate, lengths and hit rate, as far as they are known.")
    created_at: datetime
    url: str


class WorkloadDetail(WorkloadShape):
    facts: dict[str, Any] = Field(description="Of a trace: requests, duration, percentiles, arrivals over time.")


class EntryShape(Shape):
    table: str
    slug: str
    name: str
    group: str
    shipped: bool
    entry: dict[str, Any] = Field(description="The facts, each figure with unit, source and date.")
    facts: dict[str, Any] | None = Field(None, description="Of an LLM: parameters, weights, KV cache.")
    url: str


class MeasurementShape(Shape):
    """One run of a load generator: figures in base units under the names that estimates use, and its load."""

    id: UUID
    name: str
    tool: str
    llm: str
    figures: dict[str, float]
    load: dict[str, float]
    filename: str
    created_at: datetime
    url: str


class MeasurementsShape(Shape):
    """The runs of an uploaded file."""

    measurements: list[MeasurementShape]


class ComparisonSummary(Shape):
    id: UUID
    name: str
    items: list[dict[str, Any]]
    mode: str
    created_at: datetime
    url: str


class PlanSummary(Shape):
    id: UUID
    name: str
    body: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    url: str


class PlanView(BaseModel):
    """Designs joined to one fleet: see the members' own names."""

    name: str
    url: str | None
    members: list[dict[str, Any]]
    joins: list[dict[str, Any]]
    night: dict[str, float]
    lent: list[dict[str, Any]]
    total: dict[str, Any]
    findings: list[dict[str, Any]]
    sentence: str
    severity: str | None
    diagram: dict[str, Any]
    charts: list[dict[str, Any]]
    provenance: dict[str, Any]


class Page(Shape):
    """A page of a list."""

    count: int
    next: str | None
    previous: str | None


@cache
def page_of(row: type[BaseModel]) -> type[Page]:
    """The page of one kind of row."""
    return create_model(f"{row.__name__}Page", __base__=Page, results=(list[row], ...))  # type: ignore[valid-type]


class ComparisonView(BaseModel):
    """Designs side by side: see the members' own names."""

    id: UUID | None
    url: str | None
    name: str
    created_at: str
    missing: list[str]
    mode: str
    scalable: bool
    same_kind: bool
    items: list[dict[str, Any]]
    verdict: dict[str, Any]
    inputs: dict[str, Any]
    objectives: list[dict[str, Any]]
    metrics: list[dict[str, Any]]
    charts: list[dict[str, Any]]
    provenance: dict[str, Any]


class SimulationResult(Shape):
    """What a simulation found, in the shape of an estimate, with the estimate of the same spec beside it."""

    kind: str
    spec: dict[str, Any]
    metrics: dict[str, Metric]
    findings: list[Finding]
    series: dict[str, Series]
    provenance: dict[str, Any]
    evidence: list[Evidence] = Field(default_factory=list)
    answer: dict[str, Any]
    charts: list[dict[str, Any]]
    estimate: dict[str, Any]
