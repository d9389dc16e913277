"""The shape of an answer of money: the bill, its lines and purposes, token prices, break-even and the plan to buy."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from planner.api.shapes import Finding, Shape


class Amount(Shape):
    value: float | None
    unit: str


class MoneyCurrency(Shape):
    code: str
    usd_per_unit: float = Field(description="What one unit was worth in dollars, on the day of the terms.")
    source: str


class MoneyBill(Shape):
    per_h: Amount
    per_day: Amount
    per_month: Amount


class PricePart(Shape):
    name: str
    label: str
    usd_per_gpu_h: float


class PriceFigure(Shape):
    name: str
    label: str | None
    value: float
    unit: str
    source: str
    as_of: str
    note: str


class MoneyQuote(Shape):
    usd_per_gpu_h: float
    terms: str
    who: str
    source: str
    as_of: str
    parts: list[PricePart] = Field(description="Of an owned GPU: they sum to its hour.")
    figures: list[PriceFigure] = Field(description="Of an owned GPU: what the parts rest on.")


class MoneyLine(Shape):
    name: str
    label: str
    nature: str = Field(description="gpu, host, storage or network.")
    quantity: float
    quantity_unit: str
    per_h: float | None
    per_month: float | None
    share: float | None
    price: MoneyQuote | None


class MoneyLines(Shape):
    unit: str
    rows: list[MoneyLine] = Field(description="They sum to the bill to the last bit.")


class MoneyPurpose(Shape):
    name: str
    label: str
    per_h: float
    is_used: bool
    share: float | None


class MoneyPurposes(Shape):
    unit: str
    rows: list[MoneyPurpose] = Field(description="They sum to the bill to the last bit.")


class TokenPrice(Shape):
    basis: str = Field(description="output, good_output (in time), input, cached_input or total.")
    label: str
    tokens_per_s: float = Field(description="At the peak.")
    per_m: float | None = Field(description="With the load of the peak around the clock.")
    per_m_at_mean: float | None = Field(description="At the mean of the demand.")
    per_m_planned: float | None = Field(description="What the plan costs over all its tokens.")


class TokenPrices(Shape):
    unit: str
    mean_to_peak: float
    rows: list[TokenPrice]


class AgainstApi(Shape):
    api: str
    name: str
    provider: str
    llm: str
    usd_per_m: dict[str, float]
    source: str
    as_of: str
    api_per_h: Amount
    api_per_m_total: Amount
    utilisation: float | None = Field(description="From which use on the fleet costs less; above one it never does.")
    tokens_per_day: dict[str, float] = Field(description="Of that use, by what the API bills.")


class PlanCost(Shape):
    name: str
    label: str
    amount: float


class Rented(Shape):
    most: int
    mean: float


class PlanPool(Shape):
    name: str
    label: str
    noun: str
    unit_gpus: int
    units_at_peak: int
    reserved_3y_units: int
    reserved_1y_units: list[int] = Field(description="Of each year.")
    on_demand_units: Rented
    spot_units: Rented
    costs: list[PlanCost] = Field(description="They sum to the total to the last bit.")
    total: float
    rates: dict[str, MoneyQuote]


class PlanWeek(Shape):
    unit: str
    need: list[float]
    committed: list[float]
    on_demand: list[float]
    spot: list[float]


class MoneyPlan(Shape):
    unit: str
    horizon_years: int
    total: float
    perfect: float = Field(description="The exact need of each hour at the cheapest terms: no plan costs less.")
    peak: float = Field(description="The peak of each month, rented on demand around the clock.")
    other: float = Field(description="What does not follow demand: storage, traffic and the like.")
    regret: float | None = Field(description="The total over perfect, less one.")
    saved: float | None = Field(description="One less the total over peak.")
    gap: float = Field(description="What whole units cost over the optimum in fractions.")
    pools: list[PlanPool]
    week: PlanWeek = Field(description="The first month by hour of the week.")


class MoneyAnswer(Shape):
    kind: str
    spec: dict[str, Any]
    terms: dict[str, Any]
    currency: MoneyCurrency
    bill: MoneyBill
    lines: MoneyLines
    purposes: MoneyPurposes
    tokens: TokenPrices
    break_even: AgainstApi | None
    other_apis: list[AgainstApi]
    plan: MoneyPlan | None
    findings: list[Finding]
    provenance: dict[str, Any]
