"""What a catalog file may hold: strict models of each table, and the way to the plain types of `planner.core.catalog`.

The same models check a team's own entries, so that an import cannot hold what a file may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from planner.catalog.figure_schema import (
    Bytes,
    BytesPerSecond,
    Content,
    Date,
    EntryContent,
    FigureContent,
    FigureSet,
    FlopsPerSecond,
    Gpus,
    NamedContent,
    OpsPerSecond,
    Requests,
    Seconds,
    Tokens,
    Watts,
    Word,
)
from planner.catalog.llm_schema import LlmContent
from planner.catalog.price_schema import ApiPriceContent, CurrencyContent, PriceContent
from planner.core.catalog import Engine, Figure, Gpu, Link


class GpuFigures(FigureSet):
    memory_bytes: Bytes
    memory_bytes_per_s: BytesPerSecond
    visible_memory_bytes: Bytes | None = None
    bf16_flops_per_s: FlopsPerSecond | None = None
    fp8_flops_per_s: FlopsPerSecond | None = None
    fp4_flops_per_s: FlopsPerSecond | None = None
    int8_ops_per_s: OpsPerSecond | None = None
    scaleup_bytes_per_s: BytesPerSecond | None = None
    scaleup_gpus: Gpus | None = None
    nic_bytes_per_s: BytesPerSecond | None = None
    pcie_bytes_per_s: BytesPerSecond | None = None
    tdp_w: Watts | None = None


class GpuContent(NamedContent):
    vendor: Word
    architecture: Word
    figures: GpuFigures

    @property
    def group(self) -> str:
        return f"{self.vendor} {self.architecture}"

    def plain(self) -> Gpu:
        return Gpu(
            slug=self.slug,
            name=self.name,
            vendor=self.vendor,
            architecture=self.architecture,
            figures=self.figures.plain(),
            aliases=tuple(self.aliases),
            notes=self.notes,
        )


class LinkFigures(FigureSet):
    bandwidth_bytes_per_s: BytesPerSecond
    latency_s: Seconds


class LinkContent(NamedContent):
    scope: Literal["scale_up", "host", "scale_out"]
    figures: LinkFigures

    @property
    def group(self) -> str:
        return self.scope

    def plain(self) -> Link:
        return Link(slug=self.slug, name=self.name, scope=self.scope, figures=self.figures.plain())


class EngineContent(NamedContent):
    """``settings`` are words, flags, figures, and tables of them; a bare number without its source is refused."""

    settings: dict[str, Any]

    @field_validator("settings")
    @classmethod
    def _figures_are_whole(cls, settings: dict[str, Any]) -> dict[str, Any]:
        _split(settings, "settings", {})
        return settings

    @property
    def group(self) -> str:
        return "Engines"

    def plain(self) -> Engine:
        figures: dict[str, Figure] = {}
        settings = _split(self.settings, "", figures)
        return Engine(slug=self.slug, name=self.name, settings=settings, figures=figures)


def _split(value: Any, path: str, figures: dict[str, Figure]) -> Any:
    """``value`` with its figures replaced by plain numbers; the figures are put into ``figures`` under their paths."""
    if isinstance(value, Mapping) and "value" in value:
        try:
            figure = FigureContent.model_validate(dict(value)).plain()
        except ValueError as problem:
            raise ValueError(f"{path}: {_first_words(problem)}") from None
        figures[path] = figure
        return value["value"]
    if isinstance(value, Mapping):
        return {name: _split(part, f"{path}.{name}".lstrip("."), figures) for name, part in value.items()}
    if isinstance(value, list):
        return [_split(part, f"{path}.{index}", figures) for index, part in enumerate(value)]
    if isinstance(value, str | bool):
        return value
    raise ValueError(f"{path}: write a number as {{ value, unit, source, as_of }}")


def _first_words(problem: ValueError) -> str:
    details: list[Any] = getattr(problem, "errors", list)()
    if not details:
        return str(problem)
    return f"{'.'.join(str(part) for part in details[0]['loc'])}: {details[0]['msg']}"


class ProfileFacts(Content):
    """A workload without a trace: its mean rate and lengths, and the share of input found in a prefix cache."""

    rate_rps: Requests
    input_tokens: Tokens
    output_tokens: Tokens
    prefix_hit_rate: FigureContent


class WorkloadContent(NamedContent):
    """A workload that ships with the project: a profile with ``facts``, or a trace in the CSV file beside it."""

    form: Literal["profile", "trace"]
    description: Annotated[str, Field(min_length=1, max_length=600)]
    source: Annotated[str, Field(min_length=1, max_length=300)]
    as_of: Date
    licence: Annotated[str, Field(max_length=80)] = ""
    attribution: str = ""
    made: str = ""
    file: Annotated[str, Field(pattern=r"^[a-z0-9-]+\.csv\.gz$")] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    facts: ProfileFacts | None = None

    @property
    def group(self) -> str:
        return self.form

    @model_validator(mode="after")
    def _has_what_its_form_needs(self) -> WorkloadContent:
        if self.form == "profile" and (self.facts is None or self.file):
            raise ValueError("a profile has facts and no file")
        if self.form == "trace" and not (self.file and self.sha256 and self.licence and self.attribution and self.made):
            raise ValueError("a trace has file, sha256, licence, attribution and made")
        return self


TABLES: Mapping[str, type[EntryContent]] = {
    "gpus": GpuContent,
    "llms": LlmContent,
    "links": LinkContent,
    "engines": EngineContent,
    "prices": PriceContent,
    "api_prices": ApiPriceContent,
    "currencies": CurrencyContent,
    "workloads": WorkloadContent,
}
