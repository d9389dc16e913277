"""What a file of money may hold: a price of GPU-hours, a price of tokens at an API, the worth of a currency."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from planner.catalog.figure_schema import (
    BETWEEN,
    Date,
    EntryContent,
    FigureContent,
    NamedContent,
    Slug,
    Word,
    in_bounds,
    unit_is,
)
from planner.core.catalog import ApiPrice, Currency, Price

Code = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
"""A currency by its ISO 4217 letters."""
USD = "USD"
_TOKENS = "M tokens"
_WEAKEST = 1000
"""Units of the weakest currency to a dollar, for the bound of a price."""


class PriceContent(EntryContent):
    """A price of a GPU-hour. ``region`` is empty where one price holds everywhere the provider sells."""

    gpu: Slug
    provider: Word
    market: Literal["neocloud", "hyperscaler", "rental", "quoted", "team"]
    commitment: Literal["on_demand", "spot", "reserved_1y", "reserved_3y", "owned"]
    currency: Code = USD
    price: FigureContent
    region: Annotated[str, Field(max_length=60)] = ""
    valid_from: Date | None = None

    @field_validator("price")
    @classmethod
    def _is_of_an_hour(cls, price: FigureContent, info: ValidationInfo) -> FigureContent:
        return _priced(price, unit=f"{info.data.get('currency', USD)}/h")

    @property
    def title(self) -> str:
        place = f" {self.region}" if self.region else ""
        return f"{self.gpu}, {self.provider}{place}, {self.commitment.replace('_', ' ')}"

    @property
    def group(self) -> str:
        return self.gpu

    def plain(self, *, usd_per_unit: float = 1.0) -> Price:
        return Price(
            slug=self.slug,
            gpu=self.gpu,
            usd_per_h=self.price.value * usd_per_unit,
            provider=self.provider,
            commitment=self.commitment,
            source=self.price.source,
            as_of=self.price.as_of,
            market=self.market,
            region=self.region,
            currency=self.currency,
            per_h=self.price.value,
            valid_from=self.valid_from or self.price.as_of,
        )


class ApiPriceContent(NamedContent):
    """What a provider asks for the tokens of an LLM; without a price of cached input that costs as input does."""

    provider: Word
    llm: Slug | None = None
    terms: Annotated[str, Field(max_length=80)] = ""
    currency: Code = USD
    valid_from: Date | None = None
    input: FigureContent
    cached_input: FigureContent | None = None
    output: FigureContent

    @field_validator("input", "cached_input", "output")
    @classmethod
    def _is_of_tokens(cls, price: FigureContent | None, info: ValidationInfo) -> FigureContent | None:
        return price and _priced(price, unit=f"{info.data.get('currency', USD)}/{_TOKENS}")

    @property
    def group(self) -> str:
        return self.provider

    def plain(self, *, usd_per_unit: float = 1.0) -> ApiPrice:
        cached = self.cached_input or self.input
        return ApiPrice(
            slug=self.slug,
            name=self.name,
            provider=self.provider,
            llm=self.llm or "",
            terms=self.terms,
            input_usd_per_m=self.input.value * usd_per_unit,
            cached_input_usd_per_m=cached.value * usd_per_unit,
            output_usd_per_m=self.output.value * usd_per_unit,
            currency=self.currency,
            source=self.output.source,
            as_of=self.output.as_of,
            valid_from=self.valid_from or self.output.as_of,
        )


class CurrencyContent(NamedContent):
    """The worth of one unit of a currency in US dollars, at one date or several."""

    code: Code
    rates: Annotated[list[Annotated[FigureContent, AfterValidator(unit_is("USD"))]], Field(min_length=1)]

    @property
    def group(self) -> str:
        return ""

    def also(self) -> tuple[str, ...]:
        return (self.code, *super().also())

    def plain(self) -> Currency:
        dated = sorted((rate.plain() for rate in self.rates), key=lambda rate: rate.as_of)
        return Currency(slug=self.slug, name=self.name, code=self.code, rates=tuple(dated))


def _priced(figure: FigureContent, *, unit: str) -> FigureContent:
    """A price of an hour in any currency; the bound allows for the weakest."""
    least, most = BETWEEN["USD/h"]
    return in_bounds(figure, unit=unit, between=(least, most if unit == "USD/h" else most * _WEAKEST))
