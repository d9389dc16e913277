"""The shape of a reliability plan."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from planner.api.shapes import Finding, Shape

Change = dict[str, Any] | None


class RateShape(Shape):
    failures_per_h: float
    repair_h: float
    source: str


class DomainShape(Shape):
    """What one failure takes of a pool as bought."""

    name: str
    label: str
    rate: RateShape
    units_lost: int
    gpus_lost: int
    failures_per_year: float = Field(description="Of all of them that the pool stands on.")
    left: float | None = Field(description="Capacity that stays, as a share of the need.")
    carries: bool
    spares_to_carry: int


class LevelShape(Shape):
    """N + k: `spares` units beyond the need."""

    spares: int
    units: int
    carried: float = Field(description="Share of time in which what is up carries the peak.")
    carried_apart: float = Field(description="The same if every unit failed alone, as often.")
    below_min_per_month: float
    left: dict[str, float | None] = Field(description="By domain: capacity after one failure, as a share of the need.")
    spares_usd_per_h: float | None
    bill_share: float | None
    change: Change = Field(description="Of the spec, that buys so many; null where no input does.")
    is_bought: bool
    is_enough: bool


class WayShape(Shape):
    """More units, or smaller ones, that keep the promise."""

    label: str
    change: Change
    units: int
    unit_gpus: int
    spares: int
    carried: float
    usd_per_h: float | None = Field(description="What the bill grows by.")
    cautions: list[str]
    is_cheapest: bool


class PoolShape(Shape):
    name: str
    label: str
    noun: str
    units: int
    spare_units: int
    needed: int | None
    spares: int | None = Field(description="Units beyond the need; negative where they do not carry it.")
    unit_gpus: int
    unit_up: float
    carried: float | None
    target: float = Field(description="The pool's part of the promise.")
    spares_for_target: int | None
    domains: list[DomainShape]
    levels: list[LevelShape]
    ways: list[WayShape]


class PlacementShape(Shape):
    """The same design dealt over another number of power zones."""

    zones: int
    carried: float | None
    change: Change
    usd_per_h: float | None


class ReliabilityAnswer(Shape):
    pools: list[PoolShape]
    target: float
    carried: float | None = Field(description="Share of time in which all pools carry the peak at once.")
    below_min_per_month: float | None
    rates: dict[str, RateShape]
    sentence: str = Field(description="The answer; **claims** are marked.")
    findings: list[Finding]
    change: Change = Field(description="What keeps the promise in the cheapest way; empty where it is kept.")
    change_usd_per_h: float | None
    bill_usd_per_h: float | None
    zones: int
    placements: list[PlacementShape]
    provenance: dict[str, Any]
    terms: dict[str, Any] = Field(description="The complete terms it was planned with.")
