"""What points of a batch share: structures (a replica without its load), and units (a structure with its lengths)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.core.catalog import Catalog, MissingFigure
from planner.formulas import many_replicas, measurements, neighbours, roofline
from planner.kinds.engine_instance import findings as notes
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import lean, load, rivals, sources
from planner.kinds.engine_instance.measured import plan_of
from planner.kinds.engine_instance.memory_metrics import memory_metrics
from planner.kinds.engine_instance.plan import Plan
from planner.kinds.engine_instance.spec import EngineInstanceSpec

LENGTHS = ("input_tokens", "output_tokens", "prefix_hit_rate", "draft_acceptance")
"""Fields that a unit has beside its structure."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A replica with its step times, and the sizes of its pool as stated and as its times take them."""

    plan: Plan
    times: roofline.Replica
    rooms: tuple[tuple[Plan, fits.Fit], ...]

    def under(self, lengths: Mapping[str, float]) -> Timed:
        """With requests of other lengths."""
        return Timed(
            plan=_under(self.plan, lengths),
            times=self.times,
            rooms=tuple((_under(plan, lengths), fitted) for plan, fitted in self.rooms),
        )

    @property
    def places(self) -> float:
        return load.places_of(self.rooms)


@dataclass(frozen=True, slots=True)
class Structure:
    """A replica without its load. ``own`` is None where a figure of the GPU is missing, so that no times are known."""

    plan: Plan
    fitted: fits.Fit
    held: fits.Fit
    timed: Plan
    memory: Mapping[str, float | None]
    refusal: str
    """Why it does not start, in words; "" where it does."""
    own: Timed | None
    lesser: tuple[Timed, ...]


@dataclass(frozen=True, slots=True)
class Leg:
    """A replica under requests of one length, as arrays take it: the point's own, or one on a lesser GPU."""

    row: Mapping[str, float]
    configuration: neighbours.Configuration
    capacity: float


@dataclass(frozen=True, slots=True)
class Unit:
    """A structure under requests of one length; ``own`` is None where no times exist.

    ``told``: whether times are told where the source has them: an objective without a figure is one of those.
    """

    structure: Structure
    refusal: str
    is_known: bool
    own: Leg | None = None
    lesser: tuple[Leg, ...] = ()


def structure(spec: EngineInstanceSpec, catalog: Catalog) -> Structure:
    """Work out what does not depend on the load; raises as the estimate does."""
    plan, known = plan_of(spec, catalog)
    fitted = fits.fit(plan)
    bounds = fits.bounds(plan, fitted)
    timed, held = load.with_copies(plan, fitted)
    words = "" if fitted.starts else notes.does_not_start(plan, fitted, None, close=bounds.too_close).message
    own: Timed | None = None
    lesser: tuple[Timed, ...] = ()
    try:
        own = Timed(timed, sources.calibrated(timed), load.rooms(timed, held))
        lesser = tuple(_lesser(timed, catalog))
    except MissingFigure:
        own = None
    return Structure(
        plan=plan,
        fitted=fitted,
        held=held,
        timed=timed,
        memory={name: metric.value for name, metric in memory_metrics(plan, fitted, bounds, known).items()},
        refusal=words,
        own=own,
        lesser=lesser,
    )


def _lesser(timed: Plan, catalog: Catalog) -> Iterator[Timed]:
    found = measurements.library(catalog.table(measurements.TABLE))
    for plan, times in rivals.replicas(timed, catalog, among=found.gpus):
        whole = rivals.on(plan, catalog)
        yield Timed(plan, times, load.rooms(whole, fits.fit(whole)))


def _under(plan: Plan, lengths: Mapping[str, float]) -> Plan:
    return replace(plan, spec=plan.spec.model_copy(update=dict(lengths)))


def unit(one: Structure, lengths: Mapping[str, float]) -> Unit:
    """A structure under requests of some lengths."""
    plan = _under(one.plan, lengths)
    words = one.refusal
    if not words and not notes.request_fits(plan, one.fitted):
        words = notes.request_too_long(plan, one.fitted).message
    if not load.is_served(_under(one.timed, lengths), one.held):
        return Unit(one, words, is_known=True)
    if one.own is None:
        return Unit(one, words, is_known=False)
    own = _leg(one.own.under(lengths), least=0.0)
    lesser = tuple(_leg(each.under(lengths), least=1.0) for each in one.lesser)
    return Unit(one, words, is_known=True, own=own, lesser=lesser)


def _leg(timed: Timed, *, least: float) -> Leg:
    capacity = max(timed.places, least)
    asked: Any = load.operation(timed.plan, capacity=capacity, times=timed.times).load
    return Leg(many_replicas.unit(timed.times, load=asked), lean.configuration(timed.plan), capacity)
