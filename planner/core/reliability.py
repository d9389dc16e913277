"""Reliability of what a design buys: what is asked, and what is answered, of all kinds alike.

A failure domain is what is lost together: a GPU takes its unit along, a node the units on it, a rack and a power zone
those of their nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.core.kind import Spec, quantity
from planner.core.result import Finding
from planner.core.text import gettext_noop as _

PROMISE = _("Promise")
PLACE = _("Racks and zones")
RATES = _("Failures")


def _rate(label: str, *, empty: str, help: str = "") -> Any:
    """How often one of a domain fails."""
    return quantity(None, label=label, group=RATES, unit="1/h", ge=0, le=10, advanced=True, empty=empty, help=help)


def _hours(label: str, *, empty: str) -> Any:
    """How long it then is away."""
    return quantity(None, label=label, group=RATES, unit="h", ge=0, le=10_000, advanced=True, empty=empty)


class ReliabilityTerms(Spec):
    """What reliability is planned with. Empty fields take what the design says, else published figures."""

    availability: float | None = quantity(
        None,
        label=_("The peak is carried"),
        group=PROMISE,
        unit="ratio",
        shown="%",
        ge=0.5,
        lt=1,
        empty=_("the design's, or 99.9 %"),
        help=_("Share of the time in which what is up carries the peak, all pools together."),
    )

    nodes_per_rack: int = quantity(
        4,
        label=_("Nodes a rack"),
        group=PLACE,
        unit="nodes",
        ge=1,
        le=1000,
        help=_("An assumption: four nodes of eight GPUs are what air-cooled racks take."),
    )
    racks_per_zone: int = quantity(
        8,
        label=_("Racks a power zone"),
        group=PLACE,
        unit="racks",
        ge=1,
        le=10_000,
        help=_("An assumption: racks that share a power feed or a row, and are lost with it."),
    )
    racks: int = quantity(
        1,
        label=_("Dealt over racks"),
        group=PLACE,
        unit="racks",
        ge=1,
        le=10_000,
        help=_("The units of a pool are dealt over so many racks at least; 1: as few as hold them."),
    )
    zones: int = quantity(
        1,
        label=_("Dealt over power zones"),
        group=PLACE,
        unit="zones",
        ge=1,
        le=1000,
        help=_("At least; each has its part of the racks."),
    )

    gpu_failures_per_h: float | None = _rate(
        _("Failures of a GPU"),
        empty=_("published counts"),
        help=_("Empty: counts of Llama 3, unless the design says how often its nodes fail: then they count there."),
    )
    gpu_repair_h: float | None = _hours(_("GPU back after"), empty=_("an estimate"))
    node_failures_per_h: float | None = _rate(_("Failures of a node"), empty=_("the design's, or published"))
    node_repair_h: float | None = _hours(_("Node back after"), empty=_("the design's, or an estimate"))
    engine_failures_per_h: float | None = _rate(
        _("Stops of an engine"),
        empty=_("an estimate"),
        help=_("Of one unit, its hardware being well. Empty: an estimate, or counted with the design's nodes."),
    )
    engine_repair_h: float | None = _hours(_("Engine back after"), empty=_("an estimate"))
    rack_failures_per_h: float | None = _rate(_("Failures of a rack"), empty=_("published counts"))
    rack_repair_h: float | None = _hours(_("Rack back after"), empty=_("published"))
    zone_failures_per_h: float | None = _rate(_("Failures of a power zone"), empty=_("published counts"))
    zone_repair_h: float | None = _hours(_("Zone back after"), empty=_("published"))


@dataclass(frozen=True, slots=True)
class Rate:
    """How often one of a domain fails and how long it is away, and where that comes from."""

    failures_per_h: float
    repair_h: float
    source: str


@dataclass(frozen=True, slots=True)
class Domain:
    """What is lost together, of one pool as bought: the blast radius of one failure."""

    name: str
    label: str
    rate: Rate
    units_lost: int
    """At the most, by one failure."""
    gpus_lost: int
    failures_per_year: float
    """Of all of them that the pool stands on."""
    left: float | None
    """Capacity that stays, as a share of the need; None without a need."""
    carries: bool
    spares_to_carry: int
    """Units beyond the need with which the rest carries the peak."""


@dataclass(frozen=True, slots=True)
class Level:
    """N + k of a pool: ``spares`` units beyond those that the peak needs."""

    spares: int
    units: int
    carried: float
    """Share of time in which what is up carries the peak."""
    carried_apart: float
    """The same if every unit failed alone, as often."""
    below_min_per_month: float
    left: Mapping[str, float | None]
    """By domain: capacity after the loss of one, as a share of the need."""
    spares_usd_per_h: float | None
    bill_share: float | None
    change: Mapping[str, Any] | None = None
    """Of the spec, that buys so many; None where no input does."""
    is_bought: bool = False
    is_enough: bool = False
    """Whether it reaches the pool's part of the promise."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to reach the promise: more units, or smaller ones. ``usd_per_h`` is what the bill grows by."""

    label: str
    change: Mapping[str, Any] | None
    units: int
    unit_gpus: int
    spares: int
    carried: float
    usd_per_h: float | None
    cautions: tuple[str, ...] = ()
    """What the design then is warned of, that it is not now."""
    is_cheapest: bool = False


@dataclass(frozen=True, slots=True)
class PoolReliability:
    """One pool.

    ``needed`` are whole units that the peak takes; None where no number carries it. ``spare_units`` of those bought are
    what the design itself calls spare: others come from headroom or whole units.
    """

    name: str
    label: str
    noun: str
    units: int
    spare_units: int
    needed: int | None
    unit_gpus: int
    unit_up: float
    """Share of time in which one unit is up."""
    carried: float | None
    target: float
    """Its part of the promise."""
    spares_for_target: int | None
    domains: tuple[Domain, ...] = ()
    levels: tuple[Level, ...] = ()
    ways: tuple[Way, ...] = ()

    def level(self, spares: int) -> Level | None:
        """The row of so many spare units, if it is among those worked out."""
        return next((level for level in self.levels if level.spares == spares), None)

    @property
    def bought(self) -> Level | None:
        """The row of what is bought; None where that is less than the need."""
        return next((level for level in self.levels if level.is_bought), None)

    @property
    def spares(self) -> int | None:
        """Units bought beyond those that the peak takes."""
        return None if self.needed is None else self.units - self.needed


@dataclass(frozen=True, slots=True)
class Placement:
    """The same design dealt over so many power zones, a rack or more in each, and what then reaches the promise."""

    zones: int
    carried: float | None
    """As bought."""
    change: Mapping[str, Any] | None
    """Of the spec; empty where what is bought is enough, None where no input reaches it."""
    usd_per_h: float | None
    """What the bill then grows by."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """The whole design: all pools carry the peak at once for ``carried`` of the time."""

    pools: tuple[PoolReliability, ...]
    target: float
    carried: float | None
    below_min_per_month: float | None
    rates: Mapping[str, Rate]
    sentence: str = ""
    findings: tuple[Finding, ...] = ()
    change: Mapping[str, Any] | None = None
    """What reaches the promise in the cheapest way; empty where it is reached, None where no input does it."""
    change_usd_per_h: float | None = None
    bill_usd_per_h: float | None = None
    zones: int = 1
    """Over which the units are dealt at least."""
    placements: tuple[Placement, ...] = ()
    """Other numbers of them."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
